"""Making room: the slack of a window of neighbouring lists is redistributed when one of them is full.

The window is the smallest in a binary tree over the vertices whose density stays below its level's threshold:
nearly full is fine for sixteen lists, the whole array must keep some slack. This bounds what is moved per
insertion, whatever the order of insertions. Slack goes to lists in proportion to their degrees, and the list
that asked gets a quarter of its size on top, so that a hub that grows and grows is moved ever more rarely.

New vertices come at the end, and would have all older lists make room for them again and again. So the array keeps a
tail that belongs to no list: newcomers are placed there, and a window that reaches the end takes what it lacks from it.
"""

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import inlined, kernel
from grapin.graph.intrinsics import move
from grapin.graph.packed import (
    ELEMENTS_MOVED,
    LISTS_MOVED,
    REBALANCES,
    WINDOWS,
    Column,
    PackedLists,
    group_end,
    line_count,
    used_lines,
    wide,
)

LEAF_VERTICES = 16
DENSEST_ROOT = 0.95
"""The whole array is never fuller than this; windows of one leaf may be full."""
SPACING = 8
"""New lists together get one line more than they fill for each so many."""
_HEADROOM = 4
"""A list that needs room gets one extra line for this many it fills, if its window has them to spare."""


@kernel
def _shares(
    lists: PackedLists, low: int, high: int, lines: int, favoured: int, wanted: int
) -> tuple[int, int, int]:
    """Return the slack of a window, the total of the shares in it, and the extra of the favoured list."""
    total, slack = 0, lines
    for vertex in range(low, high):
        total += lists.degrees[vertex] + 1
        slack -= wanted if vertex == favoured else line_count(lists, wide(lists.degrees[vertex]))
    headroom = min(slack, wanted // _HEADROOM) if favoured >= 0 else 0
    return slack - headroom, total, headroom


@kernel
def spread(lists: PackedLists, bound: int, lines: int, starts: NDArray[np.int64]) -> None:
    """Deal `lines` out to the lists below `bound` and write where each is to start."""
    slack, total, _ = _shares(lists, 0, bound, lines, -1, 0)
    filled, share = 0, 0
    for vertex in range(bound):
        # Rounding the running total, not each share, deals out every line though each share may be below one.
        starts[vertex] = (filled + slack * share // total) << lists.line_shift
        filled += line_count(lists, wide(lists.degrees[vertex]))
        share += lists.degrees[vertex] + 1


@kernel
def _move_list(lists: PackedLists, vertex: int, start: int) -> None:
    old, degree = lists.starts[vertex], wide(lists.degrees[vertex])
    lists.starts[vertex] = start
    if degree:
        move(lists.neighbours, start, old, degree)
        if len(lists.weights):
            move(lists.weights, start, old, degree)
        lists.counters[LISTS_MOVED] += 1
        lists.counters[ELEMENTS_MOVED] += degree


@kernel
def _redistribute(lists: PackedLists, low: int, high: int, favoured: int, wanted: int) -> None:
    """Redistribute the lines of a window, at least `wanted` of them to the list `favoured`.

    Left movers go first, from the left, then right movers, from the right: no list lands on one that has yet
    to move. The starts are worked out in either direction rather than stored.
    """
    origin, shift = lists.starts[low], lists.line_shift
    lines = (lists.starts[high] - origin) >> shift
    slack, total, headroom = _shares(lists, low, high, lines, favoured, wanted)
    filled, share = 0, 0
    for vertex in range(low, high):
        start = origin + ((filled + slack * share // total) << shift)
        if start < lists.starts[vertex]:
            _move_list(lists, vertex, start)
        filled += wanted + headroom if vertex == favoured else line_count(lists, wide(lists.degrees[vertex]))
        share += lists.degrees[vertex] + 1
    for vertex in range(high - 1, low - 1, -1):
        filled -= wanted + headroom if vertex == favoured else line_count(lists, wide(lists.degrees[vertex]))
        share -= lists.degrees[vertex] + 1
        start = origin + ((filled + slack * share // total) << shift)
        if start > lists.starts[vertex]:
            _move_list(lists, vertex, start)
    window = lists.counters[WINDOWS]
    lists.windows[2 * window], lists.windows[2 * window + 1] = low, high
    lists.counters[WINDOWS] = window + 1
    lists.counters[REBALANCES] += 1


@kernel
def tail_lines(lists: PackedLists, bound: int) -> int:
    """Return how many lines at the end of the array belong to no list."""
    return wide((len(lists.neighbours) - lists.starts[bound]) >> lists.line_shift)


@kernel
def _take_from_tail(lists: PackedLists, bound: int, low: int, needed: int) -> bool:
    """Extend the room of the lists from `low` on to what they need, or more; return whether the tail has that."""
    tail = tail_lines(lists, bound)
    lacking = needed - ((lists.starts[bound] - lists.starts[low]) >> lists.line_shift)
    if lacking > tail:
        return False
    taken = min(tail, lacking + needed // _HEADROOM)
    lists.starts[bound] += max(taken, 0) << lists.line_shift
    return True


@kernel
def make_room(lists: PackedLists, bound: int, vertex: int, degree: int) -> None:
    """Rebalance so that list `vertex` can hold `degree` neighbours; the array as a whole has the room."""
    wanted = line_count(lists, degree)
    more = wanted - line_count(lists, wide(lists.degrees[vertex]))
    levels = 0
    while (LEAF_VERTICES << levels) < bound:
        levels += 1
    low = vertex & -LEAF_VERTICES
    high = min(low + LEAF_VERTICES, bound)
    needed = used_lines(lists, low, high) + more
    for level in range(levels):
        available = (lists.starts[high] - lists.starts[low]) >> lists.line_shift
        if needed + wanted // _HEADROOM <= available * (1 - (1 - DENSEST_ROOT) * level / levels):
            break
        size = LEAF_VERTICES << (level + 1)
        # The end is hardly ever where a window of the tree ends: one that is not wider than the next reaches for it.
        if bound - low <= size and tail_lines(lists, bound) > 0:
            needed += used_lines(lists, high, bound)
            high = bound
            if _take_from_tail(lists, bound, low, needed):
                break
            needed -= used_lines(lists, min(low + size // 2, bound), bound)
            high = min(low + size // 2, bound)
        wider_low = vertex & -size
        wider_high = min(wider_low + size, bound)
        needed += used_lines(lists, wider_low, low) + used_lines(lists, high, wider_high)
        low, high = wider_low, wider_high
    if high == bound and needed > (lists.starts[bound] - lists.starts[low]) >> lists.line_shift:
        _take_from_tail(lists, bound, low, needed)
    _redistribute(lists, low, high, vertex, wanted)


@kernel
def lines_of_newcomers(lists: PackedLists, first: int, owner: Column) -> int:
    """Return how many lines the lists from `first` on take once the arcs of `owner`, sorted, are in them."""
    row, total = wide(np.searchsorted(owner, first)), 0
    while row < len(owner):
        last = group_end(owner, row)
        total += line_count(lists, last - row)
        row = last
    return total


@kernel
def place_newcomers(lists: PackedLists, first: int, bound: int, owner: Column, least: int) -> None:
    """Give the empty lists from `first` on the lines in the tail that their arcs in `owner` will fill, or `least`."""
    row, origin, given = wide(np.searchsorted(owner, first)), lists.starts[first], 0
    for vertex in range(first, bound):
        lists.starts[vertex] = origin + ((given + given // SPACING) << lists.line_shift)
        last = row
        while last < len(owner) and owner[last] == vertex:
            last += 1
        given += max(line_count(lists, wide(last - row)), least)
        row = last
    lists.starts[bound] = origin + ((given + given // SPACING) << lists.line_shift)


@inlined
def copy_list(lists: PackedLists, copy: PackedLists, vertex: int) -> None:
    """Copy one list to its start in `copy`."""
    start, to, degree = lists.starts[vertex], copy.starts[vertex], lists.degrees[vertex]
    for place in range(degree):
        copy.neighbours[to + place] = lists.neighbours[start + place]
    if len(lists.weights):
        for place in range(degree):
            copy.weights[to + place] = lists.weights[start + place]


@kernel
def copy_lists(lists: PackedLists, copy: PackedLists, bound: int) -> None:
    """Copy every list to its start in `copy`, whose starts are laid out already."""
    for vertex in range(bound):
        copy_list(lists, copy, vertex)
