"""Conversions lose nothing on the way out and back."""

import sys
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from grapin.batch import Batch
from grapin.convert import from_arrays, from_networkx, from_scipy, to_arrays, to_networkx, to_scipy
from grapin.edges import Labels
from grapin.errors import InvalidArgument, InvalidBatch, MissingDependency
from grapin.graph import Graph

VERTICES = 6
PAIRS = st.dictionaries(
    st.tuples(st.integers(0, VERTICES - 1), st.integers(0, VERTICES - 1)), st.integers(0, 99), max_size=20
)
Weights = dict[tuple[int, int], int]


def graph_of(weights: Weights, *, directed: bool = True, weighted: bool = True) -> Graph:
    if not directed:
        weights = {(min(edge), max(edge)): weight for edge, weight in weights.items()}
    source, target = [u for u, _ in weights], [v for _, v in weights]
    given = list(weights.values()) if weighted and weights else None
    kind = "int32" if weighted else "none"
    return Graph.from_edges(source, target, given, vertices=VERTICES, directed=directed, weights=kind)


def arcs(graph: Graph) -> list[tuple[Any, ...]]:
    columns = [column.tolist() for column in graph.edge_arrays() if column is not None]
    return sorted(zip(*columns, strict=True))


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@given(weights=PAIRS)
def test_networkx_gives_back_the_same_graph(directed: bool, weighted: bool, weights: Weights) -> None:
    graph = graph_of(weights, directed=directed, weighted=weighted)
    copied = to_networkx(graph)
    assert isinstance(copied, nx.DiGraph if directed else nx.Graph)
    assert copied.number_of_nodes() == VERTICES
    back = from_networkx(copied)
    back.check()
    assert arcs(back) == arcs(graph)
    assert back.vertices == VERTICES
    assert back.directed is directed


@given(weights=PAIRS)
def test_scipy_gives_back_the_same_graph(weights: Weights) -> None:
    graph = graph_of(weights)
    matrix = to_scipy(graph)
    assert matrix.shape == (VERTICES, VERTICES)
    assert all(matrix[edge] == weight for edge, weight in weights.items())
    back = from_scipy(matrix)
    back.check()
    assert arcs(back) == arcs(graph)


@given(weights=PAIRS, directed=st.booleans())
def test_arrays_with_names_give_back_the_same_graph(weights: Weights, directed: bool) -> None:
    names = np.array(["f", "a", "d", "c", "b", "e"])
    graph = graph_of(weights, directed=directed, weighted=False)
    source, target, _ = graph.edge_arrays()
    back = from_arrays(names[source], names[target], directed=directed)
    back.check()
    read_source, read_target, _ = to_arrays(back)
    named = zip(names[source].tolist(), names[target].tolist(), strict=True)
    assert sorted(named) == sorted(zip(read_source.tolist(), read_target.tolist(), strict=True))


def test_nodes_of_any_kind_keep_their_names() -> None:
    graph = from_networkx(nx.DiGraph([("b", (1, 2)), ((1, 2), "a")]))
    assert graph.labels is not None
    assert graph.labels.names.tolist() == ["b", (1, 2), "a"]
    assert set(to_networkx(graph).edges) == {("b", (1, 2)), ((1, 2), "a")}


def test_nodes_named_like_vertices_keep_their_ids_in_any_order() -> None:
    graph = from_networkx(nx.Graph([(2, 0), (0, 1)]))
    assert graph.labels is None
    assert arcs(graph) == [(0, 1), (0, 2), (1, 0), (2, 0)]


def test_an_edge_without_the_attribute_weighs_one() -> None:
    graph = nx.DiGraph([(0, 1, {"cost": 5}), (1, 0)])
    assert arcs(from_networkx(graph, weight="cost")) == [(0, 1, 5), (1, 0, 1)]
    assert arcs(from_networkx(graph)) == [(0, 1), (1, 0)]
    assert arcs(from_networkx(graph, weight=None)) == [(0, 1), (1, 0)]


def test_entries_given_twice_are_summed_and_booleans_are_no_weights() -> None:
    entries = (np.array([0, 0]), np.array([1, 1]))
    matrix = scipy.sparse.coo_array((np.array([2, 3]), entries), shape=(2, 2))
    assert arcs(from_scipy(matrix)) == [(0, 1, 5)]
    assert arcs(from_scipy(matrix.astype(bool))) == [(0, 1)]


def test_a_matrix_that_is_not_square_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"matrix\.shape=\(2, 3\) must be square"):
        from_scipy(scipy.sparse.coo_array((2, 3)))


def test_deleted_vertices_are_no_nodes_and_have_empty_rows() -> None:
    graph = graph_of({(0, 1): 3, (1, 2): 4, (2, 0): 5})
    graph.apply(Batch(delete_vertices=[1]))
    assert sorted(to_networkx(graph).nodes) == [0, 2, 3, 4, 5]
    assert to_scipy(graph).nnz == 1
    assert to_scipy(graph)[2, 0] == 5


def test_vertices_inserted_after_naming_must_be_named_too() -> None:
    graph = from_arrays(["x"], ["y"])
    with pytest.raises(InvalidBatch, match="vertex 2 in insert_vertices must have a name"):
        graph.apply(Batch(insert_vertices=[2]))
    graph.apply(Batch(insert_vertices=[2], names=["z"]))
    assert sorted(to_networkx(graph).nodes) == ["x", "y", "z"]
    graph.labels = Labels(np.array(["x", "y"], object))
    with pytest.raises(InvalidArgument, match=r"graph\.labels must name all 3 vertices, not 2"):
        to_networkx(graph)


def test_integers_of_any_size_are_names() -> None:
    graph = from_arrays(np.array([2**64 - 1], np.uint64), np.array([7], np.uint64))
    assert graph.labels is not None
    assert graph.labels.vertex(2**64 - 1) == 1
    assert from_networkx(nx.Graph([(10**30, 0)])).labels is not None


def test_ids_must_be_integers_or_names() -> None:
    with pytest.raises(InvalidArgument, match="must hold integers or strings, not float64"):
        from_arrays([0.5], [1.0])


@pytest.mark.parametrize(("convert", "library"), [(to_networkx, "networkx"), (to_scipy, "scipy")])
def test_a_missing_library_is_named(convert: Any, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("networkx", "scipy.sparse"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependency, match=rf"pip install 'grapin\[{library}\]'"):
        convert(graph_of({(0, 1): 3}))
