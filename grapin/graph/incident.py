"""Reading arcs out of the lists: all of them, or those at vertices that are to go."""

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import kernel
from grapin.edges import VertexArray
from grapin.graph.packed import Column, PackedLists, Patterns, wide

Keys = NDArray[np.int64]


def all_arcs(lists: PackedLists, bound: int, count: int) -> tuple[VertexArray, VertexArray, Patterns]:
    """Return source, target and weight (length 0 without weights) of all `count` arcs, by source."""
    source, target = np.empty(count, np.int32), np.empty(count, np.int32)
    weights = np.empty(count if len(lists.weights) else 0, np.int32)
    _read_all(lists, bound, source, target, weights)
    return source, target, weights


def incident_arcs(out: PackedLists, in_: PackedLists | None, vertices: VertexArray, bound: int) -> Keys:
    """Return the keys of all arcs that start or end at one of `vertices`, some perhaps twice.

    Without in-lists every list has to be looked through for arcs that end there.
    """
    leaving = np.empty(int(out.degrees[vertices].sum(dtype=np.int64)), np.int64)
    _read_keys(out, vertices, False, leaving)
    if in_ is None:
        doomed = np.zeros(bound, np.bool_)
        doomed[vertices] = True
        arriving = np.empty(_count_into(out, doomed), np.int64)
        _read_into(out, doomed, arriving)
    else:
        arriving = np.empty(int(in_.degrees[vertices].sum(dtype=np.int64)), np.int64)
        _read_keys(in_, vertices, True, arriving)
    return np.concatenate((leaving, arriving))


@kernel
def _read_all(lists: PackedLists, bound: int, source: Column, target: Column, weights: Patterns) -> None:
    row = 0
    for vertex in range(bound):
        start = lists.starts[vertex]
        for place in range(start, start + lists.degrees[vertex]):
            source[row], target[row] = vertex, lists.neighbours[place]
            if len(weights):
                weights[row] = lists.weights[place]
            row += 1


@kernel
def _read_keys(lists: PackedLists, vertices: VertexArray, turn: bool, keys: Keys) -> None:
    row = 0
    for vertex in vertices:
        start = lists.starts[vertex]
        for place in range(start, start + lists.degrees[vertex]):
            owner, neighbour = wide(vertex), wide(lists.neighbours[place])
            keys[row] = (neighbour << 32) | owner if turn else (owner << 32) | neighbour
            row += 1


@kernel
def _count_into(lists: PackedLists, doomed: NDArray[np.bool_]) -> int:
    total = 0
    for vertex in range(len(doomed)):
        start = lists.starts[vertex]
        for place in range(start, start + lists.degrees[vertex]):
            total += doomed[lists.neighbours[place]]
    return total


@kernel
def _read_into(lists: PackedLists, doomed: NDArray[np.bool_], keys: Keys) -> None:
    row = 0
    for vertex in range(len(doomed)):
        start = lists.starts[vertex]
        for place in range(start, start + lists.degrees[vertex]):
            if doomed[lists.neighbours[place]]:
                keys[row] = (wide(vertex) << 32) | lists.neighbours[place]
                row += 1
