"""Serving batches and the host's faults: the compiled form of `driver`, with the time that `events` adds to it.

Which pages of a block move along with its faults, and moving them: the compiled form of `prefetcher`.

Residency is counted by big page, so that regions are told from the counts of at most 32 big pages; single pages are
looked at only in big pages in which one is thrashing, and to be moved.
"""

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import kernel
from grapin.sim.paging.memory import (
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
    PREFETCHING,
    REMOTE,
    RESIDENT,
    TAKEN_BACK,
    THRASHING,
    THROTTLED,
    UNUSED,
    USED,
    WRITTEN_BACK,
    Memory,
    Rules,
    make_room,
    put_into_queue,
    release_block,
    take_from_queue,
)
from grapin.sim.paging.thrashing import (
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
def choose_pages(memory: Memory, rules: Rules, block: int, count: int, to_gpu: bool) -> None:
    """Mark with `PREFETCHING` what the first `count` pages in `Memory.moving`, all of a block, bring along."""
    first, size, big = block * rules.pages_per_block, memory.block_pages[block], rules.pages_per_big_page
    _count_dense(memory, rules, block, count, to_gpu)
    if not rules.prefetch:
        return
    last_grown = -1
    for turn in range(count):
        place = memory.moving[turn] - first
        if memory.flags[first + place] & THRASHING:
            continue
        if memory.grown[place // big]:
            if place // big == last_grown:
                continue  # the page before it had the same regions around it
            last_grown = place // big
        low, high = _largest_dense(memory, rules, first, place, size, to_gpu)
        for big_page in range(low // big, (high + big - 1) // big):
            memory.marked[big_page] = True
        for page in range(first + low, first + high):
            flag = memory.flags[page]
            if flag & (FAULTED | THRASHING) == 0 and (flag & RESIDENT == 0) == to_gpu:
                memory.flags[page] = flag | PREFETCHING


@kernel
def _count_dense(memory: Memory, rules: Rules, block: int, count: int, to_gpu: bool) -> None:
    """Count how many pages of each big page are on that side or on their way there, growth included."""
    first, size, big = block * rules.pages_per_block, memory.block_pages[block], rules.pages_per_big_page
    bigs, used = rules.pages_per_block // big, (size + big - 1) // big
    for place in range(used):
        there = memory.resident_big[block * bigs + place]
        memory.prefix[place + 1] = there if to_gpu else min(big, size - place * big) - there
        memory.grown[place] = memory.marked[place] = False
    for turn in range(count):
        place = (memory.moving[turn] - first) // big
        if not memory.marked[place]:
            memory.marked[place] = True
            memory.grown[place] = not _is_thrashing(memory, rules, first + place * big, first + size)
        pages = min(big, size - place * big)
        memory.prefix[place + 1] = pages if memory.grown[place] else memory.prefix[place + 1] + 1
    memory.prefix[0] = 0
    for place in range(used):
        memory.prefix[place + 1] += memory.prefix[place]


@kernel
def _is_thrashing(memory: Memory, rules: Rules, first: int, end: int) -> bool:
    """Tell whether any page of a big page is thrashing."""
    if rules.watches:
        for page in range(first, min(first + rules.pages_per_big_page, end)):
            if memory.flags[page] & THRASHING:
                return True
    return False


@kernel
def _largest_dense(
    memory: Memory, rules: Rules, first: int, place: int, size: int, to_gpu: bool
) -> tuple[int, int]:
    """Return the largest region around a page that is dense enough."""
    big = rules.pages_per_big_page
    low, high, width = 0, 0, 1
    if memory.grown[place // big]:
        width = big  # whatever is smaller is dense as a whole
    while True:
        begin = place // width * width
        end = min(begin + width, size)
        if width >= big:
            dense = memory.prefix[(end + big - 1) // big] - memory.prefix[begin // big]
        else:
            dense = 0
            for page in range(first + begin, first + end):
                flag = memory.flags[page]
                dense += flag & FAULTED != 0 or (flag & RESIDENT != 0) == to_gpu
        if 100 * dense > rules.prefetch_threshold * (end - begin):
            low, high = begin, end
        if width >= size:
            return low, high
        width *= 2


@kernel
def move_pages(memory: Memory, rules: Rules, block: int, to_gpu: bool) -> tuple[int, int]:
    """Move the marked pages of a block to one side; return how many, and how many of them came along."""
    first, size, big = block * rules.pages_per_block, memory.block_pages[block], rules.pages_per_big_page
    bigs = rules.pages_per_block // big
    moved, along = 0, 0
    for place in range((size + big - 1) // big):
        if not memory.marked[place]:
            continue
        before = moved
        for page in range(first + place * big, first + min(size, (place + 1) * big)):
            flag = memory.flags[page]
            if flag & (FAULTED | PREFETCHING) == 0:
                continue
            moved += 1
            along += flag & PREFETCHING != 0
            flag &= ~(FAULTED | PREFETCHING) & 255
            memory.flags[page] = (flag | RESIDENT) & ~REMOTE & 255 if to_gpu else flag & ~RESIDENT & 255
        memory.resident_big[block * bigs + place] += moved - before if to_gpu else before - moved
    memory.resident[block] += moved if to_gpu else -moved
    queue = USED if memory.resident[block] else UNUSED
    if memory.queue[block] != queue:
        take_from_queue(memory, block)
        put_into_queue(memory, block, queue)
    return moved, along


@kernel
def drop_page(memory: Memory, rules: Rules, page: int) -> None:
    """Take one page from the GPU."""
    for place in range(len(memory.marked)):
        memory.marked[place] = False
    memory.marked[page % rules.pages_per_block // rules.pages_per_big_page] = True
    memory.flags[page] |= FAULTED
    move_pages(memory, rules, page // rules.pages_per_block, False)


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
