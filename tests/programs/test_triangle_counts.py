"""Triangles stay right under every stream, whatever the direction of edges, and a batch reads only lists it changes."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grapin
from grapin import Batch, Graph, Triangles
from grapin.engine.verify import verify_answer
from grapin.errors import InvalidArgument, WrongAnswer
from grapin.system import RUNNABLE
from grapin.testing import MutationStream, edge_lists, mutation_streams

CLIQUE = 6


def counted_by_networkx(graph: Graph) -> list[int]:
    """Return the triangles of each vertex as another library counts them."""
    source, target, _ = graph.edge_arrays()
    plain = nx.Graph()
    plain.add_nodes_from(range(graph.bound))
    plain.add_edges_from((u, v) for u, v in zip(source.tolist(), target.tolist(), strict=True) if u != v)
    counts: dict[int, int] = nx.triangles(plain)
    return [counts[vertex] for vertex in range(graph.bound)]


def cheaply_repaired(engine: grapin.Engine) -> Any:
    """Return the query after making it believe that counting from scratch is never worth it."""
    query: Any = engine._queries[0]
    query._scratch_steps = 1 << 40
    return query


@given(edges=edge_lists())
def test_the_reference_counts_what_networkx_counts(edges: grapin.EdgeList) -> None:
    graph = Graph.from_edges(edges.source, edges.target, vertices=edges.vertices, directed=edges.directed)
    assert grapin.reference.triangles(graph).tolist() == counted_by_networkx(graph)


@given(stream=mutation_streams(weights="none"), system=st.sampled_from(RUNNABLE))
def test_after_any_stream_every_corner_has_its_triangles(stream: MutationStream, system: str) -> None:
    graph = Graph.from_edges(**stream.start)
    engine = grapin.Engine(graph, Triangles(), system=system, device="cpu")
    assert engine.values.tolist() == counted_by_networkx(graph)
    for batch in stream.batches:
        cheaply_repaired(engine)
        engine.apply(batch)
        assert engine.values.tolist() == counted_by_networkx(graph)


@given(
    kept=st.sets(st.sampled_from([(u, v) for u in range(CLIQUE) for v in range(u)])), directed=st.booleans()
)
def test_triangles_that_lose_and_gain_several_sides_at_once_are_counted_once(
    kept: set[tuple[int, int]], directed: bool
) -> None:
    whole = [(u, v) for u in range(CLIQUE) for v in range(u)]
    graph = Graph.from_edges(*zip(*whole, strict=True), directed=directed)
    engine = grapin.Engine(graph, Triangles(), device="cpu")
    gone = [edge for edge in whole if edge not in kept]
    for batch in (Batch(delete=gone), Batch(insert=gone)):
        cheaply_repaired(engine)
        engine.apply(batch)
        verify_answer(engine.answers[0], graph)
    assert Triangles.total(engine.values) == 20


def test_an_edge_against_one_that_is_there_makes_no_triangle() -> None:
    engine = grapin.Engine(Graph.from_edges([0, 1, 2], [1, 2, 0]), Triangles(), device="cpu")
    query = cheaply_repaired(engine)
    assert engine.apply(Batch(insert=[(1, 0), (0, 0)])).changed == 0
    assert engine.apply(Batch(delete=[(0, 1)])).changed == 0
    assert engine.apply(Batch(delete=[(1, 0)])).changed == 3
    assert not query.values().any()


def test_marks_begin_again_before_they_overflow() -> None:
    graph = Graph.from_edges([0, 0], [1, 2], directed=False)
    engine = grapin.Engine(graph, Triangles(), device="cpu")
    cheaply_repaired(engine)._mark = 2**31 - 2
    engine.apply(Batch(insert=[(1, 2)]))
    assert engine.values.tolist() == [1, 1, 1]


@pytest.mark.parametrize("directed", [True, False])
def test_a_batch_reads_the_lists_at_its_edges_and_no_other(directed: bool) -> None:
    graph = grapin.load("rmat:12:8", seed=1, directed=directed, weights="none")
    engine = grapin.Engine(graph, Triangles(), device="cpu", trace=True)
    started, lists = engine.started.counters, 2 if directed else 1
    assert started.edges == graph.edges * lists
    snapshot = graph.snapshot()
    few = np.flatnonzero(snapshot.out.degrees == 2)[:2].tolist()
    report = engine.apply(Batch(insert=[(few[0], few[1])]))
    snapshot = graph.snapshot()
    sides = (snapshot.out, snapshot.in_)[:lists]
    assert report.edges_read == sum(int(one.degrees[few].sum()) for one in sides if one is not None)
    assert engine.trace.counters(0) == started
    assert engine.trace.counters(1) == report.counters
    verify_answer(engine.answers[0], graph)


def test_a_batch_that_changes_all_is_counted_from_scratch() -> None:
    source, target, _ = grapin.load("rmat:8:8", seed=1, weights="none").edge_arrays()
    graph = Graph.from_edges([], [], vertices=256)
    engine = grapin.Engine(graph, Triangles(), device="cpu")
    report = engine.apply(Batch(insert=list(zip(source.tolist(), target.tolist(), strict=True))))
    assert report.queries[0].work.dense
    verify_answer(engine.answers[0], graph)


def test_a_wrong_count_is_named() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0])
    with pytest.raises(WrongAnswer, match="vertex 2 has 0, expected 1"):
        grapin.reference.verify_triangles(graph, [1, 1, 0])


def test_a_directed_graph_without_in_lists_is_refused() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0], in_direction=False)
    with pytest.raises(InvalidArgument, match="in_direction=True"):
        grapin.Engine(graph, Triangles(), device="cpu")
