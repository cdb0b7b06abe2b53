"""Verifiers: they accept every legal answer and name the vertex where an illegal one is wrong.

Parents are not unique, so answers are held against what makes them right instead of against one answer:
sources have the best value, every other reached vertex has exactly what the edge from its parent offers, no
edge offers anything better, and following parents ends at a source. Together these prove the values: the
parents spell out a path that attains each, and no path can do better, by induction along it.

Parents as a forest: each parent is one existing edge away, and following parents always ends.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grapin.errors import WrongAnswer
from grapin.reference import programs
from grapin.reference.graph import Arcs, EdgeSource
from grapin.reference.programs import Rule, Sources, Values, connected_components

NO_PARENT = -1
"""The parent of a source, of a component's smallest vertex, and of a vertex that is not reached."""


def parent_arcs(arcs: Arcs, children: NDArray[np.intp], parents: Values) -> Arcs:
    """Return the arc from each child's parent to the child, row by row, or refuse a missing one."""
    known = arcs.source.astype(np.int64) << 32 | arcs.target
    order = np.argsort(known)
    wanted = parents[children].astype(np.int64) << 32 | children
    places = np.searchsorted(known, wanted, sorter=order)
    found = places < len(known)
    found[found] = known[order[places[found]]] == wanted[found]
    if not found.all():
        child = int(children[np.argmin(found)])
        raise WrongAnswer(
            f"vertex {child} has parent {parents[child]}, expected the source of an edge to {child}"
        )
    chosen = order[places]
    weight = None if arcs.weight is None else arcs.weight[chosen]
    return Arcs(arcs.source[chosen], arcs.target[chosen], weight, arcs.bound, arcs.existing)


def check_forest(parents: Values) -> None:
    """Raise `WrongAnswer` naming a vertex on a cycle of parents, if there is one."""
    ancestors = parents.astype(np.int64)
    for _ in range(len(parents).bit_length()):
        # Each round doubles how far up `ancestors` looks, so after this loop it looks past any path's length.
        ancestors = np.where(ancestors == NO_PARENT, NO_PARENT, ancestors[ancestors])
    if (ancestors != NO_PARENT).any():
        vertex = int(ancestors[np.argmax(ancestors != NO_PARENT)])
        raise WrongAnswer(
            f"vertex {vertex} has parent {parents[vertex]}, expected a path of parents that ends, not a cycle"
        )


def verify_bfs(graph: EdgeSource, sources: Sources, depths: ArrayLike, parents: ArrayLike) -> None:
    """Raise `WrongAnswer` unless these are the depths from the sources and parents that explain them."""
    arcs = Arcs.of(graph)
    _verify_paths(arcs, programs.steps(), sources, depths, parents)


def verify_sssp(graph: EdgeSource, sources: Sources, distances: ArrayLike, parents: ArrayLike) -> None:
    """Raise `WrongAnswer` unless these are the shortest distances and parents that explain them."""
    arcs = Arcs.of(graph)
    _verify_paths(arcs, programs.distance(arcs), sources, distances, parents)


def verify_sswp(graph: EdgeSource, sources: Sources, widths: ArrayLike, parents: ArrayLike) -> None:
    """Raise `WrongAnswer` unless these are the largest widths and parents that explain them."""
    arcs = Arcs.of(graph)
    _verify_paths(arcs, programs.width(arcs), sources, widths, parents)


def verify_components(graph: EdgeSource, labels: ArrayLike, parents: ArrayLike | None = None) -> None:
    """Raise `WrongAnswer` unless each label is the smallest vertex of the component.

    Parents, where given, must lead from each vertex over edges (either way) to the vertex of its label.
    """
    arcs = Arcs.of(graph).both_ways()
    got = _one_each("labels", labels, arcs, np.int64)
    _compare(got, connected_components(graph))
    if parents is not None:
        roots = got == np.arange(arcs.bound)
        origin = _one_each("parents", parents, arcs, np.int64)
        _verify_parents(arcs, programs.smallest_label(), got, origin, roots)


def verify_triangles(graph: EdgeSource, counts: ArrayLike) -> None:
    """Raise `WrongAnswer` unless these are the triangles that each vertex is a corner of."""
    arcs = Arcs.of(graph)
    _compare(_one_each("counts", counts, arcs, np.int64), programs.triangles(arcs))


def _verify_paths(arcs: Arcs, rule: Rule, sources: Sources, values: ArrayLike, parents: ArrayLike) -> None:
    got = _one_each("values", values, arcs, rule.dtype)
    origin = _one_each("parents", parents, arcs, np.int64)
    roots = np.zeros(arcs.bound, dtype=bool)
    roots[arcs.check_sources(sources)] = True
    _compare(got, np.where(roots, rule.best, got))
    _compare(got, np.where(arcs.existing, got, rule.worst))
    _verify_offers(arcs, rule, got)
    _verify_parents(arcs, rule, got, origin, roots)


def _verify_offers(arcs: Arcs, rule: Rule, values: Values) -> None:
    """No edge may offer its target anything better than it has; reachable vertices left out show here too."""
    offers = rule.offers(arcs, values)
    missed = rule.choose(values[arcs.target], offers) != values[arcs.target]
    if missed.any():
        row = int(np.argmax(missed))
        edge, vertex = f"({arcs.source[row]}, {arcs.target[row]})", int(arcs.target[row])
        raise WrongAnswer(
            f"vertex {vertex} has {values[vertex]}, expected {offers[row]} over edge {edge} or better"
        )


def _verify_parents(
    arcs: Arcs, rule: Rule, values: Values, parents: Values, roots: NDArray[np.bool_]
) -> None:
    """Parents must be there exactly where a value came over an edge, and that edge must offer that value."""
    needed = (values != rule.worst) & ~roots
    spare = ~needed & (parents != NO_PARENT)
    if spare.any():
        vertex = int(np.argmax(spare))
        raise WrongAnswer(
            f"vertex {vertex} has parent {parents[vertex]}, expected {NO_PARENT} (value {values[vertex]})"
        )
    children = np.flatnonzero(needed)
    offers = rule.offers(parent_arcs(arcs, children, parents), values)
    wrong = offers != values[children]
    if wrong.any():
        row = int(np.argmax(wrong))
        vertex, offer = int(children[row]), offers[row]
        raise WrongAnswer(
            f"vertex {vertex} has {values[vertex]}, expected {offer} as its parent {parents[vertex]} offers"
        )
    check_forest(parents)


def _one_each(name: str, given: ArrayLike, arcs: Arcs, dtype: type[np.generic]) -> Values:
    """Return the answer in the type its values have, refusing any that only rounding makes fit."""
    values = np.asarray(given)
    if values.shape != (arcs.bound,):
        raise WrongAnswer(f"{name} have shape {values.shape}, expected ({arcs.bound},)")
    with np.errstate(invalid="ignore", over="ignore"):
        exact: Values = values.astype(dtype)
    _compare(values, exact)
    return exact


def _compare(got: Values, expected: Values) -> None:
    """Name the first value that differs; whoever knows what a not-a-number should have been says so later."""
    wrong = (got != expected) & ~(np.isnan(got) & np.isnan(expected))
    if wrong.any():
        vertex = int(np.argmax(wrong))
        raise WrongAnswer(f"vertex {vertex} has {got[vertex]}, expected {expected[vertex]}")
