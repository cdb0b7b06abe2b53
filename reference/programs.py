"""BFS, shortest paths, widest paths and components from scratch: look at every edge until nothing changes.

Every function takes anything that lists its arcs (`Graph`, `ReferenceGraph`, `Arcs`) and returns one value
for each id below `bound`. A vertex that does not exist has the value of one that is not reached.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from grapin.reference import rules
from grapin.reference.edge_source import Arcs, EdgeSource
from grapin.reference.rules import Rule, Values

Sources = int | Iterable[int]
"""One source vertex, or several that all start with the best value."""


def bfs(graph: EdgeSource, sources: Sources) -> NDArray[np.int64]:
    """Return the fewest edges on a path from any source to each vertex, `UNREACHED` where there is none."""
    return _from_sources(Arcs.of(graph), rules.steps(), sources)


def sssp(graph: EdgeSource, sources: Sources) -> NDArray[np.int64] | NDArray[np.float32]:
    """Return the length of a shortest path from any source to each vertex.

    With int32 weights it is exact in int64, `UNREACHED` where there is no path; with float32 weights it is
    the least of the float32 sums along paths from the source onwards, infinity where there is no path.
    """
    arcs = Arcs.of(graph)
    return _from_sources(arcs, rules.distance(arcs), sources)


def sswp(graph: EdgeSource, sources: Sources) -> NDArray[np.int64] | NDArray[np.float32]:
    """Return how wide the widest path from any source to each vertex is; its width is its narrowest edge's.

    A source is `WIDEST` (infinite with float32 weights); without a path, or none wider than 0, it is 0.
    """
    arcs = Arcs.of(graph)
    return _from_sources(arcs, rules.width(arcs), sources)


def connected_components(graph: EdgeSource) -> NDArray[np.int64]:
    """Return for each vertex the smallest vertex connected with it when arcs are followed both ways.

    The label of a vertex that does not exist is `UNREACHED`.
    """
    arcs = Arcs.of(graph)
    labels = np.where(arcs.existing, np.arange(arcs.bound), rules.UNREACHED)
    return _fixed_point(arcs.both_ways(), rules.smallest_label(), labels)


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
