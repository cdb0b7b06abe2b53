"""Asking for memory before it is needed, so that the misses of a batch overlap instead of adding up.

A batch touches places all over the arrays, one list after another. Each loop over its arcs runs through these
functions a few rows ahead: first for what says where a list is, then, when that has arrived, for the list.
"""

from grapin.compiled import inlined
from grapin.graph.index import first_slot, has_index, index_base, index_size_class, likely_position
from grapin.graph.intrinsics import prefetch
from grapin.graph.packed import Column, PackedLists, Positions, wide

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
