"""PageRank on a GPU stays within its tolerance of the reference, whatever a stream does and whoever comes first."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grapin import Batch, Graph
from grapin.counters import count_reads
from grapin.generators import generate
from grapin.programs.pagerank import PageRank
from grapin.system import RUNNABLE, SYSTEMS
from grapin.testing import MutationStream, mutation_streams

pytest.importorskip("numba.cuda", reason="the cudasim extra is not installed")

from ranks_checking import check_ranks, check_state, followed, started

from grapin.kernels.cuda.backend import Shape
from grapin.kernels.cuda.pagerank.query import PageRankQuery
from grapin.kernels.cuda.pagerank.residuals import DRIFT, REST
from grapin.kernels.cuda.simulator import Simulator

# Lists of two neighbours are short and those of more than six long, so that small graphs have all kinds.
SIZES = {"SHORT": 2, "LONG": 6}
simulators = st.builds(
    Simulator,
    warp=st.just(4),
    shape=st.sampled_from([Shape(1, 8), Shape(2, 4)]),
    seed=st.integers(0, 1000),
)
systems = st.sampled_from(sorted(RUNNABLE))
programs = st.builds(PageRank, st.sampled_from([0.85, 0.5, 0.0]), st.sampled_from([1e-1, 1e-2, 1e-4]))
few = settings(max_examples=settings().max_examples // 8)  # a simulated start takes half a second


@few
@given(simulators, mutation_streams(max_batches=3), programs, systems)
def test_ranks_are_within_the_tolerance_and_sums_are_what_they_stand_for(
    simulator: Simulator, given_stream: MutationStream, program: PageRank, system: str
) -> None:
    for graph, query in followed(simulator, given_stream, program, system, **SIZES):
        check_ranks(graph, query)
        check_state(graph, query)


@few
@given(
    simulators,
    mutation_streams(start={"source": (), "target": (), "vertices": 0}, max_batches=3, hubs=False),
    programs,
    systems,
)
def test_a_graph_that_was_empty_has_a_line_from_which_vertices_wait(
    simulator: Simulator, given_stream: MutationStream, program: PageRank, system: str
) -> None:
    for graph, query in followed(simulator, given_stream, program, system, **SIZES):
        assert query._sums[REST] > 0
        check_ranks(graph, query)
        check_state(graph, query)


def test_runs_may_be_counted_beyond_32_bits() -> None:
    graph = Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 2])
    query = started(Simulator(warp=4), graph, PageRank(tolerance=1e-9))
    query._runs = 2**31 - 2
    for batch in (Batch(delete=[(2, 0)]), Batch(insert=[(2, 0)]), Batch(delete=[(2, 2)])):
        applied = graph.apply(batch)
        work = query.repair(graph.snapshot(), applied, tracing=False)
        check_ranks(graph, query)
        assert work.changed <= 3


@few
@given(simulators, mutation_streams(max_batches=2, hubs=False), systems)
def test_the_trace_holds_every_read_that_was_counted(
    simulator: Simulator, given_stream: MutationStream, system: str
) -> None:
    graph = Graph.from_edges(**given_stream.start)
    query = PageRankQuery(simulator, PageRank(), SYSTEMS[system], **SIZES)
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
def test_the_same_seed_gives_the_same_ranks_and_reads_to_the_last_bit(
    given_stream: MutationStream, system: str
) -> None:
    def run() -> list[Any]:
        graph = Graph.from_edges(**given_stream.start)
        query = PageRankQuery(Simulator(warp=4, seed=7), PageRank(), SYSTEMS[system], **SIZES)
        seen = [query.start(graph.snapshot(), tracing=True)]
        for batch in given_stream.batches:
            applied = graph.apply(batch)
            seen.append(query.repair(graph.snapshot(), applied, tracing=True))
        return [query.values().tobytes(), *((work.counters, work.reads.tobytes()) for work in seen)]  # type: ignore[union-attr]

    assert run() == run()


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
        applied = graph.apply(batch)
        query.repair(graph.snapshot(), applied, tracing=False)
        check_ranks(graph, query)
        check_state(graph, query)
    assert not query.values().any()
    assert not query.reached(2)


def hub(leaves: int) -> Graph:
    return Graph.from_edges(np.zeros(leaves, np.int32), np.arange(1, leaves + 1), vertices=leaves + 2)


def test_correcting_a_hub_reads_no_list() -> None:
    graph = hub(200)
    query = started(Simulator(warp=4), graph, PageRank())
    applied = graph.apply(Batch(insert=[(0, 201)]))
    assert query.repair(graph.snapshot(), applied, tracing=False).counters.edges == 0
    check_ranks(graph, query)


def test_first_out_edges_take_all_that_is_there_and_no_list_is_read() -> None:
    graph = hub(200)
    query = started(Simulator(warp=4), graph, PageRank())
    applied = graph.apply(Batch(insert=[(1, 201)]))
    assert query.repair(graph.snapshot(), applied, tracing=False).counters.edges == 0
    check_ranks(graph, query)


def test_the_published_way_reads_the_list_of_each_changed_source() -> None:
    graph = hub(200)
    query = started(Simulator(warp=4), graph, PageRank(), "grapin-zc")
    applied = graph.apply(Batch(insert=[(0, 201)]))
    assert query.repair(graph.snapshot(), applied, tracing=False).counters.edges >= 201
    check_ranks(graph, query)


@pytest.mark.parametrize("system", ["bounded", "grapin-zc"])
def test_rounding_that_grows_too_large_has_residuals_computed_anew(system: str) -> None:
    graph = Graph.from_edges(*edges_of("er:24:80"), vertices=24)
    query = started(Simulator(warp=4), graph, PageRank(), system)
    query._sums[DRIFT] = query._state.sums[DRIFT] = 1.0
    query._state.cells[2 * 7] += 0.5
    applied = graph.apply(Batch(insert=[(0, 0)]))
    work = query.repair(graph.snapshot(), applied, tracing=False)
    assert work.counters.edges >= graph.edges
    check_ranks(graph, query)
    check_state(graph, query)


def test_batch_after_batch_the_guarantee_holds_and_the_list_of_those_that_wait_is_right() -> None:
    graph = Graph.from_edges(*edges_of("er:24:80"), vertices=24)
    query = started(Simulator(warp=4), graph, PageRank(tolerance=1e-3))
    draws = np.random.default_rng(1)
    for _ in range(12):
        source, target, _ = graph.edge_arrays()
        row = draws.integers(len(source))
        coming = tuple(draws.integers(24, size=2).tolist())
        going = (int(source[row]), int(target[row]))
        applied = graph.apply(Batch(insert=[coming], delete=[going] if going != coming else []))
        query.repair(graph.snapshot(), applied, tracing=False)
        check_ranks(graph, query)
        check_state(graph, query)


def test_a_batch_within_the_allowance_is_not_pushed_and_what_waits_is_kept() -> None:
    graph = Graph.from_edges(*edges_of("er:24:80"), vertices=24)
    query = started(Simulator(warp=4), graph, PageRank(tolerance=1.0))
    applied = graph.apply(Batch(insert=[(0, 1)]))
    assert query.repair(graph.snapshot(), applied, tracing=False).counters.edges == 0
    check_state(graph, query)


def test_a_graph_that_grows_from_nothing_stays_right() -> None:
    graph = Graph.empty()
    query = started(Simulator(warp=4), graph, PageRank(tolerance=1e-3))
    for size in (1, 2, 4, 8, 16):
        fresh = graph.free_vertices(size)
        rows = [(int(vertex), int(vertex) // 2) for vertex in fresh]
        applied = graph.apply(Batch(insert_vertices=fresh, insert=rows))
        query.repair(graph.snapshot(), applied, tracing=False)
        check_ranks(graph, query)
        check_state(graph, query)


def edges_of(specification: str) -> tuple[Any, Any]:
    edges = generate(specification, weights=False)
    return edges.source, edges.target
