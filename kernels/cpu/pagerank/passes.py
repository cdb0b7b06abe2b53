"""Sweeps: going through all vertices, for the start and for batches that touch too much to be choosy.

In the order of memory a push is quick, and each vertex pushes what those before it have just handed over, which
converges about twice as fast as if all pushed at once.

What converges slowly is the total: residuals that are all of one sign lose only the part 1 - d of their sum in a
sweep. But ranks are scaled to sum 1, so the total does not matter, and `rescale` gets rid of it: when p is multiplied
by a, r becomes a r + (1 - a), and with the right a its sum is zero. Then pushes meet residuals of the other sign and
cancel.
"""

from typing import Any

from grapin.compiled import compiled, kernel
from grapin.graph.intrinsics import prefetch
from grapin.kernels.cpu.lists import ITERATIONS, count_list, keep_read
from grapin.kernels.cpu.pagerank.priorities import NO_LEVEL, move
from grapin.kernels.cpu.pagerank.push import AHEAD
from grapin.kernels.cpu.pagerank.residuals import (
    CEILING,
    DRIFT,
    FLOOR,
    MASS,
    OUTSIDE,
    RESIDUAL,
    ROUNDING,
    TOTAL,
    Residuals,
    settle,
)


@compiled
def sweep(
    run: int,
    damping: float,
    bound: int,
    lists: Any,
    state: Residuals,
    tally: Any,
    trace: Any,
    used: int,
    tracing: bool,
) -> Any:
    """Push every vertex above the floor once. Levels and sums must be renewed with `file_all` afterwards.

    Returns how many vertices pushed for the first time in this run, and the trace with how much of it is used.
    """
    starts, degrees, neighbours, _weights = lists
    cells, pushed = state.cells, state.pushed
    changed = 0
    rounding = 0.0
    tally[ITERATIONS] += 1
    for vertex in range(bound):
        degree = int(degrees[vertex])
        amount = cells[vertex, RESIDUAL]
        if degree == 0 or abs(amount) < degree * state.sums[FLOOR]:
            continue
        pushed[vertex] += amount
        cells[vertex, RESIDUAL] = 0.0
        share = damping * amount / degree
        start = starts[vertex]
        end = start + degree
        for place in range(start, end):
            prefetch(cells, 2 * int(neighbours[min(place + AHEAD, end - 1)]))
            other = neighbours[place]
            cells[other, RESIDUAL] += share
            rounding += abs(cells[other, RESIDUAL])
        rounding += 4 * abs(amount) + 2 * pushed[vertex]
        changed += state.last_push[vertex] != run
        state.last_push[vertex] = run
        count_list(tally, start, degree, 1)
        if tracing:
            trace, used = keep_read(trace, used, tally, 2 * int(vertex), start, degree, 1)
    state.sums[DRIFT] += ROUNDING * rounding
    return changed, trace, used


@kernel
def rescale(alive: Any, degrees: Any, state: Residuals) -> None:
    """Scale all amounts so that the residuals of vertices with out-edges sum to zero."""
    count = 0
    total = 0.0
    for vertex in range(alive.size):
        if degrees[vertex] > 0:
            count += 1
            total += state.cells[vertex, RESIDUAL]
    if not total < count:  # nothing has been pushed yet, so there is nothing to scale
        return
    factor = count / (count - total)
    for vertex in range(alive.size):
        if alive[vertex]:
            state.pushed[vertex] *= factor
            state.cells[vertex, RESIDUAL] = factor * state.cells[vertex, RESIDUAL] + (1 - factor)
            size = state.pushed[vertex] + abs(state.cells[vertex, RESIDUAL]) + abs(1 - factor)
            state.sums[DRIFT] += 4 * ROUNDING * size


@kernel
def file_all(bound: int, floor: float, degrees: Any, state: Residuals) -> None:
    """Sum up R and Q anew and file every vertex; `floor` is as a part of Q."""
    state.sums[TOTAL] = 0.0
    state.sums[MASS] = 0.0
    for vertex in range(bound):
        state.sums[MASS] += state.pushed[vertex] + state.cells[vertex, RESIDUAL]
    state.sums[FLOOR] = floor * state.sums[MASS]
    for vertex in range(bound):
        move(vertex, NO_LEVEL, state.rings)
        state.cells[vertex, CEILING] = OUTSIDE
        settle(vertex, degrees[vertex], state)


@compiled
def renew(
    damping: float, alive: Any, lists: Any, state: Residuals, tally: Any, trace: Any, used: int, tracing: bool
) -> Any:
    """Compute all residuals from the lists, and with that forget what rounding did to them.

    `file_all` must follow. Returns the trace with how much of it is used.
    """
    starts, degrees, neighbours, _weights = lists
    cells = state.cells
    rounding = 0.0
    tally[ITERATIONS] += 1
    for vertex in range(alive.size):
        cells[vertex, RESIDUAL] = alive[vertex] - state.pushed[vertex]
        rounding += abs(cells[vertex, RESIDUAL])
    for vertex in range(alive.size):
        degree = int(degrees[vertex])
        if degree == 0:
            continue
        share = damping * state.pushed[vertex] / degree
        start = starts[vertex]
        for place in range(start, start + degree):
            other = neighbours[place]
            cells[other, RESIDUAL] += share
            rounding += abs(cells[other, RESIDUAL]) + 2 * share
        count_list(tally, start, degree, 1)
        if tracing:
            trace, used = keep_read(trace, used, tally, 2 * int(vertex), start, degree, 1)
    state.sums[DRIFT] = ROUNDING * rounding
    return trace, used
