"""Hold everything against what judges it: answers, cached lists, the store, and what it says a batch changed.

Answers are held against the reference, with parents that explain the values; cached lists against those of the store;
the store against the reference graph, edge for edge. Whatever differs first is a `WrongAnswer` that names it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin import reference
from grapin.batch import Edges
from grapin.engine import Engine
from grapin.engine.answer import Answer
from grapin.errors import WrongAnswer
from grapin.graph import Applied, Graph, Lists
from grapin.graph.snapshot import Snapshot
from grapin.programs import BFS, SSSP, SSWP, Accumulative, ConnectedComponents, Monotone, Triangles
from grapin.reference import device as reference_device
from grapin.reference.graph import Arc, Changes, ReferenceGraph, Weight
from grapin.reference.verify import check_forest
from grapin.system import find_system

_WITH_SOURCES: dict[type, Any] = {
    BFS: reference.verify_bfs,
    SSSP: reference.verify_sssp,
    SSWP: reference.verify_sswp,
}


def verify_answer(answer: Answer, graph: Graph) -> None:
    """Raise `WrongAnswer`, naming the vertex, unless the answer is right for the graph as it is now."""
    program = answer.program
    if isinstance(program, Accumulative):
        reference.verify_accumulative(graph, program, answer.values, program.tolerance)
        return
    if isinstance(program, Triangles):
        reference.verify_triangles(graph, answer.values)
        return
    assert isinstance(program, Monotone)
    values, parents = answer.values, answer.parents
    usual = all(value == program.source_value for value in program.sources.values())
    verifier = _WITH_SOURCES.get(type(program))  # by class: a user's own may have the name of one of ours
    if verifier is not None and usual:
        verifier(graph, [vertex for vertex in program.sources if graph.has_vertex(vertex)], values, parents)
    elif type(program) is ConnectedComponents:
        reference.verify_components(graph, values, parents)
    else:
        _verify_any(program, graph, values, parents)


def _verify_any(program: Monotone, graph: Graph, values: Any, parents: Any) -> None:
    """Compare with the program's own functions executed as they are written."""
    query = reference_device.query(
        program,
        find_system("grapin-recomp"),
        weight_dtype=graph.weight_dtype,
        directed=graph.directed,
        threads=1,
    )
    assert isinstance(query, reference_device.ReferenceMonotone)
    snapshot = graph.snapshot()
    query.start(snapshot, tracing=False)
    expected = query.values()
    wrong = values != expected
    if wrong.any():
        vertex = int(np.argmax(wrong))
        raise WrongAnswer(f"vertex {vertex} has {values[vertex]}, expected {expected[vertex]}")
    query.check_parents(snapshot, values, parents)
    check_forest(parents)


def verify_copies(cache: Any, snapshot: Snapshot) -> int:
    """Raise `WrongAnswer` unless copies that count as up to date equal the lists in the store; return how many do."""
    holdings, copies = cache.hot.holdings, cache.copies.contents()
    current = np.flatnonzero((holdings.copied > 0) & (holdings.stale_sectors == 0)).tolist()
    for place in current:
        vertex, lists = place >> 1, snapshot.in_ if place & 1 else snapshot.out
        assert lists is not None
        position = int(cache.hot.positions[place])
        arrays = int(holdings.copied[place])
        here = _entries(copies, position, int(lists.degrees[vertex]), arrays)
        there = _entries(
            (lists.neighbours, lists.weights), int(lists.starts[vertex]), int(lists.degrees[vertex]), arrays
        )
        if here != there:
            side = "in" if place & 1 else "out"
            raise WrongAnswer(
                f"the cached {side}-list of vertex {vertex} is {here}, expected {there} as in the store"
            )
    return len(current)


def _entries(
    columns: tuple[NDArray[Any], ...], start: int, length: int, arrays: int
) -> list[tuple[Any, ...]]:
    """Return neighbours, and weights where they are copied too, in an order that does not depend on the list's."""
    parts = [column[start : start + length].tolist() for column in columns[:arrays]]
    return sorted(zip(*parts, strict=True))


def verify_engine(engine: Engine) -> None:
    """Raise `WrongAnswer`, naming vertex or list, unless answers and copies are right for the graph as it is now."""
    for answer in engine.answers:
        verify_answer(answer, engine.graph)
    cache = engine._cache  # noqa: SLF001  (how copies are kept is no business of users, but of tests)
    if cache is not None:
        verify_copies(cache, engine.graph.snapshot())


def check_same_graph(store: Graph, reference: ReferenceGraph) -> None:
    """Raise `WrongAnswer` naming the first difference, in any direction the store keeps, if there is one."""
    for name in ("directed", "version", "bound", "vertices", "edges"):
        _check_equal(name, getattr(store, name), getattr(reference, name))
    _check_equal("alive", store.alive().tolist(), reference.alive().tolist())
    _check_equal("free_vertices", store.free_vertices(3).tolist(), reference.free_vertices(3).tolist())
    _check_arcs("edge_arrays", _arcs(*store.edge_arrays()), reference)
    snapshot = store.snapshot()
    _check_arcs("out-neighbours", _arcs(*_listed(snapshot.out, snapshot.bound)), reference)
    if snapshot.in_ is not None:
        target, source, weight = _listed(snapshot.in_, snapshot.bound)
        _check_arcs("in-neighbours", _arcs(source, target, weight), reference)


def check_same_changes(applied: Applied, expected: Changes) -> None:
    """Raise `WrongAnswer` naming the first part of a batch that store and reference see differently."""
    got = changes_of(applied)
    for name in Changes.__dataclass_fields__:
        _check_equal(f"applied.{name}", getattr(got, name), getattr(expected, name))


def changes_of(applied: Applied) -> Changes:
    """Return what a store says it changed in the plain form of the reference."""
    before = dict(zip(_weights(applied.reweighted), applied.old_weights.tolist(), strict=True))
    return Changes(
        version=applied.version,
        inserted=_weights(applied.inserted),
        deleted=_weights(applied.deleted),
        reweighted={arc: (before[arc], after) for arc, after in _weights(applied.reweighted).items()},
        inserted_vertices=frozenset(applied.inserted_vertices.tolist()),
        deleted_vertices=frozenset(applied.deleted_vertices.tolist()),
        ignored=applied.ignored,
        unchanged=applied.unchanged,
    )


def _weights(edges: Edges) -> dict[Arc, Weight]:
    return _arcs(edges.source, edges.target, edges.weight)


def _arcs(source: NDArray[Any], target: NDArray[Any], weight: NDArray[Any] | None) -> dict[Arc, Weight]:
    """Return arcs as a dictionary; an arc that is there twice is a defect of its own."""
    pairs = list(zip(source.tolist(), target.tolist(), strict=True))
    weights = [None] * len(pairs) if weight is None or not len(weight) else weight.tolist()
    arcs = dict(zip(pairs, weights, strict=True))
    if len(arcs) != len(pairs):
        twice = next(arc for index, arc in enumerate(pairs) if arc in pairs[:index])
        raise WrongAnswer(f"edge {twice} is there twice, expected once")
    return arcs


def _listed(lists: Lists, bound: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return owner, neighbour and weight of each entry of the neighbour lists."""
    degrees = lists.degrees[:bound].astype(np.int64)
    owners = np.repeat(np.arange(bound), degrees)
    within = np.arange(degrees.sum()) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    places = lists.starts[:bound][owners] + within
    weights = lists.weights[places] if len(lists.weights) else lists.weights
    return owners, lists.neighbours[places], weights


def _check_arcs(name: str, got: dict[Arc, Weight], reference: ReferenceGraph) -> None:
    expected = reference.arcs
    for arc in sorted(got.keys() | expected.keys()):
        if arc not in got:
            raise WrongAnswer(f"edge {arc} is missing in {name}, expected with weight {expected[arc]}")
        if arc not in expected:
            raise WrongAnswer(f"edge {arc} is in {name} with weight {got[arc]}, expected no such edge")
        if got[arc] != expected[arc]:
            raise WrongAnswer(f"edge {arc} has weight {got[arc]} in {name}, expected {expected[arc]}")


def _check_equal(name: str, got: object, expected: object) -> None:
    if got != expected:
        raise WrongAnswer(f"{name} is {got}, expected {expected}")
