"""`Migration`: growing without a long pause. Lists go to larger arrays a few in each batch, in vertex order.

Until the last one is there, the old arrays are what everybody reads. A list that has been copied is kept equal to its
original, element by element, so that positions and indices hold for both: after a batch the places are copied that it
wrote to. The copied lists are a packed array of their own, whose tail the next ones take, each with its share of slack.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import kernel
from grapin.graph.packed import (
    USED_LINES,
    WINDOWS,
    Column,
    PackedLists,
    Positions,
    columns,
    copy_list,
    group_end,
    line_count,
    make_room,
    tail_lines,
    wide,
)

LEAST_STEP = 1024
"""Lists and lines that each batch copies at least, so that two sets of arrays are not kept for long."""
_PACE = 2
"""How many times faster than room is used up the rest is copied."""


@dataclass(eq=False)
class Migration:
    """The way of the lists of one direction into other arrays."""

    heads: NDArray[Any]
    """Start, degree and index of the lists copied so far."""
    lists: PackedLists
    slack: int
    """Lines to be dealt out in proportion to degrees ..."""
    shares: int
    """... of which there are so many in all, one more for each list."""
    done: int = 0
    """Lists below this are copied."""
    dealt: int = 0
    """The shares of those."""

    def reserve(self, size: int) -> None:
        """Make room for so many heads."""
        heads = np.empty(size, self.heads.dtype)
        heads[: self.done + 1] = self.heads[: self.done + 1]
        self.heads = heads
        self.lists = self.lists._replace(**columns(heads))

    def follow(self, original: PackedLists, inserted: Column, *found: tuple[Column, Positions]) -> bool:
        """Copy what a batch has changed: arcs appended to the lists of `inserted`, and places written to.

        Return False if there is no room for them; what is copied is then worth nothing, and the originals are as good
        as before.
        """
        for owner, positions in found:
            _copy_places(original, self.lists, self.done, owner, positions)
        return bool(_copy_appended(original, self.lists, self.done, inserted))

    def follow_indices(self, original: PackedLists, *owners: Column) -> None:
        """Learn of indices that were made for lists."""
        for owner in owners:
            _copy_indices(original, self.lists, self.done, owner)

    def advance(self, original: PackedLists, bound: int, pressure: float) -> bool:
        """Copy more lists; return False if there is no room, which takes a batch larger than all before.

        `pressure` is which part of the room that is left the batch has used.
        """
        left = int(original.counters[USED_LINES] - self.lists.counters[USED_LINES]) + bound - self.done
        budget = int(left * min(1.0, _PACE * pressure)) + LEAST_STEP
        ratio = self.slack / max(self.shares, 1)
        self.done, self.dealt = _copy_lists(
            original, self.lists, (self.done, bound), self.dealt, ratio, budget
        )
        return self.done >= 0


@kernel
def _copy_lists(
    lists: PackedLists,
    copy: PackedLists,
    bounds: tuple[int, int],
    dealt: int,
    ratio: float,
    budget: int,
) -> tuple[int, int]:
    """Copy lists until the budget is used up; return the first that is left, -1 if it has no room."""
    vertex, bound = bounds
    while vertex < bound and budget > 0:
        degree = wide(lists.degrees[vertex])
        lines = line_count(lists, degree)
        slack = wide((dealt + degree + 1) * ratio) - wide(dealt * ratio)
        tail = tail_lines(copy, vertex)
        if lines > tail:
            return wide(-1), wide(dealt)
        end = copy.starts[vertex] + ((lines + min(slack, tail - lines)) << copy.line_shift)
        copy_list(lists, copy, vertex)
        copy.degrees[vertex] = degree
        copy.indices[vertex] = lists.indices[vertex]
        copy.starts[vertex + 1] = end
        copy.counters[USED_LINES] += lines
        dealt += degree + 1
        budget -= lines + 1
        vertex += 1
    return wide(vertex), wide(dealt)


@kernel
def _copy_place(lists: PackedLists, copy: PackedLists, vertex: int, position: int) -> None:
    start, to = lists.starts[vertex], copy.starts[vertex]
    copy.neighbours[to + position] = lists.neighbours[start + position]
    if len(lists.weights):
        copy.weights[to + position] = lists.weights[start + position]


@kernel
def _copy_places(
    lists: PackedLists, copy: PackedLists, done: int, owner: Column, positions: Positions
) -> None:
    """Bring places of arcs that were deleted or re-weighted up to date; a list that got shorter is shorter here too."""
    row = 0
    while row < len(owner) and owner[row] < done:
        vertex = wide(owner[row])
        if positions[row] < min(lists.degrees[vertex], copy.degrees[vertex]):
            _copy_place(lists, copy, vertex, positions[row])
        row += 1
        if (row == len(owner) or owner[row] != vertex) and lists.degrees[vertex] < copy.degrees[vertex]:
            _set_degree(copy, vertex, wide(lists.degrees[vertex]))
        copy.indices[vertex] = lists.indices[vertex]


@kernel
def _copy_appended(lists: PackedLists, copy: PackedLists, done: int, owner: Column) -> bool:
    """Copy what was appended; return False where all lists together have no room for it."""
    first = 0
    while first < len(owner) and owner[first] < done:
        vertex, last = wide(owner[first]), group_end(owner, first)
        degree = wide(lists.degrees[vertex])
        if copy.starts[vertex] + degree > copy.starts[vertex + 1]:
            more = line_count(copy, degree) - line_count(copy, wide(copy.degrees[vertex]))
            if copy.counters[USED_LINES] + more > len(copy.neighbours) >> copy.line_shift:
                return False
            copy.counters[WINDOWS] = 0
            make_room(copy, done, vertex, degree)
        _set_degree(copy, vertex, degree)
        for position in range(degree - (last - first), degree):
            _copy_place(lists, copy, vertex, position)
        copy.indices[vertex] = lists.indices[vertex]
        first = last
    return True


@kernel
def _set_degree(copy: PackedLists, vertex: int, degree: int) -> None:
    copy.counters[USED_LINES] += line_count(copy, degree) - line_count(copy, wide(copy.degrees[vertex]))
    copy.degrees[vertex] = degree


@kernel
def _copy_indices(lists: PackedLists, copy: PackedLists, done: int, owner: Column) -> None:
    row = 0
    while row < len(owner) and owner[row] < done:
        copy.indices[owner[row]] = lists.indices[owner[row]]
        row += 1


@kernel
def first_difference(lists: PackedLists, copy: PackedLists, done: int) -> int:
    """Return the first of the lists below `done` whose copy is another list, -1 if there is none."""
    for vertex in range(done):
        start, to, degree = lists.starts[vertex], copy.starts[vertex], lists.degrees[vertex]
        if degree != copy.degrees[vertex] or lists.indices[vertex] != copy.indices[vertex]:
            return vertex
        if to + degree > copy.starts[vertex + 1]:
            return vertex
        for place in range(degree):
            if lists.neighbours[start + place] != copy.neighbours[to + place]:
                return vertex
            if len(lists.weights) and lists.weights[start + place] != copy.weights[to + place]:
                return vertex
    return wide(-1)
