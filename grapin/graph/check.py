"""Every invariant of the store, verified in time linear in its size."""

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import kernel
from grapin.errors import CorruptGraph
from grapin.graph.adjacency import Adjacency
from grapin.graph.index import (
    EMPTY_SLOT,
    LONGEST_SCAN,
    find_indexed,
    index_base,
    index_size_class,
    next_free_block,
)
from grapin.graph.packed import SLOTS_TAKEN, USED_LINES, Column, PackedLists, Positions, used_lines, wide
from grapin.units import LINE

Problem = tuple[int, int]
"""The code of a broken invariant and the vertex it is broken at; code 0 is none."""

_MESSAGES = {
    1: "the list of vertex {} does not start on a line",
    2: "the list of vertex {} runs into the next one",
    3: "the list of vertex {} holds something that is no vertex",
    4: "the list of vertex {} holds a neighbour twice",
    5: "vertex {} does not exist but has a list",
    6: "the index of vertex {} does not lead to its neighbours",
    7: "the index of vertex {} has the wrong size",
    8: "the out-list of vertex {} and the in-lists disagree",
    9: "the out-list of vertex {} and the in-lists give an edge two weights",
}


def check_directions(out: Adjacency, in_: Adjacency | None, alive: NDArray[np.bool_], edges: int) -> None:
    """Raise `CorruptGraph` unless both directions are sound and mirror each other."""
    for name, adjacency in (("out", out), ("in", in_)):
        if adjacency is not None:
            _check_layout(name, adjacency, edges)
            latest = np.full(len(alive), -1, np.int32)
            _report(name, _check_lists(adjacency.lists, alive, adjacency.bound, latest))
            _report(name, _check_indices(adjacency.lists, adjacency.bound))
            _check_blocks(name, adjacency)
            if adjacency.lost_in_migration() >= 0:
                culprit = adjacency.lost_in_migration()
                raise CorruptGraph(
                    f"{name}-direction: the copy of list {culprit} in larger arrays is another list"
                )
    if in_ is not None:
        _report("out", _check_mirror(out.lists, in_.lists, len(alive), edges))


def _report(name: str, problem: Problem) -> None:
    code, vertex = problem
    if code:
        raise CorruptGraph(f"{name}-direction: {_MESSAGES[code].format(vertex)}")


def _check_layout(name: str, adjacency: Adjacency, edges: int) -> None:
    lists, bound = adjacency.lists, adjacency.bound
    if adjacency.aligned and lists.neighbours.ctypes.data % LINE:
        raise CorruptGraph(f"{name}-direction: the neighbours do not start on a {LINE}-byte boundary")
    if adjacency.aligned and len(lists.weights) and lists.weights.ctypes.data % LINE:
        raise CorruptGraph(f"{name}-direction: the weights do not start on a {LINE}-byte boundary")
    if len(lists.weights) != (0 if adjacency.weight_dtype is None else len(lists.neighbours)):
        raise CorruptGraph(
            f"{name}-direction: {len(lists.weights)} weights for {len(lists.neighbours)} places"
        )
    end = int(lists.starts[bound])
    if not 0 <= end <= len(lists.neighbours) or end & ((1 << lists.line_shift) - 1):
        raise CorruptGraph(f"{name}-direction: the room of the last list does not end in the array")
    total = int(lists.degrees[:bound].sum(dtype=np.int64))
    if total != edges:
        raise CorruptGraph(f"{name}-direction: {total} arcs in the lists, {edges} are counted")
    lines = int(used_lines(lists, 0, bound))
    if lists.counters[USED_LINES] != lines:
        raise CorruptGraph(f"{name}-direction: {lines} lines are used, {lists.counters[USED_LINES]} counted")


def _check_blocks(name: str, adjacency: Adjacency) -> None:
    """Raise unless used and free index blocks tile the slots taken, none overlapping another."""
    lists, bound = adjacency.lists, adjacency.bound
    owners = np.flatnonzero(lists.indices[:bound] >= 0).tolist()
    blocks = [(index_base(lists, owner), 1 << index_size_class(lists, owner)) for owner in owners]
    for bits, first in enumerate(lists.free_blocks.tolist()):
        while first >= 0 and len(blocks) <= len(lists.slots):
            blocks.append((first, 1 << bits))
            first = int(next_free_block(lists, first))
    end = 0
    for start, size in sorted(blocks):
        if start != end:
            raise CorruptGraph(f"{name}-direction: index blocks overlap or leave a gap at slot {end}")
        end += size
    if end != lists.counters[SLOTS_TAKEN]:
        raise CorruptGraph(f"{name}-direction: index blocks end at {end}, not {lists.counters[SLOTS_TAKEN]}")


@kernel
def _check_lists(lists: PackedLists, alive: NDArray[np.bool_], bound: int, latest: Column) -> Problem:
    for vertex in range(bound):
        start, degree = lists.starts[vertex], lists.degrees[vertex]
        if start < 0 or start & ((1 << lists.line_shift) - 1):
            return 1, vertex
        if degree < 0 or start + degree > lists.starts[vertex + 1]:
            return 2, vertex
        if degree and not (vertex < len(alive) and alive[vertex]):
            return 5, vertex
        for place in range(start, start + degree):
            neighbour = lists.neighbours[place]
            if neighbour < 0 or neighbour >= len(alive) or not alive[neighbour]:
                return 3, vertex
            if latest[neighbour] == vertex:
                return 4, vertex
            latest[neighbour] = vertex
    return 0, 0


@kernel
def _check_indices(lists: PackedLists, bound: int) -> Problem:
    for vertex in range(bound):
        if lists.indices[vertex] < 0:
            continue
        base, size = index_base(lists, vertex), 1 << index_size_class(lists, vertex)
        degree = wide(lists.degrees[vertex])
        if base + size > len(lists.slots) or size <= 2 * degree or 2 * degree < LONGEST_SCAN:
            return 7, vertex
        entries = 0
        for slot in range(base, base + size):
            entries += lists.slots[slot] != EMPTY_SLOT
        if entries != degree:
            return 6, vertex
        for position in range(degree):
            neighbour = lists.neighbours[lists.starts[vertex] + position]
            if find_indexed(lists, vertex, neighbour) != position:
                return 6, vertex
    return 0, 0


def _check_mirror(out: PackedLists, in_: PackedLists, bound: int, edges: int) -> Problem:
    """Turn the in-lists round and compare them list by list; neither has a neighbour twice."""
    ends = np.zeros(bound + 1, np.int64)
    np.cumsum(out.degrees[:bound], out=ends[1:])
    targets, places = np.empty(edges, np.int32), np.empty(edges, np.int64)
    problem: Problem = _turn_round(in_, bound, ends, ends[:bound].copy(), targets, places)
    if problem[0]:
        return problem
    return _compare(out, in_, bound, ends, targets, places, np.full(bound, -1, np.int64))


@kernel
def _turn_round(
    in_: PackedLists, bound: int, ends: Positions, filled: Positions, targets: Column, places: Positions
) -> Problem:
    for target in range(bound):
        start = in_.starts[target]
        for place in range(start, start + in_.degrees[target]):
            source = in_.neighbours[place]
            if filled[source] == ends[source + 1]:
                return 8, wide(source)
            targets[filled[source]], places[filled[source]] = target, place
            filled[source] += 1
    return 0, 0


@kernel
def _compare(
    out: PackedLists,
    in_: PackedLists,
    bound: int,
    ends: Positions,
    targets: Column,
    places: Positions,
    found: Positions,
) -> Problem:
    for source in range(bound):
        start = out.starts[source]
        for place in range(start, start + out.degrees[source]):
            found[out.neighbours[place]] = place
        for row in range(ends[source], ends[source + 1]):
            place = found[targets[row]]
            if place < start or place >= start + out.degrees[source]:
                return 8, source
            if len(out.weights) and out.weights[place] != in_.weights[places[row]]:
                return 9, source
    return 0, 0
