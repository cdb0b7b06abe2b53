"""Flows: what a batch does to the equations of PageRank, before anything is pushed.

As on the CPU (`kernels/equation.py`): what flows over each out-edge of u is f(u) = d p(u) / degree(u).
When a batch changes the degree, the flow is kept, p(u) is scaled with the degree, and u's own residual takes up the
difference: no list is read, however large the hubs a batch touches. The published system keeps p(u) instead and tells
every neighbour.

Each step is a launch over the batch, and the order of launches is all the order it needs: what is touched is out of R
before a flow changes, and all flows have changed before an amount is scaled.

Passes over the state of all vertices: at the start, and when those that wait are used up or cannot be trusted.

They read the device's own memory and no list, except that `renew` has all vertices push what they ever pushed.

`rescale` is as on the CPU (`kernels/equation.py`): residuals all of one sign lose only the part 1 - d of
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
    TOUCHED,
    TOUCHING,
    Ranks,
    add_over_warp,
    add_to_total,
    claim,
    collect_total,
    file,
    receive,
)
from grapin.kernels.cuda.warp import lane_id


def welcome(come: Any, state: Ranks) -> None:
    """Give new vertices what every vertex starts with."""
    if cuda.grid(1) == 0:
        state.sums[MASS] += come.size
    for entry in range(cuda.grid(1), come.size, cuda.gridsize(1)):
        state.cells[2 * come[entry]] = 1.0


def withdraw(vertices: Any, gained: Any, touched: Any, state: Ranks) -> None:
    """Take vertices out of R while they are changed, and list each once; each entry changes a degree by `gained`."""
    growth = rounded = 0.0
    for entry in range(cuda.grid(1), vertices.size, cuda.gridsize(1)):
        vertex = vertices[entry]
        cuda.atomic.add(state.change, vertex, gained)
        if cuda.atomic.or_(state.marks, vertex, TOUCHING) & TOUCHING == 0:
            touched[cuda.atomic.add(state.control, TOUCHED, 1)] = vertex
            if state.cells[2 * vertex + 1] > 0.0:
                state.cells[2 * vertex + 1] = 0.0
                growth -= abs(state.cells[2 * vertex])
                rounded += abs(growth)
    add_to_total(growth, rounded, state)


def open_lists(touched: Any, degrees: Any, state: Ranks) -> None:
    """Let all flow at once that a vertex has when it gets its first out-edges."""
    rounded = 0.0
    for entry in range(cuda.grid(1), state.control[TOUCHED], cuda.gridsize(1)):
        vertex = touched[entry]
        if degrees[vertex] > 0 and degrees[vertex] == state.change[vertex]:
            state.pushed[vertex] += state.cells[2 * vertex]
            state.cells[2 * vertex] = 0.0
            rounded += 2.0 * state.pushed[vertex]
    add_to_total(0.0, rounded, state)


def change_flows(sources: Any, targets: Any, sign: Any, damping: Any, degrees: Any, state: Ranks) -> None:
    """Let edges come (sign 1) or go (-1) with the flow of their source before the batch, or after it if it had none."""
    rest = state.sums[REST]
    growth = mass = rounded = 0.0
    for edge in range(cuda.grid(1), sources.size, cuda.gridsize(1)):
        source = sources[edge]
        degree = degrees[source] - state.change[source]
        if degree == 0:
            degree = degrees[source]
        flow = sign * damping * state.pushed[source] / degree
        more, size = receive(targets[edge], flow, rest, state)
        growth += more
        mass += flow
        rounded += size + 4.0 * abs(flow) + abs(growth)
    add_to_total(growth, rounded, state)
    add_over_warp(mass, MASS, state.sums)


def forget(gone: Any, state: Ranks) -> None:
    """Take what vertices had that exist no more; by now nothing flows to or from them."""
    mass = 0.0
    for entry in range(cuda.grid(1), gone.size, cuda.gridsize(1)):
        vertex = gone[entry]
        mass -= state.pushed[vertex] + state.cells[2 * vertex]
        state.pushed[vertex] = 0.0
        state.cells[2 * vertex] = 0.0
    add_over_warp(mass, MASS, state.sums)


def settle(touched: Any, damping: Any, keeping: Any, degrees: Any, state: Ranks) -> None:
    """Let touched vertices take part again: with the flow they had, or with the amount, and then tell the neighbours.

    Those that have to tell are the chosen ones afterwards, and their share is the difference of the flows.
    """
    rest = state.sums[REST]
    growth = mass = rounded = 0.0
    for entry in range(cuda.grid(1), state.control[TOUCHED], cuda.gridsize(1)):
        vertex = touched[entry]
        degree, before = degrees[vertex], degrees[vertex] - state.change[vertex]
        state.change[vertex] = 0
        state.marks[vertex] &= ~TOUCHING
        old = state.pushed[vertex]
        if keeping and before > 0 and degree != before:
            state.pushed[vertex] = old * degree / before
            state.cells[2 * vertex] += old - state.pushed[vertex]
            rounded += 8.0 * (old + state.pushed[vertex])
        if degree == 0:
            continue
        size = abs(state.cells[2 * vertex])
        scale = float(degree) if keeping else 1.0
        state.cells[2 * vertex + 1] = scale
        growth += size
        rounded += growth
        if size >= rest * scale:
            file(vertex, state)
        if not keeping:
            difference = damping * old * (1.0 / degree - 1.0 / before) if before > 0 else 0.0
            state.shares[vertex] = difference
            state.chosen[cuda.atomic.add(state.control, CHOSEN, 1)] = vertex
            mass += difference * degree
            rounded += 8.0 * old
    add_to_total(growth, rounded, state)
    add_over_warp(mass, MASS, state.sums)


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
    """Sum up all residuals again, and file all that are worth waiting."""
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
    if cuda.grid(1) == 0:  # what rounding has done to residuals so far is scaled with them
        state.sums[DRIFT] *= factor
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


KERNELS = (
    welcome,
    withdraw,
    open_lists,
    change_flows,
    forget,
    settle,
    reset,
    clear_sums,
    survey,
    rescale,
    renew,
)
