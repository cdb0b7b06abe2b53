"""A replay counts what the engine counted, keeps every byte, and refuses what a trace cannot answer."""

import json
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unified_traces import Phase, make_trace, phases

import grapin
from grapin.cache import CacheSettings
from grapin.cache import replay as replay_cache
from grapin.counters import Counters
from grapin.errors import InvalidArgument
from grapin.partitions import PARTITION
from grapin.sim import MACHINES, replay
from grapin.sim.path import copy_to_device
from grapin.sim.stations import count_thread_reads
from grapin.sim.timeline import Timeline
from grapin.sim.transfer.compaction import make_subgraph
from grapin.stream import workload
from grapin.system import RUNNABLE, SYSTEMS, Repair, Resident, Unified, recorder
from grapin.trace import Trace

A5000 = MACHINES["a5000"]
CLOSED_FORMS = [name for name, system in SYSTEMS.items() if not isinstance(system.transfer, Unified)]


def recorded_as(trace: Trace, repair: str) -> Trace:
    return replace(trace, about={"system": "made", "repair": repair})


@pytest.mark.parametrize("system", ["bounded", "grapin-page"])
def test_the_same_seed_gives_the_same_trace_and_the_same_prediction(system: str) -> None:
    """On a graph whose rounds are wide enough for several threads, which an engine without a trace would use."""
    predictions, traces = [], []
    for _ in range(2):
        stream = workload(grapin.generate("rmat:13:16"), batches=2, size=500, seed=3)
        graph = stream.graph()
        source = int(np.argmax(graph.snapshot().out.degrees))
        engine = grapin.Engine(graph, grapin.SSSP(source), system=system, device="cpu", trace=True)
        for batch in stream:
            engine.apply(batch)
        assert engine.threads == 1
        traces.append(engine.trace)
        predictions.append(replay(engine.trace, system, A5000))
    assert predictions[0] == predictions[1]
    for table in ("reads", "phases", "changes"):
        for name, column in getattr(traces[0], table).items():
            np.testing.assert_array_equal(getattr(traces[1], table)[name], column)


@st.composite
def traces(draw: Any, repair: str = "bounded") -> Trace:
    made = make_trace(
        draw(st.lists(phases, min_size=1, max_size=4)), in_slots=draw(st.sampled_from([0, 4096]))
    )
    made.reads["vertex"] = draw(st.permutations(range(len(made)))) if len(made) < 20 else made.reads["vertex"]
    made.reads["vertex"] = np.asarray(made.reads["vertex"], np.int32)
    return recorded_as(made, repair)


@cache
def run(
    system: str, program: str, kept: CacheSettings | str | None = None
) -> tuple[Trace, tuple[Counters, ...]]:
    """Run a small stream; return the trace and what the engine counted in each phase."""
    stream = workload(grapin.generate("rmat:8:8"), batches=4, size=40, seed=2)
    made = {"sssp": grapin.SSSP(1), "bfs": grapin.BFS(1), "pagerank": grapin.PageRank()}[program]
    engine = grapin.Engine(stream.graph(), made, system=system, threads=1, trace=True, cache=kept)
    reports = [engine.started, *(engine.apply(batch) for batch in stream)]
    return engine.trace, tuple(report.counters for report in reports)


@pytest.mark.parametrize("program", ["sssp", "bfs", "pagerank"])
@pytest.mark.parametrize("system", RUNNABLE)
def test_a_replay_counts_what_the_engine_counted_phase_by_phase(system: str, program: str) -> None:
    trace, counted = run(system, program)
    assert tuple(phase.counters for phase in replay(trace, system, A5000).phases) == counted


@pytest.mark.parametrize("policy", ["published", "adaptive"])
@pytest.mark.parametrize("system", ["bounded", "grapin", "grapin-recomp"])
def test_with_a_cache_it_counts_what_the_engine_counted_phase_by_phase(system: str, policy: str) -> None:
    kept = CacheSettings(policy, 4096, chunk=1024)
    trace, counted = run(system, "sssp", kept)
    caching = replace(SYSTEMS[system], cache="adaptive")
    assert tuple(phase.counters for phase in replay(trace, caching, A5000, cache=kept).phases) == counted
    assert sum(counted, Counters()).cached_edges > 0


def test_a_cache_that_knows_what_comes_is_counted_as_it_counts_itself() -> None:
    trace, _ = run("grapin", "sssp")
    cache = CacheSettings("oracle", 4096, chunk=1024)
    steps = replay_cache(cache, trace.reads, trace.phases, trace.changes)
    expected = [step.counters + (Counters() if plan is None else plan.counters) for plan, step in steps]
    assert [phase.counters for phase in replay(trace, "grapin", A5000, cache=cache).phases] == expected


@given(traces())
def test_any_trace_is_counted_as_it_counts_itself(trace: Trace) -> None:
    found = replay(trace, "bounded", A5000)
    assert found.total.counters == trace.counters()
    assert [phase.counters for phase in found.phases] == [
        trace.counters(number) for number in range(len(found.phases))
    ]


@given(traces("recompute"), st.sampled_from(CLOSED_FORMS))
def test_bytes_are_conserved_and_times_are_the_sum_of_their_parts(trace: Trace, system: str) -> None:
    found = replay(recorded_as(trace, SYSTEMS[system].repair), system, A5000)
    total = found.total
    assert total.bytes == sum(total.bytes_by_kind.values())
    assert total.bytes <= total.wire_to_device or total.bytes == 0
    assert total.counters.edges == int(trace.reads["length"].sum())
    for costs in found.phases:
        parts = costs.record()["parts"]
        assert costs.seconds.total == pytest.approx(sum(parts.values()) - 2 * parts["hidden"])
        assert 0 <= parts["hidden"] <= sum(parts.values()) - parts["hidden"]
    assert found.seconds == pytest.approx(sum(costs.seconds.total for costs in found.phases))
    assert json.loads(json.dumps(found.record()))["bytes"] == total.bytes


BETTER = st.sampled_from(
    [{"link.generation": 5}, {"gpu.bandwidth": 2e12}, {"host.bandwidth": 1e12}, {"gpu.launch": 1e-6}]
)


@given(traces("recompute"), st.sampled_from(CLOSED_FORMS), BETTER)
def test_a_better_machine_is_never_slower_and_moves_the_same_bytes(
    trace: Trace, system: str, better: dict[str, object]
) -> None:
    trace = recorded_as(trace, SYSTEMS[system].repair)
    before, after = (replay(trace, system, one) for one in (A5000, A5000.with_settings(better)))
    # Half of a round trip that is an odd number of femtoseconds is not the same for both.
    assert after.seconds <= before.seconds + 1e-13
    assert after.total.bytes == before.total.bytes


@given(traces("recompute"))
def test_threads_that_walk_lists_are_counted_as_they_are_alone(trace: Trace) -> None:
    reads = trace.reads
    expected: dict[int, int] = dict.fromkeys((32, 64, 96, 128), 0)
    steps = np.unique(np.stack([reads["phase"], reads["iteration"]]), axis=1).T
    for phase, iteration in steps:
        for inward, array in ((0, 1), (0, 2), (1, 1), (1, 2)):
            some = (reads["phase"] == phase) & (reads["iteration"] == iteration) & (reads["inward"] == inward)
            rows = np.flatnonzero(some & (reads["arrays"] >= array))
            rows = rows[np.argsort(reads["vertex"][rows] // 32, kind="stable")]
            warps = reads["vertex"][rows].astype(np.int64) // 32
            counted = count_thread_reads(warps, reads["start"][rows], reads["length"][rows])
            for size, count in counted.requests.items():
                expected[size] += count
    assert replay(trace, "emogi-naive", A5000).total.counters.requests == expected


def one_pass(lengths: list[int]) -> Trace:
    """Make a trace that reads lists of these lengths, one after the other in memory, in one iteration."""
    starts = np.cumsum([0, *lengths[:-1]]).tolist()
    lists = [(start, length, 1, False, False) for start, length in zip(starts, lengths, strict=True)]
    return recorded_as(make_trace([Phase([lists])], slots=sum(lengths), in_slots=0), "recompute")


def test_a_filter_copies_every_partition_with_an_active_list_whole() -> None:
    per_partition = PARTITION // 4
    trace = one_pass([per_partition, 1, per_partition - 1, 5])
    trace.reads["length"][1:3] = 0
    found = replay(trace, "exptm-filter", A5000)
    assert found.total.counters.copied_bytes == PARTITION + 5 * 4
    copying = copy_to_device(A5000, PARTITION + 20).seconds
    assert found.total.seconds.link == pytest.approx(copying + A5000.link.round_trip)
    assert found.dominant == "link"


def test_subway_moves_and_gathers_what_its_formula_says() -> None:
    trace = one_pass([1000] * 10)
    trace.reads["length"][5:] = 0
    trace.phases["vertices"][:] = 10
    expected = make_subgraph(np.array([1000] * 5), edges=10_000, vertices=10)
    in_turns, ahead = (replay(trace, name, A5000) for name in ("subway-sync", "subway-async"))
    assert in_turns.total.counters.copied_bytes == expected.to_device
    assert in_turns.total.seconds.host == pytest.approx(expected.host_bytes / A5000.host.bandwidth)
    assert ahead.seconds < in_turns.seconds


def test_hytgraph_asks_for_little_and_copies_a_lot() -> None:
    little, all_of_it = one_pass([2**21] * 8), one_pass([2**21] * 8)
    little.reads["length"][:] = 32
    assert replay(little, "hytgraph-icde", A5000).total.counters.requests[128] == 8
    assert replay(all_of_it, "hytgraph-icde", A5000).total.counters.copied_bytes == 4 * 2**24


def test_a_device_that_holds_all_lists_is_sent_them_once_and_then_what_changes() -> None:
    lists = [(0, 100, 1, False, False)]
    trace = make_trace([Phase([lists]), Phase([lists], changes=[(0, 60, False)])], in_slots=0)
    system = replace(SYSTEMS["bounded"], name="mine", transfer=Resident(), cache="none")
    found = replay(recorded_as(trace, "bounded"), system, A5000)
    assert [phase.counters.copied_bytes for phase in found.phases] == [4 * 4096, 4 * 60]
    with pytest.raises(InvalidArgument, match=r"system='mine' must have a GPU that holds 16 KiB of lists"):
        replay(recorded_as(trace, "bounded"), system, A5000.with_settings({"gpu.memory": 4096}))


def test_unified_memory_moves_pages_once_where_they_fit() -> None:
    trace, counted = run("grapin-page", "sssp")
    found = replay(trace, "grapin-page", A5000)
    assert [phase.counters.pages for phase in found.phases] == [counters.pages for counters in counted]
    assert found.start.migrated_bytes > 0
    assert found.start.faults > 0
    assert found.start.counters.requests == dict.fromkeys((32, 64, 96, 128), 0)
    assert found.dominant in {"faults", "launches"}


@given(traces())
@settings(max_examples=10)
def test_following_every_request_changes_nothing_but_leaves_a_timeline(trace: Trace) -> None:
    timeline = Timeline()
    assert replay(trace, "bounded", A5000, timeline=timeline) == replay(trace, "bounded", A5000)
    assert len(trace) == 0 or timeline.events()


def test_a_closed_form_has_no_timeline() -> None:
    with pytest.raises(InvalidArgument, match="system='subway-sync' has no timeline"):
        replay(one_pass([5]), "subway-sync", A5000, timeline=Timeline())


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_trace_of_another_repair_is_refused_with_the_run_to_record(system: str) -> None:
    needed = SYSTEMS[system].repair
    other = next(repair for repair in Repair if repair != needed)
    with pytest.raises(InvalidArgument) as refusal:
        replay(recorded_as(one_pass([5]), other), system, A5000)
    assert f"whose repair is {needed}, not {other}" in str(refusal.value)
    assert f"grapin run --system {recorder(needed).name} --trace FILE" in str(refusal.value)
    assert recorder(needed).repair == needed


def test_an_unknown_system_is_answered_with_the_nearest() -> None:
    with pytest.raises(InvalidArgument, match=r"did you mean 'subway-sync'\?"):
        replay(one_pass([5]), "subway-snyc", A5000)


def test_a_cache_must_fit_and_a_system_without_one_has_no_use_for_it() -> None:
    trace, _ = run("grapin-zc", "sssp")
    with pytest.raises(InvalidArgument, match=r"cache=100 GiB must fit into the 24 GiB of RTX A5000"):
        replay(trace, "grapin", A5000, cache="100G")
    assert replay(trace, "grapin-zc", A5000, cache="1G") == replay(trace, "grapin-zc", A5000)
    assert replay(trace, "grapin", A5000, cache="10%").cache.startswith("published ")


def test_a_part_of_the_edges_is_as_much_room_as_the_engine_takes_it_for() -> None:
    trace, counted = run("grapin", "sssp", "20%")
    assert tuple(phase.counters for phase in replay(trace, "grapin", A5000, cache="20%").phases) == counted


def test_the_same_trace_gives_the_same_prediction() -> None:
    trace, _ = run("bounded", "sssp")
    assert replay(trace, "bounded", A5000, cache="20%") == replay(trace, "bounded", A5000, cache="20%")
