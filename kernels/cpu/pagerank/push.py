"""Pushing: a vertex hands its residual on along its out-edges. Who is next decides how many edges are read.

- `push_best` takes residuals that are worth most per edge and stops as soon as R is within the allowance: few edges.
  All above a threshold push in one round, and the threshold falls from round to round, as on a GPU. Always the one that
  is worth most would read about as many edges, but in hundreds or thousands of rounds, each waiting for the link.
- `push_rounds` is the published system, to be measured against: every vertex whose residual exceeds one threshold
  pushes once a round, until there is none.

Both keep the equation of `residuals.py`, so either may follow the other, or the sweeps of `passes.py`.

Sweeps: going through all vertices, for the start and for batches that touch too much to be choosy.

In the order of memory a push is quick, and each vertex pushes what those before it have just handed over, which
converges about twice as fast as if all pushed at once.

What converges slowly is the total: residuals that are all of one sign lose only the part 1 - d of their sum in a
sweep. But ranks are scaled to sum 1, so the total does not matter, and `rescale` gets rid of it: when p is multiplied
by a, r becomes a r + (1 - a), and with the right a its sum is zero. Then pushes meet residuals of the other sign and
cancel.
"""

from typing import Any

import numpy as np

from grapin.compiled import compiled, kernel
from grapin.graph.packed import prefetch
from grapin.kernels.cpu.lists import EDGES, ITERATIONS, count_list, grown, keep_read
from grapin.kernels.cpu.pagerank.residuals import (
    CEILING,
    DRIFT,
    FLOOR,
    LEVELS,
    MASS,
    NO_LEVEL,
    OUTSIDE,
    PREVIOUS,
    RESIDUAL,
    ROUNDING,
    THRESHOLD,
    TOTAL,
    Residuals,
    file,
    level_of,
    most_urgent,
    move,
    settle,
    within,
)

AHEAD = 12
"""Residuals are asked for so many neighbours before they are needed: about the time that memory takes."""
LINE = 16
"""Vertex ids in a cache line of 64 bytes."""


@kernel
def push(vertex: Any, run: int, damping: float, lists: Any, state: Residuals) -> int:
    """Push a vertex that has out-edges. Return 1 when it is its first push in this run, otherwise 0."""
    starts, degrees, neighbours, _weights = lists
    cells, sums = state.cells, state.sums
    degree = degrees[vertex]
    amount = cells[vertex, RESIDUAL]
    move(vertex, NO_LEVEL, state.rings)
    state.pushed[vertex] += amount
    cells[vertex, RESIDUAL] = 0.0
    cells[vertex, CEILING] = max(degree * sums[FLOOR], sums[THRESHOLD])
    share = damping * amount / degree
    growth = -abs(amount)
    sizes = 0.0
    end = starts[vertex] + degree
    for place in range(starts[vertex], end):
        prefetch(cells, 2 * int(neighbours[min(place + AHEAD, end - 1)]))
        other = neighbours[place]
        before = cells[other, RESIDUAL]
        ceiling = cells[other, CEILING]
        after = before + share
        cells[other, RESIDUAL] = after
        size = abs(after)
        sizes += size
        if ceiling != OUTSIDE:
            growth += size - abs(before)
            if size >= ceiling:
                file(other, degrees[other], state)
    sums[TOTAL] += growth
    sums[MASS] += damping * amount
    sums[DRIFT] += ROUNDING * (4 * abs(amount) + 2 * state.pushed[vertex] + 4 * sizes + sums[TOTAL])
    is_first = state.last_push[vertex] != run
    state.last_push[vertex] = run
    return int(is_first)


@kernel
def fetch_ahead(place: int, count: int, chosen: Any, lists: Any, state: Residuals) -> None:
    """Have the memory at hand that the next two vertices of a round need."""
    starts, degrees, neighbours, _weights = lists
    if place + 1 < count:
        near = chosen[place + 1]
        for offset in range(0, min(degrees[near], 4 * LINE), LINE):
            prefetch(neighbours, starts[near] + offset)
    if place + 2 < count:
        far = chosen[place + 2]
        prefetch(starts, far)
        prefetch(degrees, far)
        prefetch(state.cells, 2 * far)
        prefetch(state.pushed, far)
        prefetch(state.last_push, far)


@compiled
def choose(threshold: int, degrees: Any, chosen: Any, state: Residuals) -> Any:
    """Take all that wait at this level or above out of their levels; return them and how many they are."""
    count = 0
    while True:
        vertex = most_urgent(state.rings)
        if vertex < 0 or state.rings.top[0] < threshold:
            return chosen, count
        level = level_of(abs(state.cells[vertex, RESIDUAL]) / (degrees[vertex] * state.sums[FLOOR]))
        if level < threshold:
            file(vertex, degrees[vertex], state)
            continue
        move(vertex, NO_LEVEL, state.rings)
        if count == chosen.size:
            chosen = grown(chosen, count + 1)
        chosen[count] = vertex
        count += 1


@compiled
def push_best(
    run: int,
    damping: float,
    allowed: float,
    budget: int,
    threshold: int,
    lists: Any,
    state: Residuals,
    tally: Any,
    trace: Any,
    used: int,
    tracing: bool,
) -> Any:
    """Push what is worth most per edge until R is at most `allowed` of Q, or `budget` edges are in the tally.

    All that wait above a threshold push in one round, which is an iteration; then the threshold falls by a level.
    Returns how many vertices pushed for the first time in this run, the threshold, and the trace with how much of it is
    used.
    """
    starts, degrees = lists[0], lists[1]
    changed = 0
    chosen = np.empty(64, np.int64)
    while tally[EDGES] < budget and not within(allowed, state.sums):
        if most_urgent(state.rings) < 0:
            break
        threshold = max(0, min(threshold - 1, state.rings.top[0]))
        chosen, count = choose(threshold, degrees, chosen, state)
        if count == 0:
            continue
        tally[ITERATIONS] += 1
        for place in range(count):
            vertex = chosen[place]
            degree = degrees[vertex]
            if tally[EDGES] >= budget or within(allowed, state.sums):
                file(vertex, degree, state)
                continue
            fetch_ahead(place, count, chosen, lists, state)
            changed += push(vertex, run, damping, lists, state)
            count_list(tally, starts[vertex], int(degree), 1)
            if tracing:
                trace, used = keep_read(trace, used, tally, 2 * vertex, starts[vertex], int(degree), 1)
    return changed, threshold, trace, used


@compiled
def push_rounds(
    run: int, damping: float, lists: Any, state: Residuals, tally: Any, trace: Any, used: int, tracing: bool
) -> Any:
    """Push every vertex over the threshold once a round until none is over it; returns as `push_best` does."""
    starts, degrees = lists[0], lists[1]
    changed = 0
    while most_urgent(state.rings) >= 0:
        tally[ITERATIONS] += 1
        last = int(state.rings.links[0, PREVIOUS]) - LEVELS
        vertex = -1
        while vertex != last:
            vertex = int(most_urgent(state.rings))
            if abs(state.cells[vertex, RESIDUAL]) < state.sums[THRESHOLD]:
                move(vertex, NO_LEVEL, state.rings)
                continue
            changed += push(vertex, run, damping, lists, state)
            degree = int(degrees[vertex])
            count_list(tally, starts[vertex], degree, 1)
            if tracing:
                trace, used = keep_read(trace, used, tally, 2 * vertex, starts[vertex], degree, 1)
    return changed, trace, used


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
    state.sums[DRIFT] *= factor  # what rounding has done to residuals so far is scaled with them
    for vertex in range(alive.size):
        if alive[vertex]:
            state.pushed[vertex] *= factor
            state.cells[vertex, RESIDUAL] = factor * state.cells[vertex, RESIDUAL] + (1 - factor)
            size = state.pushed[vertex] + abs(state.cells[vertex, RESIDUAL]) + abs(1 - factor)
            state.sums[DRIFT] += 4 * ROUNDING * size


@kernel
def file_all(bound: int, floor: float, degrees: Any, state: Residuals) -> None:
    """Sum up R and Q again and file every vertex; `floor` is as a part of Q.

    Q is at least the number of vertices. Where there is none yet, the floor is that of one: it divides the residuals of
    those that the next batch inserts.
    """
    state.sums[TOTAL] = 0.0
    state.sums[MASS] = 0.0
    for vertex in range(bound):
        state.sums[MASS] += state.pushed[vertex] + state.cells[vertex, RESIDUAL]
    state.sums[FLOOR] = floor * max(state.sums[MASS], 1.0)
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
