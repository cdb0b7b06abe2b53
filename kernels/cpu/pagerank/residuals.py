"""Residuals: how far each vertex is from its equation, whose residual is the most urgent, and how wrong all is in sum.

PageRank solves y = 1 + d P'y, where P splits a vertex's amount evenly over its out-edges, and scales y to sum 1.
Each vertex v has a *pushed* amount p(v), on which its neighbours count, and a *residual*

r(v) = 1 + (sum over edges u -> v of d p(u) / degree(u)) - p(v)          (1 only where the vertex exists).

**How wrong it is.** y - p = r + d P'(y - p), so y - p = r + d P'r + (d P')^2 r + ... Columns of P' sum to at most 1, so
|y - p| <= |r| / (1 - d) in sums of absolute values. What we report is q = p + r, for which y - q is the same series
without its first term: at most |r| d / (1 - d), and a vertex without out-edges adds nothing, as its column is zero.
Let R be the sum of |r| over vertices with out-edges, Q the sum of q (none is negative) and Y that of y. Then

|q/Q - y/Y| = |(q - y) Y + y (Y - Q)| / (Q Y) <= 2 |q - y| / Q <= 2 d R / ((1 - d) Q),

and this is what the tolerance bounds: R may be as large as the *allowance*, Q tolerance (1 - d) / (2 d).

**Rounding** does not break that. Each operation is wrong by at most 2^-53 of its result; `DRIFT` adds up this worst
case, as if no two errors ever cancelled, and counts as a part of R wherever R is compared. When it has grown to an
eighth of the allowance, residuals are recomputed from the lists; at a tolerance of 1e-6 that is after millions of
pushes of each vertex.

**Whose turn it is.** A push takes |r| out of R and reads as many edges as the vertex has, so |r| / degree is what a
read edge is worth. Vertices above a *floor* of that wait in levels, between batches too. The floor is so low that
all below it are well within the allowance in sum: they can stay where they are.

Levels of urgency: vertices that wait, most urgent first, filed in constant time and kept between batches.

Level k holds the urgencies from 2^(k/2) up to 2^((k+1)/2); what is below 1 does not wait. Each level is a ring of
vertices through an anchor of its own, first come first served, so a vertex is in one ring or in none, and nothing
grows, is searched or is cleared, whatever happens over thousands of batches.

A vertex rises at once and sinks lazily: whoever takes the first vertex of a level looks whether it still belongs
there.

Flows: what a batch does to the equations of PageRank, before anything is pushed.

What flows over each out-edge of u is f(u) = d p(u) / degree(u). When a batch changes the degree of u, all its flows
would change, and the residuals of all its neighbours with them. Instead the *flow is kept* and p(u) gives way: it is
scaled with the degree, and u's own residual takes up the difference. Only the ends of inserted and deleted edges gain
or lose a flow, so this costs what the batch holds, and no list is read, however large the hubs it touches.

The published system keeps p(u) and tells every neighbour: it reads the whole list of each source.
"""

from math import frexp
from typing import Any, NamedTuple

import numpy as np

from grapin.compiled import compiled, kernel
from grapin.kernels.cpu.lists import count_list, keep_read

LEVELS = 120
"""Enough for all that is above a useful floor; the last level holds everything from 2^59.5 on."""
BEGINNINGS = np.exp2(np.arange(LEVELS + 1) / 2)
"""The least urgency of each level, and where the last would end."""
LAST_BEGINNING = float(BEGINNINGS[LEVELS - 1])
HALFWAY = 2**-0.5
NO_LEVEL = -1
NEXT, PREVIOUS = 0, 1


class Rings(NamedTuple):
    """Which vertices wait at which level."""

    links: Any
    """The next and the previous place of each place; the first `LEVELS` places are the anchors, vertex v follows
    as place `LEVELS + v`."""
    levels: Any
    """By vertex: the level it waits at, or `NO_LEVEL`."""
    top: Any
    """One number: no vertex waits above this level."""


def empty_rings(capacity: int) -> Rings:
    """Return rings for vertices below `capacity`, none of which waits."""
    links = np.empty((LEVELS + capacity, 2), np.int32)
    links[:LEVELS] = np.arange(LEVELS, dtype=np.int32)[:, None]
    return Rings(links, np.full(capacity, NO_LEVEL, np.int8), np.zeros(1, np.int64))


@kernel
def level_of(urgency: float) -> int:
    """Return the level for an urgency, `NO_LEVEL` when it is below 1 or not a number.

    It is an index, so it is one for any float: `frexp` promises no exponent for infinity.
    """
    if not urgency >= 1:
        return NO_LEVEL
    if urgency >= LAST_BEGINNING:
        return LEVELS - 1
    mantissa, exponent = frexp(urgency)
    return 2 * (exponent - 1) + int(mantissa >= HALFWAY)


@kernel
def move(vertex: Any, level: int, rings: Rings) -> None:
    """Let a vertex wait at this level, behind the others, or nowhere; if it does so already, it keeps its place."""
    links, levels, top = rings
    if levels[vertex] == level:
        return
    place = LEVELS + vertex
    if levels[vertex] != NO_LEVEL:
        after, before = links[place, NEXT], links[place, PREVIOUS]
        links[before, NEXT] = after
        links[after, PREVIOUS] = before
    levels[vertex] = level
    if level != NO_LEVEL:
        last = links[level, PREVIOUS]
        links[place, NEXT] = level
        links[place, PREVIOUS] = last
        links[last, NEXT] = place
        links[level, PREVIOUS] = place
        top[0] = max(top[0], level)


@kernel
def most_urgent(rings: Rings) -> int:
    """Return the vertex that has waited longest at the highest level in use; negative when none waits."""
    links, _levels, top = rings
    while links[top[0], NEXT] == top[0]:
        if top[0] == 0:
            return -1
        top[0] -= 1
    return int(links[top[0], NEXT]) - LEVELS


RESIDUAL, CEILING = 0, 1
"""Columns of `cells`."""
TOTAL, MASS, DRIFT, FLOOR, THRESHOLD, SUMS = 0, 1, 2, 3, 4, 5
"""Places in `sums`: R; Q; what rounding may have done to R; the floor; and, for the published system, which goes by
residuals alone, the residual from which a vertex waits (otherwise 0)."""
ROUNDING = 2.0**-53
OUTSIDE = np.inf
"""The ceiling of a vertex that takes no part in R: it has no out-edges, does not exist, or is being changed."""


class Residuals(NamedTuple):
    """The state of PageRank between batches; arrays are by vertex."""

    pushed: Any
    cells: Any
    """Side by side because they are read together: the residual, and the size at which it must be filed again."""
    last_push: Any
    """The number of the run in which it pushed last."""
    degree_change: Any
    """Out-edges gained in the batch at hand; all zero between batches."""
    sums: Any
    rings: Rings


def new_residuals(capacity: int) -> Residuals:
    """Return room for vertices below `capacity`, none of which exists."""
    cells = np.zeros((capacity, 2))
    cells[:, CEILING] = OUTSIDE
    return Residuals(
        pushed=np.zeros(capacity),
        cells=cells,
        last_push=np.zeros(capacity, np.int64),
        degree_change=np.zeros(capacity, np.int32),
        sums=np.zeros(SUMS),
        rings=empty_rings(capacity),
    )


def extended(old: Residuals, capacity: int) -> Residuals:
    """Return the same state with room for more vertices."""
    new = new_residuals(capacity)
    for before, after in zip((*old[:-1], *old.rings), (*new[:-1], *new.rings), strict=True):
        after[: len(before)] = before
    return new


@kernel
def file(vertex: Any, degree: Any, state: Residuals) -> None:
    """Let a vertex with out-edges wait where its residual belongs, and note when that must be looked at again."""
    size = abs(state.cells[vertex, RESIDUAL])
    if state.sums[THRESHOLD] > 0:
        state.cells[vertex, CEILING] = state.sums[THRESHOLD]
        move(vertex, 0 if size >= state.sums[THRESHOLD] else NO_LEVEL, state.rings)
        return
    least = degree * state.sums[FLOOR]
    level = level_of(size / least)
    state.cells[vertex, CEILING] = least * BEGINNINGS[level + 1]
    move(vertex, level, state.rings)


@kernel
def receive(vertex: Any, amount: float, degrees: Any, state: Residuals) -> None:
    """Add to one residual, and to the sums what that changes."""
    before, ceiling = state.cells[vertex]
    after = before + amount
    state.cells[vertex, RESIDUAL] = after
    sums = state.sums
    sums[MASS] += amount
    if ceiling != OUTSIDE:
        sums[TOTAL] += abs(after) - abs(before)
        if abs(after) >= ceiling:
            file(vertex, degrees[vertex], state)
    sums[DRIFT] += ROUNDING * (2 * abs(after) + 4 * abs(amount) + sums[TOTAL])


@kernel
def withdraw(vertex: Any, state: Residuals) -> None:
    """Take a vertex out of R and of its level while it is changed; a second time does nothing."""
    if state.cells[vertex, CEILING] != OUTSIDE:
        state.sums[TOTAL] -= abs(state.cells[vertex, RESIDUAL])
        state.sums[DRIFT] += ROUNDING * abs(state.sums[TOTAL])
        state.cells[vertex, CEILING] = OUTSIDE
        move(vertex, NO_LEVEL, state.rings)


@kernel
def settle(vertex: Any, degree: Any, state: Residuals) -> None:
    """Let a withdrawn vertex take part again, if it has out-edges; a second time does nothing."""
    if degree > 0 and state.cells[vertex, CEILING] == OUTSIDE:
        state.sums[TOTAL] += abs(state.cells[vertex, RESIDUAL])
        state.sums[DRIFT] += ROUNDING * state.sums[TOTAL]
        file(vertex, degree, state)


@kernel
def within(allowed: float, sums: Any) -> bool:
    """Is R, with all that rounding may have hidden, at most this part of Q?"""
    return bool(sums[TOTAL] + sums[DRIFT] <= allowed * sums[MASS])


@kernel
def change_flows(
    inserted: Any,
    deleted: Any,
    new_vertices: Any,
    old_vertices: Any,
    damping: float,
    degrees: Any,
    state: Residuals,
) -> None:
    """Let edges come and go at the flow of their source. All changed vertices stay withdrawn.

    Edges are pairs of columns, source and target; `degrees` are those after the batch.
    """
    for vertex in new_vertices:
        state.cells[vertex, RESIDUAL] = 1.0
        state.sums[MASS] += 1.0
    for vertex in old_vertices:
        withdraw(vertex, state)
    for edges, sign in ((inserted, 1), (deleted, -1)):
        for source in edges[0]:
            withdraw(source, state)
            state.degree_change[source] += sign
    for source in inserted[0]:
        if degrees[source] == state.degree_change[source]:  # its first out-edges: all it has may flow at once
            state.pushed[source] += state.cells[source, RESIDUAL]
            state.cells[source, RESIDUAL] = 0.0
            state.sums[DRIFT] += ROUNDING * state.pushed[source]
    for edges, sign in ((inserted, 1), (deleted, -1)):
        sources, targets = edges
        for edge in range(sources.size):
            receive(targets[edge], sign * _flow(sources[edge], damping, degrees, state), degrees, state)
    for vertex in old_vertices:
        state.sums[MASS] -= state.pushed[vertex] + state.cells[vertex, RESIDUAL]
        state.pushed[vertex] = 0.0
        state.cells[vertex, RESIDUAL] = 0.0


@kernel
def _flow(vertex: Any, damping: float, degrees: Any, state: Residuals) -> float:
    """Return the flow before the batch; over a vertex's first edges, the flow after it."""
    before = degrees[vertex] - state.degree_change[vertex]
    return float(damping * state.pushed[vertex] / (before if before > 0 else degrees[vertex]))


@kernel
def keep_flows(inserted: Any, deleted: Any, degrees: Any, state: Residuals) -> None:
    """Scale the pushed amounts with the degrees, so that flows stay; let changed vertices take part again."""
    for edges in (inserted, deleted):
        for source in edges[0]:
            degree = degrees[source]
            before = degree - state.degree_change[source]
            if state.degree_change[source] != 0 and before > 0:
                old = state.pushed[source]
                state.pushed[source] = old * degree / before
                state.cells[source, RESIDUAL] += old - state.pushed[source]
                state.sums[DRIFT] += ROUNDING * 8 * (old + state.pushed[source])
            state.degree_change[source] = 0
            settle(source, degree, state)


@compiled
def tell_neighbours(
    inserted: Any,
    deleted: Any,
    damping: float,
    lists: Any,
    state: Residuals,
    tally: Any,
    trace: Any,
    used: int,
    tracing: bool,
) -> Any:
    """Keep the pushed amounts and change the flow to every neighbour; let changed vertices take part again.

    Returns the trace with how much of it is used.
    """
    starts, degrees, neighbours, _weights = lists
    for edges in (inserted, deleted):
        for source in edges[0]:
            degree = int(degrees[source])
            before = degree - state.degree_change[source]
            if degree == 0 or state.cells[source, CEILING] != OUTSIDE:
                continue
            start = starts[source]
            if before > 0:
                difference = damping * state.pushed[source] * (1 / degree - 1 / before)
                for place in range(start, start + degree):
                    receive(neighbours[place], difference, degrees, state)
                state.sums[DRIFT] += ROUNDING * 8 * state.pushed[source]
            count_list(tally, start, degree, 1)
            if tracing:
                trace, used = keep_read(trace, used, tally, 2 * int(source), start, degree, 1)
            settle(source, degree, state)
    for edges in (inserted, deleted):
        for source in edges[0]:
            state.degree_change[source] = 0
    return trace, used
