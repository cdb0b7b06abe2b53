"""The fast replay says what the event model says, keeps to what the trace counts, and never gets worse with more."""

import tracemalloc
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_traces import (
    NANOSECOND,
    List,
    easy_machine,
    few_lists,
    lists_of,
    machines,
    paths,
    trace_of,
    traces,
)

from grapin.errors import InvalidArgument
from grapin.sim import MACHINES, Machine
from grapin.sim.oracle.zero_copy import replay_events
from grapin.sim.path import Path, read_requests, to_ticks
from grapin.sim.stations import Replayed
from grapin.sim.transfer.zero_copy import ALONE, ANY_LENGTH, replay_zero_copy
from grapin.trace import Trace

SECTOR_LIST, LINE_LIST = (0, 8, 1), (0, 32, 1)
lengths_alone = st.sampled_from([0, 40, ALONE, ANY_LENGTH])


def assert_same(one: Replayed, other: Replayed) -> None:
    for name in ("phase", "iteration", "ticks", "kinds"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)


@given(traces, paths, st.booleans(), lengths_alone, st.data())
def test_it_gives_the_times_and_volumes_of_the_event_model_exactly(
    trace: Trace, path: Path, aligned: bool, alone: int, data: st.DataObject
) -> None:
    part = data.draw(st.sampled_from([None, 2, 3]))
    held = None if part is None else np.arange(len(trace)) % part == 0
    fast = replay_zero_copy(trace, path, aligned=aligned, alone=alone, held=held)
    assert_same(fast, replay_events(trace, path, aligned=aligned, alone=alone, held=held))


@given(traces, paths, st.booleans(), lengths_alone)
def test_volumes_are_those_that_the_trace_counts(trace: Trace, path: Path, aligned: bool, alone: int) -> None:
    replayed = replay_zero_copy(trace, path, aligned=aligned, alone=alone)
    counted = trace.counters(aligned=aligned)
    assert replayed.requests == counted.requests
    assert replayed.total("payload") == counted.bytes


@given(traces, paths)
def test_each_phase_has_the_requests_that_the_trace_counts_of_it(trace: Trace, path: Path) -> None:
    replayed = replay_zero_copy(trace, path)
    for phase in np.unique(trace.reads["phase"]).tolist():
        sizes = replayed.sizes[replayed.phase == phase].sum(axis=0)
        assert sizes.tolist() == list(trace.counters(phase).requests.values())


@pytest.mark.parametrize("name", MACHINES)
def test_one_sector_on_an_idle_link_takes_a_launch_and_the_round_trip(name: str) -> None:
    path = Path(MACHINES[name])
    expected = path.launch + to_ticks(path.machine.link.round_trip)
    assert replay_zero_copy(trace_of([[SECTOR_LIST]] * 3), path).ticks.tolist() == pytest.approx(
        [expected] * 3, abs=1
    )


def test_three_sectors_over_two_tags_take_the_times_one_works_out_by_hand() -> None:
    """The second follows the first by the 48 ns of an answer; the third waits for the first one's tag."""
    path = Path(easy_machine(requests_in_flight=2))
    takes = [
        int(replay_zero_copy(trace_of([[SECTOR_LIST] * count]), path).ticks[0]) - path.launch
        for count in (1, 2, 3)
    ]
    assert takes == [1000 * NANOSECOND, 1048 * NANOSECOND, 2000 * NANOSECOND]


def test_a_warp_waits_for_each_line_of_its_list_and_a_shared_list_waits_for_none() -> None:
    """64 lines: alone, a round trip each, and what a line's answer takes beyond a sector's; shared, one round trip."""
    path = Path(easy_machine(requests_in_flight=64))
    alone, shared = (
        int(replay_zero_copy(trace_of([[(0, 2048, 1)]]), path, alone=alone).ticks[0]) - path.launch
        for alone in (2048, 2047)
    )
    line = 1000 + 96 + 1  # 96 bytes more to send, another access of memory
    assert alone == 64 * line * NANOSECOND
    assert shared == (line + 63 * 144) * NANOSECOND


def test_ids_and_weights_of_one_line_are_asked_for_at_a_time() -> None:
    path = Path(easy_machine(requests_in_flight=64))
    one, two = (int(replay_zero_copy(trace_of([[(0, 64, arrays)]]), path).ticks[0]) for arrays in (1, 2))
    assert two - one == 2 * 144 * NANOSECOND


@given(few_lists, st.data())
def test_lists_that_the_device_holds_ask_for_nothing(lists: list[List], data: st.DataObject) -> None:
    held = data.draw(st.lists(st.booleans(), min_size=len(lists), max_size=len(lists)))
    others = [one if not here else (one[0], 0, one[2]) for one, here in zip(lists, held, strict=True)]
    path = Path(MACHINES["v100"])
    assert_same(
        replay_zero_copy(trace_of([lists]), path, held=np.array(held, np.bool_)),
        replay_zero_copy(trace_of([others]), path),
    )


def test_a_mask_of_another_length_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="held has 2 rows and must have one for each of the 3 reads"):
        replay_zero_copy(trace_of([[SECTOR_LIST] * 3]), Path(MACHINES["v100"]), held=np.zeros(2, np.bool_))


def test_an_iteration_that_asks_for_nothing_takes_a_launch() -> None:
    path = Path(MACHINES["v100"])
    assert replay_zero_copy(trace_of([[(5, 0, 1)], [(9, 0, 2)]]), path).ticks.tolist() == [path.launch] * 2
    assert replay_zero_copy(trace_of([]), path).seconds == 0


@given(traces, machines, st.data())
def test_more_bandwidth_never_makes_it_slower(trace: Trace, machine: Machine, data: st.DataObject) -> None:
    """The round trip stays: what a faster wire saves of one, something else is taken to spend."""
    if "link.nominal_rate" in {figure.name for figure in machine.figures()}:
        change: Mapping[str, object] = {"link.nominal_rate": 2 * machine.link.rate}
    else:
        change = {"link.lanes": 16, "link.generation": 6}
    change = data.draw(st.sampled_from([change, {"host.bandwidth": 1.5 * machine.host.bandwidth}]))
    assert_no_slower(trace, Path(machine.with_settings(change)), Path(machine))


@given(traces, machines, st.integers(1, 64), st.integers(1, 64))
def test_more_tags_or_credits_never_make_it_slower(
    trace: Trace, machine: Machine, few: int, more: int
) -> None:
    path = Path(machine, request_credits=few)
    assert_no_slower(trace, replace(path, request_credits=few + more), path)
    assert_no_slower(trace, replace(path, request_credits=None), path)
    tags = {"link.tag_bits": 10} if hasattr(machine.link, "tag_bits") else {"link.requests_in_flight": 10**4}
    assert_no_slower(trace, Path(machine.with_settings(tags)), Path(machine))


@given(st.lists(st.integers(1, 32), min_size=1, max_size=200), machines, st.integers(1, 64))
def test_more_warps_never_make_lists_of_one_line_slower(
    lengths: list[int], machine: Machine, more: int
) -> None:
    """Longer lists change places on the link when there are more warps, and the last to come may be a longer one."""
    trace = trace_of([[(0, length, 1) for length in lengths]])
    warps = machine.gpu.multiprocessors
    assert_no_slower(trace, Path(machine.with_settings({"gpu.multiprocessors": warps + more})), Path(machine))


def assert_no_slower(trace: Trace, better: Path, worse: Path) -> None:
    """A cost is rounded to a femtosecond, and every request adds a handful of them."""
    fast, slow = replay_zero_copy(trace, better), replay_zero_copy(trace, worse)
    assert np.all(fast.ticks <= slow.ticks + 8 * (slow.kinds.sum(axis=1) + 1))


@settings(max_examples=12)
@given(machines, st.lists(st.sampled_from([8, 16, 24, 32]), min_size=1, max_size=6))
def test_a_long_steady_stream_has_the_closed_forms_rate(machine: Machine, pattern: list[int]) -> None:
    """Lists that start with a line and repeat; there are enough that filling the pipeline does not matter."""
    path = Path(machine)
    times = 40 * max(path.tags, path.window) // len(pattern) + 1
    lists = [(0, length, 1) for length in pattern] * times
    replayed = replay_zero_copy(trace_of([lists]), path)
    expected = read_requests(machine, replayed.requests).seconds
    if path.window == path.tags:
        assert int(replayed.ticks[0]) - path.launch == pytest.approx(to_ticks(expected), rel=0.05)
    else:  # fewer warps than tags, which the closed form does not know
        assert int(replayed.ticks[0]) - path.launch >= to_ticks(expected)


def test_what_clusters_in_time_is_slower_than_the_same_mixed() -> None:
    """Sectors are bound by tags and lines by the link: mixed, each makes up for the other."""
    path = Path(MACHINES["v100"])
    mixed = replay_zero_copy(trace_of([[SECTOR_LIST, LINE_LIST] * 5000]), path)
    clustered = replay_zero_copy(trace_of([[SECTOR_LIST] * 5000 + [LINE_LIST] * 5000]), path)
    assert mixed.requests == clustered.requests
    assert clustered.seconds > 1.15 * mixed.seconds


def test_memory_does_not_grow_with_the_trace() -> None:
    path = Path(MACHINES["v100"])
    short, long = (trace_of([lists_of(1, count, 60, 1)]) for count in (20_000, 200_000))
    replay_zero_copy(short, path)
    peaks = []
    for trace in (short, long):
        tracemalloc.start()
        replay_zero_copy(trace, path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]


def test_all_iterations_together_may_take_longer_than_63_bits_of_femtoseconds() -> None:
    number = np.arange(4, dtype=np.int32)
    ticks = np.full(4, to_ticks(3600.5))
    replayed = Replayed(Path(easy_machine()), number, number, ticks, np.zeros((4, 16), np.int64))
    assert replayed.seconds == 4 * 3600.5
