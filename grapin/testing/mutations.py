"""Strategies for batches that are valid for a known graph: mixed ones, bursts at one hub, mass deletions."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from grapin.batch import Batch
from grapin.reference.graph import Arc, ReferenceGraph
from grapin.testing.weights import weight_columns, weights_between

HUB_SIZES = (1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 257, 300, 300, 400)
"""How many neighbours a hub gets: either side of 128-byte boundaries, and often more than can be scanned."""


@st.composite
def batches(
    draw: st.DrawFn,
    graph: ReferenceGraph,
    *,
    ignorable: bool = True,
    self_loops: bool = True,
    least_weight: float = 0,
    largest_weight: float = 1000,
    max_edges: int = 10,
) -> Batch:
    """Draw a valid batch of a few mutations of every kind.

    `ignorable` lets in what a strict graph refuses: mutations of what is not there, insertions of vertices
    that are. On an undirected graph, some edges are named once in each direction.
    """
    coming = draw(_coming(graph, ignorable=ignorable))
    going = draw(_going(graph, coming, ignorable=ignorable))
    parts: dict[str, list[Any]] = {"insert": [], "delete": [], "reweight": []}
    for u, v in draw(_edges(graph, coming, self_loops=self_loops, max_edges=max_edges)):
        kinds = _possible(graph, (u, v), going, ignorable=ignorable)
        if kinds:
            kind = draw(st.sampled_from(kinds))
            weight = draw(weights_between(graph.weights, least_weight, largest_weight))
            row = (u, v) if kind == "delete" or weight is None else (u, v, weight)
            parts[kind].append(row)
            if not graph.directed and draw(st.booleans()):
                parts[kind].append((v, u, *row[2:]))
    return Batch(**parts, insert_vertices=coming, delete_vertices=going)


@st.composite
def hub_bursts(
    draw: st.DrawFn,
    graph: ReferenceGraph,
    *,
    self_loops: bool = True,
    least_weight: float = 0,
    largest_weight: float | None = None,
) -> Batch:
    """Draw a batch that connects one vertex with many, inserting the vertices that are missing for that.

    Weights are small ones unless `largest_weight` says how far they reach.
    """
    size = draw(st.sampled_from(HUB_SIZES))
    coming = graph.free_vertices(max(1 - graph.vertices, size - graph.vertices, 0)).tolist()
    usable = sorted([*graph.vertex_ids(), *coming])
    hub = draw(_hubs(graph) if graph.vertices else st.sampled_from(usable))
    outwards = draw(st.booleans())
    first = draw(st.integers(0, len(usable) - 1))
    ends = [usable[(first + step) % len(usable)] for step in range(size)]
    if not self_loops:
        ends = [end for end in ends if end != hub]
    hubs = [hub] * len(ends)
    sources, targets = (hubs, ends) if outwards else (ends, hubs)
    weight = draw(
        weight_columns(graph.weights, len(ends), least_weight=least_weight, largest_weight=largest_weight)
    )
    columns = (sources, targets) if weight is None else (sources, targets, weight)
    return Batch(insert=columns, insert_vertices=coming)


@st.composite
def clearances(draw: st.DrawFn, graph: ReferenceGraph) -> Batch:
    """Draw a batch that deletes most of a graph: a vertex, all edges at it, or every edge but each n-th."""
    if not graph.vertices:
        return Batch()
    hub = draw(_hubs(graph))
    kind = draw(st.sampled_from(["vertex", "edges of a vertex", "most edges"]))
    if kind == "vertex":
        return Batch(delete_vertices=[hub])
    arcs = sorted(graph.arcs)
    if kind == "edges of a vertex":
        return Batch(delete=[arc for arc in arcs if hub in arc])
    spared = draw(st.integers(2, 9))
    return Batch(delete=[arc for index, arc in enumerate(arcs) if index % spared])


@st.composite
def hub_churns(
    draw: st.DrawFn,
    graph: ReferenceGraph,
    *,
    least_weight: float = 0,
    largest_weight: float | None = None,
) -> Batch:
    """Draw a batch that turns one vertex's neighbourhood over: some edges go, some change, new ones come.

    Weights are small ones unless `largest_weight` says how far they reach.
    """
    if not graph.vertices:
        return Batch()
    ids = graph.vertex_ids()
    hub = draw(_hubs(graph))
    stride = draw(st.integers(2, 5))
    outwards = draw(st.booleans())
    ends = [(hub, end) if outwards else (end, hub) for end in ids if end != hub]
    going = [edge for index, edge in enumerate(ends) if index % stride and edge in graph.arcs]
    coming = [edge for index, edge in enumerate(ends) if index % stride == 0]
    weight = draw(
        weight_columns(graph.weights, len(coming), least_weight=least_weight, largest_weight=largest_weight)
    )
    sources, targets = [u for u, _ in coming], [v for _, v in coming]
    return Batch(insert=(sources, targets) if weight is None else (sources, targets, weight), delete=going)


def _hubs(graph: ReferenceGraph) -> st.SearchStrategy[int]:
    """Draw an existing vertex, mostly a busy one: chosen evenly, a hub among hundreds is never met."""
    degree = dict.fromkeys(graph.vertex_ids(), 0)
    for u, v in graph.arcs:
        degree[u] += 1
        degree[v] += 1
    busiest = sorted(degree, key=lambda vertex: (-degree[vertex], vertex))
    return st.sampled_from(busiest[:2]) | st.sampled_from(busiest)


@st.composite
def _coming(draw: st.DrawFn, graph: ReferenceGraph, *, ignorable: bool) -> list[int]:
    new = list(range(graph.bound, graph.bound + draw(st.integers(0, 3))))
    again = draw(_some_of(sorted(graph.freed)))
    there = draw(_some_of(graph.vertex_ids())) if ignorable and draw(_seldom()) else []
    return [*new, *again, *there]


@st.composite
def _going(draw: st.DrawFn, graph: ReferenceGraph, coming: list[int], *, ignorable: bool) -> list[int]:
    there = draw(_some_of(graph.vertex_ids())) if draw(_seldom()) else []
    absent = [*sorted(graph.freed), graph.bound + 5]
    missing = draw(_some_of(absent)) if ignorable and draw(_seldom()) else []
    return [vertex for vertex in [*there, *missing] if vertex not in coming]


@st.composite
def _edges(
    draw: st.DrawFn, graph: ReferenceGraph, coming: list[int], *, self_loops: bool, max_edges: int
) -> list[Arc]:
    """Draw distinct edges between vertices that will be known, about half of them existing ones."""
    usable = sorted({*graph.vertex_ids(), *coming})
    if not usable:
        return []
    vertex = st.sampled_from(usable)
    any_edge: st.SearchStrategy[Arc] = st.tuples(vertex, vertex)
    if graph.arcs:
        any_edge |= st.sampled_from(sorted(graph.arcs))
    if not self_loops:
        any_edge = any_edge.filter(lambda edge: edge[0] != edge[1])
    same = (lambda edge: edge) if graph.directed else (lambda edge: (min(edge), max(edge)))
    return draw(st.lists(any_edge, max_size=max_edges, unique_by=same))


def _possible(graph: ReferenceGraph, edge: Arc, going: list[int], *, ignorable: bool) -> list[str]:
    """Return what may be done to this edge in a batch that deletes the vertices `going`."""
    doomed = edge[0] in going or edge[1] in going
    kinds = [] if doomed else ["insert"]
    if edge in graph.arcs or ignorable:
        kinds.append("delete")
        if graph.weights != "none" and not doomed:
            kinds.append("reweight")
    return kinds


def _some_of(choices: Sequence[int]) -> st.SearchStrategy[list[int]]:
    if not choices:
        return st.just([])
    return st.lists(st.sampled_from(choices), max_size=3, unique=True)


def _seldom() -> st.SearchStrategy[bool]:
    """Draw True one time in four."""
    return st.integers(0, 3).map(lambda number: number == 3)
