"""What holds of unified memory whatever is read, and what does not although one might think so."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from unified_traces import SMALL, Case, Phase, cases, make_trace, small_machine, stream_trace

from grapin.errors import InvalidArgument
from grapin.sim import MACHINES
from grapin.sim.oracle.paging import _Run
from grapin.sim.paging import DRIVER, Driver, UnifiedVolumes
from grapin.sim.paging.parameters import Costs, Setting
from grapin.sim.path import to_ticks
from grapin.sim.timeline import Timeline
from grapin.sim.transfer.unified import replay_unified
from grapin.trace import Trace

LONE = small_machine(1, 1)
ELEMENTS = SMALL.block // 4
PLAIN = replace(SMALL, prefetch=False)


def replay(case: Case, **changes: object) -> UnifiedVolumes:
    case = replace(case, **changes)  # type: ignore[arg-type]
    options: dict[str, Any] = {"advice": case.advice, "driver": case.driver, "memory": case.memory}
    return replay_unified(case.trace, case.machine, **options).total


def touch_in_turn(*places: tuple[int, int]) -> Trace:
    """Read one element of each page in turn, each given by block and page of the block."""
    elements = [block * ELEMENTS + page * SMALL.page // 4 for block, page in places]
    return make_trace([Phase([[(element, 1, 1, False, False)] for element in elements])], in_slots=0)


@given(cases)
def test_every_page_that_came_is_there_or_left_and_memory_is_never_exceeded(case: Case) -> None:
    setting = Setting.of(case.machine, case.driver, case.advice, case.memory)
    run = _Run(case.trace, setting, Timeline())
    run.environment.process(run.phases())
    while run.environment.peek() < np.inf:
        run.environment.step()
        assert len(run._state.residency._pages) <= setting.capacity
    total = sum(run.finished, UnifiedVolumes())
    assert total.moved_in == run._state.residency.total + total.evicted + total.taken_back
    assert total.prefetched <= total.moved_in
    assert total.duplicates <= total.faults <= total.batches * case.driver.batch
    assert total.written_back <= total.evicted <= total.evictions * case.driver.pages_per_block


@given(cases)
def test_touches_are_the_pages_that_lists_lie_on(case: Case) -> None:
    reads = case.trace.reads
    some = (reads["length"] > 0) & ~reads["cached"]
    begin, end = reads["start"][some] * 4, (reads["start"] + reads["length"])[some] * 4 - 1
    pages = (end // case.driver.page - begin // case.driver.page + 1) * reads["arrays"][some]
    assert replay(case).touches == pages.sum()


@given(cases)
def test_what_fits_and_is_not_written_moves_at_most_once(case: Case) -> None:
    quiet = Trace(
        case.trace.reads, _of_one_size(case.trace), {**case.trace.changes, "version": _never(case.trace)}, {}
    )
    total = replay(case, trace=quiet, memory=10**6)
    blocks = 4 * (2 * 4096 * 4 // case.driver.block)
    assert total.evictions == total.bytes_out == 0
    assert total.moved_in <= blocks * case.driver.pages_per_block


@given(cases)
def test_a_faster_link_moves_the_same_in_no_more_time_when_the_host_does_not_write(case: Case) -> None:
    quiet = Trace(
        case.trace.reads, case.trace.phases, {**case.trace.changes, "version": _never(case.trace)}, {}
    )
    narrow = replay(case, trace=quiet, machine=case.machine.with_settings({"link.lanes": 4}))
    wide = replay(case, trace=quiet)
    assert replace(wide, ticks=0) == replace(narrow, ticks=0)
    assert wide.ticks <= narrow.ticks


@given(cases)
def test_without_prefetching_no_memory_moves_less_than_one_that_holds_everything(case: Case) -> None:
    plain = replace(case.driver, prefetch=False)
    quiet = Trace(
        case.trace.reads, _of_one_size(case.trace), {**case.trace.changes, "version": _never(case.trace)}, {}
    )
    small, all_of_it = (
        replay(case, trace=quiet, driver=plain, memory=memory) for memory in (case.memory, 10**6)
    )
    assert all_of_it.moved_in <= small.moved_in


def test_more_memory_may_move_more_because_blocks_leave_in_the_order_they_came() -> None:
    belady = touch_in_turn(*((block, 0) for block in (0, 1, 2, 3, 0, 1, 4, 0, 1, 2, 3, 4)))
    case = Case(belady, LONE, "none", PLAIN, 0)
    assert [replay(case, memory=blocks * SMALL.block).moved_in for blocks in (3, 4, 5)] == [9, 10, 5]


def test_more_memory_may_move_more_because_the_prefetcher_sees_more_of_a_block() -> None:
    case = Case(touch_in_turn((0, 0), (1, 0), (0, 4), (0, 8)), LONE, "none", SMALL, 0)
    assert [replay(case, memory=blocks * SMALL.block).moved_in for blocks in (1, 2)] == [16, 20]


def test_reading_a_block_does_not_keep_it() -> None:
    case = Case(touch_in_turn((0, 0), (1, 0), (0, 0), (2, 0), (0, 0)), LONE, "none", PLAIN, 2 * SMALL.block)
    assert replay(case).moved_in == 4


def test_a_block_that_lost_its_pages_to_the_host_makes_room_first() -> None:
    touched = [[(ELEMENTS * block, 1, 1, False, False)] for block in (0, 1)]
    later = [[(ELEMENTS * block, 1, 1, False, False)] for block in (2, 0)]
    trace = make_trace([Phase(touched), Phase(later, [(ELEMENTS, 1, False)])], in_slots=0)
    assert replay(Case(trace, LONE, "none", PLAIN, 2 * SMALL.block)).moved_in == 3


def test_evicted_pages_are_written_back_unless_they_are_duplicates() -> None:
    case = Case(touch_in_turn((0, 0), (1, 0), (2, 0)), LONE, "none", SMALL, SMALL.block)
    assert replay(case).written_back == replay(case).evicted == 8
    assert replay(case, advice="read-mostly").written_back == 0
    assert replay(case, advice="read-mostly").evicted == 8


def test_a_write_of_the_host_takes_a_big_page_back_and_of_duplicates_just_the_page() -> None:
    read = [[(0, ELEMENTS, 1, False, False)]]
    trace = make_trace([Phase(read), Phase(read, [(40, 1, False)])], in_slots=0)
    case = Case(trace, LONE, "none", SMALL, 4 * SMALL.block)
    moved, copied = replay(case), replay(case, advice="read-mostly")
    assert (moved.host_faults, moved.taken_back, moved.moved_out, moved.moved_in) == (1, 4, 4, 20)
    assert (copied.host_faults, copied.taken_back, copied.moved_out, copied.moved_in) == (1, 1, 0, 17)


def test_an_array_that_the_store_makes_anew_comes_back_to_the_host_whole() -> None:
    read = [[(0, ELEMENTS, 2, False, False)]]
    trace = make_trace([Phase(read), Phase(read, grown=512)], in_slots=0)
    total = replay(Case(trace, LONE, "none", SMALL, 100 * SMALL.block))
    assert (total.moved_in, total.moved_out) == (64, 32)


def test_pages_that_prefer_the_host_are_read_line_by_line() -> None:
    trace = make_trace([Phase([[(0, ELEMENTS, 1, False, False)]] * 2)], in_slots=0)
    total = replay(Case(trace, LONE, "preferred-host", SMALL, SMALL.block))
    assert (total.faults, total.moved_in, total.remote_lines) == (16, 0, 2 * 16)
    assert total.bytes_in == 2 * SMALL.block


def test_lists_that_the_device_holds_touch_nothing() -> None:
    trace = make_trace([Phase([[(0, 100, 2, False, True)]])])
    assert replay(Case(trace, LONE, "none", SMALL, SMALL.block)) == UnifiedVolumes(page=SMALL.page)


def test_warps_that_fault_on_one_page_through_different_tlbs_are_duplicates() -> None:
    trace = make_trace([Phase([[(0, 1, 1, False, False)] * 8])], in_slots=0)
    total = replay(Case(trace, small_machine(4, 2), "none", SMALL, SMALL.block))
    assert (total.faults, total.duplicates, total.batches) == (4, 3, 1)


def test_a_lone_fault_takes_45_microseconds_on_pcie_3() -> None:
    one = make_trace([Phase([[(0, 1, 1, False, False)]])], slots=2**19, in_slots=0)
    assert replay_unified(one, MACHINES["v100"]).total.seconds == pytest.approx(45e-6, rel=0.01)


def test_streaming_through_a_v100_is_within_a_tenth_of_what_emogi_measured() -> None:
    total = replay_unified(stream_trace(2**25), MACHINES["v100"]).total
    assert total.bytes_in / total.seconds / 1e9 == pytest.approx(9.11, rel=0.1)


def test_how_a_lone_faults_45_microseconds_are_split_does_not_change_streaming() -> None:
    """A batch then has faults of one block, so the block's cost, which is set by a bound, is no fit to EMOGI's rate."""
    trace, v100 = stream_trace(2**24), MACHINES["v100"]
    usual = replay_unified(trace, v100).total
    assert usual.blocks == usual.batches
    for block in (0.0, 20e-6):
        batch = v100.host.fault_batch + DRIVER.block_time - block
        machine = v100.with_settings({"host.fault_batch": batch})
        total = replay_unified(trace, machine, driver=replace(DRIVER, block_time=block)).total
        assert total.seconds == pytest.approx(usual.seconds, rel=1e-6)


@pytest.mark.parametrize(
    ("blocks", "faults"), [(41.27, 3.06 * 80), (233.09, 256), (6.96, 0.85 * 80), (3.93, 0.75 * 80)]
)
def test_copying_is_at_most_a_quarter_of_a_batch_where_sc21_measured_it(blocks: float, faults: float) -> None:
    costs = Costs.on(MACHINES["v100"], DRIVER)
    batch = costs.batch + blocks * costs.block
    assert faults * costs.page_in / (batch + faults * costs.page_in) < 0.25


def test_a_block_costs_the_least_whole_number_of_microseconds_that_fits_sc21() -> None:
    cheaper = Costs.on(MACHINES["v100"], replace(DRIVER, block_time=DRIVER.block_time - 1e-6))
    copying = 60 * cheaper.page_in
    assert copying / (cheaper.batch + 3.93 * cheaper.block + copying) > 0.25
    assert cheaper.block == to_ticks(7e-6)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"advice": "read-mostlly"}, "did you mean 'read-mostly'"),
        ({"memory": 4096}, "memory=4096 must be at least 2097152"),
    ],
)
def test_what_cannot_be_replayed_is_refused(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidArgument, match=sentence):
        replay_unified(stream_trace(4096), MACHINES["v100"], **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [{"page": 1000}, {"big_page": 3 * 4096}, {"block": 4096}, {"batch": 0}, {"prefetch_threshold": 101}],
)
def test_a_driver_of_impossible_sizes_is_refused(changes: dict[str, int]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(changes))):
        Driver(**changes)  # type: ignore[arg-type]


def _never(trace: Trace) -> np.ndarray:
    """Say of every change that it belongs to a version that never comes."""
    return np.full(len(trace.changes["version"]), 10**6)


def _of_one_size(trace: Trace) -> dict[str, np.ndarray]:
    """Leave the arrays as large as they ever get."""
    slots = trace.phases["out_slots"]
    return {**trace.phases, "out_slots": np.full(len(slots), slots.max())}
