"""Finding, deleting, appending and re-weighting arcs of one direction, in compiled code.

Arcs come sorted by the vertex whose list they are in, as columns (`owner`, `neighbour`): source and target
for the out-direction, target and source for the in-direction.

Asking for memory before it is needed, so that the misses of a batch overlap instead of adding up.

A batch touches places all over the arrays, one list after another. Each loop over its arcs runs through these
functions a few rows ahead: first for what says where a list is, then, when that has arrived, for the list.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import inlined, kernel
from grapin.edges import VertexArray
from grapin.graph.index import (
    LONGEST_SCAN,
    drop_index,
    find_indexed,
    first_slot,
    has_index,
    index_add,
    index_base,
    index_move,
    index_remove,
    index_size_class,
    likely_position,
    slots_wanted,
)
from grapin.graph.packed import (
    DELETED,
    INSERTED,
    LINES_WANTED,
    REWEIGHTED,
    USED_LINES,
    WINDOWS,
    Column,
    PackedLists,
    Patterns,
    Positions,
    Wants,
    group_end,
    line_count,
    make_room,
    prefetch,
    wide,
)

_ROWS_AHEAD = 8
SEARCH_AHEAD = 3 * _ROWS_AHEAD
"""How many rows before the first a search begins to fetch ahead."""
_LINE = 16  # elements of 4 bytes in a cache line of 64 bytes
_LINES_AHEAD = 8  # the hardware goes on by itself once a scan has touched a few lines in sequence


@inlined
def prefetch_search(
    lists: PackedLists, owner: Column, neighbour: Column, positions: Positions, row: int
) -> None:
    """Fetch ahead what finding the arcs after `row` will read; `positions` gets where indices expect them."""
    far, middle, near = row + 3 * _ROWS_AHEAD, row + 2 * _ROWS_AHEAD, row + _ROWS_AHEAD
    if far < len(owner):
        _prefetch_list_head(lists, owner[far])
    if 0 <= middle < len(owner):
        vertex = owner[middle]
        if has_index(lists, vertex):
            _prefetch_slot(lists, vertex, neighbour[middle])
        else:
            start, degree = lists.starts[vertex], lists.degrees[vertex]
            for line in range(min(_LINES_AHEAD, (degree + _LINE - 1) // _LINE)):
                prefetch(lists.neighbours, start + line * _LINE)
    if 0 <= near < len(owner) and has_index(lists, owner[near]):
        positions[near] = likely_position(lists, owner[near], neighbour[near])
        if positions[near] >= 0:
            place = lists.starts[owner[near]] + positions[near]
            prefetch(lists.neighbours, place)
            if len(lists.weights):
                prefetch(lists.weights, place)


@inlined
def prefetch_heads(lists: PackedLists, owner: Column, row: int) -> None:
    """Fetch ahead what says where the lists after `row` are."""
    if row + 2 * _ROWS_AHEAD < len(owner):
        _prefetch_list_head(lists, owner[row + 2 * _ROWS_AHEAD])


@inlined
def prefetch_holes(
    lists: PackedLists, owner: Column, neighbour: Column, positions: Positions, row: int
) -> None:
    """Fetch ahead what deleting the arcs after `row`, found at `positions`, will touch."""
    prefetch_tail(lists, owner, neighbour, row)
    near, next_ = row + _ROWS_AHEAD, row + _ROWS_AHEAD // 2
    if near < len(owner):
        hole = lists.starts[owner[near]] + positions[near]
        prefetch(lists.neighbours, hole)
        if len(lists.weights):
            prefetch(lists.weights, hole)
    if next_ < len(owner) and has_index(lists, owner[next_]):
        vertex = owner[next_]
        moved = lists.neighbours[lists.starts[vertex] + lists.degrees[vertex] - 1]
        _prefetch_slot(lists, vertex, moved)


@inlined
def prefetch_tail(lists: PackedLists, owner: Column, neighbour: Column, row: int) -> None:
    """Fetch ahead what appending the arcs after `row` will touch."""
    prefetch_heads(lists, owner, row)
    near = row + _ROWS_AHEAD
    if near < len(owner):
        vertex = owner[near]
        end = lists.starts[vertex] + lists.degrees[vertex]
        prefetch(lists.neighbours, end)
        if len(lists.weights):
            prefetch(lists.weights, end)
        if has_index(lists, vertex):
            _prefetch_slot(lists, vertex, neighbour[near])


@inlined
def _prefetch_list_head(lists: PackedLists, vertex: int) -> None:
    prefetch(lists.starts, wide(vertex))
    prefetch(lists.degrees, wide(vertex))
    prefetch(lists.indices, wide(vertex))


@inlined
def _prefetch_slot(lists: PackedLists, vertex: int, neighbour: int) -> None:
    slot = first_slot(neighbour, index_size_class(lists, vertex))
    prefetch(lists.slots, index_base(lists, vertex) + slot)


_MOST_SORTED = 16
"""So many positions are sorted by insertion."""


@inlined
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
def look_up(
    lists: PackedLists,
    owner: Column,
    neighbour: Column,
    positions: Positions,
    weights: Patterns,
    kind: int,
    wants: Wants,
) -> int:
    """Write the position of each arc in its owner's list, -1 where it is not there, and the weight it has.

    Weights are left out where there is no room for them. Returns how many arcs are there, and adds to `wants` what
    searching these lists asks for, and inserting the arcs if that is the `kind` of change.
    """
    there, first = 0, 0
    for row in range(-SEARCH_AHEAD, len(owner)):
        prefetch_search(lists, owner, neighbour, positions, row)
        if row < 0:
            continue
        vertex = owner[row]
        position = _find_expected(lists, vertex, neighbour[row], positions[row])
        positions[row] = position
        if position >= 0:
            there += 1
            if len(weights):
                weights[row] = lists.weights[lists.starts[vertex] + position]
        if row + 1 == len(owner) or owner[row + 1] != vertex:
            want(lists, vertex, row + 1 - first, True, kind, wants)
            first = row + 1
    return there


@kernel
def look_up_all(
    lists: PackedLists, arcs: tuple[Any, Any, Any], searching: bool, wants: Wants
) -> tuple[int, int, int]:
    """Look up arcs to be inserted, deleted and re-weighted, in one call; return how many of each are there.

    Each kind is owner, neighbour, positions and weights. Arcs to be inserted are known not to be there unless
    `searching`.
    """
    new, old, same = arcs
    present = 0
    if searching:
        present = look_up(lists, new[0], new[1], new[2], new[3], INSERTED, wants)
    else:
        want_all(lists, new[0], False, INSERTED, wants)
    return (
        present,
        look_up(lists, old[0], old[1], old[2], old[3], DELETED, wants),
        look_up(lists, same[0], same[1], same[2], same[3], REWEIGHTED, wants),
    )


@inlined
def _find_expected(lists: PackedLists, vertex: int, neighbour: int, expected: int) -> int:
    """Find a neighbour, in an indexed list first where `prefetch_search` expects it."""
    if has_index(lists, vertex):
        if expected < 0 or lists.neighbours[lists.starts[vertex] + expected] == neighbour:
            return expected
        return find_indexed(lists, vertex, neighbour)
    return find(lists, vertex, neighbour)


@kernel
def set_weights(lists: PackedLists, owner: Column, positions: Positions, weights: Patterns) -> None:
    """Give each arc, found at its position, a new weight."""
    for row in range(len(owner)):
        lists.weights[lists.starts[owner[row]] + positions[row]] = weights[row]


@inlined
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


@inlined
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
        # From the back, so that the element moved into a hole is never one that is still to be deleted. Where many go
        # from a list with an index, positions that moved are looked up again: sorting them takes longer.
        sorted_ = not indexed or last - first <= _MOST_SORTED
        if sorted_:
            _sort_descending(positions, first, last)
        for row in range(first, last):
            prefetch_holes(lists, owner, neighbour, positions, row)
            position = positions[row] if sorted_ else find_indexed(lists, vertex, neighbour[row])
            _delete_at(lists, vertex, position, indexed)
        if indexed and 2 * lists.degrees[vertex] < LONGEST_SCAN:
            drop_index(lists, vertex)
        lists.counters[USED_LINES] += line_count(lists, wide(lists.degrees[vertex])) - before
        first = last


@kernel
def want_all(lists: PackedLists, owner: Column, searched: bool, kind: int, wants: Wants) -> None:
    """Add to `wants` what this `kind` of change asks of lists that are not looked up."""
    first = 0
    while first < len(owner):
        last = group_end(owner, first)
        prefetch_heads(lists, owner, first)
        want(lists, owner[first], last - first, searched, kind, wants)
        first = last


@inlined
def want(lists: PackedLists, vertex: int, arcs: int, searched: bool, kind: int, wants: Wants) -> None:
    """Add to `wants` what one list asks for."""
    before = wide(lists.degrees[vertex])
    degree = before + arcs if kind == INSERTED else before
    wants[kind] += slots_wanted(lists, vertex, degree, searched)
    wants[LINES_WANTED] += line_count(lists, degree) - line_count(lists, before)


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
