"""Strategies for batches of a known graph: mixed, bursts at one hub, mass deletions, and some that must be refused."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
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


Arguments = dict[str, Any]


@dataclass(frozen=True)
class InvalidCase:
    """The arguments of a `Batch` that it, or the graph it is applied to, must refuse with `InvalidBatch`."""

    reason: str
    arguments: Arguments

    def batch(self) -> Batch:
        """Make the batch; contradictions within it are refused here, those with the graph by `apply`."""
        return Batch(**self.arguments)


def invalid_batches(graph: ReferenceGraph) -> st.SearchStrategy[InvalidCase]:
    """Draw a case that is wrong in one way and accompanied by a valid insertion of a vertex and an edge.

    The company makes a batch that is applied by halves visible.
    """
    vertex = int(graph.free_vertices(1)[0])
    company = {"insert": [_row(graph, vertex, vertex)], "insert_vertices": [vertex]}
    cases = [
        InvalidCase(reason, _merged(company, wrong))
        for kinds in _KINDS
        for reason, wrong in kinds(graph, vertex)
    ]
    return st.sampled_from([*cases, _other_kind(graph, company)])


def _other_kind(graph: ReferenceGraph, company: Arguments) -> InvalidCase:
    """Return the company with weights for a graph that has none, or without for one that has."""
    vertex = company["insert_vertices"][0]
    if graph.weights == "none":
        return InvalidCase("weights for a graph without", {**company, "insert": [(vertex, vertex, 1)]})
    return InvalidCase("no weights for a graph with", {**company, "insert": [(vertex, vertex)]})


def _merged(company: Arguments, wrong: Arguments) -> Arguments:
    parts = company.keys() | wrong.keys()
    return {part: [*wrong.get(part, ()), *company.get(part, ())] for part in sorted(parts)}


def _row(graph: ReferenceGraph, u: int, v: int, weight: int = 1) -> tuple[float, ...]:
    """Return an edge with the weight that this graph asks for."""
    if graph.weights == "none":
        return (u, v)
    return (u, v, weight) if graph.weights == "int32" else (u, v, float(weight))


Cases = Iterator[tuple[str, Arguments]]


def _unknown_vertices(graph: ReferenceGraph, known: int) -> Cases:
    """Edges at vertices that neither exist nor come with the batch."""
    strangers = [graph.bound + 7, *sorted(graph.freed - {known})[:2]]
    for stranger in strangers:
        for u, v in ((stranger, known), (known, stranger)):
            yield f"unknown vertex {stranger} in insert", {"insert": [_row(graph, u, v)]}
            yield f"unknown vertex {stranger} in delete", {"delete": [(u, v)]}
            if graph.weights != "none":
                yield f"unknown vertex {stranger} in reweight", {"reweight": [_row(graph, u, v)]}
    yield "a gap in the vertex ids", {"insert_vertices": [graph.bound + 2]}


def _impossible_vertices(graph: ReferenceGraph, known: int) -> Cases:
    """Ids that no graph can have."""
    for vertex in (-1, 2**31 - 1, 2**40, 2**70, 0.5, "a", None):
        yield f"vertex {vertex!r} in an edge", {"insert": [_row(graph, known, vertex)]}  # type: ignore[arg-type]  # that is the point
        yield f"vertex {vertex!r} in delete_vertices", {"delete_vertices": [vertex]}


def _contradictions(graph: ReferenceGraph, known: int) -> Cases:
    """Batches that say two things about one edge or vertex."""
    edge, row = (known, known), _row(graph, known, known)
    yield "an edge inserted and deleted", {"delete": [edge]}
    yield "a vertex inserted and deleted", {"delete_vertices": [known]}
    for vertex in graph.vertex_ids()[:1]:
        doomed = {"delete_vertices": [vertex]}
        yield "an edge at a deleted vertex", {"insert": [_row(graph, known, vertex)], **doomed}
    if graph.weights != "none":
        other = _row(graph, known, known, weight=2)
        yield "an edge with two weights", {"insert": [other]}
        yield "an edge inserted and re-weighted", {"reweight": [row]}


def _undirected_contradictions(graph: ReferenceGraph, known: int) -> Cases:
    """Batches that say one thing about (u, v) and another about (v, u), where these are one edge."""
    others = [] if graph.directed else graph.vertex_ids()[:1]
    for other in (vertex for vertex in others if vertex != known):
        row = _row(graph, known, other)
        yield "an undirected edge inserted and deleted", {"insert": [row], "delete": [(other, known)]}
        if graph.weights != "none":
            reverse = _row(graph, other, known, weight=2)
            yield "an undirected edge with two weights", {"insert": [row, reverse]}
            yield "an undirected edge re-weighted twice", {"reweight": [row, reverse]}
            yield "an undirected edge inserted and re-weighted", {"insert": [row], "reweight": [reverse]}


def _wrong_weights(graph: ReferenceGraph, known: int) -> Cases:
    """Weights that are no weights, or not for this kind of graph; re-weighting names an edge of its own."""
    edge = (known, *graph.vertex_ids()[:1])
    if len(edge) < 2:
        return
    wrong: dict[str, tuple[Any, ...]] = {
        "none": (1, 0.5),
        "int32": (0.5, 2**31),
        "float32": (2**24 + 1, 1e39),
    }
    for weight in (-1, -0.5, float("nan"), float("inf"), "heavy", None, *wrong[graph.weights]):
        yield f"weight {weight!r}", {"reweight": [(*edge, weight)]}
    yield "no weight to re-weight with", {"reweight": [edge]}


def _wrong_forms(graph: ReferenceGraph, known: int) -> Cases:
    """Rows of the wrong width, and a weight where none belongs."""
    edge = (known, known)
    yield "rows of four", {"delete": [(*edge, 1, 1)]}
    yield "rows of one", {"delete": [(known,)]}
    yield "rows of different width", {"insert": [edge if graph.weights != "none" else (*edge, 1)]}
    yield "a weight in delete", {"delete": [(known, known + 1, 1)]}


_KINDS: tuple[Callable[[ReferenceGraph, int], Cases], ...] = (
    _unknown_vertices,
    _impossible_vertices,
    _contradictions,
    _undirected_contradictions,
    _wrong_weights,
    _wrong_forms,
)
