"""Graphs from and to NetworkX, SciPy and arrays with any ids.

The store keeps gaps between its lists, which neither library can express, so every conversion copies the
edges once. Arrays with dense ids need none: `Graph.from_edges` takes them as they are, and `Graph.snapshot`
hands out the store's own arrays without a copy.
"""

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grapin.edges import Labels, WeightArray
from grapin.errors import InvalidArgument, MissingDependency
from grapin.graph import Graph


def from_arrays(
    source: ArrayLike, target: ArrayLike, weight: ArrayLike | None = None, *, directed: bool = True
) -> Graph:
    """Make a graph from columns of edges whose ends have any integer or string names.

    Vertices are numbered in ascending order of their names; integers that are 0 to n-1 keep their own.
    """
    names, ends = np.unique(np.concatenate((np.asarray(source), np.asarray(target))), return_inverse=True)
    if names.dtype.kind not in "iuOU" and len(names):
        raise InvalidArgument(f"source and target must hold integers or strings, not {names.dtype}")
    rows = len(np.asarray(source))
    return Graph.from_edges(
        ends[:rows].astype(np.int32),
        ends[rows:].astype(np.int32),
        weight,
        vertices=len(names),
        directed=directed,
        labels=_labels(names.tolist()),
    )


def to_arrays(graph: Graph) -> tuple[NDArray[Any], NDArray[Any], WeightArray | None]:
    """Return sources, targets and weights of all arcs under the vertices' outside names, as copies."""
    source, target, weight = graph.edge_arrays()
    if graph.labels is None:
        return source, target, weight
    names = _names(graph, graph.labels)
    return names[source], names[target], weight


def from_networkx(graph: Any, weight: str | None = "weight") -> Graph:
    """Make a graph from a NetworkX one, directed or not as that is; nodes keep their order.

    Weights come from the edge attribute `weight`; an edge without it counts 1, as in NetworkX, and the graph
    has no weights if no edge has it. Of parallel edges the last one stands.
    """
    nodes = list(graph.nodes)
    index = {node: vertex for vertex, node in enumerate(_own_order(nodes))}
    rows = list(graph.edges(data=weight)) if weight is not None else [(u, v, None) for u, v in graph.edges()]
    given = any(value is not None for _, _, value in rows)
    return Graph.from_edges(
        np.array([index[u] for u, _, _ in rows], np.int32),
        np.array([index[v] for _, v, _ in rows], np.int32),
        np.array([1 if value is None else value for _, _, value in rows]) if given else None,
        vertices=len(nodes),
        directed=graph.is_directed(),
        labels=_labels(list(index)),
    )


def to_networkx(graph: Graph) -> Any:
    """Return a NetworkX `DiGraph` or `Graph` under the vertices' outside names, weights as `weight`."""
    networkx = _library("networkx", "networkx")
    copied = networkx.DiGraph() if graph.directed else networkx.Graph()
    vertices = np.flatnonzero(graph.alive())
    copied.add_nodes_from(
        (vertices if graph.labels is None else _names(graph, graph.labels)[vertices]).tolist()
    )
    source, target, weight = to_arrays(graph)
    if weight is None:
        copied.add_edges_from(zip(source.tolist(), target.tolist(), strict=True))
    else:
        rows = zip(source.tolist(), target.tolist(), weight.tolist(), strict=True)
        copied.add_weighted_edges_from(rows)
    return copied


def from_scipy(matrix: Any, *, directed: bool = True) -> Graph:
    """Make a graph from a square sparse matrix: entry (i, j) is an edge from i to j.

    Entries are weights, except in a matrix of booleans; entries given twice are summed, as SciPy does.
    """
    if matrix.shape[0] != matrix.shape[1]:
        raise InvalidArgument(f"matrix.shape={matrix.shape!r} must be square")
    entries = matrix.tocoo()
    weight = None if entries.dtype == np.bool_ else entries.data
    return Graph.from_edges(
        entries.row,
        entries.col,
        weight,
        vertices=matrix.shape[0],
        directed=directed,
        duplicates="sum",
    )


def to_scipy(graph: Graph) -> Any:
    """Return the arcs as a SciPy `csr_array` of `bound` rows; entries are weights, or 1 without weights."""
    sparse = _library("scipy.sparse", "scipy")
    _, target, weight = graph.edge_arrays()
    ends = np.concatenate(([0], np.cumsum(graph.snapshot().out.degrees[: graph.bound], dtype=np.int64)))
    data = np.ones(len(target), np.int32) if weight is None else weight
    return sparse.csr_array((data, target, ends), shape=(graph.bound, graph.bound))


def _own_order(nodes: list[Any]) -> list[Any]:
    """Return nodes named 0 to n-1 in that order, so that they keep their names, and others as they come."""
    whole = all(type(node) is int for node in nodes) and set(nodes) == set(range(len(nodes)))
    return sorted(nodes) if whole else nodes


def _labels(names: list[Any]) -> Labels | None:
    if names == list(range(len(names))):
        return None
    if all(type(name) is int and -(2**63) <= name < 2**63 for name in names):
        return Labels(np.array(names, np.int64))
    held = np.empty(len(names), object)
    held[:] = names
    return Labels(held)


def _names(graph: Graph, labels: Labels) -> NDArray[Any]:
    if len(labels) < graph.bound:
        raise InvalidArgument(
            f"graph.labels must name all {graph.bound} vertices, not {len(labels)}; set it to None to use ids"
        )
    return labels.names


def _library(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        message = f"this conversion needs {package}: pip install 'grapin[{package}]'"
        raise MissingDependency(message) from None
