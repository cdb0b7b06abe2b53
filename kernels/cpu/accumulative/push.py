"""Rounds of pushes in the order of memory, and the sums that say how wrong the values are.

A vertex *pushes* its residual by adding it to its pushed amount and handing each neighbour its share; `grapin.kernels.
equation` says what is kept and proves the bound. A round goes through the vertices once: whoever's residual is worth
more than a threshold pushes what it has by then. Vertices are looked at in blocks, without a branch; among those that
push, lists are asked for before their turn. Sums go block by block, so their rounding is known in advance.
"""

from typing import Any, NamedTuple

import numpy as np

from grapin.compiled import compiled, kernel, summing
from grapin.graph.packed import prefetch
from grapin.kernels.cpu.lists import ITERATIONS, TRACE_FIELDS, count_list, grown, keep_read, write_trace
from grapin.kernels.equation import BLOCK, EPSILON

AHEAD = 8
"""Lists that are asked for before their turn."""
PASSES_NOTHING = np.float32(1e30)
"""More than what is asked of any vertex that passes something on."""


class Flows(NamedTuple):
    """The state of a program, by vertex."""

    pushed: Any
    """p: what neighbours count on; 0 where nothing is passed on."""
    residual: Any
    """r = b + Ap - p, but for rounding; where nothing is passed on it holds all there is."""
    base: Any
    """b: what a vertex has of its own."""
    rate: Any
    """What an edge of weight 1 passes on of each unit; 0 where nothing is."""
    counted: Any
    """float32: what a unit of residual counts in the error."""
    cost: Any
    """float32: what a push costs over `counted`, infinite where nothing is passed on."""
    last_push: Any
    """The number of the run in which a vertex pushed last."""


@kernel
def change(
    arcs: Any,
    touched: Any,
    keeping: bool,
    off: float,
    state: Flows,
) -> float:
    """Let arcs come and go at the flow of their source, which then keeps it; return what that may have rounded.

    `arcs` are sources, targets, and how much weight each gains; `touched` their sources, each once, whether one had no
    arc before, and the new rates. No list is read, however large the hubs that a batch touches. Not `keeping` flows,
    amounts stay: neighbours have been told.
    """
    pushed, residual, rate = state.pushed, state.residual, state.rate
    sources, targets, signs = arcs
    touched, fresh, rates = touched
    rounded = 0.0
    for i in range(touched.size):  # a vertex with its first out-edges lets all flow that it has
        vertex = touched[i]
        if fresh[i] and rate[vertex] == 0.0 and rates[i] > 0.0:
            pushed[vertex] = residual[vertex] - off
            residual[vertex] = off
            rate[vertex] = rates[i]
            rounded += abs(pushed[vertex]) + abs(off)
    for i in range(sources.size):
        flow = signs[i] * rate[sources[i]] * pushed[sources[i]]
        residual[targets[i]] += flow
        rounded += abs(residual[targets[i]]) + 4.0 * abs(flow)
    for i in range(touched.size):
        vertex = touched[i]
        before = pushed[vertex]
        after = before * (rate[vertex] / rates[i] if keeping else 1.0) if rates[i] > 0.0 else 0.0
        residual[vertex] += before - after
        pushed[vertex] = after
        rate[vertex] = rates[i]
        rounded += 8.0 * (abs(before) + abs(after)) + abs(residual[vertex])
    return EPSILON * rounded


@compiled
def tell_neighbours(
    touched: Any, rates: Any, lists: Any, state: Flows, tally: Any, trace: Any, used: int, tracing: bool
) -> Any:
    """Before `change`: bring the flow of these vertices to the new rates on all edges they have now.

    Returns what that may have rounded, and the trace with how much of it is used.
    """
    starts, degrees, neighbours, weights = lists
    rounded = 0.0
    tally[ITERATIONS] += 1
    for i in range(touched.size):
        vertex = np.int64(touched[i])
        start, degree = starts[vertex], np.int64(degrees[vertex])
        share = state.pushed[vertex] * (rates[i] - state.rate[vertex])
        for place in range(start, start + degree):
            part = share * weights[place] if weights.size else share
            state.residual[neighbours[place]] += part
            rounded += abs(state.residual[neighbours[place]]) + 8.0 * abs(part)
        count_list(tally, start, degree, 1 + (weights.size > 0))
        if tracing:
            trace, used = keep_read(trace, used, tally, 2 * vertex, start, degree, 1 + (weights.size > 0))
    return EPSILON * rounded, trace, used


@summing
def census(bound: int, degrees: Any, push_cost: float, even: bool, state: Flows) -> Any:
    """Return p in sum, b in sum where something is passed on and elsewhere, all costs, and the largest r elsewhere.

    The last is the root of the sum of squares, at least as much: a true maximum would not be vectorised.
    """
    pushed, residual, base, cost = state.pushed, state.residual, state.base, state.cost
    amount = passing = resting = costs = squares = 0.0
    for begin in range(0, bound, BLOCK):
        a = b = c = d = e = 0.0
        for v in range(begin, min(begin + BLOCK, bound)):
            passes = cost[v] < PASSES_NOTHING
            a += pushed[v]
            b += base[v] if passes else 0.0
            c += 0.0 if passes else base[v]
            d += (1.0 if even else push_cost + degrees[v]) if passes else 0.0
            e += 0.0 if passes else residual[v] * residual[v]
        amount += a
        passing += b
        resting += c
        costs += d
        squares += e
    return amount, passing, resting, costs, 1.001 * np.sqrt(squares)


@summing
def measure(bound: int, fixed: Any, passing_base: float, state: Flows) -> Any:
    """Return the offset, and in sum: residuals less it, their sizes, what these count, and what rests elsewhere.

    The offset is the mean residual of those that pass something on, 0 where `passing_base`, their number, is 0.
    """
    residual, counted, cost = state.residual, state.counted, state.cost
    for i in range(fixed.size):
        residual[fixed[i]] = state.base[fixed[i]] - state.pushed[fixed[i]]
    passing = resting = 0.0
    for begin in range(0, bound, BLOCK):
        a = b = 0.0
        for v in range(begin, min(begin + BLOCK, bound)):
            a += residual[v] if cost[v] < PASSES_NOTHING else 0.0
            b += 0.0 if cost[v] < PASSES_NOTHING else residual[v]
        passing += a
        resting += b
    off = passing / passing_base if passing_base > 0.0 else 0.0
    sizes = worth = 0.0
    for begin in range(0, bound, BLOCK):
        a = b = 0.0
        for v in range(begin, min(begin + BLOCK, bound)):
            size = abs(residual[v] - off) if cost[v] < PASSES_NOTHING else 0.0
            a += size
            b += size * counted[v]
        sizes += a
        worth += b
    return off, passing - off * passing_base, sizes, worth, resting


@compiled
def push_round(
    begin: int,
    end: int,
    threshold: float,
    off: float,
    run: int,
    residual: Any,
    lists: Any,
    state: Flows,
    chosen: Any,
    tally: Any,
    trace: Any,
    used: int,
    tracing: bool,
) -> Any:
    """Let vertices from `begin` to `end` push that are worth more than the threshold times what it costs.

    Returns the sum of what was pushed, how many pushed for the first time in this run, and the trace with its use.
    """
    starts, degrees, neighbours, weights = lists
    pushed, rate, cost, last_push = state.pushed, state.rate, state.cost, state.last_push
    arrays = 1 + (weights.size > 0)
    amounts, changed, waiting = 0.0, 0, True
    for block in range(begin, end, BLOCK):
        count = 0
        for v in range(block, min(block + BLOCK, end)):
            chosen[count] = v
            count += abs(residual[v] - off) > threshold * cost[v]
        if count == 0:
            continue
        if waiting:
            tally[ITERATIONS] += 1
            waiting = False
        if tracing and used + count * TRACE_FIELDS > trace.size:
            trace = grown(trace, used + count * TRACE_FIELDS)
        for i in range(min(count, AHEAD)):
            prefetch(neighbours, starts[chosen[i]])
        block_amount = 0.0
        for i in range(count):
            v = chosen[i]
            if i + AHEAD < count:
                prefetch(neighbours, starts[chosen[i + AHEAD]])
            start, degree = starts[v], np.int64(degrees[v])
            amount = residual[v] - off
            pushed[v] += amount
            block_amount += amount
            residual[v] = off
            share = amount * rate[v]
            first, last = np.uint64(start), np.uint64(start + degree)
            if arrays == 1:
                for place in range(first, last):
                    residual[neighbours[place]] += share
            else:
                for place in range(first, last):
                    residual[neighbours[place]] += share * weights[place]
            changed += last_push[v] != run
            last_push[v] = run
            count_list(tally, start, degree, arrays)
            if tracing:
                used = write_trace(trace, used, tally[ITERATIONS], 2 * v, start, degree, arrays)
        amounts += block_amount
    return amounts, changed, trace, used


@summing
def merge(begin: int, end: int, parts: Any, residual: Any) -> None:
    """Add up what threads did, each to a copy of all residuals of its own."""
    for v in range(begin, end):
        before = residual[v]
        after = before
        for part in range(len(parts)):
            after += parts[part, v] - before
        residual[v] = after


@compiled
def renew(bound: int, lists: Any, state: Flows, tally: Any, trace: Any, used: int, tracing: bool) -> Any:
    """Compute all residuals from the lists, and with that forget what rounding did to them.

    Returns what rounding may have done now, and the trace with how much of it is used.
    """
    starts, degrees, neighbours, weights = lists
    arrays = 1 + (weights.size > 0)
    residual, pushed = state.residual, state.pushed
    rounded, waiting = 0.0, True
    for v in range(bound):
        residual[v] = state.base[v] - pushed[v]
        rounded += abs(residual[v])
    for v in range(bound):
        share = pushed[v] * state.rate[v]
        if share == 0.0:
            continue
        if waiting:
            tally[ITERATIONS] += 1
            waiting = False
        start, degree = starts[v], np.int64(degrees[v])
        sizes = 0.0
        for place in range(start, start + degree):
            part = share * weights[place] if arrays > 1 else share
            other = neighbours[place]
            residual[other] += part
            sizes += abs(residual[other]) + 4.0 * abs(part)
        rounded += sizes
        count_list(tally, start, degree, arrays)
        if tracing:
            trace, used = keep_read(trace, used, tally, 2 * v, start, degree, arrays)
    return EPSILON * rounded, trace, used


@summing
def report(bound: int, off: float, scale: float, state: Flows, values: Any) -> None:
    """Write the values: what all have by one more step, less the offset of the base, scaled."""
    for v in range(bound):
        values[v] = (state.pushed[v] + state.residual[v] - off * state.base[v]) * scale
