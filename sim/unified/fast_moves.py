"""Which pages of a block move along with its faults, and moving them: the compiled form of `prefetcher`.

Residency is counted by big page, so that regions are told from the counts of at most 32 big pages; single pages are
looked at only in big pages in which one is fought over, and to be moved.
"""

from grapin.compiled import kernel
from grapin.sim.unified.fast_state import (
    ALONG,
    FAULTED,
    REMOTE,
    RESIDENT,
    THRASHING,
    UNUSED,
    USED,
    Memory,
    Rules,
    put_into_queue,
    take_from_queue,
)


@kernel
def choose_pages(memory: Memory, rules: Rules, block: int, count: int, to_gpu: bool) -> None:
    """Mark with `ALONG` what the first `count` pages in `Memory.moving`, all of a block, bring along to one side."""
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
                memory.flags[page] = flag | ALONG


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
            memory.grown[place] = not _fought_over(memory, rules, first + place * big, first + size)
        pages = min(big, size - place * big)
        memory.prefix[place + 1] = pages if memory.grown[place] else memory.prefix[place + 1] + 1
    memory.prefix[0] = 0
    for place in range(used):
        memory.prefix[place + 1] += memory.prefix[place]


@kernel
def _fought_over(memory: Memory, rules: Rules, first: int, end: int) -> bool:
    """Tell whether any page of a big page is fought over."""
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
            if flag & (FAULTED | ALONG) == 0:
                continue
            moved += 1
            along += flag & ALONG != 0
            flag &= ~(FAULTED | ALONG) & 255
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
