"""PageRank on the CPU stays within its tolerance of the reference, whatever a stream does, for as long as it runs."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grapin import Batch, Graph, InvalidArgument, reference, stream
from grapin.generators import generate
from grapin.kernels.cpu.pagerank.query import PageRankQuery
from grapin.kernels.cpu.pagerank.residuals import (
    BEGINNINGS,
    CEILING,
    DRIFT,
    FLOOR,
    LEVELS,
    MASS,
    NO_LEVEL,
    OUTSIDE,
    RESIDUAL,
    TOTAL,
    level_of,
)
from grapin.programs.pagerank import PageRank
from grapin.system import RUNNABLE, SYSTEMS
from grapin.testing import MutationStream, mutation_streams

EMPTY: dict[str, Any] = {"source": (), "target": (), "vertices": 0}
systems = st.sampled_from(sorted(RUNNABLE))
programs = st.builds(
    PageRank, st.sampled_from([0.85, 0.5, 0.0, 0.99]), st.sampled_from([1e-2, 1e-3, 1e-6, 1e-9])
)


def started(graph: Graph, program: PageRank, system: str = "bounded") -> PageRankQuery:
    query = PageRankQuery(program, SYSTEMS[system])
    query.start(graph.snapshot(), tracing=False)
    return query


def followed(
    given_stream: MutationStream, program: PageRank, system: str = "bounded"
) -> Iterator[tuple[Graph, PageRankQuery]]:
    """Yield graph and query at the start and after each batch."""
    graph = Graph.from_edges(**given_stream.start)
    query = started(graph, program, system)
    yield graph, query
    for batch in given_stream.batches:
        applied = graph.apply(batch)
        query.repair(graph.snapshot(), applied, tracing=False)
        yield graph, query


def error(graph: Graph, query: PageRankQuery) -> float:
    exact = reference.pagerank(graph, query.program.damping)
    return float(np.abs(query.values() - exact).sum())


def expected_residuals(graph: Graph, query: PageRankQuery) -> Any:
    state, bound = query._state, graph.bound
    source, target, _ = graph.edge_arrays()
    degrees = np.bincount(source, minlength=bound)
    flows = query.program.damping * state.pushed[:bound][source] / degrees[source]
    inflow = np.bincount(target, weights=flows, minlength=bound)
    return graph.alive() + inflow - state.pushed[:bound]


def check_state(graph: Graph, query: PageRankQuery) -> None:
    """Hold residuals, sums and what does not exist against their definitions."""
    state, bound = query._state, graph.bound
    residuals = state.cells[:bound, RESIDUAL]
    rounding = max(float(state.sums[DRIFT]), 1e-300)
    assert np.abs(residuals - expected_residuals(graph, query)).sum() <= rounding + 1e-12 * bound
    has_edges = graph.snapshot().out.degrees[:bound] > 0
    assert np.array_equal(state.cells[:bound, CEILING] != OUTSIDE, has_edges)
    assert state.sums[TOTAL] == pytest.approx(np.abs(residuals[has_edges]).sum(), abs=rounding)
    assert state.sums[MASS] == pytest.approx((state.pushed[:bound] + residuals).sum())
    assert not state.degree_change.any()
    assert not query.values()[~graph.alive()].any()
    assert state.sums[FLOOR] > 0 or query.system.repair != "bounded"


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
        query = PageRankQuery(PageRank(), SYSTEMS[system])
        seen = [query.start(graph.snapshot(), tracing=True)]
        for batch in given_stream.batches:
            applied = graph.apply(batch)
            seen.append(query.repair(graph.snapshot(), applied, tracing=True))
        return [query.values().tobytes(), *((work.counters, work.reads.tobytes()) for work in seen)]  # type: ignore[union-attr]

    assert run() == run()


@given(mutation_streams(), systems)
def test_the_trace_holds_every_read_that_was_counted(given_stream: MutationStream, system: str) -> None:
    graph = Graph.from_edges(**given_stream.start)
    query = PageRankQuery(PageRank(), SYSTEMS[system])
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


def test_rounding_that_grows_too_large_has_residuals_computed_anew() -> None:
    graph = Graph.from_edges(*_edges("er:60:240"), vertices=60)
    query = started(graph, PageRank())
    query._state.sums[DRIFT] = 1.0
    query._state.cells[7, RESIDUAL] += 0.5
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


@given(st.floats())
@example(np.inf)
@example(-np.inf)
@example(np.nan)
@example(0.0)
@example(5e-324)
@example(np.finfo(np.float64).max)
def test_every_float_has_a_level_that_there_is(urgency: float) -> None:
    level = level_of(urgency)
    assert level in range(NO_LEVEL, LEVELS)
    assert (level == NO_LEVEL) == (not urgency >= 1)
    if level != NO_LEVEL:
        least, most = np.nextafter(BEGINNINGS[level], 0), np.nextafter(BEGINNINGS[level + 1], np.inf)
        assert least <= urgency  # the table is rounded where the level is not
        assert level == LEVELS - 1 or urgency <= most


@given(mutation_streams(start=EMPTY), programs, systems)
def test_a_graph_that_was_empty_has_a_floor_that_is_positive_and_ranks_within_the_tolerance(
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


def test_a_graph_that_grows_from_nothing_stays_right() -> None:
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
def test_a_repair_takes_rounds_as_there_are_levels_not_as_there_are_vertices(spec: str) -> None:
    given_stream = stream.workload(generate(spec), batches=3, size=20, seed=1)
    graph = given_stream.graph()
    query = started(graph, PageRank())
    for batch in given_stream:
        applied = graph.apply(batch)
        assert query.repair(graph.snapshot(), applied, tracing=False).iterations < LEVELS
