"""Finding, deleting, appending and re-weighting arcs of one direction, in compiled code.

Arcs come sorted by the vertex whose list they are in, as columns (`owner`, `neighbour`): source and target
for the out-direction, target and source for the in-direction.
"""

import numpy as np

from grapin.compiled import kernel
from grapin.graph.index import (
    LONGEST_SCAN,
    drop_index,
    find_indexed,
    has_index,
    index_add,
    index_move,
    index_remove,
)
from grapin.graph.packed import (
    USED_LINES,
    WINDOWS,
    Column,
    PackedLists,
    Patterns,
    Positions,
    group_end,
    line_count,
    wide,
)
from grapin.graph.prefetching import prefetch_holes, prefetch_search, prefetch_tail
from grapin.graph.rebalance import make_room


@kernel
def find(lists: PackedLists, vertex: int, neighbour: int) -> int:
    """Return the position of `neighbour` in the list of `vertex`, -1 if it is not there."""
    if has_index(lists, vertex):
        return find_indexed(lists, vertex, neighbour)
    start = lists.starts[vertex]
    row = lists.neighbours[start : start + lists.degrees[vertex]]
    # No early exit: a neighbour occurs once, and without a branch the loop runs eight or sixteen lanes wide.
    place, found = np.uint32(0), np.uint32(0)
    for other in row:
        place += np.uint32(1)
        found |= place if other == neighbour else np.uint32(0)
    return wide(found) - 1


@kernel
def find_all(lists: PackedLists, owner: Column, neighbour: Column, positions: Positions) -> int:
    """Write the position of each arc in its owner's list, -1 where it is not there; return how many are."""
    there = 0
    for row in range(len(owner)):
        prefetch_search(lists, owner, neighbour, row)
        positions[row] = find(lists, owner[row], neighbour[row])
        there += positions[row] >= 0
    return there


@kernel
def weights_at(lists: PackedLists, owner: Column, positions: Positions, weights: Patterns) -> None:
    """Write the weight of each arc, given its position."""
    for row in range(len(owner)):
        weights[row] = lists.weights[lists.starts[owner[row]] + positions[row]]


@kernel
def set_weights(lists: PackedLists, owner: Column, positions: Positions, weights: Patterns) -> None:
    """Give each arc, found at its position, a new weight."""
    for row in range(len(owner)):
        lists.weights[lists.starts[owner[row]] + positions[row]] = weights[row]


@kernel
def _delete_at(lists: PackedLists, vertex: int, position: int, indexed: bool) -> None:
    start, last = lists.starts[vertex], lists.degrees[vertex] - 1
    moved = lists.neighbours[start + last]
    if indexed:
        index_remove(lists, vertex, lists.neighbours[start + position], position)
        if position != last:
            index_move(lists, vertex, moved, last, position)
    lists.neighbours[start + position] = moved
    if len(lists.weights):
        lists.weights[start + position] = lists.weights[start + last]
    lists.degrees[vertex] = last


@kernel
def _sort_descending(positions: Positions, first: int, last: int) -> None:
    for row in range(first + 1, last):
        position, place = positions[row], row
        while place > first and positions[place - 1] < position:
            positions[place] = positions[place - 1]
            place -= 1
        positions[place] = position


@kernel
def delete_all(lists: PackedLists, owner: Column, neighbour: Column, positions: Positions) -> None:
    """Delete arcs found at `positions`, which are used up."""
    first = 0
    while first < len(owner):
        vertex, last = owner[first], group_end(owner, first)
        before = line_count(lists, wide(lists.degrees[vertex]))
        indexed = has_index(lists, vertex)
        # From the back, so that the element moved into a hole is never one that is still to be deleted. With
        # an index, positions that moved are simply looked up again.
        if not indexed:
            _sort_descending(positions, first, last)
        for row in range(first, last):
            prefetch_holes(lists, owner, neighbour, positions, row)
            position = find_indexed(lists, vertex, neighbour[row]) if indexed else positions[row]
            _delete_at(lists, vertex, position, indexed)
        if indexed and 2 * lists.degrees[vertex] < LONGEST_SCAN:
            drop_index(lists, vertex)
        lists.counters[USED_LINES] += line_count(lists, wide(lists.degrees[vertex])) - before
        first = last


@kernel
def lines_wanted(lists: PackedLists, owner: Column) -> int:
    """Return how many more lines are in use once each owner has one more arc for each time it is named."""
    total, first = 0, 0
    while first < len(owner):
        vertex, last = owner[first], group_end(owner, first)
        degree = wide(lists.degrees[vertex])
        total += line_count(lists, degree + last - first) - line_count(lists, degree)
        first = last
    return total


@kernel
def append_all(lists: PackedLists, bound: int, owner: Column, neighbour: Column, weights: Patterns) -> None:
    """Append arcs that are not there yet; the array as a whole has the room."""
    first = 0
    while first < len(owner):
        vertex, last = owner[first], group_end(owner, first)
        degree = wide(lists.degrees[vertex])
        wanted = degree + last - first
        if lists.starts[vertex] + wanted > lists.starts[vertex + 1]:
            make_room(lists, bound, vertex, wanted)
        indexed = has_index(lists, vertex)
        offset = lists.starts[vertex] + degree - first
        for row in range(first, last):
            prefetch_tail(lists, owner, neighbour, row)
            lists.neighbours[offset + row] = neighbour[row]
            if len(lists.weights):
                lists.weights[offset + row] = weights[row]
            if indexed:
                index_add(lists, vertex, neighbour[row], degree + row - first)
        lists.degrees[vertex] = wanted
        lists.counters[USED_LINES] += line_count(lists, wanted) - line_count(lists, degree)
        first = last


@kernel
def commit(
    lists: PackedLists,
    bound: int,
    reweighted: tuple[Column, Positions, Patterns],
    deleted: tuple[Column, Column, Positions],
    inserted: tuple[Column, Column, Patterns],
) -> None:
    """Re-weight, delete and append, in one call: for a small batch, calls are a good part of the cost."""
    lists.counters[WINDOWS] = 0
    set_weights(lists, reweighted[0], reweighted[1], reweighted[2])
    delete_all(lists, deleted[0], deleted[1], deleted[2])
    append_all(lists, bound, inserted[0], inserted[1], inserted[2])
