"""Histories of pages that host and GPU fight over: the compiled form of `thrashing`, one row of each array a page."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import kernel
from grapin.sim.paging.memory import FAULTED, PREFETCHING, REMOTE, THRASHING, Memory, Rules

HOST, GPU, NOBODY = 0, 1, -1
MOVE, THROTTLE, PIN_TO_HOST, PIN_TO_GPU = range(4)
_GPU_ALONE = 1 << GPU


class Histories(NamedTuple):
    """What `thrashing` keeps, in arrays; sets of processors are bits, and 0 is never."""

    moved_at: NDArray[np.int64]
    events: NDArray[np.int32]
    processors: NDArray[np.int8]
    throttled: NDArray[np.int8]
    throttled_until: NDArray[np.int64]
    spared: NDArray[np.int8]
    periods: NDArray[np.int32]
    pinned_to: NDArray[np.int8]
    block_moved_at: NDArray[np.int64]
    block_moved_by: NDArray[np.int8]
    block_watched: NDArray[np.bool_]
    block_thrashed_at: NDArray[np.int64]
    block_resets: NDArray[np.int32]
    block_ever_pinned: NDArray[np.bool_]
    pins: NDArray[np.int64]
    """A ring of pinned pages and when each is due, the first due first."""
    ring: NDArray[np.int64]
    """How many pins were taken from the ring, and how many put into it."""


def make_histories(blocks: int, pages: int) -> Histories:
    """Make histories in which nothing happened."""
    return Histories(
        moved_at=np.zeros(pages, np.int64),
        events=np.zeros(pages, np.int32),
        processors=np.zeros(pages, np.int8),
        throttled=np.zeros(pages, np.int8),
        throttled_until=np.zeros(pages, np.int64),
        spared=np.full(pages, NOBODY, np.int8),
        periods=np.zeros(pages, np.int32),
        pinned_to=np.full(pages, NOBODY, np.int8),
        block_moved_at=np.zeros(blocks, np.int64),
        block_moved_by=np.full(blocks, NOBODY, np.int8),
        block_watched=np.zeros(blocks, np.bool_),
        block_thrashed_at=np.zeros(blocks, np.int64),
        block_resets=np.zeros(blocks, np.int32),
        block_ever_pinned=np.zeros(blocks, np.bool_),
        pins=np.zeros((max(1, pages), 2), np.int64),
        ring=np.zeros(2, np.int64),
    )


@kernel
def _reset_page(histories: Histories, memory: Memory, page: int) -> None:
    histories.moved_at[page] = 0
    histories.events[page] = 0
    histories.processors[page] = 0
    histories.throttled[page] = 0
    histories.throttled_until[page] = 0
    histories.pinned_to[page] = NOBODY
    memory.flags[page] &= ~THRASHING & 255


@kernel
def note_moves(histories: Histories, memory: Memory, rules: Rules, block: int, by: int) -> None:
    """The marked pages of a block are about to move to a processor."""
    if not rules.watches:
        return
    now = memory.clock[0]
    moved_at = histories.block_moved_at[block]
    close = moved_at > 0 and now - moved_at <= rules.lapse
    if close and histories.block_moved_by[block] != by:
        histories.block_watched[block] = True
    if histories.block_watched[block]:
        first = block * rules.pages_per_block
        for page in range(first, first + memory.block_pages[block]):
            if memory.flags[page] & (FAULTED | PREFETCHING) and histories.pinned_to[page] == NOBODY:
                _note_move(histories, memory, rules, block, page, by, now)
    histories.block_moved_at[block] = now
    histories.block_moved_by[block] = by


@kernel
def _note_move(
    histories: Histories, memory: Memory, rules: Rules, block: int, page: int, by: int, now: int
) -> None:
    before = histories.moved_at[page]
    histories.moved_at[page] = now
    histories.processors[page] |= 1 << by
    if before == 0:
        return
    if now - before <= rules.lapse:
        if histories.events[page] < rules.thrashing_threshold:  # more are not told apart, and might not fit
            histories.events[page] += 1
        if histories.events[page] >= rules.thrashing_threshold:
            memory.flags[page] |= THRASHING
            histories.block_thrashed_at[block] = now
    elif histories.events[page] >= rules.thrashing_threshold:
        _reset_page(histories, memory, page)


@kernel
def get_hint(histories: Histories, memory: Memory, rules: Rules, page: int, requester: int) -> int:
    """Say what to do about a fault; that a page is throttled or pinned is remembered."""
    block, now = page // rules.pages_per_block, memory.clock[0]
    if (
        not rules.watches
        or not histories.block_watched[block]
        or _forgets(histories, memory, rules, block, now)
    ):
        return MOVE
    if histories.events[page] < rules.thrashing_threshold:
        return MOVE
    bit = 1 << requester
    if histories.throttled[page] & bit:
        if now < histories.throttled_until[page] and requester != histories.spared[page]:
            return THROTTLE
        histories.throttled[page] &= ~bit
        if histories.throttled[page] == 0:
            histories.throttled_until[page] = 0
    if now - histories.moved_at[page] > rules.lapse and histories.pinned_to[page] == NOBODY:
        return MOVE
    histories.processors[page] |= bit
    if now > histories.throttled_until[page]:
        histories.throttled_until[page] = now + rules.nap
        histories.spared[page] = NOBODY if histories.spared[page] == requester else requester
    elif histories.spared[page] == NOBODY:
        histories.spared[page] = requester
    hint = _decide(histories, rules, page, requester)
    if hint == THROTTLE:
        if histories.periods[page] < rules.pin_threshold:
            histories.periods[page] += histories.pinned_to[page] == NOBODY
        histories.throttled[page] |= bit
    elif hint != MOVE:
        _pin(histories, rules, page, GPU if hint == PIN_TO_GPU else HOST, now)
    return hint


@kernel
def _forgets(histories: Histories, memory: Memory, rules: Rules, block: int, now: int) -> bool:
    thrashed_at = histories.block_thrashed_at[block]
    if thrashed_at == 0 or now - thrashed_at <= rules.epoch:
        return False
    if histories.block_ever_pinned[block] or histories.block_resets[block] >= rules.max_resets:
        return False
    first = block * rules.pages_per_block
    for page in range(first, first + memory.block_pages[block]):
        _reset_page(histories, memory, page)
        histories.spared[page] = NOBODY
        histories.periods[page] = 0
    histories.block_resets[block] += 1
    histories.block_watched[block] = False
    histories.block_moved_at[block] = 0
    histories.block_moved_by[block] = NOBODY
    histories.block_thrashed_at[block] = 0
    return True


@kernel
def _decide(histories: Histories, rules: Rules, page: int, requester: int) -> int:
    gpu_alone = histories.processors[page] == _GPU_ALONE
    pinned_to, spared = histories.pinned_to[page], histories.spared[page]
    if rules.prefers_gpu and gpu_alone:
        return PIN_TO_GPU
    if pinned_to != NOBODY and not (rules.prefers_gpu and requester == GPU):
        if requester == spared:
            return PIN_TO_GPU if gpu_alone else PIN_TO_HOST
        if pinned_to == HOST:
            return PIN_TO_HOST
        return PIN_TO_GPU if requester == GPU else THROTTLE
    if pinned_to == GPU:
        return PIN_TO_GPU
    if requester != spared:
        return THROTTLE
    if pinned_to != NOBODY or histories.periods[page] >= rules.pin_threshold:
        return PIN_TO_GPU if requester == GPU else PIN_TO_HOST
    return MOVE


@kernel
def _pin(histories: Histories, rules: Rules, page: int, to: int, now: int) -> None:
    if histories.pinned_to[page] != to:
        histories.throttled[page] = 0
        histories.throttled_until[page] = 0
    if histories.pinned_to[page] == NOBODY:
        histories.periods[page] = 0
        histories.block_ever_pinned[page // rules.pages_per_block] = True
        place = histories.ring[1] % len(histories.pins)
        histories.pins[place, 0], histories.pins[place, 1] = page, now + rules.pin
        histories.ring[1] += 1
    histories.pinned_to[page] = to


@kernel
def unpin(histories: Histories, memory: Memory) -> None:
    """Forget pages that were pinned long enough; a GPU that read one over the link will fault on it."""
    while histories.ring[0] < histories.ring[1]:
        place = histories.ring[0] % len(histories.pins)
        page = histories.pins[place, 0]
        if histories.pins[place, 1] > memory.clock[0]:
            break
        _reset_page(histories, memory, page)
        memory.flags[page] &= ~REMOTE & 255
        histories.ring[0] += 1
