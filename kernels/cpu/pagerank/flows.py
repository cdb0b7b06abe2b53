"""Flows: what a batch does to the equations of PageRank, before anything is pushed.

What flows over each out-edge of u is f(u) = d p(u) / degree(u). When a batch changes the degree of u, all its flows
would change, and the residuals of all its neighbours with them. Instead the *flow is kept* and p(u) gives way: it is
scaled with the degree, and u's own residual takes up the difference. Only the ends of inserted and deleted edges gain
or lose a flow, so this costs what the batch holds, and no list is read, however large the hubs it touches.

The published way keeps p(u) and tells every neighbour: it reads the whole list of each source.
"""

from typing import Any

from grapin.compiled import compiled, kernel
from grapin.kernels.cpu.lists import count_list, keep_read
from grapin.kernels.cpu.pagerank.residuals import (
    CEILING,
    DRIFT,
    MASS,
    OUTSIDE,
    RESIDUAL,
    ROUNDING,
    Residuals,
    receive,
    settle,
    withdraw,
)


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
