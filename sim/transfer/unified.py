"""Unified memory: the device touches pages, faults bring them, and the driver makes room for them.

The driver serves faults while other warps compute on what is there; a phase takes as long as the slower of the two.

`replay_unified` leads a trace through it quickly, equal to the event form in every count and in time: warps in flight
and their faults, and the host's side, which pages applying a batch writes, in which order, and when an array moves as a
whole. Memory needed is one byte a page of the graph's arrays (and 28 more where the host writes), whatever the trace's
length. What the driver does is in `grapin.sim.paging`.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import kernel
from grapin.counters import Counters
from grapin.sim.machine import Machine
from grapin.sim.paging.driver import host_takes, host_writes, serve_batch
from grapin.sim.paging.memory import (
    COUNTED,
    HELD_BLOCKS,
    NOW,
    REMOTE,
    REMOTE_LINES,
    RESIDENT,
    TOUCHES,
    Layout,
    Memory,
    Rules,
    UnifiedReplay,
    UnifiedVolumes,
    make_memory,
    make_rules,
)
from grapin.sim.paging.parameters import DRIVER, Driver, Setting
from grapin.sim.paging.thrashing import Histories, make_histories
from grapin.sim.path import copy_to_device, copy_to_host
from grapin.sim.prediction import Costs, Iterations, Seconds, device_seconds, read_counters
from grapin.sim.timeline import Timeline
from grapin.system import System, Unified
from grapin.trace import Trace
from grapin.units import ELEMENT


def page_costs(
    trace: Trace, system: System, machine: Machine, *, timeline: Timeline | None, driver: Driver, **_: Any
) -> list[Costs]:
    """Return what each phase costs."""
    phases = len(trace.phases["version"])
    iterations = Iterations.of(trace)
    counters = read_counters(iterations, np.zeros((len(iterations), 4), np.int64), phases)
    device = iterations.by_phase(device_seconds(iterations, machine, resident=True), phases).tolist()
    rounds = np.bincount(iterations.phase, minlength=phases).tolist()
    volumes = _replayed(trace, system, machine, driver, timeline).phases
    parts = zip(counters, volumes, device, rounds, strict=True)
    return [_costs(machine, *part) for part in parts]


def _replayed(
    trace: Trace, system: System, machine: Machine, driver: Driver, timeline: Timeline | None
) -> UnifiedReplay:
    assert isinstance(system.transfer, Unified)
    advice = system.transfer.advice
    if timeline is None:
        return replay_unified(trace, machine, advice=advice, driver=driver)
    from grapin.sim.oracle.paging import replay_unified_events

    return replay_unified_events(trace, machine, advice=advice, driver=driver, timeline=timeline)


def _costs(
    machine: Machine, counters: Counters, moved: UnifiedVolumes, device: float, iterations: int
) -> Costs:
    down, up = copy_to_device(machine, moved.bytes_in), copy_to_host(machine, moved.bytes_out)
    # Both directions may be busy at a time; what is left of the phase is the driver's work on faults.
    link = min(moved.seconds, max(down.seconds, up.seconds))
    return Costs(
        counters=counters,
        migrated_bytes=moved.bytes_in,
        evicted_bytes=moved.bytes_out,
        evictions=moved.evictions,
        faults=moved.faults,
        wire_to_device=down.down_bytes + up.down_bytes,
        wire_to_host=down.up_bytes + up.up_bytes,
        iterations=iterations,
        seconds=Seconds(
            link=link,
            device=device,
            faults=moved.seconds - link,
            launches=iterations * machine.gpu.launch,
            hidden=min(moved.seconds, device),
        ),
    )


_ELEMENT_SHIFT, _LINE_SHIFT = 2, 7


class Reads(NamedTuple):
    """The columns of a trace that say what is touched, and where its arrays lie."""

    inward: NDArray[np.bool_]
    start: NDArray[np.int64]
    length: NDArray[np.int32]
    arrays: NDArray[np.uint8]
    cached: NDArray[np.bool_]
    first: NDArray[np.int64]


class Flight(NamedTuple):
    """Warps in flight, those of a slot side by side, and the open faults of each TLB."""

    waiting: NDArray[np.int32]
    """Warps of each slot that have not finished."""
    row: NDArray[np.int64]
    place: NDArray[np.int64]
    """The warp's next touch, counted from its first."""
    touches: NDArray[np.int64]
    ids: NDArray[np.int64]
    """The first page of the warp's list."""
    apart: NDArray[np.int64]
    """How far behind a page of ids its weights lie; 0 where they are not read."""
    open_faults: NDArray[np.int32]
    faults: NDArray[np.int64]
    batch: NDArray[np.int64]


def make_flight(rules: Rules) -> Flight:
    """Make room for as many warps and faults as there can be."""
    warps = rules.slots * rules.warps_per_cta
    return Flight(
        waiting=np.zeros(rules.slots, np.int32),
        row=np.zeros(warps, np.int64),
        place=np.zeros(warps, np.int64),
        touches=np.zeros(warps, np.int64),
        ids=np.zeros(warps, np.int64),
        apart=np.zeros(warps, np.int64),
        open_faults=np.zeros(rules.utlbs, np.int32),
        faults=np.zeros((rules.utlbs, rules.faults_per_utlb), np.int64),
        batch=np.zeros(rules.batch, np.int64),
    )


@kernel
def replay_iteration(
    memory: Memory, histories: Histories, rules: Rules, flight: Flight, reads: Reads, row: int, end: int
) -> None:
    """Replay the rows of one iteration: run, take a batch, serve it, until no warp waits."""
    for slot in range(rules.slots):
        flight.waiting[slot] = 0
    while True:
        for utlb in range(rules.utlbs):
            flight.open_faults[utlb] = 0
        for slot in range(rules.slots):
            while True:
                waiting = _run_slot(memory, rules, flight, reads, slot)
                if waiting or row >= end:
                    break
                first, row = row, min(row + rules.warps_per_cta, end)
                _start_slot(rules, flight, reads, slot, first, row)
        count = _take_batch(rules, flight)
        if count == 0:
            break
        serve_batch(memory, histories, rules, flight.batch, count)


@kernel
def _start_slot(rules: Rules, flight: Flight, reads: Reads, slot: int, row: int, end: int) -> None:
    """Start a CTA: a warp for each of the rows that touch anything."""
    warp = slot * rules.warps_per_cta
    shift = rules.page_shift - _ELEMENT_SHIFT
    for one in range(row, end):
        if reads.cached[one] or reads.length[one] == 0:
            continue
        start, array = reads.start[one], 2 if reads.inward[one] else 0
        pages = ((start + reads.length[one] - 1) >> shift) - (start >> shift) + 1
        flight.row[warp] = one
        flight.place[warp] = 0
        flight.touches[warp] = pages * reads.arrays[one]
        flight.ids[warp] = reads.first[array] + (start >> shift)
        flight.apart[warp] = reads.first[array + 1] - reads.first[array] if reads.arrays[one] == 2 else 0
        warp += 1
    flight.waiting[slot] = warp - slot * rules.warps_per_cta


@kernel
def _run_slot(memory: Memory, rules: Rules, flight: Flight, reads: Reads, slot: int) -> int:
    """Let a slot's warps go on until each waits or is done; return how many wait, their faults open."""
    begin = slot * rules.warps_per_cta
    kept = begin
    for warp in range(begin, begin + flight.waiting[slot]):
        place, touches = flight.place[warp], flight.touches[warp]
        ids, apart = flight.ids[warp], flight.apart[warp]
        page = ids
        while place < touches:
            page = ids + place if apart == 0 else ids + (place >> 1) + (place & 1) * apart
            flag = memory.flags[page]
            if flag & (RESIDENT | REMOTE) == 0:
                break
            if flag & RESIDENT == 0:
                lines = _lines(rules, flight, reads, warp, place)
                memory.counts[REMOTE_LINES] += lines
                memory.clock[NOW] += lines * rules.line
            place += 1
        memory.counts[TOUCHES] += place - flight.place[warp]
        if place < touches:
            flight.row[kept], flight.place[kept], flight.touches[kept] = flight.row[warp], place, touches
            flight.ids[kept], flight.apart[kept] = ids, apart
            kept += 1
            _open_fault(rules, flight, slot, page)
    flight.waiting[slot] = kept - begin
    return kept - begin


@kernel
def _lines(rules: Rules, flight: Flight, reads: Reads, warp: int, place: int) -> int:
    """Return how many lines of 128 bytes a warp reads of the page it is at."""
    row = flight.row[warp]
    begin = reads.start[row] << _ELEMENT_SHIFT
    end = (reads.start[row] + reads.length[row]) << _ELEMENT_SHIFT
    page = (begin >> rules.page_shift) + place // reads.arrays[row]
    low, high = max(begin, page << rules.page_shift), min(end, (page + 1) << rules.page_shift)
    return int(((high - 1) >> _LINE_SHIFT) - (low >> _LINE_SHIFT) + 1)


@kernel
def _open_fault(rules: Rules, flight: Flight, slot: int, page: int) -> None:
    """Open a fault in the slot's TLB, unless it has one on the page or has no room."""
    utlb = slot % rules.multiprocessors // rules.multiprocessors_per_utlb
    count = flight.open_faults[utlb]
    if count == rules.faults_per_utlb:
        return
    for place in range(count - 1, -1, -1):
        if flight.faults[utlb, place] == page:
            return
    flight.faults[utlb, count] = page
    flight.open_faults[utlb] = count + 1


@kernel
def _take_batch(rules: Rules, flight: Flight) -> int:
    """Fetch a batch, one fault of each TLB in turn; return how many faults there were."""
    count = 0
    for turn in range(rules.faults_per_utlb):
        before = count
        for utlb in range(rules.utlbs):
            if turn < flight.open_faults[utlb]:
                flight.batch[count] = flight.faults[utlb, turn]
                count += 1
                if count == rules.batch:
                    return count
        if count == before:
            break
    return count


def pages_written(trace: Trace, layout: Layout, driver: Driver, version: int) -> NDArray[np.int64]:
    """Return the pages of all lists that the batch leading to a version changed, list by list.

    A change reads its list and writes somewhere in it, in ids and weights. What the store moves beside that, when a
    list has no room left, is not in the trace.
    """
    mine = trace.changes["version"] == version
    start, length, inward = (
        trace.changes[name][mine].astype(np.int64) for name in ("start", "length", "inward")
    )
    first = start * ELEMENT // driver.page
    count = (start + np.maximum(length, 1)) * ELEMENT - 1
    count = count // driver.page - first + 1
    row = np.repeat(np.arange(len(count)), count)
    place = first[row] + np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    ids: NDArray[np.int64] = layout.first[2 * inward[row]] + place
    if not layout.weighted:
        return ids
    return np.stack([ids, layout.first[2 * inward[row] + 1] + place], axis=1).ravel()


def arrays_moved(phases: dict[str, NDArray[Any]], phase: int) -> Iterator[int]:
    """Yield the arrays that the store made again, larger or smaller, since the phase before."""
    if phase == 0:
        return
    for inward, name in enumerate(("out_slots", "in_slots")):
        if phases[name][phase] != phases[name][phase - 1]:
            yield from (2 * inward, 2 * inward + 1)


def blocks_of(layout: Layout, array: int, driver: Driver) -> range:
    """Return the blocks of an array."""
    first = int(layout.first[array]) // driver.pages_per_block
    return range(first, first - -int(layout.pages[array]) // driver.pages_per_block)


_REMEMBERED = 1 << 60
"""How many ticks, nearly twenty minutes, the clock shows after it was set back: what happened before is as good as long
ago, as the driver forgets within a second."""


def replay_unified(
    trace: Trace,
    machine: Machine,
    *,
    advice: str = "none",
    driver: Driver = DRIVER,
    memory: int | None = None,
) -> UnifiedReplay:
    """Replay a trace whose edge arrays lie in managed memory; all of it is on the host at first.

    `advice` is what the program told the driver (`none`, `read-mostly`, `preferred-host`, `preferred-gpu`); `memory` is
    how many bytes of the GPU may hold managed pages, by default all it has.
    """
    setting = Setting.of(machine, driver, advice, memory)
    layout = Layout.of(trace, driver)
    rules = make_rules(setting, host_writes=len(trace.changes["version"]) > 0)
    state, flight = make_memory(layout, rules), make_flight(rules)
    histories = make_histories(layout.blocks, len(state.flags)) if rules.watches else make_histories(0, 0)
    columns = ("inward", "start", "length", "arrays", "cached")
    reads = Reads(**{name: np.ascontiguousarray(trace.reads[name]) for name in columns}, first=layout.first)
    finished, written = [], -1
    before = state.counts.copy()
    begin = 0
    ends = np.searchsorted(trace.reads["phase"], np.arange(len(trace.phases["version"])), "right").tolist()
    for phase, (version, end) in enumerate(zip(trace.phases["version"].tolist(), ends, strict=True)):
        for array in arrays_moved(trace.phases, phase):
            blocks = blocks_of(layout, array, driver)
            host_takes(state, rules, blocks.start, blocks.stop)
        if version != written:
            written = version
            host_writes(state, histories, rules, pages_written(trace, layout, driver, version))
        first = ends[phase - 1] if phase else 0
        cuts = first + 1 + np.flatnonzero(np.diff(trace.reads["iteration"][first:end]))
        ticks = 0  # not of a machine word: a phase may take longer than the clock can show
        for low, high in pairwise([first, *cuts.tolist(), end]):
            replay_iteration(state, histories, rules, flight, reads, low, high)
            ticks += int(state.clock[NOW]) - begin
            _set_back(state, histories)
            begin = int(state.clock[NOW])
        counts = dict(zip(COUNTED, (state.counts - before).tolist(), strict=True)) | {"ticks": ticks}
        finished.append(UnifiedVolumes(**counts, page=driver.page))
        before = state.counts.copy()
    return UnifiedReplay(tuple(finished))


def _set_back(memory: Memory, histories: Histories) -> int:
    """Set the clock back, and all that was noted by it, when it shows too much; return by how much.

    It counts femtoseconds, and 63 bits of them are two and a half hours.
    """
    ticks = int(memory.clock[NOW]) - _REMEMBERED
    if ticks < _REMEMBERED:
        return 0
    memory.clock[:HELD_BLOCKS] = np.maximum(memory.clock[:HELD_BLOCKS] - ticks, 0)
    noted = (histories.moved_at, histories.throttled_until, histories.pins[:, 1])
    for times in (*noted, histories.block_moved_at, histories.block_thrashed_at):
        times[:] = np.where(times == 0, 0, np.maximum(times - ticks, 1))  # 0 is never
    return ticks
