"""Every invariant of the store, verified in time linear in its size."""

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import compiled
from grapin.errors import CorruptGraph
from grapin.graph.adjacency import Adjacency
from grapin.graph.allocation import LINE_BYTES
from grapin.graph.index import find_indexed
from grapin.graph.packed import SLOTS_TAKEN, USED_LINES, PackedLists, used_lines, wide

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
            _report(name, _check_lists(adjacency.lists, alive, adjacency.bound))
            _report(name, _check_indices(adjacency.lists, adjacency.bound))
            _check_blocks(name, adjacency)
    if in_ is not None:
        _report("out", _check_mirror(out.lists, in_.lists, len(alive), edges))


def _report(name: str, problem: Problem) -> None:
    code, vertex = problem
    if code:
        raise CorruptGraph(f"{name}-direction: {_MESSAGES[code].format(vertex)}")


def _check_layout(name: str, adjacency: Adjacency, edges: int) -> None:
    lists, bound = adjacency.lists, adjacency.bound
    if adjacency.aligned and lists.neighbours.ctypes.data % LINE_BYTES:
        raise CorruptGraph(f"{name}-direction: the neighbours do not start on a {LINE_BYTES}-byte boundary")
    if adjacency.aligned and len(lists.weights) and lists.weights.ctypes.data % LINE_BYTES:
        raise CorruptGraph(f"{name}-direction: the weights do not start on a {LINE_BYTES}-byte boundary")
    if len(lists.weights) != (0 if adjacency.weight_dtype is None else len(lists.neighbours)):
        raise CorruptGraph(
            f"{name}-direction: {len(lists.weights)} weights for {len(lists.neighbours)} places"
        )
    if lists.starts[bound] != len(lists.neighbours):
        raise CorruptGraph(f"{name}-direction: the last list does not end with the array")
    total = int(lists.degrees[:bound].sum(dtype=np.int64))
    if total != edges:
        raise CorruptGraph(f"{name}-direction: {total} arcs in the lists, {edges} are counted")
    lines = int(used_lines(lists, 0, bound))
    if lists.counters[USED_LINES] != lines:
        raise CorruptGraph(f"{name}-direction: {lines} lines are used, {lists.counters[USED_LINES]} counted")


def _check_blocks(name: str, adjacency: Adjacency) -> None:
    """Raise unless used and free index blocks tile the slots taken, none overlapping another."""
    lists, bound = adjacency.lists, adjacency.bound
    owners = np.flatnonzero(lists.index_starts[:bound] >= 0)
    blocks = [(int(lists.index_starts[owner]), 1 << int(lists.index_bits[owner])) for owner in owners]
    for bits, first in enumerate(lists.free_blocks.tolist()):
        while first >= 0 and len(blocks) <= len(lists.slots):
            blocks.append((first, 1 << bits))
            first = int(lists.slots[first])
    end = 0
    for start, size in sorted(blocks):
        if start != end:
            raise CorruptGraph(f"{name}-direction: index blocks overlap or leave a gap at slot {end}")
        end += size
    if end != lists.counters[SLOTS_TAKEN]:
        raise CorruptGraph(f"{name}-direction: index blocks end at {end}, not {lists.counters[SLOTS_TAKEN]}")


@compiled
def _check_lists(lists: PackedLists, alive: NDArray[np.bool_], bound: int) -> Problem:
    latest = np.full(len(alive), -1, np.int32)
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


@compiled
def _check_indices(lists: PackedLists, bound: int) -> Problem:
    for vertex in range(bound):
        base = lists.index_starts[vertex]
        if base < 0:
            continue
        size = 1 << wide(lists.index_bits[vertex])
        degree = wide(lists.degrees[vertex])
        if base + size > len(lists.slots) or size < 2 * degree:
            return 7, vertex
        entries = 0
        for slot in range(base, base + size):
            entries += lists.slots[slot] >= 0
        if entries != degree:
            return 6, vertex
        for position in range(degree):
            neighbour = lists.neighbours[lists.starts[vertex] + position]
            if find_indexed(lists, vertex, neighbour) != position:
                return 6, vertex
    return 0, 0


@compiled
def _check_mirror(out: PackedLists, in_: PackedLists, bound: int, edges: int) -> Problem:
    """Turn the in-lists round and compare them list by list; neither has a neighbour twice."""
    ends = np.zeros(bound + 1, np.int64)
    for vertex in range(bound):
        ends[vertex + 1] = ends[vertex] + out.degrees[vertex]
    targets, places = np.empty(edges, np.int32), np.empty(edges, np.int64)
    filled = ends[:bound].copy()
    for target in range(bound):
        start = in_.starts[target]
        for place in range(start, start + in_.degrees[target]):
            source = in_.neighbours[place]
            if filled[source] == ends[source + 1]:
                return 8, wide(source)
            targets[filled[source]], places[filled[source]] = target, place
            filled[source] += 1
    found = np.full(bound, -1, np.int64)
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
