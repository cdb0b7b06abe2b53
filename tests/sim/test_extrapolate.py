"""Small graphs say of a large one what they can; orders and sums hold whatever they say; what is far off is refused."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grapin import SSSP, Engine
from grapin.counters import REQUEST_SIZES, Counters
from grapin.errors import InvalidArgument, InvalidFile
from grapin.generators import generate
from grapin.sim import MACHINES, Combination
from grapin.sim.extrapolate import (
    Check,
    Extrapolated,
    Member,
    check_sizes,
    extrapolate,
    predict_large,
    scaled,
)
from grapin.sim.factors import FLAT, PARTS_OF_ONE, costs_of, factors_of, follow
from grapin.sim.families import (
    members,
    nominal_size,
    read_degrees,
    sampled_graph,
    sampled_vertices,
    tiled,
    usual_members,
)
from grapin.sim.predict import combine, replay
from grapin.sim.prediction import PARTS, Costs, Prediction, Seconds
from grapin.stream.sample import workload
from grapin.system import SYSTEMS
from grapin.trace import Trace

SIZES = [2**10, 2**11, 2**12, 2**13, 2**14]
LARGE = 2**17
RATE = 1e9
COUNT = st.integers(0, 10**9)


def says(size: float, power: float, factor: float = 1000.0) -> Prediction:
    """Return what a graph of a size says of the large one, in which lists change with a power of the size."""
    amount = round(factor * LARGE * size**power / LARGE**power)
    wire = amount * 150
    costs = Costs(
        Counters(requests_128=amount, edges=20 * amount, lists=amount),
        wire_to_device=wire,
        iterations=7,
        seconds=Seconds(link=wire / RATE + 7e-6, launches=7e-6),
    )
    return Prediction("bounded", "a5000", "none", RATE, (0, 1, 2), (costs, costs, costs))


@given(st.floats(-0.3, 0.3))
def test_what_goes_on_for_ever_is_followed(power: float) -> None:
    found = extrapolate(SIZES, [says(one, power) for one in SIZES], LARGE)
    real = says(LARGE, power)
    assert found.total.bytes == pytest.approx(real.total.bytes, rel=1e-2)
    assert found.seconds == pytest.approx(real.seconds, rel=1e-2)
    assert found.total.iterations == 21


@given(st.lists(st.floats(0.7, 1.4), min_size=5, max_size=5))
def test_chance_is_not_followed_far(noise: list[float]) -> None:
    """Three doublings of a slope that is chance would leave the range of what was seen many times over."""
    values = [1000.0 * one for one in noise]
    assert min(values) * 0.999 <= follow(SIZES, values, 2**24, way=FLAT) <= max(values) * 1.001


def costs() -> st.SearchStrategy[Costs]:
    """Return costs as a replay may have them."""

    def build(numbers: list[int], seconds: list[float], hidden: float) -> Costs:
        edges, lists, held, held_lists, loads, patch, copied, moved, out, faults, headers = numbers[:11]
        requests = numbers[11:15]
        counters = Counters.of(edges, lists, requests, lists)
        counters += Counters(
            cached_edges=min(held, edges),
            cached_lists=min(held_lists, lists),
            loads=min(loads, lists),
            load_bytes=counters.bytes // 3,
            patch_bytes=patch,
            copied_bytes=copied,
        )
        wire = counters.link_bytes + moved + headers
        parts = dict(zip(PARTS, seconds, strict=True))
        parts["link"] += wire / RATE
        parts["hidden"] = hidden * (sum(parts.values()) - max(parts.values()))
        return Costs(counters, moved, out, faults, wire, headers, 9, Seconds(**parts), evictions=faults)

    return st.builds(
        build,
        st.lists(COUNT, min_size=15, max_size=15),
        st.lists(st.floats(0, 10), min_size=5, max_size=5),
        st.floats(0, 1),
    )


def check_orders(one: Costs) -> None:
    """Assert what holds of every cost."""
    counters = one.counters
    assert one.wire_to_device >= one.bytes >= 0
    assert sum(one.bytes_by_kind.values()) == one.bytes
    assert sum(size * counters.requests[size] for size in REQUEST_SIZES) == counters.bytes
    assert 0 <= counters.cached_edges <= counters.edges
    assert 0 <= counters.cached_lists <= counters.lists
    assert 0 <= counters.load_bytes <= counters.bytes
    seconds = one.seconds
    parts = [getattr(seconds, part) for part in PARTS]
    assert seconds.total == pytest.approx(sum(parts) - seconds.hidden)
    assert seconds.total >= max(parts) - 1e-9 * sum(parts)
    assert all(part >= 0 for part in parts)
    assert one.wire_to_device <= RATE * seconds.total * (1 + 1e-9)


@given(st.lists(costs(), min_size=5, max_size=5), st.integers(0, 12))
def test_orders_and_sums_hold_whatever_the_small_graphs_say(known: list[Costs], doublings: int) -> None:
    predictions = [Prediction("grapin", "a5000", "", RATE, (0, 1), (one, one)) for one in known]
    for phase in extrapolate(SIZES, predictions, SIZES[-1] * 2**doublings).phases:
        check_orders(phase)


@given(costs(), st.dictionaries(st.sampled_from(sorted(factors_of(Costs(), RATE))), st.floats(0, 1e6)))
def test_orders_and_sums_hold_whatever_becomes_of_factors(one: Costs, changed: dict[str, float]) -> None:
    changed = {
        name: min(1.0, value) if name in PARTS_OF_ONE else value
        for name, value in changed.items()
        if name != "loads"
    }
    check_orders(costs_of(factors_of(one, RATE) | changed, RATE))


@given(costs())
def test_a_cost_is_what_its_factors_say(one: Costs) -> None:
    found = costs_of(factors_of(one, RATE), RATE)
    if one.counters.lists and one.counters.edges > one.counters.cached_edges:
        assert found.counters.lists == one.counters.lists
        assert found.counters.edges == pytest.approx(one.counters.edges, abs=1)
        assert found.counters.bytes == pytest.approx(one.counters.bytes, rel=1e-3, abs=1000)


@given(st.floats(0.01, 1e6), st.floats(1.0, 1e3))
def test_more_lists_cost_no_less(lists: float, more: float) -> None:
    factors = factors_of(says(LARGE, 0.0).total, RATE)
    few, many = (costs_of(factors | {"lists": count}, RATE) for count in (lists, lists * more))
    assert few.bytes <= many.bytes
    assert few.wire_to_device <= many.wire_to_device
    assert few.seconds.total <= many.seconds.total * (1 + 1e-12)


def changes(scale: int) -> int:
    """Return how many mutations a batch has: a part of the edges, whatever the size."""
    return 1 << (scale - 6)


def trace(scale: int) -> Trace:
    """Return what a run on R-MAT read, of shortest paths under the published repair, from the vertex of most edges."""
    edges = generate(f"rmat:{scale}:8")
    stream = workload(edges, batches=2, size=changes(scale), seed=1)
    graph = stream.graph()
    engine = Engine(
        graph,
        SSSP(int(np.bincount(edges.source).argmax())),
        device="cpu",
        system="grapin-zc",
        threads=1,
        trace=True,
    )
    for batch_ in stream:
        engine.apply(batch_)
    return engine.trace


@settings(max_examples=10)
@given(st.integers(1, 9), st.floats(0.1, 9.0))
def test_copies_read_and_change_as_much_as_so_many_graphs(copies: int, changed: float) -> None:
    one = _TRACES[8]
    many = tiled(one, copies, changed=min(changed, copies))
    assert len(many) == copies * len(one)
    assert many.counters().edges == copies * one.counters().edges
    assert many.counters().bytes == copies * one.counters().bytes  # each begins where a line begins
    for name in ("phase", "iteration", "length"):
        expected = np.sort(np.repeat(one.reads[name], copies))
        assert np.array_equal(np.sort(many.reads[name]), expected)
    assert (np.diff(many.reads["phase"]) >= 0).all()
    for name in ("vertex", "start"):
        assert len(np.unique(many.reads[name])) == copies * len(np.unique(one.reads[name]))
    rows = min(changed, copies) * len(one.changes["version"])
    assert len(many.changes["version"]) == pytest.approx(rows, abs=1)
    assert (np.diff(many.changes["version"]) >= 0).all()
    assert int((many.reads["start"] + many.reads["length"]).max()) <= int(many.phases["out_slots"].max())


def test_a_local_repair_reads_only_the_copies_that_a_batch_changes() -> None:
    one = _TRACES[8]
    many = tiled(one, 8, changed=2.0, alike=False)
    counts = np.bincount(one.reads["phase"])
    assert np.bincount(many.reads["phase"]).tolist() == [8 * counts[0], *(2 * counts[1:])]


class _Lazy(dict[int, Trace]):
    def __missing__(self, scale: int) -> Trace:
        self[scale] = trace(scale)
        return self[scale]


_TRACES = _Lazy()


def family(*scales: int) -> list[Member]:
    """Return R-MAT graphs that were run."""
    return [
        Member(8.0 * 2**scale, {"published": _TRACES[scale]}, {"published": float(changes(scale))})
        for scale in scales
    ]


@pytest.mark.parametrize("system", ["grapin-zc", "grapin-page"])
def test_a_graph_three_doublings_larger_is_within_the_stated_error(system: str) -> None:
    run = family(8, 9, 10, 11)
    large = trace(14)
    room = 8 * int(large.phases["out_slots"][0]) * 4
    some = combine(["a5000"], [system], settings=[f"gpu.memory={max(room, 2**23)}"])
    (found,) = predict_large(run, some, 8.0 * 2**14, changes(14))
    real = replay(large, system, some[0].machine)
    assert found.doublings == 3
    assert {round(one.doublings) for one in found.checks} == {2, 3}
    assert abs(found.prediction.total.bytes / real.total.bytes - 1) <= found.bytes_error
    for phase in found.prediction.phases:
        assert phase.wire_to_device >= phase.bytes


def test_the_error_grows_with_the_distance_and_covers_what_was_missed() -> None:
    one = Extrapolated(says(LARGE, 0), 2.0**17, tuple(map(float, SIZES)), (Check(3, 0.1, 0.2),))
    errors = [replace(one, size=2.0**scale).bytes_error for scale in range(15, 30)]
    assert all(before <= after for before, after in pairwise(errors))
    assert errors[2] >= 0.1
    assert errors[5] >= 2 * errors[2] * 0.999


def test_the_error_covers_how_far_trends_lead() -> None:
    """Held-out graphs may be told well by luck; what is far from all that was run is not known as well."""
    one = Extrapolated(says(LARGE, 0), 2.0**17, tuple(map(float, SIZES)), (Check(3, 0.1, 0.1),), 0.4, 0.3)
    assert (one.bytes_error, one.seconds_error) == (0.4, 0.3)
    run = family(7, 8, 9, 10)
    (found,) = predict_large(run, combine(["a5000"], ["grapin-zc"]), 8.0 * 2**13, changes(13))
    alone = replay(tiled(run[-1].traces["published"], 8, changed=8.0), "grapin-zc", "a5000")
    moved = found.prediction.total.bytes
    assert found.bytes_reach == pytest.approx(abs(alone.total.bytes - moved) / moved)
    assert found.bytes_error >= found.bytes_reach > 0


def test_memory_is_scaled_from_the_blocks_that_fit() -> None:
    """Half a block more is no block: Epinions' degrees on 4.8 blocks, taken for five, were 55 % off."""
    machine = MACHINES["a5000"].with_settings({"gpu.memory": int(4.8 * 2**21)})
    found = scaled(Combination(SYSTEMS["grapin-page"], machine), 0.99)
    assert found.machine.gpu.memory == 4 * 2**21


def test_what_may_be_far_off_is_refused_with_the_reason() -> None:
    odd = family(7, 8, 9, 10)
    odd[-1] = replace(odd[-1], traces=MappingProxyType({"published": tiled(_TRACES[10], 9, changed=9.0)}))
    (found,) = predict_large(odd, combine(["a5000"], ["grapin-zc"]), 8.0 * 2**13, changes(13))
    assert "bytes may be off by" in found.refusal
    assert "give larger graphs" in found.refusal


def test_a_machine_of_few_blocks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grapin.sim.extrapolate.MOST_LISTS", 1)
    some = combine(["a5000"], ["grapin-page", "grapin-zc"], settings=["gpu.memory=64M"])
    page, requests = predict_large(family(7, 8, 9, 10), some, 8.0 * 2**13, changes(13))
    assert "blocks of RTX A5000's memory" in page.refusal
    assert "blocks" not in requests.refusal


@pytest.mark.parametrize("cache", ["64K", 65536])
def test_a_cache_is_called_by_its_size_on_the_large_graph(
    cache: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = combine(["a5000"], ["grapin"])
    some = [replace(one, cache=cache) for one in some]
    for most in (10**6, 1):
        monkeypatch.setattr("grapin.sim.extrapolate.MOST_LISTS", most)
        (found,) = predict_large(family(7, 8, 9, 10), some, 8.0 * 2**13, changes(13))
        assert found.prediction.cache == "published 64 KiB"


@pytest.mark.parametrize("sizes", [[1, 2, 4], [8, 8, 8, 8], [8, 9, 10, 11], [8]])
def test_too_few_sizes_and_too_much_alike_are_refused(sizes: list[float]) -> None:
    with pytest.raises(InvalidArgument, match="at least 4 different ones"):
        check_sizes(sizes, 2**20)


def test_a_size_too_far_beyond_is_refused() -> None:
    sizes = [float(16 * 2**scale) for scale in (12, 13, 14, 15)]
    with pytest.raises(InvalidArgument, match="at most 9 doublings beyond the largest that is run"):
        check_sizes(sizes, 16 * 2.0**30)
    check_sizes(sizes, 16 * 2.0**24)


@pytest.mark.parametrize(
    ("cache", "smaller"), [("10%", "10%"), ("adaptive:8K", 1024), (8192, 1024), (None, None)]
)
def test_memory_and_cache_are_scaled_with_the_graph_but_parts_of_it_are_not(
    cache: Any, smaller: object
) -> None:
    one = Combination(SYSTEMS["bounded"], MACHINES["a5000"], cache)
    found = scaled(one, 1 / 8)
    assert found.machine.gpu.memory == MACHINES["a5000"].gpu.memory // 8
    assert found.machine.name == "a5000"
    assert getattr(found.cache, "capacity", found.cache) == smaller


@given(st.floats(1e-4, 1.0), st.booleans())
def test_unified_memory_is_scaled_in_whole_blocks(part: float, blocks: bool) -> None:
    found = scaled(Combination(SYSTEMS["grapin-page"], MACHINES["a5000"]), part, part, blocks=blocks)
    driver = found.driver
    assert found.machine.gpu.memory % driver.block == 0
    assert found.machine.gpu.memory >= driver.block >= driver.big_page
    assert 2 <= driver.batch <= 256
    assert found.machine.gpu.multiprocessors >= 1


def test_unified_memory_that_thrashes_says_so() -> None:
    read = Counters(edges=1000, lists=10)
    assert Costs(read, migrated_bytes=81_000, evictions=1).thrashing
    assert not Costs(read, migrated_bytes=81_000).thrashing  # few lists, each with its first big page
    assert not Costs(read, migrated_bytes=79_000, evictions=9).thrashing
    record = Costs(read, migrated_bytes=81_000, evictions=1).record()
    assert record["thrashing"] is True
    assert record["amplification"] == pytest.approx(81_000 / 8000)


def test_members_of_a_family_are_named_by_ranges_or_one_by_one() -> None:
    assert members("rmat:26:16", "rmat:16..18") == ["rmat:16:16", "rmat:17:16", "rmat:18:16"]
    assert members("er:900:9000", "er:10:100,er:20:200") == ["er:10:100", "er:20:200"]
    assert [nominal_size(one) for one in usual_members("rmat:28:16")] == [2**scale for scale in range(17, 23)]


@pytest.mark.parametrize("given", ["rmat:18..16", "rmat:x..3", "star:5", "rmat:27", "nothing:4"])
def test_other_families_and_larger_graphs_are_refused(given: str) -> None:
    with pytest.raises(InvalidArgument):
        members("rmat:26:16", given)


@given(st.lists(st.integers(0, 30), min_size=40, max_size=300), st.integers(0, 5))
def test_a_drawn_graph_has_the_degrees_of_the_list_but_for_repeats(listed: list[int], seed: int) -> None:
    degrees = np.sort(np.array(listed, np.int64))
    graph = sampled_graph(degrees, len(degrees), seed)
    drawn = np.sort(np.bincount(graph.source, minlength=len(degrees)))
    assert (drawn <= degrees).all()
    assert (graph.source != graph.target).all()
    assert np.array_equal(sampled_graph(degrees, len(degrees), seed).target, graph.target)
    assert sampled_vertices(degrees) == sorted(sampled_vertices(degrees))


@pytest.mark.parametrize("text", ["", "1\nx\n", "1\n-2\n", "1.5\n"])
def test_a_bad_file_of_degrees_is_refused_by_name(tmp_path: Path, text: str) -> None:
    file = tmp_path / "degrees.txt"
    file.write_text(text)
    with pytest.raises(InvalidFile, match=r"degrees\.txt: must hold one"):
        read_degrees(file)
    with pytest.raises(InvalidFile, match="there is no such file"):
        read_degrees(tmp_path / "none.txt")
