"""The reference on a real graph of 100,000 edges, against SciPy and NetworkX."""

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components, dijkstra

from grapin import load_edges, reference
from grapin.reference import UNREACHED, Arcs

SOURCE = 0


@pytest.fixture
def votes(shared_data: Path) -> Arcs:
    edges = load_edges(shared_data / "wiki-Vote.txt.zst")
    weight = (1 + np.arange(len(edges)) % 64).astype(np.int32)
    return Arcs(edges.source, edges.target, weight, edges.vertices, np.ones(edges.vertices, bool))


def matrix(arcs: Arcs) -> Any:
    return coo_matrix((arcs.weight, (arcs.source, arcs.target)), shape=(arcs.bound, arcs.bound)).tocsr()


@pytest.mark.parametrize("unweighted", [True, False])
def test_paths_are_those_of_scipy(votes: Arcs, unweighted: bool) -> None:
    found = (reference.bfs if unweighted else reference.sssp)(votes, SOURCE)
    expected = dijkstra(matrix(votes), indices=SOURCE, unweighted=unweighted)
    assert np.array_equal(np.where(found == UNREACHED, np.inf, found), expected)
    assert np.isfinite(expected).sum() > 1000


def test_components_are_those_of_scipy(votes: Arcs) -> None:
    labels = reference.connected_components(votes)
    _, expected = connected_components(matrix(votes), connection="weak")
    pairs = np.unique(np.stack([labels, expected]), axis=1)
    assert pairs.shape[1] == len(np.unique(labels)) == len(np.unique(expected))


def test_ranks_are_those_of_networkx(votes: Arcs) -> None:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(votes.bound))
    graph.add_edges_from(zip(votes.source.tolist(), votes.target.tolist(), strict=True))
    expected = nx.pagerank(graph, tol=1e-12, max_iter=1000)
    ranks = np.array([expected[vertex] for vertex in range(votes.bound)])
    reference.verify_pagerank(votes, ranks, largest_error=1e-9, total_error=1e-7)
