"""Rounds of pushes: two sums say how wrong the values are and who is worth pushing, who is is chosen, and all push.

A round is four launches over vertices in the order of memory: `choose_worth` takes the residuals of those above the
threshold, a walk hands them on, `sum_residuals` finds the offset and `sum_sizes` the bound (`grapin.kernels.equation`,
in the kernel itself). So no round waits for the host: it launches several ahead, and once there is a reason to stop
those behind it find nothing to do. The warp that is the last of a launch does what is done once.
"""

import math
from typing import Any

import numpy as np
from numba import cuda

from grapin.kernels.cuda.accumulative.flows import (
    CHANGED,
    CHOSEN,
    Flows,
    add_over_warp,
    choose,
    count_walk,
    is_last,
    take_sum,
)
from grapin.kernels.cuda.lists import LONG_LISTS, Reading
from grapin.kernels.cuda.warp import lane_id, warp_sum
from grapin.kernels.equation import (
    BLOCK,
    NUMBERS,
    OFF,
    PUSHING,
    STATUS,
    THRESHOLD,
    begin_rounds,
    recentring_base,
    take_push,
    take_sums,
)

PASSES_NOTHING = np.float32(1e30)
"""More than what is asked of any vertex that passes something on."""
ABSORBING: bool = False
"""Whether nothing flows into vertices with a base of their own."""
PASSED, RESTED, AMOUNT, PASSING, RESTING, COSTS, SQUARES = range(7)
"""Sums over all vertices: residuals where something is passed on and elsewhere; p; the base where something is passed
on and elsewhere; what pushes cost; squares of residuals elsewhere."""
SIZES, WORTH = range(2, 4)
"""Sums that are taken while the first two are still needed: residuals' sizes, and what these count."""
PUSHED, READ = range(2)
"""Sums over those that push: what they push, and the edges they read."""


def pin(state: Flows, vertex: Any) -> None:
    """Take from a vertex what flowed into it, if nothing does."""
    if ABSORBING and state.fixed[vertex]:
        state.residual[vertex] = state.base[vertex] - state.pushed[vertex]


def end_sums(state: Flows, reading: Reading) -> None:
    """Make room for another walk, now that the last one is over."""
    state.control[CHOSEN] = 0
    reading.progress[LONG_LISTS] = 0


def survey(state: Flows, reading: Reading, bound: Any, degrees: Any, push_cost: Any, even: Any) -> None:
    """Begin rounds: sum up what a batch left, residuals among it."""
    numbers, stride = state.numbers, cuda.gridsize(1)
    for begin in range(cuda.grid(1) - lane_id(), bound, stride * BLOCK):
        passed = rested = passing = resting = 0.0
        for vertex in range(begin + lane_id(), min(bound, begin + stride * BLOCK), stride):
            pin(state, vertex)
            residual, base = state.residual[vertex], state.base[vertex]
            if state.cost[vertex] < PASSES_NOTHING:
                passed += residual
                passing += base
            else:
                rested += residual
                resting += base
        add_over_warp(passed, NUMBERS + PASSED, numbers)
        add_over_warp(rested, NUMBERS + RESTED, numbers)
        add_over_warp(passing, NUMBERS + PASSING, numbers)
        add_over_warp(resting, NUMBERS + RESTING, numbers)
        # The other sums in a second turn: seven at once are more than a thread has registers for.
        amount = costs = squares = 0.0
        for vertex in range(begin + lane_id(), min(bound, begin + stride * BLOCK), stride):
            residual = state.residual[vertex]
            amount += state.pushed[vertex]
            if state.cost[vertex] < PASSES_NOTHING:
                costs += 1.0 if even else push_cost + degrees[vertex]
            else:
                squares += residual * residual
        add_over_warp(amount, NUMBERS + AMOUNT, numbers)
        add_over_warp(costs, NUMBERS + COSTS, numbers)
        add_over_warp(squares, NUMBERS + SQUARES, numbers)
    if is_last(state.control):
        amount, passing, resting = (
            take_sum(AMOUNT, numbers),
            take_sum(PASSING, numbers),
            take_sum(RESTING, numbers),
        )
        largest = 1.001 * math.sqrt(take_sum(SQUARES, numbers))  # at least as much as the largest itself
        begin_rounds(numbers, amount, passing, resting, take_sum(COSTS, numbers), largest)
        numbers[STATUS] = PUSHING
        end_sums(state, reading)


def sum_residuals(state: Flows, reading: Reading, bound: Any) -> None:
    """Sum up residuals where something is passed on, and elsewhere."""
    numbers, stride = state.numbers, cuda.gridsize(1)
    if numbers[STATUS] != PUSHING:
        return
    for begin in range(cuda.grid(1) - lane_id(), bound, stride * BLOCK):
        passed = rested = 0.0
        for vertex in range(begin + lane_id(), min(bound, begin + stride * BLOCK), stride):
            pin(state, vertex)
            if state.cost[vertex] < PASSES_NOTHING:
                passed += state.residual[vertex]
            else:
                rested += state.residual[vertex]
        add_over_warp(passed, NUMBERS + PASSED, numbers)
        add_over_warp(rested, NUMBERS + RESTED, numbers)
    if is_last(state.control):
        end_sums(state, reading)


def sum_sizes(state: Flows, bound: Any) -> None:
    """Sum up how far residuals are from the offset for which they sum to 0; then say how wrong the values are."""
    numbers, stride = state.numbers, cuda.gridsize(1)
    if numbers[STATUS] != PUSHING:
        return
    base, passed = recentring_base(numbers), numbers[NUMBERS + PASSED]
    off = passed / base if base > 0.0 else 0.0
    for begin in range(cuda.grid(1) - lane_id(), bound, stride * BLOCK):
        sizes = worth = 0.0
        for vertex in range(begin + lane_id(), min(bound, begin + stride * BLOCK), stride):
            if state.cost[vertex] < PASSES_NOTHING:
                size = abs(state.residual[vertex] - off)
                sizes += size
                worth += size * state.counted[vertex]
        add_over_warp(sizes, NUMBERS + SIZES, numbers)
        add_over_warp(worth, NUMBERS + WORTH, numbers)
    if is_last(state.control):
        sizes, worth = take_sum(SIZES, numbers), take_sum(WORTH, numbers)
        total = take_sum(PASSED, numbers) - off * base
        take_sums(numbers, off, total, sizes, worth, take_sum(RESTED, numbers))


def choose_worth(state: Flows, reading: Reading, bound: Any, degrees: Any, run: Any) -> None:
    """Take the residuals of those that are worth more than the threshold times what it costs to push them."""
    numbers = state.numbers
    if numbers[STATUS] != PUSHING:
        return
    threshold, off = numbers[THRESHOLD], numbers[OFF]
    lane = lane_id()
    amounts = read = 0.0
    changed = 0
    for begin_at in range(cuda.grid(1) - lane, bound, cuda.gridsize(1)):
        vertex, degree, share = begin_at + lane, np.int32(0), 0.0
        pushes = False
        if vertex < bound:
            amount = state.residual[vertex] - off
            pushes = abs(amount) > threshold * state.cost[vertex]
            if pushes:
                state.pushed[vertex] += amount
                state.residual[vertex] = off
                degree, share = degrees[vertex], amount * state.rate[vertex]
                amounts += amount
                read += degree
                changed += state.last_push[vertex] != run
                state.last_push[vertex] = run
        choose(np.int32(vertex), pushes, share, degree, state, reading)
    add_over_warp(amounts, NUMBERS + PUSHED, numbers)
    add_over_warp(read, NUMBERS + READ, numbers)
    changed = warp_sum(changed)
    if lane == 0 and changed > 0:
        cuda.atomic.add(state.control, CHANGED, changed)
    if is_last(state.control):
        take_push(numbers, take_sum(PUSHED, numbers), take_sum(READ, numbers), bound)
        count_walk(state, reading)


def report(state: Flows, bound: Any, off: Any, scale: Any, values: Any) -> None:
    """Write the values: what all have by one more step, less the offset of the base, scaled."""
    for vertex in range(cuda.grid(1), bound, cuda.gridsize(1)):
        value = state.pushed[vertex] + state.residual[vertex] - off * state.base[vertex]
        values[vertex] = value * scale


FUNCTIONS = (begin_rounds, recentring_base, take_sums, take_push, pin, end_sums)
"""What kernels are bound to, besides those of `flows.py`."""
KERNELS = (survey, sum_residuals, sum_sizes, choose_worth, report)
