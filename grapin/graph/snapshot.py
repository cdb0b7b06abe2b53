"""`Snapshot`: one version of a graph: which vertices exist, and the lists of each as engines read them.

`VertexSet`: the vertex ids that exist, and the freed ones that are to be used again, smallest first.

A snapshot shows the very arrays of the store, read-only and without a copy. The next batch changes those arrays, so it
takes them back first: what is read from an older snapshot is refused. Only an array that was taken out of one before
cannot refuse; copy what has to last.
"""

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from grapin.batch import Batch
from grapin.edges import VertexArray
from grapin.errors import CorruptGraph, InvalidArgument, InvalidBatch


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


class _Lent:
    """Attributes that are taken back when the graph changes; whoever reads them then is told so."""

    _borrowed: ClassVar[tuple[str, ...]]

    def __copy__(self) -> Self:
        return self  # another object with the same arrays would keep them

    def __getstate__(self) -> dict[str, Any]:
        """Return all there is for a copy, which has arrays of its own and lasts; refused when they are gone."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}  # type: ignore[attr-defined]  # of a dataclass

    def give_back(self, version: int) -> None:
        """Let go of what the graph changes now: from here on it is of another version than this."""
        for name in self._borrowed:
            self.__dict__.pop(name, None)
        self.__dict__["_returned"] = version

    if not TYPE_CHECKING:  # a type checker would take every name for an attribute

        def __getattr__(self, name: str) -> Any:
            if name not in self.__dataclass_fields__:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            raise InvalidArgument(
                f"{type(self).__name__}.{name} must be read before the graph changes: version "
                f"{self.__dict__['_returned']} of the graph is gone, and graph.snapshot() shows the present one"
            )


@dataclass(frozen=True, eq=False)
class Lists(_Lent):
    """The neighbour lists of one direction: list `v` is `neighbours[starts[v] : starts[v] + degrees[v]]`."""

    starts: NDArray[np.int64]
    """Where each list begins, in elements; a multiple of 32 (128 bytes) when the store is aligned."""
    degrees: NDArray[np.int32]
    neighbours: NDArray[np.int32]
    weights: NDArray[Any]
    """int32 or float32 beside `neighbours`; length 0 when the graph has no weights."""
    moved: NDArray[np.int64]
    """Rows of two vertices: between them, the second excluded, the last batch moved lists inside `neighbours`. A batch
    that needs more room, or less, moves all lists into other arrays."""

    _borrowed = ("starts", "degrees", "neighbours", "weights", "moved")


@dataclass(frozen=True, eq=False, repr=False)
class Snapshot(_Lent):
    """One version of a graph; what it holds can be read until the next batch is applied."""

    version: int
    """How many batches had been applied when it was taken."""
    bound: int
    """Vertex ids are below this; freed ids have empty lists."""
    edges: int
    alive: NDArray[np.bool_]
    """For each id below `bound` whether it is a vertex."""
    out: Lists
    in_: Lists | None
    """None when the graph keeps no in-direction; the same object as `out` when it is undirected."""

    _borrowed = ("alive", "out", "in_")

    def __repr__(self) -> str:
        return f"Snapshot(version={self.version}, bound={self.bound}, edges={self.edges})"
