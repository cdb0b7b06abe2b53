"""Finding, deleting, appending and re-weighting arcs of one direction, in compiled code.

Arcs come sorted by the vertex whose list they are in, as columns (`owner`, `neighbour`): source and target
for the out-direction, target and source for the in-direction.
"""

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import compiled
from grapin.graph.index import LONGEST_SCAN, drop_index, find_indexed, index_put, index_remove
from grapin.graph.packed import USED_LINES, PackedLists, Patterns, line_count, wide
from grapin.graph.rebalance import make_room

Column = NDArray[np.int32]
Positions = NDArray[np.int64]


@compiled
def find(lists: PackedLists, vertex: int, neighbour: int) -> int:
    """Return the position of `neighbour` in the list of `vertex`, -1 if it is not there."""
    if lists.index_starts[vertex] >= 0:
        return find_indexed(lists, vertex, neighbour)
    start, degree = lists.starts[vertex], lists.degrees[vertex]
    row = lists.neighbours[start : start + degree]
    position = np.int32(-1)
    # No early exit: a neighbour occurs once, and without a branch the loop runs eight or sixteen lanes wide.
    for place in range(degree):
        position = max(position, np.int32(place) if row[place] == neighbour else np.int32(-1))
    return wide(position)


@compiled
def find_all(lists: PackedLists, owner: Column, neighbour: Column) -> Positions:
    """Return the position of each arc in its owner's list, -1 where it is not there."""
    positions = np.empty(len(owner), np.int64)
    for row in range(len(owner)):
        positions[row] = find(lists, owner[row], neighbour[row])
    return positions


@compiled
def weights_at(lists: PackedLists, owner: Column, positions: Positions) -> Patterns:
    """Return the weight of each arc, given its position."""
    found = np.empty(len(owner), np.int32)
    for row in range(len(owner)):
        found[row] = lists.weights[lists.starts[owner[row]] + positions[row]]
    return found


@compiled
def set_weights(lists: PackedLists, owner: Column, positions: Positions, weights: Patterns) -> None:
    """Give each arc, found at its position, a new weight."""
    for row in range(len(owner)):
        lists.weights[lists.starts[owner[row]] + positions[row]] = weights[row]


@compiled
def _delete_at(lists: PackedLists, vertex: int, position: int) -> None:
    start, last = lists.starts[vertex], lists.degrees[vertex] - 1
    moved = lists.neighbours[start + last]
    if lists.index_starts[vertex] >= 0:
        index_remove(lists, vertex, lists.neighbours[start + position])
        if position != last:
            index_put(lists, vertex, moved, position)
    lists.neighbours[start + position] = moved
    if len(lists.weights):
        lists.weights[start + position] = lists.weights[start + last]
    lists.degrees[vertex] = last


@compiled
def _sort_descending(positions: Positions) -> None:
    for row in range(1, len(positions)):
        position, place = positions[row], row
        while place and positions[place - 1] < position:
            positions[place] = positions[place - 1]
            place -= 1
        positions[place] = position


@compiled
def delete_all(lists: PackedLists, owner: Column, neighbour: Column, positions: Positions) -> None:
    """Delete arcs found at `positions`, which are used up."""
    first = 0
    while first < len(owner):
        vertex, last = owner[first], first + 1
        while last < len(owner) and owner[last] == vertex:
            last += 1
        before = line_count(lists, lists.degrees[vertex])
        if lists.index_starts[vertex] >= 0:
            for row in range(first, last):
                _delete_at(lists, vertex, find_indexed(lists, vertex, neighbour[row]))
            if lists.degrees[vertex] < LONGEST_SCAN // 2:
                drop_index(lists, vertex)
        else:
            # From the back, so that the element moved into a hole is never one that is still to be deleted.
            _sort_descending(positions[first:last])
            for row in range(first, last):
                _delete_at(lists, vertex, positions[row])
        lists.counters[USED_LINES] += line_count(lists, lists.degrees[vertex]) - before
        first = last


@compiled
def lines_wanted(lists: PackedLists, owner: Column) -> int:
    """Return how many more lines are in use once each owner has one more arc for each time it is named."""
    total, first = 0, 0
    while first < len(owner):
        vertex, last = owner[first], first + 1
        while last < len(owner) and owner[last] == vertex:
            last += 1
        degree = wide(lists.degrees[vertex])
        total += line_count(lists, degree + last - first) - line_count(lists, degree)
        first = last
    return total


@compiled
def append_all(lists: PackedLists, bound: int, owner: Column, neighbour: Column, weights: Patterns) -> None:
    """Append arcs that are not there yet; the array as a whole has the room."""
    first = 0
    while first < len(owner):
        vertex, last = owner[first], first + 1
        while last < len(owner) and owner[last] == vertex:
            last += 1
        degree = wide(lists.degrees[vertex])
        wanted = degree + last - first
        if lists.starts[vertex] + wanted > lists.starts[vertex + 1]:
            make_room(lists, bound, vertex, wanted)
        offset = lists.starts[vertex] + degree - first
        for row in range(first, last):
            lists.neighbours[offset + row] = neighbour[row]
            if len(lists.weights):
                lists.weights[offset + row] = weights[row]
            if lists.index_starts[vertex] >= 0:
                index_put(lists, vertex, neighbour[row], degree + row - first)
        lists.degrees[vertex] = wanted
        lists.counters[USED_LINES] += line_count(lists, wanted) - line_count(lists, degree)
        first = last
