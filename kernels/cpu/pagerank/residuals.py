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
eighth of the allowance, residuals are computed anew from the lists; at a tolerance of 1e-6 that is after millions of
pushes of each vertex.

**Whose turn it is.** A push takes |r| out of R and reads as many edges as the vertex has, so |r| / degree is what a
read edge is worth. Vertices above a *floor* of that wait in levels, between batches too. The floor is so low that
all below it are well within the allowance in sum: they can stay where they are.
"""

from typing import Any, NamedTuple

import numpy as np

from grapin.compiled import kernel
from grapin.kernels.cpu.pagerank.priorities import BEGINNINGS, NO_LEVEL, Rings, empty_rings, level_of, move

RESIDUAL, CEILING = 0, 1
"""Columns of `cells`."""
TOTAL, MASS, DRIFT, FLOOR, THRESHOLD, SUMS = 0, 1, 2, 3, 4, 5
"""Places in `sums`: R; Q; what rounding may have done to R; the floor; and, for the published way, which goes by
residuals alone, the residual from which a vertex waits (otherwise 0)."""
ROUNDING = 2.0**-53
OUTSIDE = np.inf
"""The ceiling of a vertex that takes no part in R: it has no out-edges, does not exist, or is being changed."""


class Residuals(NamedTuple):
    """The state of PageRank between batches; arrays are by vertex."""

    pushed: Any
    cells: Any
    """Side by side because they are read together: the residual, and the size at which it must be filed anew."""
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
