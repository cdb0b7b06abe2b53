"""`execute`: one launch, warp by warp, many of them in turn, until all blocks have ended or something went wrong.

A warp's compiled code is called and returns the number of its next effect; the effect is carried out; the next call
goes on behind it. Which warp comes next is up to the schedule:

- plain: all resident warps in turn, each for `quantum` effects;
- random: any warp, for up to `quantum` effects;
- starving: one warp after another is chosen to wait as long as any other can go on;
- leading: one warp after another is chosen to run as far ahead as it can.

In all but the plain one, lanes of a warp that have parted ways may be taken in any order, not the one of `flow.py`.
"""

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import compiled, inlined, kernel
from grapin.kernels.cuda.vgpu import effects as at
from grapin.kernels.cuda.vgpu.accesses import Memory, access
from grapin.kernels.cuda.vgpu.effects import LANES, NOTHING, TIRED, Column, Effect, Order
from grapin.kernels.cuda.vgpu.raw import call, count_lanes, lowest
from grapin.kernels.cuda.vgpu.warps import ALL, Problem, Warps, meet, number, put, release_meeting
from grapin.kernels.cuda.vgpu.weak import draw, fence

BARRIERS = 16
LIVE, ARRIVED, EXPECTED, TOTALS = 0, 1, 1 + BARRIERS, 1 + 2 * BARRIERS
"""Of a place for a block: its threads that have not left; of each barrier, those that wait, those it waits for (0 for
all), and how many came with a true predicate."""
PLACE_WIDTH = 1 + 3 * BARRIERS
MANY = 1 << 20
"""Jumps backwards of compiled code after which the executor looks whether the launch takes too long."""


class Schedule(IntEnum):
    """Which warp comes next."""

    PLAIN = 0
    RANDOM = 1
    STARVING = 2
    LEADING = 3


class Setting(IntEnum):
    """What a launch is told, as numbers."""

    FUNCTION = 0
    BLOCKS = 1
    RESIDENT = 2
    """How many blocks there is room for at once."""
    WARPS = 3
    """Warps of a block."""
    THREADS = 4
    QUANTUM = 5
    SCHEDULE = 6
    RANDOM = 7
    MOST_STEPS = 8
    PROCESSORS = 9
    STEPS = 10
    NEXT = 11
    """The next block to begin."""
    DONE = 12
    CHOSEN = 13
    """The warp that starves or leads."""
    CHOSEN_FOR = 14
    SHARED_BASE = 15
    LOCAL_BASE = 16
    IDLE_LANES = 17
    """Lanes that memory instructions left idle."""
    CURSOR = 18
    """The warp that had its turn last."""


SETTINGS = len(Setting)


class State(NamedTuple):
    """All that a launch works on."""

    warps: Warps
    effects: NDArray[np.int64]
    launch: NDArray[np.int64]
    places: NDArray[np.int64]
    settings: NDArray[np.int64]
    memory: Memory
    addresses: NDArray[np.int64]
    """Where the warps' memory and the launch's numbers begin, and the bytes of a warp."""


@kernel
def _begin_block(state: State, place: Any) -> None:
    settings, warps = state.settings, state.warps
    block, per_block = settings[Setting.NEXT], settings[Setting.WARPS]
    settings[Setting.NEXT] += 1
    columns, rows = state.launch[at.GRID_SHAPE], state.launch[at.GRID_SHAPE + 1]
    wide, high = state.launch[at.BLOCK_SHAPE], state.launch[at.BLOCK_SHAPE + 1]
    state.places[place, :] = 0
    state.places[place, LIVE] = settings[Setting.THREADS]
    for index in range(per_block):
        warp = place * per_block + index
        count = min(np.int64(LANES), settings[Setting.THREADS] - index * LANES)
        members = (np.int64(1) << count) - 1
        words = warps.of_4[warp]
        words[: at.SLOTS >> 2] = 0
        words[at.RUNNABLE >> 2] = words[at.MEMBERS >> 2] = np.uint32(members)
        words[at.EXITED >> 2] = np.uint32(ALL & ~members)
        words[at.BLOCK >> 2] = np.uint32(block % columns)
        words[(at.BLOCK >> 2) + 1] = np.uint32(block // columns % rows)
        words[(at.BLOCK >> 2) + 2] = np.uint32(block // columns // rows)
        words[at.WARP_OF_BLOCK >> 2] = np.uint32(index)
        words[at.PROCESSOR >> 2] = np.uint32(block % settings[Setting.PROCESSORS])
        warps.of_8[warp, at.SHARED_BASE >> 3] = settings[Setting.SHARED_BASE] + place * state.memory.sizes[2]
        warps.of_8[warp, at.LOCAL_BASE >> 3] = settings[Setting.LOCAL_BASE] + warp * state.memory.sizes[1]
        for lane in range(LANES):
            thread = index * LANES + lane
            words[(at.THREADS >> 2) + lane] = np.uint32(thread % wide)
            words[(at.THREADS >> 2) + LANES + lane] = np.uint32(thread // wide % high)
            words[(at.THREADS >> 2) + 2 * LANES + lane] = np.uint32(thread // wide // high)
    if len(state.memory.shadow.marks):
        state.memory.shadow.marks[place] = 0
        state.memory.shadow.barriers[place] = 1
        state.memory.shadow.meetings[place * per_block : (place + 1) * per_block] = 1


@kernel
def _fault(state: State, problem: Any, effect: Any, warp: Any) -> Any:
    fault = state.memory.fault
    fault[0], fault[1], fault[2], fault[3] = problem, effect, warp, -1
    return problem


@kernel
def _release_barriers(state: State, place: Any) -> Any:
    """Let threads go on whose barrier all have reached."""
    per_block, warps = state.settings[Setting.WARPS], state.warps
    row = state.places[place]
    for barrier in range(BARRIERS):
        expected = row[EXPECTED + barrier] or row[LIVE]
        if not row[ARRIVED + barrier] or row[ARRIVED + barrier] < expected:
            continue
        for warp in range(place * per_block, (place + 1) * per_block):
            lanes, waited = number(warps, warp, at.AT_BARRIER), np.int64(-1)
            released = np.int64(0)
            while lanes:
                lane = lowest(lanes)
                lanes &= lanes - 1
                if np.int64(warps.of_4[warp, (at.AMONG >> 2) + lane]) != barrier:
                    continue
                effect = np.int64(warps.of_4[warp, (at.WAITS_FOR >> 2) + lane])
                if state.effects[effect, Column.ALIGNED] and waited not in (-1, effect):
                    return _fault(state, Problem.PARTED_BARRIER, effect, warp)
                waited = effect
                released |= np.int64(1) << lane
                operation, total = state.effects[effect, Column.OPERATION], row[TOTALS + barrier]
                if operation == 2:
                    total = np.int64(total == row[ARRIVED + barrier])
                elif operation == 3:
                    total = np.int64(total != 0)
                put(warps, state.effects, effect, 0, warp, lane, total)
            if released and state.memory.weak.settings[0]:
                fence(state.memory.weak, warp)
            if len(state.memory.shadow.marks):
                state.memory.shadow.meetings[warp] += 1
            mask = number(warps, warp, at.AT_BARRIER) & ~released
            warps.of_4[warp, at.AT_BARRIER >> 2] = np.uint32(mask)
            runnable = number(warps, warp, at.RUNNABLE) | released
            warps.of_4[warp, at.RUNNABLE >> 2] = np.uint32(runnable)
        row[ARRIVED + barrier] = row[EXPECTED + barrier] = row[TOTALS + barrier] = 0
        if len(state.memory.shadow.marks):
            state.memory.shadow.barriers[place] += 1
    return Problem.NONE


@kernel
def _arrive(state: State, effect: Any, warp: Any, place: Any) -> Any:
    """Let lanes wait at a barrier of their block."""
    warps, row = state.warps, state.places[place]
    mask = number(warps, warp, at.MASK)
    if state.memory.weak.settings[0]:
        fence(state.memory.weak, warp)
    lanes = mask
    while lanes:
        lane = lowest(lanes)
        lanes &= lanes - 1
        barrier = warps.of_8[warp, (at.OPERANDS >> 3) + lane] & (BARRIERS - 1)
        row[ARRIVED + barrier] += 1
        row[EXPECTED + barrier] = warps.of_8[warp, (at.OPERANDS >> 3) + LANES + lane]
        if state.effects[effect, Column.OPERATION]:
            row[TOTALS + barrier] += warps.of_8[warp, (at.OPERANDS >> 3) + 2 * LANES + lane] & 1
        warps.of_4[warp, (at.AMONG >> 2) + lane] = np.uint32(barrier)
        warps.of_4[warp, (at.WAITS_FOR >> 2) + lane] = np.uint32(effect)
    warps.of_4[warp, at.RUNNABLE >> 2] = np.uint32(number(warps, warp, at.RUNNABLE) & ~mask)
    warps.of_4[warp, at.AT_BARRIER >> 2] = np.uint32(number(warps, warp, at.AT_BARRIER) | mask)
    return _release_barriers(state, place)


@kernel
def _leave(state: State, warp: Any, place: Any) -> Any:
    """End lanes; others may have waited for that."""
    warps = state.warps
    mask = number(warps, warp, at.MASK)
    warps.of_4[warp, at.RUNNABLE >> 2] = np.uint32(number(warps, warp, at.RUNNABLE) & ~mask)
    exited = number(warps, warp, at.EXITED) | mask
    warps.of_4[warp, at.EXITED >> 2] = np.uint32(exited)
    state.places[place, LIVE] -= count_lanes(mask)
    if exited == ALL and state.memory.weak.settings[0]:
        fence(state.memory.weak, warp)
    if number(warps, warp, at.MEETING):
        problem = release_meeting(warps, state.effects, warp)
        if problem:
            return _fault(state, problem, np.int64(0), warp)
    if state.places[place, LIVE]:
        return _release_barriers(state, place)
    state.settings[Setting.DONE] += 1
    return Problem.NONE


@inlined
def _perform(state: State, effect: Any, warp: Any, place: Any) -> Any:
    """Carry one effect out."""
    kind, warps = state.effects[effect, Column.KIND], state.warps
    if kind <= Effect.ATOMIC:
        state.settings[Setting.IDLE_LANES] += LANES - count_lanes(number(warps, warp, at.MASK))
        return access(warps, state.memory, state.effects, effect, warp, place)
    if kind <= Effect.MEET:
        if kind == Effect.MEET and len(state.memory.shadow.marks):
            state.memory.shadow.meetings[warp] += 1
        problem = meet(warps, state.effects, effect, warp)
        return _fault(state, problem, effect, warp) if problem else problem
    if kind == Effect.BARRIER:
        return _arrive(state, effect, warp, place)
    if kind == Effect.EXIT:
        return _leave(state, warp, place)
    if kind == Effect.FENCE:
        if state.memory.weak.settings[0] and state.effects[effect, Column.ORDER] != Order.WEAK:
            fence(state.memory.weak, warp)
        return Problem.NONE
    if kind == Effect.GRID_BARRIER:
        mask = number(warps, warp, at.MASK)
        if state.memory.weak.settings[0]:
            fence(state.memory.weak, warp)
        warps.of_4[warp, at.RUNNABLE >> 2] = np.uint32(number(warps, warp, at.RUNNABLE) & ~mask)
        warps.of_4[warp, at.AT_GRID >> 2] = np.uint32(number(warps, warp, at.AT_GRID) | mask)
        return Problem.NONE
    return _fault(state, Problem.TRAP, effect, warp)


@inlined
def _run(state: State, warp: Any, place: Any, quantum: Any, partial: Any) -> Any:
    """Run one warp for some effects, or until it has to wait; return a `Problem`."""
    settings, warps = state.settings, state.warps
    function, launch = settings[Setting.FUNCTION], state.addresses[1]
    address = state.addresses[0] + warp * state.addresses[2]
    held = np.int64(0)
    for _ in range(quantum):
        runnable = number(warps, warp, at.RUNNABLE)
        if not runnable:
            break
        if partial and draw(settings, Setting.RANDOM, 8) == 0:
            # Take one of the ways on which lanes are, whichever comes first in the program.
            skip, lanes = draw(settings, Setting.RANDOM, count_lanes(runnable)), runnable
            while skip:
                lanes &= lanes - 1
                skip -= 1
            stands, chosen = warps.of_4[warp, (at.PLACES >> 2) + lowest(lanes)], np.int64(0)
            for lane in range(LANES):
                if runnable >> lane & 1 and warps.of_4[warp, (at.PLACES >> 2) + lane] == stands:
                    chosen |= np.int64(1) << lane
            held = runnable & ~chosen
            warps.of_4[warp, at.RUNNABLE >> 2] = np.uint32(chosen)
        effect = call(function, address, launch)
        if held:
            warps.of_4[warp, at.RUNNABLE >> 2] = np.uint32(number(warps, warp, at.RUNNABLE) | held)
            held = np.int64(0)
        settings[Setting.STEPS] += 1
        if effect == TIRED:
            state.launch[at.FUEL] = MANY
            settings[Setting.STEPS] += MANY
        elif effect != NOTHING:
            problem = _perform(state, effect, warp, place)
            if problem:
                return problem
        if settings[Setting.STEPS] > settings[Setting.MOST_STEPS]:
            return _fault(state, Problem.ENDLESS, max(effect, np.int64(0)), warp)
    return Problem.NONE


@kernel
def _release_grid(state: State) -> Any:
    """Let all threads go on when all of them wait at the grid's barrier."""
    settings, warps = state.settings, state.warps
    if settings[Setting.NEXT] < settings[Setting.BLOCKS]:
        return False
    live = waiting = np.int64(0)
    for place in range(len(state.places)):
        live += state.places[place, LIVE]
    count = len(state.places) * settings[Setting.WARPS]
    for warp in range(count):
        waiting += count_lanes(number(warps, warp, at.AT_GRID))
    if not waiting or waiting != live:
        return False
    for warp in range(count):
        mask = number(warps, warp, at.AT_GRID)
        if mask:
            warps.of_4[warp, at.AT_GRID >> 2] = np.uint32(0)
            warps.of_4[warp, at.RUNNABLE >> 2] = np.uint32(number(warps, warp, at.RUNNABLE) | mask)
            if state.memory.weak.settings[0]:
                fence(state.memory.weak, warp)
    return True


@kernel
def _next_in_turn(state: State) -> Any:
    """Return the warp whose turn it is, -1 when none can go on; begin blocks where there is room."""
    settings, places = state.settings, state.places
    per_block = settings[Setting.WARPS]
    count = len(places) * per_block
    warp = settings[Setting.CURSOR]
    for _ in range(count):
        warp = warp + 1 if warp + 1 < count else np.int64(0)
        place = warp // per_block
        if places[place, LIVE] == 0:
            if settings[Setting.NEXT] >= settings[Setting.BLOCKS]:
                continue
            _begin_block(state, place)
            warp = place * per_block
        if state.warps.of_4[warp, at.RUNNABLE >> 2]:
            settings[Setting.CURSOR] = warp
            return warp
    return np.int64(-1)


@kernel
def _next_by_chance(state: State) -> Any:
    """Return the warp that the schedule wants, -1 when none can go on; begin blocks where there is room."""
    settings, warps = state.settings, state.warps
    per_block, schedule = settings[Setting.WARPS], settings[Setting.SCHEDULE]
    count = len(state.places) * per_block
    for place in range(len(state.places)):
        if state.places[place, LIVE] == 0 and settings[Setting.NEXT] < settings[Setting.BLOCKS]:
            _begin_block(state, np.int64(place))
    if settings[Setting.CHOSEN_FOR] <= 0:
        settings[Setting.CHOSEN] = draw(settings, Setting.RANDOM, count)
        settings[Setting.CHOSEN_FOR] = 1 + draw(settings, Setting.RANDOM, 40 * count)
    settings[Setting.CHOSEN_FOR] -= 1
    chosen = settings[Setting.CHOSEN]
    first = draw(settings, Setting.RANDOM, count)
    if schedule == Schedule.LEADING:
        first = chosen
    found = np.int64(-1)
    for step in range(count):
        warp = (first + step) % count
        if warps.of_4[warp, at.RUNNABLE >> 2]:
            found = warp
            if schedule != Schedule.STARVING or warp != chosen:
                break
    return found


@compiled
def execute(state: State) -> Any:
    """Run a launch to its end; return a `Problem`, of which `state.memory.fault` says more."""
    settings = state.settings
    plain = settings[Setting.SCHEDULE] == Schedule.PLAIN
    while settings[Setting.DONE] < settings[Setting.BLOCKS]:
        warp = _next_in_turn(state) if plain else _next_by_chance(state)
        if warp < 0:
            if not _release_grid(state):
                return _fault(state, Problem.DEADLOCK, np.int64(0), np.int64(0))
            continue
        quantum = settings[Setting.QUANTUM]
        if not plain:
            quantum = 1 + draw(settings, Setting.RANDOM, quantum)
        problem = _run(state, warp, warp // settings[Setting.WARPS], quantum, not plain)
        if problem:
            return problem
    return np.int64(0)
