"""Rounds: all that wait and are worth more than a threshold push at once; then the threshold falls.

A round is four launches: `begin_round` looks at the sums and decides whether there is one at all, `choose` takes the
residuals of those that push, and a walk over their lists, long ones apart, hands them on (`begin` and `visit`, bound
to `walk.py`). The host launches several rounds ahead; once one of them finds a reason to stop, those behind it find
nothing to do. So no round waits for the host.

The threshold begins at the largest worth and falls by one factor a round, as on the CPU. Pushing strictly best first
would read about as many edges, but in hundreds of rounds of a handful of vertices each.
"""

from typing import Any

from numba import cuda

from grapin.kernels.cuda.lists import ITERATION, LONG_LISTS, Reading
from grapin.kernels.cuda.pagerank.residuals import (
    ACTIVE,
    CHANGED,
    CHOSEN,
    DRIFT,
    MASS,
    READ,
    REST,
    SIDE,
    STATUS,
    THRESHOLD,
    TOTAL,
    WAITING,
    Ranks,
    add_over_warp,
    add_to_total,
    claim,
    collect_total,
    receive,
)
from grapin.kernels.cuda.warp import lane_id, warp_sum

FALL = 2**-0.5
"""What a round leaves of the threshold. With half of it, rounds are half as many and read up to a half more edges."""
PUSHING, WITHIN, USED_UP, LONG_RUN = range(4)
"""Why rounds stop: they do not; the error is within the tolerance; all that waits has been pushed down to `REST`; so
many edges were read that all residuals had better be looked at."""


def end_walk(state: Ranks, reading: Reading) -> None:
    """Count a walk as an iteration, and make room for another; one warp."""
    if lane_id() == 0 and state.control[CHOSEN] > 0:
        reading.progress[ITERATION] += 1
        reading.progress[LONG_LISTS] = 0
        state.control[CHOSEN] = 0


def begin_round(state: Ranks, reading: Reading, allowed: Any, floor: Any, limit: Any) -> None:
    """Let there be another round, or say why not; one warp.

    `allowed` and `floor` are parts of Q: how large R may be, and the worth below which all residuals together are well
    within that. When `limit` edges have been read, rounds stop.
    """
    control, sums = state.control, state.sums
    collect_total(state)
    end_walk(state, reading)
    if lane_id() > 0:
        return
    control[ACTIVE] = 0
    if control[STATUS] != PUSHING:
        return
    at_rest = sums[THRESHOLD] <= sums[REST]
    if sums[TOTAL] + sums[DRIFT] <= allowed * sums[MASS]:
        control[STATUS] = WITHIN
    elif control[WAITING] == 0 or (at_rest and sums[REST] > floor * sums[MASS]):
        control[STATUS] = USED_UP
    elif sums[READ] >= limit:
        control[STATUS] = LONG_RUN
    else:
        sums[THRESHOLD] = max(sums[REST], FALL * sums[THRESHOLD])
        control[ACTIVE] = control[WAITING]
        control[WAITING] = 0
        control[SIDE] = 1 - control[SIDE]


def choose(state: Ranks, degrees: Any, run: Any, damping: Any) -> None:
    """Take the residuals of those above the threshold, keep those above `REST` waiting, and let the others go."""
    control, sums = state.control, state.sums
    rest, threshold, active = sums[REST], sums[THRESHOLD], control[ACTIVE]
    if active == 0:
        return
    kept_from = control[SIDE] * state.pushed.size
    read_from = state.pushed.size - kept_from
    lane = lane_id()
    growth = mass = rounded = edges = 0.0
    changed = 0
    for begin_at in range(cuda.grid(1) - lane, active, cuda.gridsize(1)):
        vertex = 0
        pushes = keeps = False
        if begin_at + lane < active:
            vertex = state.waiting[read_from + begin_at + lane]
            size, scale = abs(state.cells[2 * vertex]), state.cells[2 * vertex + 1]
            pushes = scale > 0.0 and size >= threshold * scale
            keeps = scale > 0.0 and not pushes and size >= rest * scale
            if not keeps:
                state.marks[vertex] = 0
        place = claim(keeps, WAITING, control)
        if keeps:
            state.waiting[kept_from + place] = vertex
        place = claim(pushes, CHOSEN, control)
        if pushes:
            amount, degree = state.cells[2 * vertex], degrees[vertex]
            state.cells[2 * vertex] = 0.0
            state.pushed[vertex] += amount
            state.chosen[place] = vertex
            state.shares[vertex] = damping * amount / degree
            growth -= abs(amount)
            mass += damping * amount
            edges += degree
            rounded += 4.0 * abs(amount) + 2.0 * state.pushed[vertex] + abs(growth)
            if state.last_push[vertex] != run:
                state.last_push[vertex] = run
                changed += 1
    add_to_total(growth, rounded, state)
    add_over_warp(mass, MASS, sums)
    add_over_warp(edges, READ, sums)
    changed = warp_sum(changed)
    if lane == 0:
        cuda.atomic.add(control, CHANGED, changed)


def begin(state: Ranks, vertex: Any) -> Any:
    """Return what a vertex hands on along every edge."""
    return state.shares[vertex]


def visit(
    state: Ranks,
    vertex: Any,  # noqa: ARG001  (`walk.py` says what visits are given)
    value: Any,
    other: Any,
    weight: Any,  # noqa: ARG001
    inside: Any,
    found: Any,
) -> Any:
    """Hand a share on to one neighbour."""
    growth = rounded = 0.0
    if inside:
        growth, rounded = receive(other, value, state.sums[REST], state)
    add_to_total(growth, rounded, state)
    return found


def resume(state: Ranks, threshold: Any) -> None:
    """Let rounds go on with another threshold; one warp."""
    if lane_id() == 0:
        state.control[STATUS] = PUSHING
        state.sums[THRESHOLD] = threshold


def find_peak(state: Ranks) -> None:
    """Raise the threshold to the largest worth of those that wait."""
    waiting = state.control[WAITING]
    read_from = state.control[SIDE] * state.pushed.size
    best = 0.0
    for place in range(cuda.grid(1), waiting, cuda.gridsize(1)):
        vertex = state.waiting[read_from + place]
        scale = state.cells[2 * vertex + 1]
        if scale > 0.0:
            best = max(best, abs(state.cells[2 * vertex]) / scale)
    if best > state.sums[THRESHOLD]:  # it only rises, so an old value does no harm
        cuda.atomic.max(state.sums, THRESHOLD, best)


FUNCTIONS = (end_walk, begin, visit)
"""What kernels are bound to: `begin_round`, and the walk over the lists of those that push."""
KERNELS = (begin_round, end_walk, choose, resume, find_peak)
