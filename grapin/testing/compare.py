"""Comparisons: the store against the reference, edge for edge, and what each says a batch changed."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grapin.batch import Edges
from grapin.errors import WrongAnswer
from grapin.reference.graph import Arc, Changes, ReferenceGraph, Weight

if TYPE_CHECKING:
    from grapin.graph import Applied, Graph, Lists


def check_same_graph(store: "Graph", reference: ReferenceGraph) -> None:
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


def check_same_changes(applied: "Applied", expected: Changes) -> None:
    """Raise `WrongAnswer` naming the first part of a batch that store and reference see differently."""
    got = changes_of(applied)
    for name in Changes.__dataclass_fields__:
        _check_equal(f"applied.{name}", getattr(got, name), getattr(expected, name))


def changes_of(applied: "Applied") -> Changes:
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


def _listed(lists: "Lists", bound: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
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
