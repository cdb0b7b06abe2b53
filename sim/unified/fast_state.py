"""The fast form's state: one byte a page, blocks in two linked queues, and the numbers kernels need.

The same memory as `DriverState`, laid out for compiled code.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import kernel
from grapin.sim.path import to_ticks
from grapin.sim.unified.layout import Layout
from grapin.sim.unified.parameters import Setting
from grapin.sim.unified.volumes import COUNTED

RESIDENT, REMOTE, THRASHING, FAULTED, ALONG = 1, 2, 4, 8, 16
"""Bits of a page: on the GPU; read over the link; fought over; and, while its block is served, why it moves."""
NOWHERE, UNUSED, USED = 0, 1, 2
"""The queue a block waits in for its eviction."""
NOW, INTO_FREE, OUT_FREE, HELD_BLOCKS = range(4)
"""Places in `Memory.clock`: the time, when each copy engine is free, and how many blocks have memory."""

TOUCHES, FAULTS, DUPLICATES, BATCHES, BLOCKS, MOVED_IN, PREFETCHED, EVICTIONS, EVICTED, WRITTEN_BACK = range(
    10
)
HOST_FAULTS, TAKEN_BACK, MOVED_OUT, REMOTE_LINES, THROTTLED, PINNED, TICKS = range(10, len(COUNTED))
"""Places in `Memory.counts`, in the order of `UnifiedVolumes`."""


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
    """Pages may be fought over."""
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
    """Gather the numbers; without host writes nothing is ever fought over."""
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
