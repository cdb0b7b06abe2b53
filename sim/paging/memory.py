"""The fast form's state: one byte a page, blocks in two linked queues, and the numbers kernels need.

The same memory as `DriverState`, laid out for compiled code.

Where edge arrays lie in managed memory, page by page: out ids, out weights, in ids, in weights.

Each array begins with a block of its own, as large managed allocations do; its last block may be a short one.

`UnifiedVolumes`: what unified memory did in one phase, or in several: faults, pages moved, time.
"""

from dataclasses import dataclass, fields
from functools import reduce
from operator import add
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import kernel
from grapin.sim.paging.parameters import Driver, Setting
from grapin.sim.path import to_seconds, to_ticks
from grapin.trace import Trace
from grapin.units import ELEMENT, LINE, PAGE


@dataclass(frozen=True)
class Layout:
    """First page and number of pages of each array; array `2 * inward + weight`."""

    first: NDArray[np.int64]
    pages: NDArray[np.int64]
    block_pages: NDArray[np.int32]
    """How many pages each block has."""
    weighted: bool

    @classmethod
    def of(cls, trace: Trace, driver: Driver) -> "Layout":
        """Lay the arrays of a trace out, as large as they ever get."""
        weighted = bool((trace.reads["arrays"] == 2).any())
        slots = [int(trace.phases[name].max(initial=0)) for name in ("out_slots", "in_slots")]
        per_block = driver.pages_per_block
        first, pages = np.zeros(4, np.int64), np.zeros(4, np.int64)
        sizes: list[int] = []
        for array in range(4):
            inward, weight = divmod(array, 2)
            if inward and not slots[1]:
                first[array], pages[array] = first[weight], 0  # the out-direction serves as both
                continue
            count = 0 if weight and not weighted else -(-slots[inward] * ELEMENT // driver.page)
            first[array], pages[array] = len(sizes) * per_block, count
            sizes += [per_block] * (count // per_block) + ([count % per_block] if count % per_block else [])
        return cls(first, pages, np.array(sizes, np.int32), weighted)

    @property
    def blocks(self) -> int:
        """How many blocks all arrays have."""
        return len(self.block_pages)


@dataclass(frozen=True)
class UnifiedVolumes:
    """Counts and bytes; those of phases add up."""

    touches: int = 0
    """Pages read, counted once for each list and array, as `Counters.pages` counts them."""
    faults: int = 0
    """Faults that the driver fetched."""
    duplicates: int = 0
    """Of the faults, those on a page that another of the same batch is on."""
    batches: int = 0
    blocks: int = 0
    """Blocks served, counted once for each batch."""
    moved_in: int = 0
    """Pages copied to the GPU."""
    prefetched: int = 0
    """Of those, pages that nobody had asked for."""
    evictions: int = 0
    """Blocks that had to make room."""
    evicted: int = 0
    """Pages those blocks had on the GPU."""
    written_back: int = 0
    """Of the evicted pages, those copied to the host: all but duplicates."""
    host_faults: int = 0
    """Faults of the host, which applies batches."""
    taken_back: int = 0
    """Pages that left the GPU because the host touched them or one near them."""
    moved_out: int = 0
    """Of those, pages copied to the host: all but duplicates."""
    remote_lines: int = 0
    """128-byte lines read over the link from pages that stay on the host."""
    throttled: int = 0
    """Faults put off because a page was thrashing."""
    pinned: int = 0
    """Faults answered by pinning the page, for the same reason."""
    ticks: int = 0
    """How long all of it took."""
    page: int = PAGE
    """Bytes of a page."""

    @property
    def bytes_in(self) -> int:
        """Bytes from host to GPU: pages, and lines of pages that stay."""
        return self.moved_in * self.page + self.remote_lines * LINE

    @property
    def bytes_out(self) -> int:
        """Bytes from GPU to host."""
        return (self.written_back + self.moved_out) * self.page

    @property
    def seconds(self) -> float:
        """How long all of it took."""
        return to_seconds(self.ticks)

    def __add__(self, other: "UnifiedVolumes") -> "UnifiedVolumes":
        sums = {name: getattr(self, name) + getattr(other, name) for name in COUNTED}
        return UnifiedVolumes(**sums, page=self.page)


COUNTED = tuple(one.name for one in fields(UnifiedVolumes) if one.name != "page")
"""What adds up."""


@dataclass(frozen=True)
class UnifiedReplay:
    """What each phase of a trace cost, and all of them."""

    phases: tuple[UnifiedVolumes, ...]

    @property
    def total(self) -> UnifiedVolumes:
        """The sum over all phases."""
        return reduce(add, self.phases[1:], self.phases[0])


RESIDENT, REMOTE, THRASHING, FAULTED, PREFETCHING = 1, 2, 4, 8, 16
"""Bits of a page: on the GPU; read over the link; thrashing; and, while its block is served, why it moves."""
NOWHERE, UNUSED, USED = 0, 1, 2
"""The queue a block waits in for its eviction."""
NOW, INTO_FREE, OUT_FREE, HELD_BLOCKS = range(4)
"""Places in `Memory.clock`: the time, when each copy engine is free, and how many blocks have memory."""

TOUCHES, FAULTS, DUPLICATES, BATCHES, BLOCKS, MOVED_IN, PREFETCHED, EVICTIONS, EVICTED, WRITTEN_BACK = range(
    10
)
HOST_FAULTS, TAKEN_BACK, MOVED_OUT, REMOTE_LINES, THROTTLED, PINNED = range(10, len(COUNTED) - 1)
"""Places in `Memory.counts`, in the order of `UnifiedVolumes`; the last, its ticks, is summed outside."""


class Rules(NamedTuple):
    """Driver, advice and costs as whole numbers; times are ticks."""

    capacity: int
    pages_per_block: int
    pages_per_big_page: int
    page_shift: int
    prefetch: bool
    prefetch_threshold: int
    batch: int
    duplicates: bool
    stays: bool
    """Pages stay on the host, and a GPU that faults is given a mapping."""
    watches: bool
    """Pages may thrash."""
    prefers_gpu: bool
    thrashing_threshold: int
    pin_threshold: int
    lapse: int
    nap: int
    epoch: int
    pin: int
    max_resets: int
    batch_cost: int
    block_cost: int
    host_cost: int
    page_in: int
    page_out: int
    line: int
    warps_per_cta: int
    slots: int
    multiprocessors: int
    multiprocessors_per_utlb: int
    faults_per_utlb: int
    utlbs: int


class Memory(NamedTuple):
    """What changes while a trace is replayed."""

    flags: NDArray[np.uint8]
    block_pages: NDArray[np.int32]
    resident: NDArray[np.int32]
    """Pages each block has on the GPU."""
    resident_big: NDArray[np.int32]
    """Pages each big page has there."""
    queue: NDArray[np.int8]
    before: NDArray[np.int32]
    after: NDArray[np.int32]
    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    clock: NDArray[np.int64]
    counts: NDArray[np.int64]
    prefix: NDArray[np.int32]
    """Scratch: how many dense pages lie before each big page of a block."""
    grown: NDArray[np.bool_]
    """Scratch: which big pages of a block a fault was grown to."""
    marked: NDArray[np.bool_]
    """Scratch: which big pages of a block have pages that move."""
    moving: NDArray[np.int64]
    """Scratch: the faulted pages of a block that are to move."""


def make_rules(setting: Setting, *, host_writes: bool) -> Rules:
    """Gather the numbers; without host writes nothing ever thrashes."""
    driver, costs = setting.driver, setting.costs
    lapse = to_ticks(driver.lapse)
    return Rules(
        capacity=setting.capacity,
        pages_per_block=driver.pages_per_block,
        pages_per_big_page=driver.pages_per_big_page,
        page_shift=driver.page.bit_length() - 1,
        prefetch=driver.prefetch,
        prefetch_threshold=driver.prefetch_threshold,
        batch=driver.batch,
        duplicates=setting.duplicates,
        stays=setting.advice == "preferred-host",
        watches=host_writes and driver.thrashing and not setting.duplicates,
        prefers_gpu=setting.advice == "preferred-gpu",
        thrashing_threshold=driver.thrashing_threshold,
        pin_threshold=driver.pin_threshold,
        lapse=lapse,
        nap=driver.nap * lapse,
        epoch=driver.epoch * lapse,
        pin=driver.pin * lapse,
        max_resets=driver.max_resets,
        batch_cost=costs.batch,
        block_cost=costs.block,
        host_cost=costs.host,
        page_in=costs.page_in,
        page_out=costs.page_out,
        line=costs.line,
        warps_per_cta=driver.warps_per_cta,
        slots=setting.ctas,
        multiprocessors=setting.multiprocessors,
        multiprocessors_per_utlb=driver.multiprocessors_per_utlb,
        faults_per_utlb=driver.faults_per_utlb,
        utlbs=setting.utlbs,
    )


def make_memory(layout: Layout, rules: Rules) -> Memory:
    """Make memory in which everything is on the host."""
    blocks, big_pages = layout.blocks, rules.pages_per_block // rules.pages_per_big_page
    return Memory(
        flags=np.zeros(blocks * rules.pages_per_block, np.uint8),
        block_pages=layout.block_pages,
        resident=np.zeros(blocks, np.int32),
        resident_big=np.zeros(blocks * big_pages, np.int32),
        queue=np.zeros(blocks, np.int8),
        before=np.full(blocks, -1, np.int32),
        after=np.full(blocks, -1, np.int32),
        heads=np.full(3, -1, np.int32),
        tails=np.full(3, -1, np.int32),
        clock=np.zeros(4, np.int64),
        counts=np.zeros(len(COUNTED), np.int64),
        prefix=np.zeros(big_pages + 1, np.int32),
        grown=np.zeros(big_pages, np.bool_),
        marked=np.zeros(big_pages, np.bool_),
        moving=np.zeros(rules.batch, np.int64),
    )


@kernel
def take_from_queue(memory: Memory, block: int) -> None:
    """Take a block out of the queue it waits in."""
    queue = memory.queue[block]
    before, after = memory.before[block], memory.after[block]
    if before >= 0:
        memory.after[before] = after
    else:
        memory.heads[queue] = after
    if after >= 0:
        memory.before[after] = before
    else:
        memory.tails[queue] = before
    memory.queue[block] = NOWHERE


@kernel
def put_into_queue(memory: Memory, block: int, queue: int) -> None:
    """Put a block at the end of a queue."""
    tail = memory.tails[queue]
    memory.before[block], memory.after[block] = tail, -1
    if tail >= 0:
        memory.after[tail] = block
    else:
        memory.heads[queue] = block
    memory.tails[queue] = block
    memory.queue[block] = queue


@kernel
def release_block(memory: Memory, rules: Rules, block: int) -> int:
    """Take a block's memory away; return how many pages it had."""
    if memory.queue[block] == NOWHERE:
        return 0
    take_from_queue(memory, block)
    memory.clock[HELD_BLOCKS] -= 1
    had = memory.resident[block]
    if had:
        first = block * rules.pages_per_block
        for page in range(first, first + memory.block_pages[block]):
            memory.flags[page] &= ~RESIDENT & 255
        big_pages = rules.pages_per_block // rules.pages_per_big_page
        for place in range(block * big_pages, (block + 1) * big_pages):
            memory.resident_big[place] = 0
        memory.resident[block] = 0
    return int(had)


@kernel
def make_room(memory: Memory, rules: Rules, block: int) -> int:
    """Give a block memory; return how many pages the block had that went for it, -1 if none went."""
    went = -1
    if memory.queue[block] == NOWHERE:
        if memory.clock[HELD_BLOCKS] == rules.capacity:
            victim = memory.heads[UNUSED] if memory.heads[UNUSED] >= 0 else memory.heads[USED]
            went = release_block(memory, rules, victim)
        memory.clock[HELD_BLOCKS] += 1
        put_into_queue(memory, block, UNUSED)
    return went
