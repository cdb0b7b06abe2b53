"""Serving batches and the host's faults: the compiled form of `driver`, with the time that `events` adds to it."""

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import kernel
from grapin.sim.unified.fast_moves import choose_pages, drop_page, move_pages
from grapin.sim.unified.fast_state import (
    BATCHES,
    BLOCKS,
    DUPLICATES,
    EVICTED,
    EVICTIONS,
    FAULTED,
    FAULTS,
    HOST_FAULTS,
    INTO_FREE,
    MOVED_IN,
    MOVED_OUT,
    NOW,
    OUT_FREE,
    PINNED,
    PREFETCHED,
    REMOTE,
    RESIDENT,
    TAKEN_BACK,
    THROTTLED,
    WRITTEN_BACK,
    Memory,
    Rules,
    make_room,
    release_block,
)
from grapin.sim.unified.fast_thrashing import (
    GPU,
    HOST,
    MOVE,
    PIN_TO_HOST,
    THROTTLE,
    Histories,
    get_hint,
    note_moves,
    unpin,
)


@kernel
def serve_batch(
    memory: Memory, histories: Histories, rules: Rules, pages: NDArray[np.int64], count: int
) -> None:
    """Serve the first `count` faults of a batch, block by block, and wait for all copies."""
    clock, counts = memory.clock, memory.counts
    clock[NOW] += rules.batch_cost
    unpin(histories, memory)
    _sort(pages, count)
    unique, place = 0, 0
    while place < count:
        block = pages[place] // rules.pages_per_block
        clock[NOW] += rules.block_cost
        moving = 0
        last = -1
        while place < count and pages[place] // rules.pages_per_block == block:
            if pages[place] != last:
                last = pages[place]
                unique += 1
                if _moves(memory, histories, rules, last):
                    memory.flags[last] |= FAULTED
                    memory.moving[moving] = last
                    moving += 1
            place += 1
        counts[BLOCKS] += 1
        if moving:
            _bring(memory, histories, rules, block, moving)
    counts[FAULTS] += count
    counts[DUPLICATES] += count - unique
    counts[BATCHES] += 1
    clock[NOW] = max(clock[NOW], clock[INTO_FREE], clock[OUT_FREE])


@kernel
def _sort(pages: NDArray[np.int64], count: int) -> None:
    """Sort the first `count` pages, by insertion over shrinking gaps; NumPy's sort would need memory of its own."""
    gap = count // 2
    while gap:
        for place in range(gap, count):
            page, hole = pages[place], place
            while hole >= gap and pages[hole - gap] > page:
                pages[hole] = pages[hole - gap]
                hole -= gap
            pages[hole] = page
        gap //= 2


@kernel
def _moves(memory: Memory, histories: Histories, rules: Rules, page: int) -> bool:
    """Tell whether a faulted page is to move to the GPU; if not, it is throttled or mapped where it is."""
    if rules.stays:
        memory.flags[page] |= REMOTE
        return False
    hint = get_hint(histories, memory, rules, page, GPU)
    if hint == THROTTLE:
        memory.counts[THROTTLED] += 1
    elif hint != MOVE:
        memory.counts[PINNED] += 1
    if hint == PIN_TO_HOST:
        memory.flags[page] |= REMOTE
    return hint not in (THROTTLE, PIN_TO_HOST)


@kernel
def _bring(memory: Memory, histories: Histories, rules: Rules, block: int, count: int) -> None:
    """Make room for a block and push its copies: what is evicted goes out first, copies of one side in order."""
    clock, counts = memory.clock, memory.counts
    choose_pages(memory, rules, block, count, True)
    went = make_room(memory, rules, block)
    note_moves(histories, memory, rules, block, GPU)
    moved, along = move_pages(memory, rules, block, True)
    counts[MOVED_IN] += moved
    counts[PREFETCHED] += along
    free = 0
    if went >= 0:
        counts[EVICTIONS] += 1
        counts[EVICTED] += went
        clock[NOW] += rules.block_cost
        if went > 0 and not rules.duplicates:
            counts[WRITTEN_BACK] += went
            clock[OUT_FREE] = max(clock[OUT_FREE], clock[NOW]) + went * rules.page_out
            free = clock[OUT_FREE]
    clock[INTO_FREE] = max(clock[INTO_FREE], clock[NOW], free) + moved * rules.page_in


@kernel
def host_writes(memory: Memory, histories: Histories, rules: Rules, pages: NDArray[np.int64]) -> None:
    """Let the host write pages one after the other."""
    for page in pages:
        while memory.flags[page] & RESIDENT:
            _host_fault(memory, histories, rules, page)


@kernel
def _host_fault(memory: Memory, histories: Histories, rules: Rules, page: int) -> None:
    clock, counts, block = memory.clock, memory.counts, page // rules.pages_per_block
    clock[NOW] += rules.host_cost
    unpin(histories, memory)
    if rules.duplicates:
        drop_page(memory, rules, page)
        counts[HOST_FAULTS] += 1
        counts[TAKEN_BACK] += 1
        return
    hint = get_hint(histories, memory, rules, page, HOST)
    if hint == THROTTLE:
        counts[THROTTLED] += 1
        clock[NOW] = max(clock[NOW], histories.throttled_until[page])
        return
    memory.flags[page] |= FAULTED
    memory.moving[0] = page
    choose_pages(memory, rules, block, 1, False)
    note_moves(histories, memory, rules, block, HOST)
    moved, _ = move_pages(memory, rules, block, False)
    if hint != MOVE:
        counts[PINNED] += 1
    if hint == PIN_TO_HOST:
        memory.flags[page] |= REMOTE
    counts[HOST_FAULTS] += 1
    counts[TAKEN_BACK] += moved
    counts[MOVED_OUT] += moved
    clock[NOW] += moved * rules.page_out
    clock[OUT_FREE] = clock[NOW]


@kernel
def host_takes(memory: Memory, rules: Rules, first: int, end: int) -> None:
    """The host copies the blocks from `first` to `end` elsewhere and frees them."""
    for block in range(first, end):
        had = release_block(memory, rules, block)
        memory.counts[TAKEN_BACK] += had
        if not rules.duplicates:
            memory.counts[MOVED_OUT] += had
            memory.clock[NOW] += had * rules.page_out
            memory.clock[OUT_FREE] = memory.clock[NOW]
        begin = block * rules.pages_per_block
        for page in range(begin, begin + memory.block_pages[block]):
            memory.flags[page] &= ~REMOTE & 255
