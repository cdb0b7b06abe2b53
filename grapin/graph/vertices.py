"""`VertexSet`: which vertex ids exist, and which freed ones are to be used again, smallest first.

Reading arcs out of the lists: all of them, or those at vertices that are to go.
"""

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.batch import Batch
from grapin.compiled import kernel
from grapin.edges import VertexArray
from grapin.errors import CorruptGraph, InvalidBatch
from grapin.graph.packed import Column, PackedLists, Patterns, wide


@dataclass(frozen=True)
class VertexChange:
    """What a batch does to the set of vertices."""

    inserted: VertexArray
    deleted: VertexArray
    bound: int
    """The bound after the batch."""
    ignored: VertexArray
    """Vertices inserted though they exist or deleted though they do not."""


class VertexSet:
    """The ids below `bound`, each alive or free."""

    def __init__(self, count: int) -> None:
        self.bound = count
        self.count = count
        self._alive = np.ones(count, np.bool_)
        self._queued = np.zeros(count, np.bool_)
        """True where an id is in the heap; an id that was taken out of turn stays there until it surfaces."""
        self._heap: list[int] = []

    def __contains__(self, vertex: int) -> bool:
        return 0 <= vertex < self.bound and bool(self._alive[vertex])

    @property
    def alive(self) -> NDArray[np.bool_]:
        """One entry for each id below `bound`: does it exist?"""
        return self._alive[: self.bound]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self._alive.nbytes + self._queued.nbytes

    def copy(self) -> "VertexSet":
        """Return an independent copy."""
        other = VertexSet(0)
        other.bound, other.count = self.bound, self.count
        other._alive, other._queued = self._alive.copy(), self._queued.copy()
        other._heap = self._heap.copy()
        return other

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # Arrays that came from another process may be read-only.
        self._alive, self._queued = (
            np.require(array, requirements="W") for array in (self._alive, self._queued)
        )

    def next_free(self, count: int) -> VertexArray:
        """Return the ids that the next `count` vertices should take: freed ones first, then fresh ones."""
        freed: list[int] = []
        while self._heap and len(freed) < count:
            vertex = heapq.heappop(self._heap)
            if self._alive[vertex]:
                self._queued[vertex] = False
            else:
                freed.append(vertex)
        for vertex in freed:
            heapq.heappush(self._heap, vertex)
        fresh = np.arange(self.bound, self.bound + count - len(freed))
        return np.concatenate((np.array(freed, np.int64), fresh)).astype(np.int32)

    def change(self, batch: Batch) -> VertexChange:
        """Work out what a batch would insert and delete, refusing ids that leave a gap; changes nothing."""
        wanted, unwanted = batch.insert_vertices, batch.delete_vertices
        if not len(wanted) and not len(unwanted):
            return VertexChange(wanted, unwanted, self.bound, wanted)
        fresh = wanted[wanted >= self.bound]
        gap = fresh != np.arange(self.bound, self.bound + len(fresh))
        if gap.any():
            culprit, missing = fresh[np.argmax(gap)], self.bound + int(np.argmax(gap))
            raise InvalidBatch(
                f"vertex {culprit} in insert_vertices must come after {missing}, which does not exist: "
                "free_vertices(count) gives the ids to use"
            )
        present, absent = self._present(wanted), ~self._present(unwanted)
        return VertexChange(
            inserted=wanted[~present],
            deleted=unwanted[~absent],
            bound=self.bound + len(fresh),
            ignored=np.concatenate((wanted[present], unwanted[absent])),
        )

    def reserve(self, bound: int) -> None:
        """Make room for ids below `bound`."""
        if bound > len(self._alive):
            more = max(bound, 2 * len(self._alive)) - len(self._alive)
            self._alive = np.concatenate((self._alive, np.zeros(more, np.bool_)))
            self._queued = np.concatenate((self._queued, np.zeros(more, np.bool_)))

    def commit(self, change: VertexChange) -> None:
        """Make a change that room is reserved for."""
        if not len(change.inserted) and not len(change.deleted):
            return
        self.bound = change.bound
        self.count += len(change.inserted) - len(change.deleted)
        self._alive[change.inserted] = True
        self._alive[change.deleted] = False
        for vertex in change.deleted[~self._queued[change.deleted]].tolist():
            heapq.heappush(self._heap, vertex)
        self._queued[change.deleted] = True

    def check(self) -> None:
        """Raise `CorruptGraph` unless count and free ids agree with what is alive."""
        if self.count != np.count_nonzero(self.alive):
            raise CorruptGraph(f"{self.count} vertices are counted, {np.count_nonzero(self.alive)} are alive")
        queued = np.zeros(self.bound, np.bool_)
        queued[self._heap] = True
        if np.count_nonzero(queued) != len(self._heap):
            raise CorruptGraph("a vertex is twice among the free ones")
        if (queued != self._queued[: self.bound]).any() or (~self.alive & ~queued).any():
            raise CorruptGraph("a freed vertex is not among the free ones")
        if self._alive[self.bound :].any():
            raise CorruptGraph("a vertex beyond the bound is alive")

    def _present(self, vertices: VertexArray) -> NDArray[np.bool_]:
        present = np.zeros(len(vertices), np.bool_)
        known = vertices < self.bound
        present[known] = self._alive[vertices[known]]
        return present


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
