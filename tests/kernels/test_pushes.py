"""Accumulative programs on the CPU stay within the error they certify, whatever a stream does, for as long as it
runs."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grapin import Batch, Graph, InvalidArgument, reference, stream
from grapin.generators import generate
from grapin.kernels.cpu.accumulative import query as accumulative
from grapin.kernels.cpu.accumulative.query import AccumulativeQuery
from grapin.kernels.equation import DRIFT
from grapin.programs.pagerank import PageRank
from grapin.system import RUNNABLE, SYSTEMS, Objective
from grapin.testing import MutationStream, mutation_streams

EMPTY: dict[str, Any] = {"source": (), "target": (), "vertices": 0}
systems = st.sampled_from(sorted(RUNNABLE))
programs = st.builds(
    PageRank, st.sampled_from([0.85, 0.5, 0.0, 0.99]), st.sampled_from([1e-2, 1e-3, 1e-6, 1e-9])
)


def new_query(program: PageRank, system: str = "bounded", threads: int = 1) -> AccumulativeQuery:
    return AccumulativeQuery(program, SYSTEMS[system], weight_dtype=None, threads=threads)


def started(graph: Graph, program: PageRank, system: str = "bounded") -> AccumulativeQuery:
    query = new_query(program, system)
    query.start(graph.snapshot(), tracing=False)
    return query


def followed(
    given_stream: MutationStream, program: PageRank, system: str = "bounded"
) -> Iterator[tuple[Graph, AccumulativeQuery]]:
    """Yield graph and query at the start and after each batch."""
    graph = Graph.from_edges(**given_stream.start)
    query = started(graph, program, system)
    yield graph, query
    for batch in given_stream.batches:
        applied = graph.apply(batch)
        query.repair(graph.snapshot(), applied, tracing=False)
        yield graph, query


def error(graph: Graph, query: AccumulativeQuery) -> float:
    exact = reference.pagerank(graph, query.program.damping)  # type: ignore[attr-defined]
    return float(np.abs(query.values() - exact).sum())


def expected_residuals(graph: Graph, query: AccumulativeQuery) -> Any:
    """Compute r = b + A p - p from the graph's edges."""
    pushed, bound = query._state.pushed, graph.bound
    source, target, _ = graph.edge_arrays()
    degrees = np.bincount(source, minlength=bound)
    flows = query.program.damping * pushed[:bound][source] / degrees[source]  # type: ignore[attr-defined]
    inflow = np.bincount(target, weights=flows, minlength=bound)
    return graph.alive() + inflow - pushed[:bound]


def check_state(graph: Graph, query: AccumulativeQuery) -> None:
    """Hold residuals, what is certified, and what does not exist against their definitions."""
    state, bound, exists = query._state, graph.bound, graph.alive()
    residuals = state.residual[:bound]
    assert (
        np.abs(residuals - expected_residuals(graph, query)).sum()
        <= query._bound.numbers[DRIFT] + 1e-12 * bound
    )
    passing = (graph.snapshot().out.degrees[:bound] > 0) & (query.program.damping > 0)  # type: ignore[attr-defined]
    assert np.array_equal(np.isfinite(state.cost[:bound]), passing)
    assert not state.pushed[:bound][~passing].any()
    assert np.array_equal(state.base[:bound], exists)
    assert not any(array[len(exists) :].any() for array in (state.pushed, state.residual, state.base))
    assert not query.values()[~exists].any()
    assert error(graph, query) <= query.error_bound() + 1e-13


@given(mutation_streams(), programs, systems)
def test_ranks_are_within_the_tolerance_after_every_batch(
    given_stream: MutationStream, program: PageRank, system: str
) -> None:
    for graph, query in followed(given_stream, program, system):
        assert error(graph, query) <= program.tolerance
        assert query.error_bound() <= program.tolerance


@given(mutation_streams(), programs, systems)
def test_residuals_and_sums_are_what_they_stand_for(
    given_stream: MutationStream, program: PageRank, system: str
) -> None:
    for graph, query in followed(given_stream, program, system):
        check_state(graph, query)


@given(mutation_streams(), systems)
def test_the_same_stream_gives_the_same_ranks_and_reads_to_the_last_bit(
    given_stream: MutationStream, system: str
) -> None:
    def run() -> list[Any]:
        graph = Graph.from_edges(**given_stream.start)
        query = new_query(PageRank(), system)
        seen = [query.start(graph.snapshot(), tracing=True)]
        for batch in given_stream.batches:
            applied = graph.apply(batch)
            seen.append(query.repair(graph.snapshot(), applied, tracing=True))
        return [
            query.values().tobytes(),
            *((work.counters, work.reads.tobytes()) for work in seen),  # type: ignore[union-attr]
        ]

    assert run() == run()


@given(mutation_streams(), systems)
def test_the_trace_holds_every_read_that_was_counted(given_stream: MutationStream, system: str) -> None:
    graph = Graph.from_edges(**given_stream.start)
    query = new_query(PageRank(), system)
    query.start(graph.snapshot(), tracing=False)
    for batch in given_stream.batches:
        applied = graph.apply(batch)
        snapshot = graph.snapshot()
        work = query.repair(snapshot, applied, tracing=True)
        assert work.reads is not None
        _iterations, places, starts, lengths, _arrays = work.reads.T
        assert (lengths.sum(), len(lengths)) == (work.counters.edges, work.counters.lists)
        assert np.array_equal(starts, snapshot.out.starts[places // 2])
        assert np.array_equal(lengths, snapshot.out.degrees[places // 2])


def test_a_vertex_that_loses_all_out_edges_and_gets_new_ones_keeps_its_rank_right() -> None:
    graph = Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 2])
    query = started(graph, PageRank(tolerance=1e-9))
    for batch in (
        Batch(delete=[(2, 0), (2, 2)]),
        Batch(insert=[(2, 1)]),
        Batch(delete_vertices=[2]),
        Batch(insert_vertices=[2], insert=[(2, 0), (2, 1), (2, 2)]),
        Batch(delete_vertices=[0, 1, 2]),
    ):
        applied = graph.apply(batch)
        query.repair(graph.snapshot(), applied, tracing=False)
        assert error(graph, query) <= 1e-9
        check_state(graph, query)
    assert not query.values().any()


def test_correcting_a_hub_reads_no_list() -> None:
    leaves = 5000
    graph = Graph.from_edges(np.zeros(leaves, np.int32), np.arange(1, leaves + 1), vertices=leaves + 2)
    query = started(graph, PageRank())
    applied = graph.apply(Batch(insert=[(0, leaves + 1)]))
    assert query.repair(graph.snapshot(), applied, tracing=False).counters.edges == 0
    assert error(graph, query) <= query.program.tolerance


def test_the_published_way_reads_the_list_of_each_changed_source() -> None:
    leaves = 5000
    graph = Graph.from_edges(np.zeros(leaves, np.int32), np.arange(1, leaves + 1), vertices=leaves + 2)
    query = started(graph, PageRank(), "grapin-zc")
    applied = graph.apply(Batch(insert=[(0, leaves + 1)]))
    assert query.repair(graph.snapshot(), applied, tracing=False).counters.edges >= leaves + 1


def test_thousands_of_batches_do_not_wear_the_guarantee_out() -> None:
    graph = Graph.from_edges(*_edges("er:60:240"), vertices=60)
    program = PageRank(tolerance=1e-9)
    query = started(graph, program)
    draws = np.random.default_rng(1)
    for step in range(4000):
        source, target, _ = graph.edge_arrays()
        row = draws.integers(len(source))
        coming = tuple(draws.integers(60, size=2).tolist())
        going = (int(source[row]), int(target[row]))
        applied = graph.apply(Batch(insert=[coming], delete=[going] if going != coming else []))
        query.repair(graph.snapshot(), applied, tracing=False)
        if step % 200 == 0:
            assert error(graph, query) <= program.tolerance
            check_state(graph, query)
        assert query.error_bound() <= program.tolerance


def test_rounding_that_grows_too_large_has_residuals_recomputed() -> None:
    graph = Graph.from_edges(*_edges("er:60:240"), vertices=60)
    query = started(graph, PageRank())
    query._bound.numbers[DRIFT] = 1.0
    query._state.residual[7] += 0.5
    applied = graph.apply(Batch(insert=[(0, 0)]))
    work = query.repair(graph.snapshot(), applied, tracing=False)
    assert work.counters.edges >= graph.edges
    check_state(graph, query)
    assert error(graph, query) <= query.program.tolerance


@pytest.mark.parametrize("system", sorted(SYSTEMS))
def test_rounding_is_forgotten_when_most_of_what_it_was_measured_against_is_gone(system: str) -> None:
    graph = Graph.from_edges([1], [0], directed=False)
    query = started(graph, PageRank(0.99, 1e-9), system)
    applied = graph.apply(Batch(delete_vertices=[0]))
    query.repair(graph.snapshot(), applied, tracing=False)
    assert error(graph, query) <= 1e-9
    assert query.error_bound() <= 1e-9


def test_what_rounding_did_is_scaled_with_the_residuals() -> None:
    # All of a large mass goes, its rounding stays, and what comes instead is scaled up from little.
    graph = Graph.from_edges(np.arange(1, 65), np.zeros(64, int), vertices=65, directed=False)
    query = started(graph, PageRank(0.99, 1e-2))
    for batch in (
        Batch(delete=[(vertex, 0) for vertex in range(1, 65)]),
        Batch(insert=[(vertex, 0) for vertex in range(1, 65, 2)]),
    ):
        applied = graph.apply(batch)
        query.repair(graph.snapshot(), applied, tracing=False)
        check_state(graph, query)


def test_without_damping_a_batch_may_be_larger_than_a_stretch_of_pushes() -> None:
    graph = Graph.from_edges(np.arange(1, 64), np.zeros(63, int), vertices=64, directed=False)
    query = started(graph, PageRank(0.0, 1e-9))
    rows = [(vertex, 1) for vertex in (0, *range(3, 64, 2))]
    applied = graph.apply(Batch(insert=rows))
    query.repair(graph.snapshot(), applied, tracing=False)
    assert error(graph, query) <= 1e-9


def test_a_small_batch_on_a_skewed_graph_reads_a_small_part_of_it() -> None:
    graph = Graph.from_edges(*_edges("rmat:12:16"), vertices=1 << 12)
    query = started(graph, PageRank())
    edges = 0
    for batch in stream.sample(graph, batches=5, size=graph.edges // 10_000, seed=1):
        applied = graph.apply(batch)
        work = query.repair(graph.snapshot(), applied, tracing=False)
        edges += work.counters.edges
        assert error(graph, query) <= query.program.tolerance
    assert edges / 5 < graph.edges / 3


@given(mutation_streams(start=EMPTY), programs, systems)
def test_a_graph_that_was_empty_has_ranks_within_the_tolerance(
    given_stream: MutationStream, program: PageRank, system: str
) -> None:
    for graph, query in followed(given_stream, program, system):
        assert error(graph, query) <= program.tolerance
        check_state(graph, query)


@pytest.mark.parametrize("system", sorted(RUNNABLE))
def test_a_graph_that_loses_all_its_vertices_can_grow_again(system: str) -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0])
    query = started(graph, PageRank(), system)
    for batch in (
        Batch(delete_vertices=[0, 1, 2]),
        Batch(insert_vertices=[0, 1, 2], insert=[(0, 1), (1, 0), (2, 0)]),
    ):
        applied = graph.apply(batch)
        query.repair(graph.snapshot(), applied, tracing=False)
        assert error(graph, query) <= query.program.tolerance
        check_state(graph, query)


def test_a_graph_that_grows_from_empty_stays_right() -> None:
    graph = Graph.empty()
    query = started(graph, PageRank(tolerance=1e-6))
    for size in (1, 2, 4, 8, 16, 32, 64, 128):
        fresh = graph.free_vertices(size)
        rows = [(int(vertex), int(vertex) // 2) for vertex in fresh]
        applied = graph.apply(Batch(insert_vertices=fresh, insert=rows))
        query.repair(graph.snapshot(), applied, tracing=False)
        assert error(graph, query) <= 1e-6
        check_state(graph, query)


@pytest.mark.parametrize("damping", [-0.1, 1.0, float("nan"), True, "0.85"])
def test_damping_must_be_at_least_0_and_below_1(damping: Any) -> None:
    with pytest.raises(InvalidArgument, match="damping"):
        PageRank(damping=damping)


@pytest.mark.parametrize("tolerance", [0.0, 1e-12, 1.5, float("nan"), None])
def test_a_tolerance_that_cannot_be_kept_is_refused(tolerance: Any) -> None:
    with pytest.raises(InvalidArgument, match="tolerance"):
        PageRank(tolerance=tolerance)


def _edges(specification: str) -> tuple[Any, Any]:
    edges = generate(specification, weights=False)
    return edges.source, edges.target


@pytest.mark.parametrize("spec", ["rmat:10:8", "path:2000", "grid:40:40"])
def test_a_repair_takes_few_rounds_however_many_vertices_there_are(spec: str) -> None:
    given_stream = stream.workload(generate(spec), batches=3, size=20, seed=1)
    graph = given_stream.graph()
    query = started(graph, PageRank())
    for batch in given_stream:
        applied = graph.apply(batch)
        assert query.repair(graph.snapshot(), applied, tracing=False).iterations < 120


def test_answers_on_two_threads_are_those_of_one_within_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accumulative, "SHARED_FROM", 1000)
    given_stream = stream.workload(generate("rmat:12:8"), batches=3, size=400, seed=1)
    graph = given_stream.graph()
    queries = [new_query(PageRank(), threads=threads) for threads in (1, 2, 3)]
    for query in queries:
        query.start(graph.snapshot(), tracing=False)
    for batch in given_stream:
        applied = graph.apply(batch)
        for query in queries:
            work = query.repair(graph.snapshot(), applied, tracing=False)
            assert work.changed <= work.counters.lists
            check_state(graph, query)
            assert query.error_bound() <= 1e-3


def test_a_system_that_spares_bytes_reads_fewer_edges_in_more_rounds() -> None:
    edges: dict[str, int] = {}
    rounds: dict[str, int] = {}
    for objective in Objective:
        given_stream = stream.workload(generate("rmat:13:16"), batches=4, size=20, seed=1)
        graph = given_stream.graph()
        system = replace(SYSTEMS["bounded"], objective=objective)
        query = AccumulativeQuery(PageRank(), system, weight_dtype=None, threads=1)
        query.start(graph.snapshot(), tracing=False)
        edges[objective] = rounds[objective] = 0
        for batch in given_stream:
            applied = graph.apply(batch)
            work = query.repair(graph.snapshot(), applied, tracing=False)
            edges[objective] += work.counters.edges
            rounds[objective] += work.iterations
            check_state(graph, query)
    assert edges["bytes"] < 0.9 * edges["time"]
    assert rounds["bytes"] > rounds["time"]
    assert (edges["device"], rounds["device"]) == (edges["time"], rounds["time"])


def test_a_tolerance_that_rounding_cannot_certify_is_refused_with_one_that_it_can() -> None:
    graph = Graph.from_edges(*_edges("er:60:240"), vertices=60)
    program = PageRank(0.9999999)
    program.tolerance = 1e-9
    query = new_query(program)
    with pytest.raises(
        InvalidArgument, match=r"tolerance=1e-09 of PageRank must be at least .* on this graph"
    ):
        query.start(graph.snapshot(), tracing=False)
