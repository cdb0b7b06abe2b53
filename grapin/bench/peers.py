"""Other libraries on the same graph: SciPy, NetworKit and, where it is installed, python-graphblas.

Each is called in the way its manual recommends, on its own form of the graph, made beforehand.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from grapin.edges import EdgeList
from grapin.errors import MissingDependency

Run = Callable[[], Any]
"""Computes an answer; returns it, or a function that brings it into an array, which is not part of the time."""
Runs = dict[str, dict[str, Run]]
"""By program, then by library."""


LIBRARIES = {"scipy": "scipy", "networkit": "networkit", "graphblas": "python-graphblas"}
"""What can be asked, by the name it is imported by, and what to install for it."""
PROGRAMS = ("bfs", "sssp", "cc")
"""What they are asked to compute."""
_ROUNDING = 1e-4
"""We add up 32-bit floats along a path, others 64-bit ones; hundreds of edges stay well within this."""


def check_installed(library: str) -> None:
    """Refuse a library that is not here, and say how to get it."""
    if find_spec(library) is None:
        raise MissingDependency(f"peers={library!r} is not installed: pip install {LIBRARIES[library]}")


def prepare(edges: EdgeList, source: int, threads: int, libraries: Iterable[str] = LIBRARIES) -> Runs:
    """Return what each of these libraries, where it is installed, is asked to compute."""
    makers = {"scipy": _scipy, "networkit": _networkit, "graphblas": _graphblas}
    runs: Runs = {program: {} for program in PROGRAMS}
    edges = _weighted_arcs(edges)
    for library in filter(find_spec, libraries):
        for program, run in makers[library](edges, source, threads).items():
            runs[program][library] = run
    return runs


def _weighted_arcs(edges: EdgeList) -> EdgeList:
    """Return an undirected edge as two, and a weight for each: all libraries are given directed, weighted graphs."""
    weight = np.ones(len(edges), np.int32) if edges.weight is None else edges.weight
    if edges.directed:
        return replace(edges, weight=weight)
    other = edges.source != edges.target
    return replace(
        edges,
        source=np.append(edges.source, edges.target[other]),
        target=np.append(edges.target, edges.source[other]),
        weight=np.append(weight, weight[other]),
        directed=True,
    )


def agree(program: str, answer: Any, expected: Any) -> bool:
    """Tell whether an answer, in whatever form a library gives it, says what is expected, -1 for unreached."""
    got = np.asarray(answer() if callable(answer) else answer)
    if program == "cc":
        return _same_partition(got, expected)
    reached = expected >= 0
    far = ~np.isfinite(got) | (got < 0) | (got >= np.finfo(np.float64).max)
    rounding = _ROUNDING if np.asarray(expected).dtype.kind == "f" else 0.0
    return np.array_equal(~far, reached) and np.allclose(
        got[reached], expected[reached], rtol=rounding, atol=0.0
    )


def _same_partition(one: Any, other: Any) -> bool:
    pairs = np.unique(np.stack([one, other]), axis=1).shape[1]
    return bool(pairs == len(np.unique(one)) == len(np.unique(other)))


def _scipy(edges: EdgeList, source: int, _threads: int) -> dict[str, Run]:
    from scipy.sparse import csgraph, csr_array

    shape = (edges.vertices, edges.vertices)
    matrix = csr_array((np.asarray(edges.weight, np.float64), (edges.source, edges.target)), shape=shape)
    return {
        "bfs": lambda: _depths(csgraph.breadth_first_order(matrix, source), source),
        "sssp": lambda: csgraph.dijkstra(matrix, indices=source),
        "cc": lambda: csgraph.connected_components(matrix, directed=True, connection="weak")[1],
    }


def _depths(found: Any, source: int) -> Run:
    """Leave depths for later: SciPy gives an order and predecessors, and the timed part is to find those."""
    order, predecessors = found

    def later() -> Any:
        depths = np.full(len(predecessors), -1)
        depths[source] = 0
        for vertex in order[1:]:
            depths[vertex] = depths[predecessors[vertex]] + 1
        return depths

    return later


def _networkit(edges: EdgeList, source: int, threads: int) -> dict[str, Run]:
    import networkit

    networkit.setNumberOfThreads(threads)
    ends = edges.source.astype(np.uint64), edges.target.astype(np.uint64)
    columns = np.asarray(edges.weight, np.float64), ends
    directed = networkit.GraphFromCoo(columns, edges.vertices, weighted=True, directed=True)
    undirected = networkit.graphtools.toUndirected(directed)

    def distances(algorithm: Any) -> Run:
        algorithm.run()
        return lambda: algorithm.getDistances(asarray=True)

    def components() -> Run:
        algorithm = networkit.components.ParallelConnectedComponents(undirected)
        algorithm.run()
        return lambda: algorithm.getPartition().getVector()

    return {
        "bfs": lambda: distances(networkit.distance.BFS(directed, source, storePaths=False)),
        "sssp": lambda: distances(networkit.distance.Dijkstra(directed, source, storePaths=False)),
        "cc": components,
    }


def _graphblas(edges: EdgeList, source: int, threads: int) -> dict[str, Run]:
    graphblas: Any = import_module("graphblas")

    graphblas.ss.config["nthreads"] = threads
    size, weight = edges.vertices, edges.weight
    matrix = graphblas.Matrix.from_coo(edges.source, edges.target, weight, nrows=size, ncols=size)
    rows, columns = np.append(edges.source, edges.target), np.append(edges.target, edges.source)
    both = graphblas.Matrix.from_coo(rows, columns, True, nrows=size, ncols=size)
    return {
        "bfs": lambda: _blas_depths(graphblas, matrix, source),
        "sssp": lambda: _blas_distances(graphblas, matrix, source),
        "cc": lambda: _blas_labels(graphblas, both),
    }


def _blas_depths(graphblas: Any, matrix: Any, source: int) -> Run:
    """Level by level: the frontier times the matrix, masked by what is not reached yet."""
    depths = graphblas.Vector(np.int32, matrix.nrows)
    frontier = graphblas.Vector(bool, matrix.nrows)
    frontier[source] = True
    depth = 0
    while frontier.nvals:
        depths(frontier.S) << depth
        frontier(~depths.S, replace=True) << graphblas.semiring.any_pair[bool](frontier @ matrix)
        depth += 1
    return lambda: depths.to_dense(fill_value=-1)


def _blas_distances(graphblas: Any, matrix: Any, source: int) -> Run:
    """Bellman-Ford over what improved in the round before."""
    distances = graphblas.Vector(matrix.dtype, matrix.nrows)
    distances[source] = 0
    frontier = distances.dup()
    while frontier.nvals:
        offers = graphblas.semiring.min_plus(frontier @ matrix).new()
        useless = graphblas.binary.ge(offers & distances).new()
        frontier = graphblas.Vector(matrix.dtype, matrix.nrows)
        frontier(~useless.V) << offers
        distances(frontier.S) << frontier
    return lambda: distances.to_dense(fill_value=-1)


def _blas_labels(graphblas: Any, both: Any) -> Run:
    """Spread the smallest label to neighbours, then let each vertex jump to its label's label (FastSV)."""
    size = both.nrows
    labels = graphblas.Vector.from_dense(np.arange(size, dtype=np.int32))
    while True:
        before = labels.dup()
        labels(graphblas.binary.min) << graphblas.semiring.min_second(both @ labels)
        spread = labels.to_dense()
        jumped = spread[spread]
        labels = graphblas.Vector.from_dense(jumped)
        if labels.isequal(before):
            return lambda: spread
