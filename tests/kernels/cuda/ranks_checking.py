"""What must hold of PageRank on any backend: `followed` runs a stream, `check_ranks` and `check_state` look at it."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from grapin import Graph, reference
from grapin.kernels.cuda.backend import Backend
from grapin.kernels.cuda.pagerank.query import PageRankQuery
from grapin.kernels.cuda.pagerank.residuals import DRIFT, FILED, MASS, REST, SIDE, TOTAL, WAITING
from grapin.programs.pagerank import PageRank
from grapin.system import SYSTEMS
from grapin.testing import MutationStream


def started(
    backend: Backend, graph: Graph, program: PageRank, system: str = "bounded", **sizes: int
) -> PageRankQuery:
    """Return a query that has computed its first ranks."""
    query = PageRankQuery(backend, program, SYSTEMS[system], **sizes)
    query.start(graph.snapshot(), tracing=False)
    return query


def followed(
    backend: Backend, given: MutationStream, program: PageRank, system: str = "bounded", **sizes: int
) -> Iterator[tuple[Graph, PageRankQuery]]:
    """Yield graph and query at the start and after each batch."""
    graph = Graph.from_edges(**given.start)
    query = started(backend, graph, program, system, **sizes)
    yield graph, query
    for batch in given.batches:
        applied = graph.apply(batch)
        query.repair(graph.snapshot(), applied, tracing=False)
        yield graph, query


def check_ranks(graph: Graph, query: PageRankQuery) -> None:
    """Hold ranks, and what the query says of their error, against the tolerance."""
    exact = reference.pagerank(graph, query.program.damping)
    assert np.abs(query.values() - exact).sum() <= query.program.tolerance
    assert query.error_bound() <= query.program.tolerance


def arrays_of(query: PageRankQuery) -> Any:
    """Return the state, on the host."""
    state = query._state
    return state._replace(**{name: query._backend.download(array) for name, array in state._asdict().items()})


def expected_residuals(graph: Graph, query: PageRankQuery, pushed: NDArray[Any]) -> Any:
    """Compute residuals as they are defined."""
    source, target, _ = graph.edge_arrays()
    degrees = np.bincount(source, minlength=graph.bound)
    flows = query.program.damping * pushed[source] / degrees[source]
    return graph.alive() + np.bincount(target, weights=flows, minlength=graph.bound) - pushed


def check_state(graph: Graph, query: PageRankQuery) -> None:
    """Hold residuals, sums, and who waits, against their definitions."""
    state, bound = arrays_of(query), graph.bound
    residuals, scales = state.cells[: 2 * bound : 2], state.cells[1 : 2 * bound : 2]
    pushed = state.pushed[:bound]
    drift = float(state.sums[DRIFT])
    assert np.abs(residuals - expected_residuals(graph, query, pushed)).sum() <= drift + 1e-12 * bound
    degrees = graph.snapshot().out.degrees[:bound]
    assert np.array_equal(scales, degrees if query.system.repair == "bounded" else degrees > 0)
    assert state.sums[TOTAL] == pytest.approx(np.abs(residuals[scales > 0]).sum(), abs=drift + 1e-300)
    assert state.sums[MASS] == pytest.approx((pushed + residuals).sum())
    half = len(state.waiting) // 2 * state.control[SIDE]
    waiting = state.waiting[half : half + state.control[WAITING]]
    assert np.array_equal(np.sort(waiting), np.flatnonzero(state.marks & FILED))
    worth_waiting = (scales > 0) & (np.abs(residuals) >= state.sums[REST] * scales)
    assert not set(np.flatnonzero(worth_waiting)) - set(waiting.tolist())
    assert not state.change.any()
    assert not (state.marks & ~FILED).any()
    assert not state.stripes.any()
    assert not query.values()[~graph.alive()].any()
