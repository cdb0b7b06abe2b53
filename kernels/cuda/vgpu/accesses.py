"""Loads, stores and atomics of one warp: checked against bounds and alignment, carried out lane by lane, counted."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import inlined, kernel
from grapin.kernels.cuda.vgpu.effects import (
    ADDRESSES,
    LANES,
    LOCAL_BASE,
    MASK,
    OPERANDS,
    PROCESSOR,
    SHARED_BASE,
    Column,
    Effect,
    Space,
)
from grapin.kernels.cuda.vgpu.races import Shadow, check_race
from grapin.kernels.cuda.vgpu.raw import (
    lowest,
    prefetch,
    read_1,
    read_2,
    read_4,
    read_8,
    write_1,
    write_2,
    write_4,
    write_8,
)
from grapin.kernels.cuda.vgpu.traffic import Home, Traffic, count_access
from grapin.kernels.cuda.vgpu.warps import Problem, Warps, number, put
from grapin.kernels.cuda.vgpu.weak import Weak, read_weakly, settle, write_now, write_weakly


class Memory(NamedTuple):
    """What a launch may touch, and what watches over it."""

    regions: NDArray[np.int64]
    """Region, (first byte, byte behind the last, home, what to add to a page's number): in ascending order, apart."""
    recent: NDArray[np.int64]
    """The region that each effect touched last."""
    sizes: NDArray[np.int64]
    """Shared bytes of a block, local bytes of a warp."""
    addresses: NDArray[np.int64]
    """Room for the addresses of one instruction."""
    fault: NDArray[np.int64]
    """What went wrong: `Problem`, effect, warp, lane, address, and another effect and thread where two are involved."""
    traffic: Traffic
    shadow: Shadow
    weak: Weak


@inlined
def read(address: Any, size: Any) -> Any:
    """Return what memory holds, widened without a sign."""
    if size == 4:
        return read_4(address)
    if size == 8:
        return read_8(address)
    if size == 1:
        return read_1(address)
    return read_2(address)


@inlined
def write(address: Any, size: Any, value: Any) -> None:
    """Set memory to the lowest bytes of a value."""
    if size == 4:
        write_4(address, value)
    elif size == 8:
        write_8(address, value)
    elif size == 1:
        write_1(address, value)
    else:
        write_2(address, value)


@kernel
def find_region(regions: Any, address: Any) -> Any:
    """Return the last region that begins at or before an address, -1 for none."""
    low, high = np.int64(0), np.int64(len(regions))
    while low < high:
        middle = (low + high) // 2
        if regions[middle, 0] <= address:
            low = middle + 1
        else:
            high = middle
    return low - 1


@kernel
def _fault(memory: Memory, problem: Any, effect: Any, warp: Any, lane: Any, address: Any) -> Any:
    fault = memory.fault
    fault[0], fault[1], fault[2], fault[3], fault[4] = problem, effect, warp, lane, address
    return problem


@inlined
def access(warps: Warps, memory: Memory, effects: Any, effect: Any, warp: Any, block: Any) -> Any:
    """Carry one memory instruction out for the lanes of the warp's mask; return a `Problem`."""
    space = effects[effect, Column.SPACE]
    size = effects[effect, Column.SIZE] * effects[effect, Column.COUNT]
    mask = number(warps, warp, MASK)
    shared, local = warps.of_8[warp, SHARED_BASE >> 3], warps.of_8[warp, LOCAL_BASE >> 3]
    if space == Space.SHARED:
        lanes = mask
        while lanes:
            lane = lowest(lanes)
            lanes &= lanes - 1
            warps.of_8[warp, (ADDRESSES >> 3) + lane] &= 0xFFFFFFFF
            warps.of_8[warp, (ADDRESSES >> 3) + lane] += shared
    # Lanes mostly touch one region, and the same one as the last time.
    while mask:
        first = warps.of_8[warp, (ADDRESSES >> 3) + lowest(mask)]
        home, low, high, page = np.int64(Home.DEVICE), np.int64(0), np.int64(0), np.int64(0)
        at = memory.recent[effect]
        if at < 0 or not memory.regions[at, 0] <= first < memory.regions[at, 1]:
            at = find_region(memory.regions, first)
        if space == Space.SHARED:
            low, high, home = shared, shared + memory.sizes[0], np.int64(Home.SHARED)
            if not low <= first < high:
                return _fault(memory, Problem.OUT_OF_BOUNDS, effect, warp, lowest(mask), first - low)
        elif at >= 0 and first < memory.regions[at, 1]:
            memory.recent[effect] = at
            low, high = memory.regions[at, 0], memory.regions[at, 1]
            home, page = memory.regions[at, 2], memory.regions[at, 3]
        elif space == Space.GENERIC and shared <= first < shared + memory.sizes[0]:
            low, high, home = shared, shared + memory.sizes[0], np.int64(Home.SHARED)
        elif space >= Space.LOCAL and local <= first < local + memory.sizes[1]:
            low, high, home = local, local + memory.sizes[1], np.int64(Home.LOCAL)
        else:
            return _fault(memory, Problem.OUT_OF_BOUNDS, effect, warp, lowest(mask), first)
        inside, lanes, total = np.int64(0), mask, 0
        while lanes:
            lane = lowest(lanes)
            lanes &= lanes - 1
            address = warps.of_8[warp, (ADDRESSES >> 3) + lane]
            if low <= address < high:
                if address + size > high:
                    return _fault(memory, Problem.OUT_OF_BOUNDS, effect, warp, lane, address)
                if address & (size - 1):
                    return _fault(memory, Problem.MISALIGNED, effect, warp, lane, address)
                prefetch(address)
                inside |= np.int64(1) << lane
                memory.addresses[total] = address
                total += 1
        problem = _run(warps, memory, effects, effect, warp, block, inside, total, home, page)
        if problem:
            return problem
        mask &= ~inside
    return Problem.NONE


@inlined
def _run(
    warps: Warps,
    memory: Memory,
    effects: Any,
    effect: Any,
    warp: Any,
    block: Any,
    mask: Any,
    total: Any,
    home: Any,
    page: Any,
) -> Any:
    """Carry an instruction out for lanes whose addresses, which are gathered, lie in one region."""
    kind, size, count = (
        effects[effect, Column.KIND],
        effects[effect, Column.SIZE],
        effects[effect, Column.COUNT],
    )
    signed = effects[effect, Column.TYPE] == 1 and size < 8
    high = np.int64(1) << (8 * size - 1)
    if home == Home.SHARED and len(memory.shadow.marks):
        problem = _watch_shared(warps, memory, effects, effect, warp, block, mask)
        if problem:
            return problem
    weak = memory.weak.settings[0] != 0 and home < Home.SHARED
    lanes = mask
    if kind == Effect.LOAD:
        weakly = weak and effects[effect, Column.ORDER] == 0
        to = effects[effect, Column.TO]
        if size == 4 and effects[effect, Column.WIDTH] == 4 and count == 1 and to >= 0 and not weakly:
            while lanes:  # what most loads are
                lane = lowest(lanes)
                lanes &= lanes - 1
                value = read_4(warps.of_8[warp, (ADDRESSES >> 3) + lane])
                warps.of_4[warp, (to >> 2) + lane] = np.uint32(value)
        while lanes:
            lane = lowest(lanes)
            lanes &= lanes - 1
            address = warps.of_8[warp, (ADDRESSES >> 3) + lane]
            for place in range(count):
                at = address + place * size
                value = read_weakly(memory.weak, warp, at, size) if weakly else read(at, size)
                if signed and value & high:
                    value -= high + high
                put(warps, effects, effect, place, warp, lane, value)
    elif kind == Effect.STORE:
        while lanes:
            lane = lowest(lanes)
            lanes &= lanes - 1
            address = warps.of_8[warp, (ADDRESSES >> 3) + lane]
            for place in range(count):
                value = warps.of_8[warp, (OPERANDS >> 3) + place * LANES + lane]
                if weak:
                    write_weakly(memory.weak, warp, address + place * size, size, value)
                else:
                    write(address + place * size, size, value)
    else:
        while lanes:
            lane = lowest(lanes)
            lanes &= lanes - 1
            address = warps.of_8[warp, (ADDRESSES >> 3) + lane]
            operand = warps.of_8[warp, (OPERANDS >> 3) + lane]
            swap = warps.of_8[warp, (OPERANDS >> 3) + LANES + lane]
            if weak:
                settle(memory.weak, warp, address)
            before = read(address, size)
            after = _changed(
                effects[effect, Column.OPERATION], before, operand, swap, size, effects[effect, Column.TYPE]
            )
            if weak:
                write_now(memory.weak, warp, address, size, after)
            else:
                write(address, size, after)
            if signed and before & high:
                before -= high + high
            put(warps, effects, effect, 0, warp, lane, before)
    count_access(
        memory.traffic,
        effect,
        home,
        number(warps, warp, PROCESSOR),
        memory.addresses,
        total,
        size * count,
        page,
        kind == Effect.LOAD,
        effects[effect, Column.PAST_L1] != 0,
    )
    return Problem.NONE


@kernel
def _watch_shared(
    warps: Warps, memory: Memory, effects: Any, effect: Any, warp: Any, block: Any, mask: Any
) -> Any:
    kind, size = effects[effect, Column.KIND], effects[effect, Column.SIZE] * effects[effect, Column.COUNT]
    lanes = mask
    while lanes:
        lane = lowest(lanes)
        lanes &= lanes - 1
        offset = warps.of_8[warp, (ADDRESSES >> 3) + lane] - warps.of_8[warp, SHARED_BASE >> 3]
        other = check_race(memory.shadow, block, offset, size, warp, lane, kind, effect)
        if other >= 0:
            memory.fault[5] = other
            return _fault(memory, Problem.RACE, effect, warp, lane, offset)
    return Problem.NONE


@kernel
def _changed(operation: Any, before: Any, operand: Any, swap: Any, size: Any, kind: Any) -> Any:
    """Return what an atomic leaves in memory; all numbers are patterns of bits."""
    if operation == 0 and kind == 2:
        if size == 4:
            single = np.int32(before).view(np.float32) + np.int32(operand).view(np.float32)
            return np.int64(np.float32(single).view(np.int32))
        double = np.int64(before).view(np.float64) + np.int64(operand).view(np.float64)
        return np.float64(double).view(np.int64)
    if operation == 0:
        return before + operand
    if operation in (1, 2):
        left, right = before, operand
        if kind == 2:
            # Ordered as the numbers are: patterns of negative ones the other way round.
            if size == 4:
                left, right = np.int64(np.int32(left)), np.int64(np.int32(right))
            left = left if left >= 0 else ~left | (np.int64(-1) << 63)
            right = right if right >= 0 else ~right | (np.int64(-1) << 63)
        elif kind == 1 and size == 4:
            left, right = np.int64(np.int32(left)), np.int64(np.int32(right))
        elif kind == 0 and size == 8:
            left, right = left ^ (np.int64(-1) << 63), right ^ (np.int64(-1) << 63)
        smaller = left < right
        return before if smaller == (operation == 1) else operand
    if operation == 3:
        return before & operand
    if operation == 4:
        return before | operand
    if operation == 5:
        return before ^ operand
    if operation == 6:
        return operand
    if operation == 7:
        return swap if before == operand else before
    if operation == 8:
        return np.int64(0) if before >= operand else before + 1
    return operand if before == 0 or before > operand else before - 1
