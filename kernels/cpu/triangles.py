"""Triangles on the CPU: lists of changed pairs are intersected, and all lists at the start.

The longer list of a pair is marked in an array with an entry for each vertex, once for all pairs that it is in; then
the shorter one is looked up there. From scratch every pair is taken in the direction of the longer list, so that no
list of those left is long, and each triangle is found at one of its three sides.

Which lists are read is known before any is, so they are counted and traced by their columns.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import inlined, kernel
from grapin.counters import Counters, Work, count_reads
from grapin.graph.change import Applied
from grapin.graph.snapshot import Lists, Snapshot
from grapin.kernels.cpu.lists import LEAST_VERTICES, TRACE_FIELDS, arrays_of
from grapin.kernels.triangles import changed_pairs
from grapin.programs.triangles import Triangles
from grapin.system import Repair, System

_MOST_MARK = 2**31 - 1


class TriangleQuery:
    """The triangles of each vertex, kept up to date on the CPU.

    In its `Work`, `changed` counts the vertices of which a triangle came or went, each once.
    """

    def __init__(self, program: Triangles, system: System) -> None:
        self.program = program
        self._recomputes = system.repair is Repair.RECOMPUTE
        self._counts = np.zeros(0, np.int64)
        self._marks = np.zeros(0, np.int32)
        self._mark = 0
        """Marks so far are at most this; whatever is marked next is larger."""
        self._seen = np.zeros(0, np.int32)
        """The last repair that changed a vertex."""
        self._runs = 0
        self._bound = 0
        self._scratch_steps = 0
        """Elements looked at when all was counted last."""

    def start(self, snapshot: Snapshot, *, tracing: bool) -> Work:
        """Count all triangles."""
        self._reserve(snapshot.bound)
        lists = _columns(snapshot)
        before = self._counts.copy()
        self._counts[:] = 0
        self._forget_marks()
        starts, heads = _oriented(lists, snapshot.bound, self._marks)
        self._forget_marks()
        looked_at = _count_all(starts, heads, self._marks, self._counts)
        self._mark = snapshot.bound
        self._scratch_steps = int(looked_at) + snapshot.edges
        changed = int(np.count_nonzero(before != self._counts))
        read = np.arange(snapshot.bound)
        return _work(snapshot, read, changed, dense=True, tracing=tracing)

    def repair(self, snapshot: Snapshot, applied: Applied, *, tracing: bool) -> Work:
        """Count the triangles that a batch made and parted."""
        if self._recomputes:
            return self.start(snapshot, tracing=tracing)
        self._reserve(snapshot.bound)
        lists, pairs = _columns(snapshot), changed_pairs(snapshot, applied)
        rows, groups = pairs.groups(_sizes(lists))
        read = np.insert(pairs.others[rows], groups[:-1], pairs.ends[rows[groups[:-1]]])
        if sum(int(one[1][read].sum(dtype=np.int64)) for one in lists) > self._scratch_steps:
            return self.start(snapshot, tracing=tracing)
        if self._mark > _MOST_MARK - 2 * len(rows):
            self._forget_marks()
        self._runs += 1
        columns = pairs.ends, pairs.others, pairs.numbers, pairs.signs
        state = self._counts, self._marks, self._mark, self._seen, self._runs
        changed = _count_changes(columns, rows, groups, lists, *state)
        self._mark += 2 * len(rows)
        return _work(snapshot, read, int(changed), dense=False, tracing=tracing)

    def values(self) -> NDArray[np.int64]:
        """Return the triangles of each vertex below the bound."""
        return self._counts[: self._bound].copy()

    def parents(self) -> NDArray[np.int32]:
        """Return -1 for each vertex: a count comes from nowhere."""
        return np.full(self._bound, -1, np.int32)

    def reached(self, vertex: int) -> bool:
        """Every vertex has a count."""
        return vertex < self._bound

    def memory(self) -> dict[str, int]:
        """Return the bytes of vertex state by part."""
        return {"counts": self._counts.nbytes, "marks": self._marks.nbytes, "seen": self._seen.nbytes}

    def _reserve(self, bound: int) -> None:
        """Make room for vertices below `bound`, at least doubling it."""
        self._bound = bound
        room = len(self._counts)
        if bound > room:
            more = max(bound, 2 * room, LEAST_VERTICES) - room
            self._counts, self._marks, self._seen = (
                np.concatenate((array, np.zeros(more, array.dtype)))
                for array in (self._counts, self._marks, self._seen)
            )

    def _forget_marks(self) -> None:
        self._marks[:] = 0
        self._mark = 0


def _sides(snapshot: Snapshot) -> tuple[Lists, ...]:
    """Return the lists that hold a vertex's neighbours: one, or out- and in-lists."""
    if snapshot.in_ is None or snapshot.in_ is snapshot.out:
        return (snapshot.out,)
    return snapshot.out, snapshot.in_


def _columns(snapshot: Snapshot) -> tuple[Any, ...]:
    return tuple(arrays_of(lists, weights=False)[:3] for lists in _sides(snapshot))


def _sizes(lists: tuple[Any, ...]) -> NDArray[np.int64]:
    sizes: NDArray[np.int64] = np.sum([one[1] for one in lists], axis=0, dtype=np.int64)
    return sizes


def _oriented(
    lists: tuple[Any, ...], bound: int, marks: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the neighbours of each vertex whose lists are longer, each once, and where they begin."""
    sizes = _sizes(lists)
    starts = np.zeros(bound + 1, np.int64)
    heads = np.empty(
        int(sizes.sum()) // 2, np.int32
    )  # an edge is in two lists, and kept in one of them at most
    _orient(lists, sizes, marks, starts, heads)
    return starts, heads


@kernel
def _orient(lists: Any, sizes: Any, marks: Any, starts: Any, heads: Any) -> None:
    count = 0
    for vertex in range(len(starts) - 1):
        for one in lists:
            for place in range(one[0][vertex], one[0][vertex] + one[1][vertex]):
                other = one[2][place]
                longer = sizes[other] > sizes[vertex] or (sizes[other] == sizes[vertex] and other > vertex)
                if longer and marks[other] != vertex + 1:
                    marks[other] = vertex + 1
                    heads[count] = other
                    count += 1
        starts[vertex + 1] = count


@kernel
def _count_all(starts: Any, heads: Any, marks: Any, counts: Any) -> Any:
    """Add every triangle to its corners; return how many elements were looked at."""
    steps = 0
    for vertex in range(len(starts) - 1):
        of_vertex = 0
        for place in range(starts[vertex], starts[vertex + 1]):
            marks[heads[place]] = vertex + 1
        for place in range(starts[vertex], starts[vertex + 1]):
            other, of_other = heads[place], 0
            for third_place in range(starts[other], starts[other + 1]):
                third = heads[third_place]
                if marks[third] == vertex + 1:
                    counts[third] += 1
                    of_other += 1
            steps += starts[other + 1] - starts[other]
            counts[other] += of_other
            of_vertex += of_other
        counts[vertex] += of_vertex
    return steps


@inlined
def _stands(columns: Any, rows: Any, other: Any, number: Any, sign: Any) -> bool:
    """Tell whether a side counts with the pair of this number, given the changed pairs of one of its ends."""
    _, others, numbers, signs = columns
    low, high = rows
    while low < high:
        middle = (low + high) // 2
        if others[middle] < other:
            low = middle + 1
        else:
            high = middle
    if low == rows[1] or others[low] != other:
        return True
    return bool(signs[low] == sign and numbers[low] > number)


@inlined
def _rows_of(ends: Any, vertex: Any) -> Any:
    """Return the first row of a vertex among the changed pairs, and the first behind."""
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        if ends[middle] < vertex:
            low = middle + 1
        else:
            high = middle
    first = low
    while low < len(ends) and ends[low] == vertex:
        low += 1
    return first, low


@inlined
def _see(vertex: Any, seen: Any, run: Any) -> int:
    """Return 1 if a vertex had not been seen in this run."""
    if seen[vertex] == run:
        return 0
    seen[vertex] = run
    return 1


@inlined
def _closes(third: Any, marks: Any, base: Any, mark: Any, side: Any) -> bool:
    """Tell whether a neighbour of one end of a pair makes a triangle with it that has not been counted."""
    if marks[third] < base or marks[third] == mark:
        return False
    marks[third] = mark
    columns, mine, theirs, number, sign = side
    return _stands(columns, mine, third, number, sign) and _stands(columns, theirs, third, number, sign)


@kernel
def _count_changes(
    columns: Any, rows: Any, groups: Any, lists: Any, counts: Any, marks: Any, mark: Any, seen: Any, run: Any
) -> int:
    """Add to the corners the triangles that changed pairs make, and take off those they were in.

    A neighbour of the group's vertex is marked with `base`, or with the last pair it was counted with.
    """
    ends, others, numbers, signs = columns
    changed = 0
    for group in range(len(groups) - 1):
        vertex = ends[rows[groups[group]]]
        mark += 1
        base = mark
        mine = _rows_of(ends, vertex)
        for row in range(mine[0], mine[1]):
            marks[others[row]] = base
        for one in lists:
            for place in range(one[0][vertex], one[0][vertex] + one[1][vertex]):
                marks[one[2][place]] = base
        marks[vertex] = 0
        for chosen in range(groups[group], groups[group + 1]):
            mark += 1
            row = rows[chosen]
            other, number, sign = others[row], numbers[row], signs[row]
            marks[other] = 0
            theirs = _rows_of(ends, other)
            found = 0
            side = columns, mine, theirs, number, sign
            for row in range(theirs[0], theirs[1]):
                if _closes(others[row], marks, base, mark, side):
                    found += 1
                    counts[others[row]] += sign
                    changed += _see(others[row], seen, run)
            for one in lists:
                for place in range(one[0][other], one[0][other] + one[1][other]):
                    third = one[2][place]
                    if _closes(third, marks, base, mark, side):
                        found += 1
                        counts[third] += sign
                        changed += _see(third, seen, run)
            marks[other] = mark
            if found:
                counts[vertex] += found * sign
                counts[other] += found * sign
                changed += _see(vertex, seen, run) + _see(other, seen, run)
    return changed


def _work(snapshot: Snapshot, read: NDArray[Any], changed: int, *, dense: bool, tracing: bool) -> Work:
    """Return what it took to read the lists of these vertices, in one iteration."""
    rows = []
    for inward, lists in enumerate(_sides(snapshot)):
        some = read[lists.degrees[read] > 0]
        row = np.ones((len(some), TRACE_FIELDS), np.int64)
        row[:, 1], row[:, 2], row[:, 3] = 2 * some + inward, lists.starts[some], lists.degrees[some]
        rows.append(row)
    reads = np.concatenate(rows)
    counters = count_reads(reads[:, 2], reads[:, 3]) if len(reads) else Counters()
    return Work(
        iterations=int(len(reads) > 0),
        changed=changed,
        dense=dense,
        counters=counters,
        reads=reads if tracing else None,
    )
