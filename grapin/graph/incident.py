"""Reading arcs out of the lists: all of them, or those at vertices that are to go."""

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import compiled
from grapin.edges import VertexArray
from grapin.graph.packed import PackedLists, Patterns, wide


@compiled
def all_arcs(lists: PackedLists, bound: int, count: int) -> tuple[VertexArray, VertexArray, Patterns]:
    """Return source, target and weight (length 0 without weights) of all `count` arcs, by source."""
    source, target = np.empty(count, np.int32), np.empty(count, np.int32)
    weights = np.empty(count if len(lists.weights) else 0, np.int32)
    row = 0
    for vertex in range(bound):
        start = lists.starts[vertex]
        for place in range(start, start + lists.degrees[vertex]):
            source[row], target[row] = vertex, lists.neighbours[place]
            if len(lists.weights):
                weights[row] = lists.weights[place]
            row += 1
    return source, target, weights


def incident_arcs(
    out: PackedLists, in_: PackedLists | None, vertices: VertexArray, bound: int
) -> NDArray[np.int64]:
    """Return the keys of all arcs that start or end at one of `vertices`, some perhaps twice.

    Without in-lists every list has to be looked through for arcs that end there.
    """
    leaving = _keys_of(out, vertices, turn=False)
    if in_ is None:
        doomed = np.zeros(bound, np.bool_)
        doomed[vertices] = True
        arriving = _keys_into(out, doomed)
    else:
        arriving = _keys_of(in_, vertices, turn=True)
    return np.concatenate((leaving, arriving))


@compiled
def _keys_of(lists: PackedLists, vertices: VertexArray, turn: bool) -> NDArray[np.int64]:
    total = 0
    for vertex in vertices:
        total += lists.degrees[vertex]
    keys, row = np.empty(total, np.int64), 0
    for vertex in vertices:
        start = lists.starts[vertex]
        for place in range(start, start + lists.degrees[vertex]):
            owner, neighbour = wide(vertex), wide(lists.neighbours[place])
            keys[row] = (neighbour << 32) | owner if turn else (owner << 32) | neighbour
            row += 1
    return keys


@compiled
def _keys_into(lists: PackedLists, doomed: NDArray[np.bool_]) -> NDArray[np.int64]:
    total = 0
    for vertex in range(len(doomed)):
        start = lists.starts[vertex]
        for place in range(start, start + lists.degrees[vertex]):
            total += doomed[lists.neighbours[place]]
    keys, row = np.empty(total, np.int64), 0
    for vertex in range(len(doomed)):
        start = lists.starts[vertex]
        for place in range(start, start + lists.degrees[vertex]):
            if doomed[lists.neighbours[place]]:
                keys[row] = (wide(vertex) << 32) | lists.neighbours[place]
                row += 1
    return keys
