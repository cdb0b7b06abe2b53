"""`ListIndex`: the device's knowledge of where lists are, kept up to date with what batches change and nothing more.

After a batch, start and degree are sent again for the lists it changed and for those the store moved to make room. Only
when the store lays all lists out again is the whole index sent. A resident copy of the edges is kept the same way.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from grapin.counters import Counters
from grapin.graph.change import Applied
from grapin.graph.snapshot import Lists, Snapshot
from grapin.kernels.cuda.backend import Backend, bind
from grapin.kernels.cuda.cache.copies import DeviceCopies
from grapin.kernels.cuda.lists import DeviceLists
from grapin.kernels.cuda.staging import Staging
from grapin.system import Resident, Transfer


def place_lists(vertices: Any, starts: Any, degrees: Any, lists: DeviceLists) -> None:
    """Write where the lists of these vertices are now."""
    for entry in range(cuda.grid(1), vertices.size, cuda.gridsize(1)):
        lists.starts[vertices[entry]] = starts[entry]
        lists.degrees[vertices[entry]] = degrees[entry]


def place_edges(positions: Any, neighbours: Any, weights: Any, lists: DeviceLists) -> None:
    """Write edges of a resident copy."""
    for entry in range(cuda.grid(1), positions.size, cuda.gridsize(1)):
        lists.neighbours[positions[entry]] = neighbours[entry]
        if lists.weights.size > 0:
            lists.weights[positions[entry]] = weights[entry]


KERNELS = (place_lists, place_edges)


class ListIndex:
    """The lists of a graph, both directions, as kernels read them."""

    def __init__(self, backend: Backend, transfer: Transfer, *, weights: bool) -> None:
        self.copies: DeviceCopies | Staging | None = None
        """Copies of lists in a cache, or those that a task has staged, where there are any."""
        self._weights = weights
        self._transfer = transfer
        self.copied_bytes = 0
        """What the last update copied to the device of edges."""
        self._sides = {name: _Side(backend, transfer, weights=weights) for name in ("out", "in")}
        self._version = -1

    @property
    def out(self) -> DeviceLists:
        """Out-lists."""
        return self._with_copies(self._sides["out"].lists, inward=False)

    @property
    def in_(self) -> DeviceLists:
        """In-lists; the out-lists where the graph is undirected."""
        own = self._sides["in"] is not self._sides["out"]
        return self._with_copies(self._sides["in"].lists, inward=own)

    def update(self, snapshot: Snapshot, applied: Applied | None) -> None:
        """Follow the graph to this version, from the one before if that is known, by what was applied."""
        follows = applied is not None and snapshot.version == self._version + 1
        self._version = snapshot.version
        if snapshot.in_ is None or snapshot.in_ is snapshot.out:
            self._sides["in"] = self._sides["out"]
        sides = {id(side): (name, side) for name, side in reversed(self._sides.items())}
        self.copied_bytes = 0
        for name, side in sides.values():
            lists = snapshot.out if name == "out" else snapshot.in_
            assert lists is not None
            changed = _owners(applied, inward=name == "in") if applied is not None and follows else None
            self.copied_bytes += side.update(lists, changed)

    def crossing(self, read: Counters) -> Counters:
        """Return what crossed the link: of a resident copy nothing that was read, but what keeping it took."""
        if isinstance(self.copies, Staging):
            return replace(read, copied_bytes=int(self.copies.tasks["copied"].sum()))
        if not isinstance(self._transfer, Resident):
            return read
        return Counters(
            read.edges,
            read.lists,
            cached_edges=read.edges,
            cached_lists=read.lists,
            copied_bytes=self.copied_bytes,
        )

    def _with_copies(self, lists: DeviceLists, *, inward: bool) -> DeviceLists:
        if self.copies is None:
            return lists
        return lists._replace(
            held=self.copies.held[inward],
            copied_neighbours=self.copies.neighbours,
            copied_weights=self.copies.weights if self._weights else lists.copied_weights,
        )

    def memory(self) -> dict[str, int]:
        """Return the bytes on the device by part."""
        sides = {id(side): side for side in self._sides.values()}.values()
        return {
            "index": sum(side.lists.starts.nbytes + side.lists.degrees.nbytes for side in sides),
            "edges": sum(side.resident_bytes for side in sides),
        }


class _Side:
    """One direction."""

    def __init__(self, backend: Backend, transfer: Transfer, *, weights: bool) -> None:
        self._backend = backend
        self._transfer = transfer
        self._weights = weights
        self._kernels = bind(backend, "index", functions=(), kernels=KERNELS)
        self._bound = 0
        self._source: NDArray[Any] = np.empty(0, np.int32)
        """The store's neighbours of which `lists.neighbours` is the device's view; kept, so that no other array can
        come to lie at its address."""
        nowhere, nothing = backend.empty(0, np.int64), backend.empty(0, np.int32)
        self.lists = DeviceLists(nowhere, nothing, nothing, nothing, nowhere, nothing, nothing)

    @property
    def resident_bytes(self) -> int:
        """What of the edges is on the device."""
        if not isinstance(self._transfer, Resident):
            return 0
        return int(self.lists.neighbours.nbytes + self.lists.weights.nbytes)

    def update(self, lists: Lists, changed: NDArray[np.int32] | None) -> int:
        """Follow the store; return how many bytes of edges were copied. `changed` is None when anything may be."""
        bound = len(lists.starts)
        if changed is None or lists.neighbours.ctypes.data != self._source.ctypes.data:
            self._see_edges(lists)
            self._send_all(lists)
            copied = self.resident_bytes
        else:
            windows = [np.arange(low, high, dtype=np.int32) for low, high in lists.moved]
            touched = np.unique(np.concatenate([changed, *windows]))
            if bound > len(self.lists.starts):
                self._send_all(lists)
            else:
                self._send(lists, np.concatenate([touched, np.arange(self._bound, bound, dtype=np.int32)]))
            copied = self._refresh(lists, touched) if isinstance(self._transfer, Resident) else 0
        self._bound = bound
        return copied

    def _see_edges(self, lists: Lists) -> None:
        self._source = lists.neighbours
        weights = lists.weights if self._weights else lists.weights[:0]
        self.lists = self.lists._replace(
            neighbours=self._backend.edges(lists.neighbours, self._transfer),
            weights=self._backend.edges(weights, self._transfer),
            copied_weights=self._backend.empty(0, weights.dtype),
        )

    def _send_all(self, lists: Lists) -> None:
        backend, bound = self._backend, len(lists.starts)
        if bound > len(self.lists.starts):
            room = max(bound, 2 * len(self.lists.starts))
            self.lists = self.lists._replace(
                starts=backend.empty(room, np.int64), degrees=backend.empty(room, np.int32)
            )
        backend.copy(backend.part(self.lists.starts, 0, bound), np.ascontiguousarray(lists.starts))
        backend.copy(backend.part(self.lists.degrees, 0, bound), np.ascontiguousarray(lists.degrees))

    def _send(self, lists: Lists, vertices: NDArray[np.int32]) -> None:
        if len(vertices):
            columns: list[NDArray[Any]] = [vertices, lists.starts[vertices], lists.degrees[vertices]]
            self._backend.launch(self._kernels.place_lists, *map(self._backend.upload, columns), self.lists)

    def _refresh(self, lists: Lists, vertices: NDArray[np.int32]) -> int:
        """Send the edges of these lists again, gathered into one copy."""
        degrees = lists.degrees[vertices].astype(np.int64)
        ends = np.cumsum(degrees)
        positions = np.arange(ends[-1] if len(ends) else 0) + np.repeat(
            lists.starts[vertices] - ends + degrees, degrees
        )
        if not len(positions):
            return 0
        weights = lists.weights[positions] if self._weights else lists.weights[:0]
        columns = positions, lists.neighbours[positions], weights
        self._backend.launch(self._kernels.place_edges, *map(self._backend.upload, columns), self.lists)
        return sum(column.nbytes for column in columns)


def _owners(applied: Applied, *, inward: bool) -> NDArray[np.int32]:
    """Return the vertices whose lists a batch changed."""
    parts = (applied.inserted, applied.deleted, applied.reweighted)
    return np.concatenate([part.target if inward else part.source for part in parts])
