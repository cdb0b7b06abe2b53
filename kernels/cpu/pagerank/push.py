"""Pushing: a vertex hands its residual on along its out-edges. Who is next decides how many edges are read.

- `push_best` takes residuals that are worth most per edge and stops as soon as R is within the allowance: few edges.
  All above a threshold push in one round, and the threshold falls from round to round, as on a GPU. Always the one that
  is worth most would read about as many edges, but in hundreds or thousands of rounds, each waiting for the link.
- `push_rounds` is the published way, to be measured against: every vertex whose residual exceeds one threshold pushes
  once a round, until there is none.

Both keep the equation of `residuals.py`, so either may follow the other, or the sweeps of `passes.py`.
"""

from typing import Any

import numpy as np

from grapin.compiled import compiled, kernel
from grapin.graph.intrinsics import prefetch
from grapin.kernels.cpu.growing import grown
from grapin.kernels.cpu.lists import EDGES, ITERATIONS, count_list, keep_read
from grapin.kernels.cpu.pagerank.priorities import (
    LEVELS,
    NO_LEVEL,
    PREVIOUS,
    level_of,
    most_urgent,
    move,
)
from grapin.kernels.cpu.pagerank.residuals import (
    CEILING,
    DRIFT,
    FLOOR,
    MASS,
    OUTSIDE,
    RESIDUAL,
    ROUNDING,
    THRESHOLD,
    TOTAL,
    Residuals,
    file,
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
