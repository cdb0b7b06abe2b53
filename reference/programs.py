"""BFS, shortest paths, widest paths and components from scratch: look at every edge until nothing changes.

Every function takes anything that lists its arcs (`Graph`, `ReferenceGraph`, `Arcs`) and returns one value
for each id below `bound`. A vertex that does not exist has the value of one that is not reached.

How a value travels over one edge: all that tells BFS, shortest, widest paths and components apart.

A rule is monotone (a better value never makes a worse offer) and extensive (an offer is never better than the
value it was made from). So the best value of a vertex is the best over all paths, whatever the order in which
edges are looked at, and going round a cycle never pays. Both hold for 32-bit float sums too, because rounding
keeps order: the distance is the smallest of the sums added up from the source onwards, each step rounded.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.errors import InvalidArgument
from grapin.reference.graph import Arcs, EdgeSource

UNREACHED = int(np.iinfo(np.int64).max)
"""Depth, distance or label of a vertex that is not reached or does not exist; infinity with float weights."""

WIDEST = int(np.iinfo(np.int64).max)
"""Width of a source, as no edge narrows the empty path; infinity with float weights. Unreached is width 0."""

_MOST_WEDGES = 1 << 22

Values = NDArray[Any]


@dataclass(frozen=True)
class Rule:
    """What sources start with, what the unreached have, and what an arc offers to its target."""

    best: int | float
    """The value of a source."""
    worst: int | float
    """The value of a vertex that is not reached; no offer is ever made from it."""
    dtype: type[np.generic]
    offer: Callable[[Values, Values], Values]
    """From the values at the arcs' sources and the arcs' weights to the values offered to their targets."""
    choose: np.ufunc
    """`np.minimum` or `np.maximum`: the better of two values."""

    def offers(self, arcs: Arcs, values: Values) -> Values:
        """Return what each arc offers to its target, `worst` where its source has nothing to offer."""
        offered = np.full(len(arcs.source), self.worst, dtype=self.dtype)
        reached = values[arcs.source] != self.worst
        weight = np.ones(len(arcs.source), np.int64) if arcs.weight is None else arcs.weight
        try:
            with np.errstate(over="raise"):
                offered[reached] = self.offer(values[arcs.source[reached]], weight[reached])
        except FloatingPointError:
            raise InvalidArgument(
                "weights must be small enough that no distance overflows a 32-bit float"
            ) from None
        return offered


def steps() -> Rule:
    """BFS: one more than the depth at the source."""
    return Rule(0, UNREACHED, np.int64, lambda depth, _weight: depth + 1, np.minimum)


def distance(arcs: Arcs) -> Rule:
    """SSSP: the distance at the source plus the weight, exact in int64 or rounded to float32 at each step."""
    if _floats(arcs):
        return Rule(0.0, np.inf, np.float32, lambda far, weight: far + weight, np.minimum)
    return Rule(0, UNREACHED, np.int64, lambda far, weight: far + weight, np.minimum)


def width(arcs: Arcs) -> Rule:
    """SSWP: the smaller of the width at the source and the weight; a path of width 0 is no path."""
    if _floats(arcs):
        return Rule(np.inf, 0.0, np.float32, np.minimum, np.maximum)
    return Rule(WIDEST, 0, np.int64, np.minimum, np.maximum)


def smallest_label() -> Rule:
    """Components: the label at the source, unchanged."""
    return Rule(0, UNREACHED, np.int64, lambda label, _weight: label, np.minimum)


def _floats(arcs: Arcs) -> bool:
    return arcs.weight is not None and arcs.weight.dtype.kind == "f"


Sources = int | Iterable[int]
"""One source vertex, or several that all start with the best value."""


def bfs(graph: EdgeSource, sources: Sources) -> NDArray[np.int64]:
    """Return the fewest edges on a path from any source to each vertex, `UNREACHED` where there is none."""
    return _from_sources(Arcs.of(graph), steps(), sources)


def sssp(graph: EdgeSource, sources: Sources) -> NDArray[np.int64] | NDArray[np.float32]:
    """Return the length of a shortest path from any source to each vertex.

    With int32 weights it is exact in int64, `UNREACHED` where there is no path; with float32 weights it is
    the least of the float32 sums along paths from the source onwards, infinity where there is no path.
    """
    arcs = Arcs.of(graph)
    return _from_sources(arcs, distance(arcs), sources)


def sswp(graph: EdgeSource, sources: Sources) -> NDArray[np.int64] | NDArray[np.float32]:
    """Return how wide the widest path from any source to each vertex is; its width is its narrowest edge's.

    A source is `WIDEST` (infinite with float32 weights); without a path, or none wider than 0, it is 0.
    """
    arcs = Arcs.of(graph)
    return _from_sources(arcs, width(arcs), sources)


def connected_components(graph: EdgeSource) -> NDArray[np.int64]:
    """Return for each vertex the smallest vertex connected with it when arcs are followed both ways.

    The label of a vertex that does not exist is `UNREACHED`.
    """
    arcs = Arcs.of(graph)
    labels = np.where(arcs.existing, np.arange(arcs.bound), UNREACHED)
    return _fixed_point(arcs.both_ways(), smallest_label(), labels)


def triangles(graph: EdgeSource) -> NDArray[np.int64]:
    """Return how many triangles each vertex is a corner of, whatever the direction of edges, without loops.

    Pairs of neighbours are sorted, each vertex keeps those of its neighbours that have more (or as many and a larger
    id), and of any two of these it is looked up whether they are a pair.
    """
    arcs = Arcs.of(graph)
    low, high = np.minimum(arcs.source, arcs.target), np.maximum(arcs.source, arcs.target)
    pairs = np.unique(low[low != high].astype(np.int64) * arcs.bound + high[low != high])
    ends = np.array((pairs // max(arcs.bound, 1), pairs % max(arcs.bound, 1)))
    rank = np.argsort(np.argsort(np.bincount(ends.ravel(), minlength=arcs.bound), kind="stable"))
    ends = np.where(rank[ends[0]] < rank[ends[1]], ends, ends[::-1])
    first, second = ends[:, np.lexsort((rank[ends[1]], ends[0]))]
    after = np.searchsorted(first, first, side="right") - np.arange(len(first)) - 1
    counts = np.zeros(arcs.bound, np.int64)
    begin = 0
    while begin < len(first):  # some rows at a time: all wedges together may take more memory than there is
        some = max(int(np.searchsorted(np.cumsum(after[begin : begin + _MOST_WEDGES]), _MOST_WEDGES)), 1)
        rows = np.repeat(np.arange(begin, min(begin + some, len(first))), after[begin : begin + some])
        begin += some
        step = np.arange(len(rows)) - np.searchsorted(rows, rows) + 1
        one, other = second[rows], second[rows + step]
        wedge = np.minimum(one, other).astype(np.int64) * arcs.bound + np.maximum(one, other)
        place = np.minimum(np.searchsorted(pairs, wedge), len(pairs) - 1)
        closed = pairs[place] == wedge
        for corner in (first[rows], one, other):
            counts += np.bincount(corner[closed], minlength=arcs.bound)
    return counts


def _from_sources(arcs: Arcs, rule: Rule, sources: Sources) -> Values:
    values = np.full(arcs.bound, rule.worst, dtype=rule.dtype)
    values[arcs.check_sources(sources)] = rule.best
    return _fixed_point(arcs, rule, values)


def _fixed_point(arcs: Arcs, rule: Rule, values: Values) -> Values:
    """Let every arc make its offer, again and again, until no vertex takes one."""
    while True:
        better = values.copy()
        rule.choose.at(better, arcs.target, rule.offers(arcs, values))
        if np.array_equal(better, values):
            return values
        values = better
