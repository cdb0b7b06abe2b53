"""The reference programs against NetworkX and SciPy, which were written by others."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components as scipy_components
from scipy.sparse.csgraph import dijkstra

from grapin import InvalidArgument, reference
from grapin.reference import UNREACHED, WIDEST, ReferenceGraph
from grapin.testing import MutationStream, mutation_streams

sources_of = st.lists(st.integers(0, 400), min_size=1, max_size=3)


def mutated(stream: MutationStream) -> ReferenceGraph:
    graph = stream.reference()
    for batch in stream.batches:
        graph.apply(batch)
    return graph


def as_networkx(graph: ReferenceGraph) -> Any:
    twin = nx.DiGraph()
    twin.add_nodes_from(graph.vertex_ids())
    twin.add_weighted_edges_from((u, v, 1 if w is None else w) for (u, v), w in graph.arcs.items())
    return twin


def existing(graph: ReferenceGraph, wanted: list[int]) -> list[int]:
    ids = graph.vertex_ids()
    return [ids[number % len(ids)] for number in wanted] if ids else []


def filled(graph: ReferenceGraph, found: dict[int, Any], missing: Any) -> list[Any]:
    return [found.get(vertex, missing) for vertex in range(graph.bound)]


@given(mutation_streams(hubs=False), sources_of)
def test_bfs_counts_the_edges_that_networkx_counts(stream: MutationStream, wanted: list[int]) -> None:
    graph = mutated(stream)
    sources = existing(graph, wanted)
    found = (
        nx.multi_source_dijkstra_path_length(as_networkx(graph), set(sources), weight=None) if sources else {}
    )
    assert reference.bfs(graph, sources).tolist() == filled(graph, found, UNREACHED)


@given(mutation_streams(hubs=False, weights="int32"), sources_of)
def test_whole_distances_are_those_of_networkx(stream: MutationStream, wanted: list[int]) -> None:
    graph = mutated(stream)
    sources = existing(graph, wanted)
    found = nx.multi_source_dijkstra_path_length(as_networkx(graph), set(sources)) if sources else {}
    assert reference.sssp(graph, sources).tolist() == filled(graph, found, UNREACHED)


@given(mutation_streams(hubs=False, weights="float32"), sources_of)
def test_float_distances_are_those_of_dijkstra_that_rounds_each_sum(
    stream: MutationStream, wanted: list[int]
) -> None:
    graph = mutated(stream)
    sources = existing(graph, wanted)
    expected = np.full(graph.bound, np.inf, dtype=np.float32)
    expected[sources] = 0
    waiting = set(range(graph.bound))
    while waiting:
        nearest = min(waiting, key=lambda vertex: expected[vertex])
        waiting.remove(nearest)
        for (u, v), weight in graph.arcs.items():
            if u == nearest:
                expected[v] = min(expected[v], expected[u] + np.float32(weight))
    assert reference.sssp(graph, sources).tolist() == expected.tolist()


@given(mutation_streams(hubs=False, weights="float32", zero_weights=False), sources_of)
def test_float_distances_are_those_of_scipy_up_to_rounding(stream: MutationStream, wanted: list[int]) -> None:
    graph = mutated(stream)
    sources = existing(graph, wanted)
    if not sources:
        return
    source, target, weight = graph.edge_arrays()
    matrix = coo_matrix((weight, (source, target)), shape=(graph.bound, graph.bound))
    expected = dijkstra(matrix, indices=sources, min_only=True)
    np.testing.assert_allclose(reference.sssp(graph, sources), expected, rtol=1e-5)


@given(mutation_streams(hubs=False, weights="int32", max_batches=3), sources_of)
def test_a_width_is_the_largest_threshold_at_which_the_vertex_is_still_reached(
    stream: MutationStream, wanted: list[int]
) -> None:
    graph = mutated(stream)
    sources = existing(graph, wanted)
    widths = dict.fromkeys(range(graph.bound), 0)
    for threshold in sorted({weight for weight in graph.arcs.values() if weight}):
        wide = nx.DiGraph(arc for arc, weight in graph.arcs.items() if weight >= threshold)  # type: ignore[operator]
        for start in sources:
            wide.add_node(start)
            widths.update(dict.fromkeys(nx.descendants(wide, start), threshold))
    widths.update(dict.fromkeys(sources, WIDEST))
    assert reference.sswp(graph, sources).tolist() == list(widths.values())


@given(mutation_streams(hubs=False))
def test_components_are_those_of_networkx_and_scipy(stream: MutationStream) -> None:
    graph = mutated(stream)
    labels = reference.connected_components(graph)
    expected = {v: min(part) for part in nx.weakly_connected_components(as_networkx(graph)) for v in part}
    assert labels.tolist() == filled(graph, expected, UNREACHED)
    if graph.bound:
        source, target, _ = graph.edge_arrays()
        matrix = coo_matrix((np.ones(len(source)), (source, target)), shape=(graph.bound, graph.bound))
        count, _ = scipy_components(matrix, connection="weak")
        assert count == len(np.unique(labels[graph.alive()])) + len(graph.freed)


@given(mutation_streams(hubs=False, weights="none"), st.sampled_from([0.85, 0.5, 0.0, 0.99]))
def test_ranks_are_those_of_networkx(stream: MutationStream, damping: float) -> None:
    graph = mutated(stream)
    if not graph.vertices:
        assert not reference.pagerank(graph, damping).any()
        return
    expected = nx.pagerank(as_networkx(graph), alpha=damping, tol=1e-12, max_iter=5000)
    np.testing.assert_allclose(reference.pagerank(graph, damping), filled(graph, expected, 0.0), atol=1e-8)


@given(mutation_streams(hubs=False, weights="int32", max_batches=2))
def test_ranks_do_not_depend_on_weights_and_solve_the_linear_system(stream: MutationStream) -> None:
    graph = mutated(stream)
    system = np.eye(graph.bound)
    for u, v in graph.arcs:
        system[v, u] -= 0.85 / sum(source == u for source, _ in graph.arcs)
    amounts = np.linalg.solve(system, graph.alive().astype(float))
    ranks = amounts / amounts.sum() if graph.vertices else amounts
    np.testing.assert_allclose(reference.pagerank(graph), ranks, atol=1e-13)


def test_without_weights_every_edge_weighs_one() -> None:
    graph = ReferenceGraph.from_edges([0, 1], [1, 2])
    assert reference.sssp(graph, 0).tolist() == reference.bfs(graph, 0).tolist() == [0, 1, 2]
    assert reference.sswp(graph, 0).tolist() == [reference.WIDEST, 1, 1]


def test_a_source_that_does_not_exist_is_refused() -> None:
    graph = ReferenceGraph.from_edges([0], [1])
    for source in (-1, 2):
        with pytest.raises(InvalidArgument, match=f"source={source} must be a vertex that exists"):
            reference.bfs(graph, source)


def test_damping_outside_its_range_is_refused() -> None:
    for damping in (-0.1, 1.0, float("nan")):
        with pytest.raises(InvalidArgument, match="damping"):
            reference.pagerank(ReferenceGraph(1), damping)


def test_a_distance_that_overflows_float32_is_refused() -> None:
    graph = ReferenceGraph.from_edges([0, 1], [1, 2], np.array([3e38, 3e38], dtype=np.float32))
    with pytest.raises(InvalidArgument, match="overflow"):
        reference.sssp(graph, 0)
