"""What grows with a power of the size is extrapolated exactly, and the error that is stated is the one there is."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grapin.counters import Counters
from grapin.errors import InvalidArgument, InvalidFile
from grapin.sim import MACHINES, Combination
from grapin.sim.extrapolate import extrapolate, scaled
from grapin.sim.families import (
    members,
    nominal_size,
    read_degrees,
    sampled_graph,
    sampled_vertices,
    usual_members,
)
from grapin.sim.prediction import Costs, Prediction, Seconds
from grapin.system import SYSTEMS

SIZES = [2**10, 2**11, 2**12, 2**13]


def grown(size: float, power: float, factor: float = 1000.0) -> Prediction:
    """Return a prediction all of whose amounts are a power of the size."""
    amount = factor * size**power
    wire = round(amount * 130)
    costs = Costs(
        Counters(requests_128=round(amount), edges=round(amount)),
        wire_to_device=wire,
        iterations=7,
        seconds=Seconds(link=wire / 1e9 + 1e-6 * amount, launches=7e-6),
    )
    return Prediction("bounded", "a5000", "none", 1e9, (0, 1, 2), (costs, costs, costs))


@given(st.floats(0, 1.3), st.integers(1, 10))
def test_a_power_is_found_and_followed(power: float, doublings: int) -> None:
    size = SIZES[-1] * 2**doublings
    found = extrapolate(SIZES, [grown(one, power) for one in SIZES], size)
    real = grown(size, power)
    assert found.prediction.total.bytes == pytest.approx(real.total.bytes, rel=1e-2)
    assert found.prediction.seconds == pytest.approx(real.seconds, rel=1e-2)
    assert found.bytes_error < 1e-2
    assert found.doublings == doublings
    assert found.prediction.total.iterations == 21


def test_the_error_is_that_of_predicting_the_largest_from_the_others() -> None:
    known = [grown(one, 1.0) for one in SIZES[:-1]] + [grown(SIZES[-1], 1.0, factor=2000.0)]
    assert extrapolate(SIZES, known, 2**20).bytes_error == pytest.approx(0.5, abs=0.01)


def test_nothing_shrinks_as_the_graph_grows() -> None:
    known = [grown(one, -0.5) for one in SIZES]
    assert extrapolate(SIZES, known, 2**30).prediction.total.bytes >= known[-1].total.bytes


def test_two_sizes_are_too_few() -> None:
    with pytest.raises(InvalidArgument, match="at least 3 different ones"):
        extrapolate(SIZES[:2], [grown(one, 1) for one in SIZES[:2]], 2**20)


@pytest.mark.parametrize(
    ("cache", "smaller"), [("10%", "10%"), ("adaptive:8K", 1024), (8192, 1024), (None, None)]
)
def test_memory_and_cache_are_scaled_with_the_graph_but_parts_of_it_are_not(
    cache: object, smaller: object
) -> None:
    one = Combination(SYSTEMS["bounded"], MACHINES["a5000"], cache)  # type: ignore[arg-type]
    found = scaled(one, 1 / 8)
    assert found.machine.gpu.memory == MACHINES["a5000"].gpu.memory // 8
    assert found.machine.name == "a5000"
    assert getattr(found.cache, "capacity", found.cache) == smaller


def test_members_of_a_family_are_named_by_ranges_or_one_by_one() -> None:
    assert members("rmat:26:16", "rmat:16..18") == ["rmat:16:16", "rmat:17:16", "rmat:18:16"]
    assert members("er:900:9000", "er:10:100,er:20:200") == ["er:10:100", "er:20:200"]
    assert [nominal_size(one) for one in usual_members("rmat:28:16")] == [2**19, 2**20, 2**21, 2**22]


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
