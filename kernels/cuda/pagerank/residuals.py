"""Residuals on the device: how far each vertex is from its equation, who waits to push, how wrong all is in sum.

The equation and the proof of its error bound are those of the CPU (`kernels/equation.py`): a pushed
amount p(v), on which the neighbours count, a residual r(v), the reported q = p + r, and

    error <= 2 d R / ((1 - d) Q),    R the sum of |r| over vertices with out-edges, Q the sum of q.

It holds whatever the order of pushes, so thousands of vertices may push at once.

**Who waits.** What a read edge is worth is |r| / degree. All vertices worth at least `REST` wait in one list, each
once. Whoever adds to a residual sees from the old value, which the atomic addition returns, whether the vertex has
just crossed that line, and files it then: nobody has to search. The list is kept between batches; all residuals are
looked at only when it is used up and R is still too large.

**Rounding.** An atomic addition rounds once, like any other, and what it adds to R is computed from the very values
that it found and left behind, so R is the sum of what is stored, whoever came first. `DRIFT` adds up the worst case of
all that is rounded on the way, in residuals and in R itself, as if no two errors ever cancelled; it counts as a part
of R.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from grapin.kernels.cuda.backend import Backend
from grapin.kernels.cuda.warp import WARP, ballot, broadcast, first_lane, lane_id, lanes_before, warp_sum

TOTAL, MASS, DRIFT, SIGNED, COUNT, READ, REST, THRESHOLD, SUMS = range(9)
"""Places in `sums`: R; Q; what rounding may have done to R; the sum of the residuals in R with their signs, and of how
many, as they last were when all were looked at; how many edges a run has pushed along; from what worth on a vertex
waits; from what worth on one that waits pushes."""
CHOSEN_FROM, CHOSEN, WAITING, ACTIVE, SIDE, STATUS, TOUCHED, CHANGED, CONTROLS = range(9)
"""Places in `control`: where those that push in this round begin in `chosen`, always 0, and where they end; how many
wait; of how many this round decides whether they push; which half of `waiting` is filled; why rounds stopped; how many
vertices the batch touches; how many have pushed in this run."""
FILED, TOUCHING = 1, 2
"""Bits of `marks`: the vertex waits; the batch at hand touches it."""
STRIPES = 64
"""Places at which warps add to R; so many that they seldom meet at one."""
ROUNDING = 2.0**-52
"""Twice what one operation may be wrong by, as a part of its result: so products of errors, and the rounding of `DRIFT`
itself, are covered too."""


class Ranks(NamedTuple):
    """The state of PageRank on the device; arrays are by vertex unless they say otherwise."""

    cells: Any
    """Two numbers a vertex, side by side because they are read together: the residual, and what its size is measured
    against, the degree, or 1 in the published system; 0 where the vertex takes no part in R."""
    pushed: Any
    shares: Any
    """What a vertex that pushes hands on along every edge."""
    marks: Any
    last_push: Any
    """The number of the run in which it pushed last."""
    change: Any
    """Out-edges gained in the batch at hand; all zero between batches."""
    waiting: Any
    """Those that wait, in one half; the other is for those that wait after the next round."""
    chosen: Any
    """Those that push in this round."""
    long_lists: Any
    """Those of them whose lists blocks share, for `walk.py`."""
    control: Any
    sums: Any
    stripes: Any
    """For each stripe what is still to be added to R, and the sizes that were rounded."""


_LASTING = ("cells", "pushed", "marks", "last_push", "change", "control", "sums", "stripes")


def new_ranks(backend: Backend, capacity: int) -> Ranks:
    """Return room for vertices below `capacity`, none of which exists."""
    capacity = max(capacity, 1)  # lanes without a vertex of their own look at the first
    return Ranks(
        cells=backend.full(2 * capacity, 0.0, np.float64),
        pushed=backend.full(capacity, 0.0, np.float64),
        shares=backend.full(capacity, 0.0, np.float64),
        marks=backend.full(capacity, 0, np.int32),
        last_push=backend.full(capacity, 0, np.int64),  # runs are counted for as long as the engine lives
        change=backend.full(capacity, 0, np.int32),
        waiting=backend.empty(2 * capacity, np.int32),
        chosen=backend.empty(capacity, np.int32),
        long_lists=backend.empty(capacity, np.int32),
        control=backend.full(CONTROLS, 0, np.int64),
        sums=backend.full(SUMS, 0.0, np.float64),
        stripes=backend.full(2 * STRIPES, 0.0, np.float64),
    )


def extended(backend: Backend, old: Ranks, capacity: int) -> Ranks:
    """Return the same state with room for more vertices."""
    new = new_ranks(backend, capacity)
    for name in _LASTING:
        before = getattr(old, name)
        backend.copy(backend.part(getattr(new, name), 0, len(before)), before)
    room = len(old.pushed)
    for half in (0, 1):
        begin, end = half * capacity, half * capacity + room
        backend.copy(
            backend.part(new.waiting, begin, end), backend.part(old.waiting, half * room, (half + 1) * room)
        )
    return new


def claim(wanted: Any, place: Any, control: Any) -> Any:
    """Count the lanes that want a place in a list, and return the one of each; all lanes of a warp come."""
    asking = ballot(wanted)
    if asking == 0:
        return np.int64(0)
    lane, leader = lane_id(), first_lane(asking)
    begin = np.int64(0)
    if lane == leader:
        begin = cuda.atomic.add(control, place, np.int64(cuda.popc(asking)))
    return broadcast(begin, leader) + lanes_before(asking, lane)


def add_over_warp(value: Any, place: Any, sums: Any) -> None:
    """Add what each lane of a warp has to one of the sums."""
    value = warp_sum(value)
    if lane_id() == 0 and value != 0.0:
        cuda.atomic.add(sums, place, value)


def add_to_total(growth: Any, rounded: Any, state: Ranks) -> None:
    """Add to R what each lane of a warp has, and to the drift the sizes that were rounded for it.

    In adding up a warp in five steps no sum is larger than the sizes of its lanes together; then comes one at the
    stripe.
    """
    rounded = warp_sum(rounded + 6.0 * abs(growth))
    growth = warp_sum(growth)
    if lane_id() == 0 and rounded != 0.0:
        stripe = 2 * (cuda.grid(1) // WARP % STRIPES)
        before = cuda.atomic.add(state.stripes, stripe, growth)
        cuda.atomic.add(state.stripes, stripe + 1, rounded + abs(before + growth))


def collect_total(state: Ranks) -> None:
    """Bring what is in the stripes to R and to the drift; the lanes of a single warp."""
    growth = rounded = 0.0
    for stripe in range(lane_id(), STRIPES, WARP):
        growth += state.stripes[2 * stripe]
        rounded += state.stripes[2 * stripe + 1] + abs(growth)
        state.stripes[2 * stripe] = 0.0
        state.stripes[2 * stripe + 1] = 0.0
    rounded = warp_sum(rounded + 6.0 * abs(growth))
    growth = warp_sum(growth)
    if lane_id() == 0:
        state.sums[TOTAL] += growth
        state.sums[DRIFT] += ROUNDING * (rounded + abs(state.sums[TOTAL]))


def file(vertex: Any, state: Ranks) -> None:
    """Let a vertex wait, if it does not already."""
    if cuda.atomic.or_(state.marks, vertex, FILED) & FILED == 0:
        place = cuda.atomic.add(state.control, WAITING, 1)
        state.waiting[state.control[SIDE] * state.pushed.size + place] = vertex


def receive(vertex: Any, amount: Any, rest: Any, state: Ranks) -> Any:
    """Add to one residual, and file the vertex when that makes it worth waiting.

    Returns what that adds to R, and the size that was rounded.
    """
    before = cuda.atomic.add(state.cells, 2 * vertex, amount)
    scale = state.cells[2 * vertex + 1]
    old, new = abs(before), abs(before + amount)
    growth = 0.0
    if scale > 0.0:
        growth = new - old
        if old < rest * scale and new >= rest * scale:
            file(vertex, state)
    return growth, new


FUNCTIONS = (claim, add_over_warp, add_to_total, collect_total, file, receive)
"""What the kernels of this folder are bound to, see `backend.bind`."""
