"""Strategies for batches that must be refused, each with the reason, for a known graph."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from grapin.batch import Batch
from grapin.reference.graph import ReferenceGraph

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
