"""What the lanes of one warp do together: shuffles, votes, matches, reductions, and waiting for each other.

Each lane waits until all lanes of the mask that it named have come to an operation of the same kind with the same mask,
wherever in the program they stand. Lanes that have left count as having come.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import inlined, kernel
from grapin.kernels.cuda.vgpu.effects import (
    AMONG,
    EXITED,
    LANES,
    MASK,
    MEETING,
    MEMBERS,
    OPERANDS,
    RUNNABLE,
    WAITING,
    WAITS_FOR,
    Column,
    Effect,
)
from grapin.kernels.cuda.vgpu.raw import count_lanes, lowest

ALL = 0xFFFFFFFF


class Warps(NamedTuple):
    """The memory of all warps, one row a warp, as numbers of each width; the same memory."""

    of_8: NDArray[np.int64]
    of_4: NDArray[np.uint32]
    of_2: NDArray[np.uint16]


class _Problems(NamedTuple):
    NONE: int = 0
    OUT_OF_BOUNDS: int = 1
    MISALIGNED: int = 2
    RACE: int = 3
    PARTED_BARRIER: int = 4
    ABSENT_LANE: int = 5
    NOT_IN_MASK: int = 6
    DEADLOCK: int = 7
    ENDLESS: int = 8
    TRAP: int = 9


Problem = _Problems()
"""What may go wrong, as numbers that compiled code can return."""


@inlined
def number(warps: Warps, warp: Any, offset: Any) -> Any:
    """Return a 32-bit number of a warp's memory."""
    return np.int64(warps.of_4[warp, offset >> 2])


@inlined
def put(warps: Warps, effects: Any, effect: Any, element: Any, warp: Any, lane: Any, value: Any) -> None:
    """Write a result into the register of one lane."""
    to, width = effects[effect, Column.TO + element], effects[effect, Column.WIDTH]
    if to < 0:
        return
    if width == 8:
        warps.of_8[warp, (to >> 3) + lane] = value
    elif width == 4:
        warps.of_4[warp, (to >> 2) + lane] = np.uint32(value)
    elif width == 2:
        warps.of_2[warp, (to >> 1) + lane] = np.uint16(value)
    else:
        put_flag(warps, to, warp, lane, value != 0)


@inlined
def put_flag(warps: Warps, to: Any, warp: Any, lane: Any, flag: Any) -> None:
    """Write a predicate of one lane."""
    mask = np.int64(warps.of_4[warp, to >> 2]) & ~(np.int64(1) << lane)
    warps.of_4[warp, to >> 2] = np.uint32(mask | (np.int64(flag) << lane))


@inlined
def meet(warps: Warps, effects: Any, effect: Any, warp: Any) -> Any:
    """Let the lanes of the warp's mask wait for others, or go on with them; return a `Problem`."""
    mask = number(warps, warp, MASK)
    waiting = number(warps, warp, MEETING)
    runnable = number(warps, warp, RUNNABLE)
    there = number(warps, warp, MEMBERS) & ~number(warps, warp, EXITED)
    among, alike = np.int64(-1), True
    lanes = mask
    while lanes:
        lane = lowest(lanes)
        lanes &= lanes - 1
        wanted = warps.of_8[warp, (OPERANDS >> 3) + 2 * LANES + lane] & ALL
        if not wanted >> lane & 1:
            return Problem.NOT_IN_MASK
        alike = alike and among in (-1, wanted)
        among = wanted
    if alike and not waiting and mask == among & there:
        return _together(warps, effects, effect, warp, mask, OPERANDS >> 3)
    lanes = mask
    while lanes:
        lane = lowest(lanes)
        lanes &= lanes - 1
        for operand in range(3):
            value = warps.of_8[warp, (OPERANDS >> 3) + operand * LANES + lane]
            warps.of_8[warp, (WAITING >> 3) + operand * LANES + lane] = value
        warps.of_4[warp, (WAITS_FOR >> 2) + lane] = np.uint32(effect)
        warps.of_4[warp, (AMONG >> 2) + lane] = np.uint32(
            warps.of_8[warp, (OPERANDS >> 3) + 2 * LANES + lane] & ALL
        )
    warps.of_4[warp, MEETING >> 2] = np.uint32(waiting | mask)
    warps.of_4[warp, RUNNABLE >> 2] = np.uint32(runnable & ~mask)
    return release_meeting(warps, effects, warp)


@kernel
def release_meeting(warps: Warps, effects: Any, warp: Any) -> Any:
    """Let lanes go on for whom all others have come; return a `Problem`."""
    there = number(warps, warp, MEMBERS) & ~number(warps, warp, EXITED)
    waiting = number(warps, warp, MEETING)
    left = waiting
    while left:
        first = lowest(left)
        effect = np.int64(warps.of_4[warp, (WAITS_FOR >> 2) + first])
        among = np.int64(warps.of_4[warp, (AMONG >> 2) + first])
        group = np.int64(0)
        for lane in range(LANES):
            if not left >> lane & 1 or np.int64(warps.of_4[warp, (AMONG >> 2) + lane]) != among:
                continue
            other = np.int64(warps.of_4[warp, (WAITS_FOR >> 2) + lane])
            same = effects[other, Column.KIND] == effects[effect, Column.KIND]
            if same and effects[other, Column.OPERATION] == effects[effect, Column.OPERATION]:
                group |= np.int64(1) << lane
        left &= ~group
        if group == among & there:
            problem = _together(warps, effects, np.int64(-1), warp, group, WAITING >> 3)
            if problem:
                return problem
            waiting &= ~group
            warps.of_4[warp, MEETING >> 2] = np.uint32(waiting)
            warps.of_4[warp, RUNNABLE >> 2] = np.uint32(number(warps, warp, RUNNABLE) | group)
    return Problem.NONE


@kernel
def _together(warps: Warps, effects: Any, effect: Any, warp: Any, group: Any, base: Any) -> Any:
    """Carry an operation out for lanes that are all there: at `effect`, or each at its own."""
    first = lowest(group)
    of_first = effect if effect >= 0 else np.int64(warps.of_4[warp, (WAITS_FOR >> 2) + first])
    kind, operation = effects[of_first, Column.KIND], effects[of_first, Column.OPERATION]
    if kind == Effect.MEET:
        return Problem.NONE
    total, same = np.int64(0), True
    if kind == Effect.VOTE:
        lanes = group
        while lanes:
            lane = lowest(lanes)
            lanes &= lanes - 1
            total |= (warps.of_8[warp, base + lane] & 1) << lane
        if operation == 1:
            total = np.int64(total != 0)
        elif operation == 2:
            total = np.int64(total == group)
        elif operation == 3:
            total = np.int64(total in (0, group))
    elif kind == Effect.REDUCE:
        total = _reduced(warps, effects[of_first, Column.TYPE], operation, warp, group, base)
    elif kind == Effect.MATCH:
        lanes = group
        while lanes:
            lane = lowest(lanes)
            lanes &= lanes - 1
            same = same and warps.of_8[warp, base + lane] == warps.of_8[warp, base + first]
    lanes = group
    while lanes:
        lane = lowest(lanes)
        lanes &= lanes - 1
        own = effect if effect >= 0 else np.int64(warps.of_4[warp, (WAITS_FOR >> 2) + lane])
        value, flag = total, same
        if kind == Effect.SHUFFLE:
            source, flag = _source(operation, warps.of_8[warp, base + LANES + lane], lane)
            if not group >> source & 1:
                return Problem.ABSENT_LANE
            value = warps.of_8[warp, base + source]
        elif kind == Effect.MATCH:
            if operation == 0:
                value, others = np.int64(0), group
                while others:
                    other = lowest(others)
                    others &= others - 1
                    value |= (
                        np.int64(warps.of_8[warp, base + other] == warps.of_8[warp, base + lane]) << other
                    )
            else:
                value = group if same else np.int64(0)
        put(warps, effects, own, 0, warp, lane, value)
        to = effects[own, Column.FLAG_TO]
        if to >= 0:
            put_flag(warps, to, warp, lane, flag)
    return Problem.NONE


@inlined
def _source(mode: Any, packed: Any, lane: Any) -> tuple[Any, Any]:
    """Return the lane that a shuffle reads, and whether it lies within the segment (PTX ISA, shfl.sync)."""
    choice, clamp = packed & 31, packed >> 32
    segment = clamp >> 8 & 31
    highest = (lane & segment) | (clamp & 31 & ~segment)
    lowest_ = lane & segment
    if mode == 0:
        source = lane - choice
        inside = source >= highest
    elif mode == 1:
        source = lane + choice
        inside = source <= highest
    elif mode == 2:
        source = lane ^ choice
        inside = source <= highest
    else:
        source = lowest_ | (choice & ~segment)
        inside = source <= highest
    return (source if inside else np.int64(lane)), inside


@kernel
def _reduced(warps: Warps, signed: Any, operation: Any, warp: Any, group: Any, base: Any) -> Any:
    total, begun = np.int64(0), False
    lanes = group
    while lanes:
        lane = lowest(lanes)
        lanes &= lanes - 1
        value = warps.of_8[warp, base + lane] & ALL
        if signed and value >> 31:
            value -= np.int64(1) << 32
        if not begun:
            total, begun = value, True
        elif operation == 0:
            total += value
        elif operation == 1:
            total = min(total, value)
        elif operation == 2:
            total = max(total, value)
        elif operation == 3:
            total &= value
        elif operation == 4:
            total |= value
        else:
            total ^= value
    return total


@inlined
def how_many(warps: Warps, warp: Any, offset: Any) -> Any:
    """Return how many lanes a mask of a warp has."""
    return count_lanes(number(warps, warp, offset))
