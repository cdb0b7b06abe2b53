"""Warps in flight and their faults: the compiled form of `warps`."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import kernel
from grapin.sim.unified.fast_driver import serve_batch
from grapin.sim.unified.fast_state import NOW, REMOTE, REMOTE_LINES, RESIDENT, TOUCHES, Memory, Rules
from grapin.sim.unified.fast_thrashing import Histories

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
