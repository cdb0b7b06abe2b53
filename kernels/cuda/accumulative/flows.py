"""The state of an accumulative program on the device, what a batch does to flows, and residuals from scratch.

The equation, and why its error bound is one, are in `grapin.kernels.equation`. As on the CPU, the flow of a vertex
whose out-edges change is kept, its amount gives way, and its own residual takes up the difference: no list is read.
Each step is a launch over what the batch touches, and the order of launches is all the order it needs.

Where lists are read after all (the published repair tells every neighbour of a changed source; residuals are computed
again when rounding hinders), the vertices in question are chosen here, and a walk hands their shares on.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from grapin.kernels.cuda.backend import Backend
from grapin.kernels.cuda.lists import ITERATION, LONG_LISTS, Reading
from grapin.kernels.cuda.walk import LONG
from grapin.kernels.cuda.warp import (
    WARP,
    ballot,
    broadcast,
    first_lane,
    lane_id,
    lanes_before,
    sync_warp,
    warp_sum,
)
from grapin.kernels.equation import DRIFT, EPSILON, NUMBERS, OFF

CHOSEN_FROM, CHOSEN, CHANGED, ARRIVED, CONTROLS = range(5)
"""Places in `control`: where those that push in this round begin in `chosen`, always 0, and where they end; how many
have pushed in this run; how many warps of a launch are done."""
FRESH, COMES, GOES = np.uint8(1), np.uint8(2), np.uint8(4)
"""Bits of what a batch does to a vertex: it brings all out-edges there are; the vertex comes; it goes."""
SUMS = 7
"""So many sums are taken at once, behind the numbers of the bound."""


class Flows(NamedTuple):
    """The state; arrays are by vertex unless they say otherwise."""

    pushed: Any
    """What neighbours count on, the residual, and what a vertex has of its own."""
    residual: Any
    base: Any
    rate: Any
    """What an edge of weight 1 passes on of each unit; 0 where nothing is."""
    counted: Any
    """float32: what a unit of residual counts in the error; and what a push costs over that, infinite where nothing is
    passed on."""
    cost: Any
    last_push: Any
    """The number of the run in which a vertex pushed last."""
    fixed: Any
    """Whether nothing flows into a vertex."""
    share: Any
    """What a chosen vertex hands on along an edge of weight 1."""
    chosen: Any
    """Those that push in this round."""
    control: Any
    numbers: Any
    """Those of the bound, and the sums that are being taken."""


def new_flows(backend: Backend, capacity: int, control: Any) -> Flows:
    """Return room for vertices below `capacity`, none of which exists."""
    capacity = max(capacity, 1)  # lanes without a vertex of their own look at the first
    pushed, residual, base, rate, share = (backend.full(capacity, 0.0, np.float64) for _ in range(5))
    return Flows(
        pushed,
        residual,
        base,
        rate,
        backend.full(capacity, 0.0, np.float32),
        backend.full(capacity, np.inf, np.float32),
        backend.full(capacity, 0, np.int64),  # runs are counted for as long as the engine lives
        backend.full(capacity, 0, np.uint8),
        share,
        backend.empty(capacity, np.int32),
        control,
        backend.full(NUMBERS + SUMS, 0.0, np.float64),
    )


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


def is_last(control: Any) -> Any:
    """Tell one lane, of the warp that comes last, that all warps of the launch have come; only once a launch."""
    last = False
    if lane_id() == 0:
        cuda.threadfence()
        last = cuda.atomic.add(control, ARRIVED, 1) == cuda.gridsize(1) // WARP - 1
        cuda.threadfence()
        if last:
            control[ARRIVED] = 0
    return last


def take_sum(number: Any, numbers: Any) -> Any:
    """Return what warps added up, and begin it again; the last of them."""
    total = cuda.atomic.add(numbers, NUMBERS + number, 0.0)  # a load might find what was there before
    numbers[NUMBERS + number] = 0.0
    return total


def choose(vertex: Any, wanted: Any, share: Any, degree: Any, state: Flows, reading: Reading) -> None:
    """Let the vertices of flagged lanes hand a share on along their lists; all lanes of a warp come."""
    place = claim(wanted, CHOSEN, state.control)
    if wanted:
        state.chosen[place] = vertex
        state.share[vertex] = share
    place = claim(wanted and degree > LONG, LONG_LISTS, reading.progress)
    if wanted and degree > LONG:
        reading.long_lists[place] = vertex


def count_walk(state: Flows, reading: Reading) -> None:
    """Count a walk over the chosen as an iteration, if there are any; the last warp of a launch."""
    if cuda.atomic.add(state.control, CHOSEN, 0) > 0:
        reading.progress[ITERATION] += 1


def choose_touched(state: Flows, reading: Reading, vertices: Any, rates: Any, degrees: Any) -> None:
    """Choose the vertices of a batch that bring the flow on all edges they have now to their new rate."""
    lane = lane_id()
    for begin_at in range(cuda.grid(1) - lane, vertices.size, cuda.gridsize(1)):
        vertex, degree, share = np.int32(0), np.int32(0), 0.0
        if begin_at + lane < vertices.size:
            vertex = vertices[begin_at + lane]
            degree = degrees[vertex]
            share = state.pushed[vertex] * (rates[begin_at + lane] - state.rate[vertex])
        choose(vertex, degree > 0, share, degree, state, reading)
    if is_last(state.control):
        count_walk(state, reading)


def open_lists(state: Flows, vertices: Any, what: Any, rates: Any, bases: Any) -> None:
    """Let vertices come, and let all flow at once that a vertex has when it gets its first out-edges."""
    off = state.numbers[OFF]
    rounded = 0.0
    for entry in range(cuda.grid(1), vertices.size, cuda.gridsize(1)):
        vertex = vertices[entry]
        if what[entry] & COMES:
            state.base[vertex] = bases[entry]
            state.residual[vertex] += bases[entry]  # it may have been told of a flow already
            rounded += abs(state.residual[vertex])
        if what[entry] & FRESH and state.rate[vertex] == 0.0 and rates[entry] > 0.0:
            amount = state.residual[vertex] - off
            state.pushed[vertex] = amount
            state.residual[vertex] = off
            state.rate[vertex] = rates[entry]
            rounded += abs(amount) + abs(off)
    add_over_warp(EPSILON * rounded, DRIFT, state.numbers)


def change_flows(state: Flows, sources: Any, targets: Any, gains: Any) -> None:
    """Let edges come, go and get another weight with the flow of their source before the batch."""
    rounded = 0.0
    for edge in range(cuda.grid(1), sources.size, cuda.gridsize(1)):
        flow = gains[edge] * state.rate[sources[edge]] * state.pushed[sources[edge]]
        before = cuda.atomic.add(state.residual, targets[edge], flow)
        rounded += abs(before + flow) + 4.0 * abs(flow)
    add_over_warp(EPSILON * rounded, DRIFT, state.numbers)


def settle(state: Flows, vertices: Any, what: Any, rates: Any, counted: Any, cost: Any, keeping: Any) -> None:
    """Let vertices pass on at their new rate, with the flow or with the amount they had; let those go that are gone."""
    rounded = 0.0
    for entry in range(cuda.grid(1), vertices.size, cuda.gridsize(1)):
        vertex = vertices[entry]
        before, after = state.pushed[vertex], 0.0
        if rates[entry] > 0.0:
            after = before * (state.rate[vertex] / rates[entry]) if keeping else before
        residual = state.residual[vertex] + (before - after)
        rounded += 8.0 * (abs(before) + abs(after)) + abs(residual)
        if what[entry] & GOES:
            after = residual = 0.0
            state.base[vertex] = 0.0
        state.pushed[vertex] = after
        state.residual[vertex] = residual
        state.rate[vertex] = rates[entry]
        state.counted[vertex] = counted[entry]
        state.cost[vertex] = cost[entry]
    add_over_warp(EPSILON * rounded, DRIFT, state.numbers)


def begin_residuals(state: Flows, reading: Reading, bound: Any, degrees: Any) -> None:
    """Begin to compute all residuals from the lists, amounts on the scale of the base; all that pushed hand it on."""
    scale = 1.0 - state.numbers[OFF]
    lane = lane_id()
    rounded = 0.0
    for begin_at in range(cuda.grid(1) - lane, bound, cuda.gridsize(1)):
        vertex, degree, share = begin_at + lane, np.int32(0), 0.0
        if vertex < bound:
            amount = state.pushed[vertex] / scale
            state.pushed[vertex] = amount
            state.residual[vertex] = state.base[vertex] - amount
            rounded += abs(state.residual[vertex])
            degree, share = degrees[vertex], amount * state.rate[vertex]
        choose(np.int32(vertex), share != 0.0, share, degree, state, reading)
    add_over_warp(EPSILON * rounded, DRIFT, state.numbers)
    if is_last(state.control):
        count_walk(state, reading)


def share_of(state: Flows, vertex: Any) -> Any:
    """Return what a vertex hands on along every edge."""
    return state.share[vertex]


def hand_on(
    state: Flows,
    vertex: Any,  # noqa: ARG001  (`walk.py` says what visits are given)
    value: Any,
    other: Any,
    weight: Any,
    inside: Any,
    found: Any,
) -> Any:
    """Hand a share on to one neighbour."""
    sync_warp()  # where lanes meet loops are not unrolled, for which there would be too few registers
    if inside:
        cuda.atomic.add(state.residual, other, value * weight)
    return found


def hand_on_carefully(
    state: Flows,
    vertex: Any,  # noqa: ARG001
    value: Any,
    other: Any,
    weight: Any,
    inside: Any,
    found: Any,
) -> Any:
    """Hand a share on to one neighbour, and add up what that may round."""
    rounded = 0.0
    if inside:
        part = value * weight
        before = cuda.atomic.add(state.residual, other, part)
        rounded = abs(before + part) + 8.0 * abs(part)
    add_over_warp(EPSILON * rounded, DRIFT, state.numbers)
    return found


FUNCTIONS = (claim, add_over_warp, is_last, take_sum, choose, count_walk)
"""What the kernels of this folder are bound to, see `backend.bind`."""
KERNELS = (choose_touched, open_lists, change_flows, settle, begin_residuals)
