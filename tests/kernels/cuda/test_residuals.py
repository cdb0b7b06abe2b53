"""Accumulative programs on a GPU stay within the error they certify, whatever a stream does and whoever comes first."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grapin import Batch, Graph, stream
from grapin.counters import count_reads
from grapin.generators import generate
from grapin.programs.pagerank import PageRank
from grapin.system import RUNNABLE, SYSTEMS, Resident
from grapin.testing import MutationStream, mutation_streams

pytest.importorskip("numba.cuda", reason="the cudasim extra is not installed")

from grapin.kernels.cuda.accumulative.flows import ARRIVED, CHOSEN
from grapin.kernels.cuda.accumulative.query import AccumulativeQuery
from grapin.kernels.cuda.backend import Backend, Shape
from grapin.kernels.cuda.one_lane import OneLane
from grapin.kernels.cuda.simulator import Simulator
from grapin.kernels.equation import DRIFT, NUMBERS
from grapin.reference.accumulative import Sums

# Lists of two neighbours are short and those of more than six long, so that small graphs have all kinds.
SIZES = {"SHORT": 2, "LONG": 6}
EMPTY: dict[str, Any] = {"source": (), "target": (), "vertices": 0}
simulators = st.builds(
    Simulator,
    warp=st.just(4),
    shape=st.sampled_from([Shape(1, 8), Shape(2, 4)]),
    seed=st.integers(0, 1000),
)
systems = st.sampled_from(sorted(RUNNABLE))
programs = st.builds(PageRank, st.sampled_from([0.85, 0.5, 0.0]), st.sampled_from([1e-1, 1e-2, 1e-4]))
few = settings(max_examples=settings().max_examples // 8)  # a simulated start takes half a second


def new_query(
    backend: Backend, program: PageRank, system: str = "bounded", **sizes: int
) -> AccumulativeQuery:
    return AccumulativeQuery(backend, program, SYSTEMS[system], weight_dtype=None, **sizes)


def started(backend: Backend, graph: Graph, program: PageRank, system: str = "bounded") -> AccumulativeQuery:
    query = new_query(backend, program, system)
    query.start(graph.snapshot(), tracing=False)
    return query


def follow(query: AccumulativeQuery, graph: Graph, batch: Batch) -> Any:
    applied = graph.apply(batch)
    return query.repair(graph.snapshot(), applied, tracing=False)


def followed(
    backend: Backend, given_stream: MutationStream, program: PageRank, system: str
) -> Iterator[tuple[Graph, AccumulativeQuery]]:
    """Yield graph and query at the start and after each batch."""
    graph = Graph.from_edges(**given_stream.start)
    query = new_query(backend, program, system, **SIZES)
    query.start(graph.snapshot(), tracing=False)
    yield graph, query
    for batch in given_stream.batches:
        follow(query, graph, batch)
        yield graph, query


def check(graph: Graph, query: AccumulativeQuery) -> None:
    """Hold values, what is certified, residuals and what does not exist against their definitions."""
    download, state, bound = query._backend.download, query._state, graph.bound
    sums = Sums.of(query.program, graph)
    error = np.abs(query.values() - sums.solve()).sum()
    assert error <= query.error_bound() + 1e-12
    assert query.error_bound() <= query.program.tolerance
    pushed, residual, base, cost = (download(array)[:bound] for array in (*state[:3], state.cost))
    exact = sums.base + sums.passed_on(pushed) - pushed
    numbers, control = download(state.numbers), download(state.control)
    assert np.abs(residual - exact).sum() <= numbers[DRIFT] + 1e-12 * bound
    passing = (graph.snapshot().out.degrees[:bound] > 0) & (sums.contraction > 0)
    assert np.array_equal(np.isfinite(cost), passing)
    assert not pushed[~passing].any()
    assert np.array_equal(base, graph.alive())
    assert not query.values()[~graph.alive()].any()
    assert not numbers[NUMBERS:].any()
    assert control[CHOSEN] == control[ARRIVED] == 0


@few
@given(
    simulators,
    mutation_streams(max_batches=3) | mutation_streams(start=EMPTY, max_batches=3, hubs=False),
    programs,
    systems,
)
def test_values_are_within_the_certified_error_and_the_state_is_what_it_stands_for(
    simulator: Simulator, given_stream: MutationStream, program: PageRank, system: str
) -> None:
    for graph, query in followed(simulator, given_stream, program, system):
        check(graph, query)


@few
@given(simulators, mutation_streams(max_batches=2, hubs=False), systems)
def test_the_trace_holds_every_read_that_was_counted(
    simulator: Simulator, given_stream: MutationStream, system: str
) -> None:
    graph = Graph.from_edges(**given_stream.start)
    query = new_query(simulator, PageRank(), system, **SIZES)
    for batch in (None, *given_stream.batches):
        applied = None if batch is None else graph.apply(batch)
        snapshot = graph.snapshot()
        work = (
            query.start(snapshot, tracing=True)
            if applied is None
            else query.repair(snapshot, applied, tracing=True)
        )
        assert work.reads is not None
        iterations, places, starts, lengths, arrays = work.reads.T
        assert count_reads(starts, lengths) == work.counters
        assert np.array_equal(starts, snapshot.out.starts[places // 2])
        assert np.array_equal(lengths, snapshot.out.degrees[places // 2])
        assert set(arrays) <= {1}
        assert set(iterations) == set(range(1, work.iterations + 1))


@few
@given(mutation_streams(max_batches=2, hubs=False), systems)
def test_the_same_seed_gives_the_same_values_and_reads_to_the_last_bit(
    given_stream: MutationStream, system: str
) -> None:
    def run() -> list[Any]:
        graph = Graph.from_edges(**given_stream.start)
        query = new_query(Simulator(warp=4, seed=7), PageRank(), system, **SIZES)
        seen = [query.start(graph.snapshot(), tracing=True)]
        for batch in given_stream.batches:
            applied = graph.apply(batch)
            seen.append(query.repair(graph.snapshot(), applied, tracing=True))
        return [query.values().tobytes(), *((work.counters, work.reads.tobytes()) for work in seen)]  # type: ignore[union-attr]

    assert run() == run()


def test_runs_may_be_counted_beyond_32_bits() -> None:
    graph = Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 2])
    query = started(Simulator(warp=4), graph, PageRank(tolerance=1e-9))
    query._runs = 2**31 - 2
    for batch in (Batch(delete=[(2, 0)]), Batch(insert=[(2, 0)]), Batch(delete=[(2, 2)])):
        assert follow(query, graph, batch).changed <= 3
        check(graph, query)


def test_a_vertex_that_loses_all_out_edges_and_gets_new_ones_keeps_its_rank_right() -> None:
    graph = Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 2])
    query = started(Simulator(warp=4), graph, PageRank(tolerance=1e-6))
    for batch in (
        Batch(delete=[(2, 0), (2, 2)]),
        Batch(insert=[(2, 1)]),
        Batch(delete_vertices=[2]),
        Batch(insert_vertices=[2], insert=[(2, 0), (2, 1), (2, 2)]),
        Batch(delete_vertices=[0, 1, 2]),
    ):
        follow(query, graph, batch)
        check(graph, query)
    assert not query.values().any()
    assert not query.reached(2)


@pytest.mark.parametrize("batch", [Batch(insert=[(0, 201)]), Batch(insert=[(1, 201)])])
def test_correcting_a_hub_or_giving_a_vertex_its_first_edges_reads_no_list(batch: Batch) -> None:
    graph = Graph.from_edges(np.zeros(200, np.int32), np.arange(1, 201), vertices=202)
    query = started(Simulator(warp=4), graph, PageRank())
    assert follow(query, graph, batch).counters.edges == 0
    check(graph, query)


def test_the_published_repair_reads_the_list_of_each_changed_source() -> None:
    graph = Graph.from_edges(np.zeros(200, np.int32), np.arange(1, 201), vertices=202)
    query = started(Simulator(warp=4), graph, PageRank(), "grapin-zc")
    assert follow(query, graph, Batch(insert=[(0, 201)])).counters.edges >= 201
    check(graph, query)


@pytest.mark.parametrize("system", ["bounded", "grapin-zc"])
def test_a_vertex_that_comes_with_an_edge_from_an_old_one_takes_its_flow(system: str) -> None:
    graph = Graph.from_edges([1], [0], vertices=2, directed=False)
    query = started(Simulator(warp=4), graph, PageRank(tolerance=1e-6), system)
    follow(query, graph, Batch(insert_vertices=[2, 3], insert=[(0, 2), (3, 1)]))
    check(graph, query)


@pytest.mark.parametrize("system", ["bounded", "grapin-zc"])
def test_rounding_that_grows_too_large_has_residuals_recomputed(system: str) -> None:
    graph = Graph.from_edges(*edges_of("er:24:80"), vertices=24)
    query = started(Simulator(warp=4), graph, PageRank(), system)
    query._state.numbers[DRIFT] = 1.0
    query._state.residual[7] += 0.5
    assert follow(query, graph, Batch(insert=[(0, 0)])).counters.edges >= graph.edges
    check(graph, query)


def test_batch_after_batch_the_guarantee_holds() -> None:
    graph = Graph.from_edges(*edges_of("er:60:240"), vertices=60)
    query = started(OneLane(Shape(1, 32)), graph, PageRank(tolerance=1e-9))
    draws = np.random.default_rng(1)
    for step in range(150):
        source, target, _ = graph.edge_arrays()
        row = draws.integers(len(source))
        coming = tuple(draws.integers(60, size=2).tolist())
        going = (int(source[row]), int(target[row]))
        follow(query, graph, Batch(insert=[coming], delete=[going] if going != coming else []))
        if step % 50 == 0:
            check(graph, query)


class Counting(OneLane):
    """Counts what a GPU would be asked to do, and how often the host would wait for it."""

    launches = waits = 0

    def launch(self, kernel: Any, *arguments: Any, shape: Shape | None = None) -> None:
        self.launches += 1
        super().launch(kernel, *arguments, shape=shape)

    def download(self, array: Any) -> Any:
        self.waits += 1
        return super().download(array)


@pytest.mark.parametrize("spec", ["rmat:12:16", "er:4096:60000"])
def test_a_batch_takes_few_launches_and_the_host_seldom_waits(spec: str) -> None:
    backend = Counting(Shape(256, 256))
    given_stream = stream.workload(generate(spec), batches=6, size=20, seed=1)
    graph = given_stream.graph()
    query = started(backend, graph, PageRank())
    for batch in given_stream:
        backend.launches = backend.waits = 0
        follow(query, graph, batch)
        assert backend.launches <= 30
        assert backend.waits <= 5
        check(graph, query)


def test_of_a_resident_copy_no_read_crosses_the_link() -> None:
    system = replace(SYSTEMS["bounded"], transfer=Resident())
    graph = Graph.from_edges(*edges_of("er:24:80"), vertices=24)
    backend = Simulator(warp=4)
    query = AccumulativeQuery(backend, PageRank(tolerance=1e-4), system, weight_dtype=None)
    query.start(graph.snapshot(), tracing=False)
    counters = follow(query, graph, Batch(insert=[(0, 0)])).counters
    assert counters.edges == counters.cached_edges > 0
    assert counters.bytes == 0 < counters.copied_bytes
    check(graph, query)


def edges_of(specification: str) -> tuple[Any, Any]:
    edges = generate(specification, weights=False)
    return edges.source, edges.target
