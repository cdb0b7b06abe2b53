"""Passes over the state of all vertices: at the start, and when those that wait are used up or cannot be trusted.

They read the device's own memory and no list, except that `renew` has all vertices push what they ever pushed.

`rescale` is as on the CPU (`kernels/cpu/pagerank/passes.py`): residuals all of one sign lose only the part 1 - d of
their sum when all push, but ranks are scaled to sum 1 in the end, so the total does not matter and can be scaled away.
What is left has both signs, and meets and cancels.
"""

from typing import Any

from numba import cuda

from grapin.kernels.cuda.pagerank.residuals import (
    CHOSEN,
    COUNT,
    DRIFT,
    MASS,
    REST,
    SIGNED,
    TOTAL,
    Ranks,
    add_over_warp,
    add_to_total,
    claim,
    collect_total,
    file,
)
from grapin.kernels.cuda.warp import lane_id


def reset(state: Ranks, alive: Any, degrees: Any, keeping: Any) -> None:
    """Give every vertex that exists what all start with, and take part if it has out-edges."""
    if cuda.grid(1) == 0:
        state.sums[DRIFT] = 0.0
    for vertex in range(cuda.grid(1), alive.size, cuda.gridsize(1)):
        state.cells[2 * vertex] = 1.0 if alive[vertex] else 0.0
        degree = degrees[vertex]
        state.cells[2 * vertex + 1] = float(degree) if keeping else float(min(degree, 1))
        state.pushed[vertex] = 0.0
        state.marks[vertex] = 0


def clear_sums(state: Ranks, rest: Any) -> None:
    """Prepare for a survey with another line from which vertices wait; one warp."""
    collect_total(state)
    if lane_id() == 0:
        state.sums[TOTAL] = 0.0
        state.sums[MASS] = 0.0
        state.sums[SIGNED] = 0.0
        state.sums[COUNT] = 0.0
        state.sums[REST] = rest


def survey(state: Ranks, bound: Any) -> None:
    """Sum up all residuals anew, and file all that are worth waiting."""
    rest = state.sums[REST]
    growth = rounded = mass = signed = count = 0.0
    for vertex in range(cuda.grid(1), bound, cuda.gridsize(1)):
        residual, scale = state.cells[2 * vertex], state.cells[2 * vertex + 1]
        mass += state.pushed[vertex] + residual
        if scale > 0.0:
            count += 1.0
            signed += residual
            growth += abs(residual)
            rounded += growth
            if abs(residual) >= rest * scale:
                file(vertex, state)
    add_to_total(growth, rounded, state)
    add_over_warp(mass, MASS, state.sums)
    add_over_warp(signed, SIGNED, state.sums)
    add_over_warp(count, COUNT, state.sums)


def rescale(state: Ranks, bound: Any, factor: Any) -> None:
    """Multiply all amounts by a factor, which adds the same to every residual; a survey must follow."""
    rounded = 0.0
    for vertex in range(cuda.grid(1), bound, cuda.gridsize(1)):
        residual = state.cells[2 * vertex]
        if state.pushed[vertex] + residual > 0.0:  # what exists has at least 1, what does not has 0
            state.pushed[vertex] *= factor
            state.cells[2 * vertex] = factor * residual + (1.0 - factor)
            rounded += 4.0 * (state.pushed[vertex] + abs(state.cells[2 * vertex]) + abs(1.0 - factor))
    add_to_total(0.0, rounded, state)


def renew(state: Ranks, bound: Any, degrees: Any, damping: Any) -> None:
    """Begin to compute all residuals from the lists, and with that forget what rounding did to them.

    All that have pushed are the chosen ones afterwards; when their shares are handed on, a survey must follow.
    """
    if cuda.grid(1) == 0:
        state.sums[DRIFT] = 0.0
    rounded = 0.0
    lane = lane_id()
    for begin_at in range(cuda.grid(1) - lane, bound, cuda.gridsize(1)):
        vertex = begin_at + lane
        pushes = False
        if vertex < bound:
            amount = state.pushed[vertex]
            exists = amount + state.cells[2 * vertex] > 0.0
            state.cells[2 * vertex] = (1.0 if exists else 0.0) - amount
            rounded += 1.0 + 4.0 * amount
            pushes = degrees[vertex] > 0 and amount > 0.0
            if pushes:
                state.shares[vertex] = damping * amount / degrees[vertex]
        place = claim(pushes, CHOSEN, state.control)
        if pushes:
            state.chosen[place] = vertex
    add_to_total(0.0, rounded, state)


KERNELS = (reset, clear_sums, survey, rescale, renew)
