"""`DeviceCopies`: copies of lists in the device's memory, and one word a list that tells kernels where they are.

The host decides (`HotCache`); what it decided is sent as it comes, so that an update costs what changes. A word has to
be there before the kernel that reads by it is launched, and what is launched later sees what was launched before.

The kernels of the cache's upkeep: where copies are, moving them, mending them, counting what was read.

Each launch works on what changes and nothing else; how much that is comes from the host, which keeps the books
(`grapin.cache`). Loading needs no kernel of its own: it is a walk over lists that visits no edge and leaves copies
behind (`pass_by`).
"""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from grapin.cache import HotCache, Plan
from grapin.cache.chunks import NOWHERE
from grapin.cache.records import Mutations, Step
from grapin.counters import Counters
from grapin.errors import DeviceUnavailable
from grapin.graph.snapshot import Lists, Snapshot
from grapin.kernels.cuda.backend import Backend, bind, bind_functions
from grapin.kernels.cuda.lists import ARRAY_BITS, NOT_HELD, DeviceLists, counters_of, new_reading
from grapin.kernels.cuda.walk import bind_walk
from grapin.kernels.cuda.warp import WARP, ballot, first_lane, lane_id, sync_warp
from grapin.system import Transfer
from grapin.units import format_bytes


def hold(vertices: Any, words: Any, held: Any) -> None:
    """Write what the device holds of the lists of these vertices."""
    for entry in range(cuda.grid(1), vertices.size, cuda.gridsize(1)):
        held[vertices[entry]] = words[entry]


def entry_of(bounds: Any, element: Any) -> Any:
    """Return the stretch that an element of all stretches together lies in: the last that begins at or before it."""
    low, high = np.int64(0), np.int64(bounds.size - 1)
    while low + 1 < high:
        middle = (low + high) // 2
        if bounds[middle] <= element:
            low = middle
        else:
            high = middle
    return low


def copy_stretches(bounds: Any, sources: Any, targets: Any, source: Any, target: Any) -> None:
    """Copy stretches of one array to places of another, an element a thread: however long they are, all are busy.

    The stretches end to end have `bounds`; no two of them may meet in the target, nor a target in a source.
    """
    for element in range(cuda.grid(1), bounds[bounds.size - 1], cuda.gridsize(1)):
        entry = entry_of(bounds, element)
        within = element - bounds[entry]
        target[targets[entry] + within] = source[sources[entry] + within]


def mend(
    positions: Any,
    lengths: Any,
    bounds: Any,
    records: Any,
    record_weights: Any,
    neighbours: Any,
    weights: Any,
) -> None:
    """Bring copies up to date by the records of what they have missed (`grapin.cache.records`), a warp a copy.

    The warp looks for the neighbour of a record, a line at a time. One that left is overwritten by the last; one that
    is there gets another weight; one that is not is appended.
    """
    lane = lane_id()
    for entry in range(cuda.grid(1) // WARP, positions.size, cuda.gridsize(1) // WARP):
        begin = positions[entry]
        end = begin + lengths[entry]
        for record in range(bounds[entry], bounds[entry + 1]):
            leaves = records[record] < 0
            neighbour = ~records[record] if leaves else records[record]
            at, line = end, begin
            while line < end:
                found = ballot(line + lane < end and neighbours[min(line + lane, end - 1)] == neighbour)
                line += WARP
                if found != 0:
                    at = line - WARP + first_lane(found)
                    line = end
            if leaves:
                end -= 1
            if lane == 0:
                neighbours[at] = neighbours[end] if leaves else neighbour
                if weights.size > 0:
                    weights[at] = weights[end] if leaves else record_weights[record]
            if not leaves and at == end:
                end += 1
            sync_warp()


def take_counts(touched: Any, count: Any, accesses: Any, counts: Any) -> None:
    """Take the counts of the lists that were read, and clear them."""
    for entry in range(cuda.grid(1), count, cuda.gridsize(1)):
        counts[entry] = accesses[touched[entry]]
        accesses[touched[entry]] = 0


def nothing(lists: Any, vertex: Any) -> Any:  # noqa: ARG001  (`walk.py` says what is given)
    """Return what visits have in common: nothing."""
    return np.int64(0)


def pass_by(
    lists: Any,  # noqa: ARG001
    vertex: Any,  # noqa: ARG001
    value: Any,  # noqa: ARG001
    other: Any,  # noqa: ARG001
    weight: Any,  # noqa: ARG001
    inside: Any,  # noqa: ARG001
    found: Any,
) -> Any:
    """Do nothing with an edge."""
    return found


KERNELS = (hold, copy_stretches, mend, take_counts)


def bind_upkeep(backend: Backend, *, weights: bool, **sizes: Any) -> SimpleNamespace:
    """Return the kernels by name, and the walk that loads lists of one or two arrays; `sizes` are of `walk.py`."""
    names = bind_functions(backend, (nothing, pass_by))
    names = {"begin": names["nothing"], "visit": names["pass_by"]} | sizes
    kernels = bind(backend, "cache", functions=(entry_of,), kernels=KERNELS)
    kernels.load = bind_walk(backend, "load", weights=weights, cached=True, **names)
    return kernels


Places = NDArray[np.int64]


class DeviceCopies:
    """Neighbours and weights of cached lists, each list where `HotCache.positions` says."""

    def __init__(
        self, backend: Backend, hot: HotCache, transfer: Transfer, weight_dtype: Any, **sizes: Any
    ) -> None:
        self._backend = backend
        self._holdings = hot.holdings
        self._transfer = transfer
        hot.holdings.chunks.noted = []
        capacity, arrays = hot.holdings.chunks.capacity, hot.holdings.arrays
        try:
            self.neighbours = backend.empty(capacity, np.int32)
            self.weights = backend.empty(capacity if arrays > 1 else 0, weight_dtype or np.int32)
        except DeviceUnavailable as error:
            size = format_bytes(hot.settings.capacity)
            raise DeviceUnavailable(
                f"there is no room for a cache of {size}, ask for less: {error}"
            ) from error
        self.held = [backend.full(1, NOT_HELD, np.int64) for _ in range(2)]
        """By direction, out and in, and by vertex: what kernels know of each list (`lists.py`)."""
        self._kernels = bind_upkeep(backend, weights=arrays > 1, **sizes)
        nothing: NDArray[Any] = np.empty(0, np.int32)
        self._edges = [(nothing, None, None), (nothing, None, None)]
        """By direction: the store's array of neighbours, and its edges as kernels read them."""

    @property
    def nbytes(self) -> int:
        """Bytes of device memory."""
        arrays = (self.neighbours, self.weights, *self.held)
        return sum(int(array.nbytes) for array in arrays)

    def contents(self) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """Return neighbours and weights as they are on the device now."""
        return self._backend.download(self.neighbours), self._backend.download(self.weights)

    def reach(self, bound: int) -> None:
        """Make room for words of vertices below a bound, at least doubling it."""
        for inward, held in enumerate(self.held):
            if bound > len(held):
                grown = self._backend.full(max(bound, 2 * len(held)), NOT_HELD, np.int64)
                self._backend.copy(self._backend.part(grown, 0, len(held)), held)
                self.held[inward] = grown

    def carry_out(self, plan: Plan, snapshot: Snapshot) -> Counters:
        """Move copies, then load lists, then tell where all are; return what crossed the link for that."""
        self.reach(snapshot.bound)
        self._move(plan)
        sides = ((inward, plan.loaded[plan.loaded & 1 == inward]) for inward in (0, 1))
        loads = sum((self._load(inward, places, snapshot) for inward, places in sides), Counters())
        self.tell()
        return loads

    def prepare(self, step: Step, mutations: Mutations, filling: Places, found: NDArray[np.uint8]) -> None:
        """Do what must be done before lists are read: those that `filling` names still lack all but so many arrays."""
        self._move(step.plan)
        self._mend(step, mutations)
        self.tell(filling, found)
        # By the next walk they are there.
        self._holdings.chunks.note(filling)

    def tell(self, filling: Places | None = None, found: NDArray[np.uint8] | None = None) -> None:
        """Send the words of all lists that have changed; those being filled have so many arrays as yet."""
        noted = self._holdings.chunks.noted
        if not noted:
            return
        places = np.unique(np.concatenate(noted))
        noted.clear()
        positions = self._holdings.chunks.positions[places]
        arrays = np.where(self._holdings.stale_sectors[places] > 0, 0, self._holdings.copied[places]).astype(
            np.int64
        )
        if filling is not None and found is not None:
            arrays[np.searchsorted(places, filling)] = found
        words = np.where(positions == NOWHERE, NOT_HELD, positions << ARRAY_BITS | arrays)
        for inward, held in enumerate(self.held):
            side = places & 1 == inward
            if side.any():
                vertices = (places[side] >> 1).astype(np.int32)
                self._launch("hold", (vertices, words[side]), held)

    def take_counts(self, touched: Any, count: int, accesses: Any, counts: Any) -> None:
        """Move the bytes of the lists that were touched to `counts`, and clear them."""
        self._launch("take_counts", (), touched, np.int64(count), accesses, counts)

    def _move(self, plan: Plan) -> None:
        """Move lists through memory of two chunks at most, and as much as has outgrown its slot."""
        last = len(plan.moved) - plan.outgrown
        aside = self._take(plan, slice(last, None))
        portions = (
            (np.cumsum(plan.lengths[:last]) - 1) // self._holdings.chunks.chunk if last else np.empty(0)
        )
        for bounds in pairwise([0, *(np.flatnonzero(np.diff(portions)) + 1), last]):
            portion = slice(*bounds)
            self._put(plan, portion, self._take(plan, portion))
        self._put(plan, slice(last, None), aside)

    def _take(self, plan: Plan, portion: slice) -> list[Any]:
        """Return the lists of a part of a plan, one behind the other, for each array of copies."""
        lengths = plan.lengths[portion]
        taken = [self._backend.empty(int(lengths.sum()), array.dtype) for array in self._arrays()]
        for array, between in zip(self._arrays(), taken, strict=True):
            columns = _bounds(lengths), plan.sources[portion], _bounds(lengths)
            self._copy_stretches(*columns, array, between)
        return taken

    def _put(self, plan: Plan, portion: slice, taken: list[Any]) -> None:
        """Write them to where they go."""
        lengths = plan.lengths[portion]
        for array, between in zip(self._arrays(), taken, strict=True):
            columns = _bounds(lengths), _bounds(lengths), plan.targets[portion]
            self._copy_stretches(*columns, between, array)

    def _copy_stretches(
        self,
        bounds: NDArray[np.int64],
        sources: NDArray[np.int64],
        targets: NDArray[np.int64],
        source: Any,
        target: Any,
    ) -> None:
        if bounds[-1]:
            self._launch("copy_stretches", (bounds, sources, targets), source, target)

    def _arrays(self) -> tuple[Any, ...]:
        return (self.neighbours, self.weights)[: self._holdings.arrays]

    def _mend(self, step: Step, mutations: Mutations) -> None:
        if not len(step.patched):
            return
        records = mutations.since(step.patched, step.missed_from)
        columns = (
            step.patched_at,
            step.patched_length,
            *records._replace(weights=records.weights.astype(self.weights.dtype, copy=False)),
        )
        self._launch("mend", columns, self.neighbours, self.weights)

    def _load(self, inward: int, places: Places, snapshot: Snapshot) -> Counters:
        """Let a walk over lists of one direction leave their copies behind; return what that took."""
        if not len(places):
            return Counters()
        backend, count = self._backend, len(places)
        lists = snapshot.in_ if inward else snapshot.out
        assert lists is not None
        vertices = places >> 1
        # The walk is over these lists and no others, so its vertices are their numbers here.
        known = DeviceLists(
            backend.upload(lists.starts[vertices]),
            backend.upload(lists.degrees[vertices]),
            *self._seen(inward, lists),
            backend.upload(self._holdings.chunks.positions[places] << ARRAY_BITS),
            self.neighbours,
            self.weights,
        )
        reading = new_reading(backend, backend.empty(count, np.int32))
        items, bounds = backend.upload(np.arange(count, dtype=np.int32)), backend.upload(np.array([0, count]))
        where = known, reading, known, np.int64(inward)
        backend.launch(self._kernels.load.walk, *where, items, bounds, np.int64(0))
        backend.launch(self._kernels.load.walk_long, *where)
        read = counters_of(backend.download(reading.tallies))
        return replace(read, edges=0, lists=0, loads=count, load_bytes=read.bytes)

    def _seen(self, inward: int, lists: Lists) -> tuple[Any, Any]:
        """Return the store's edges as kernels read them."""
        source, neighbours, weights = self._edges[inward]
        if neighbours is None or source.ctypes.data != lists.neighbours.ctypes.data:
            stored = lists.weights if self._holdings.arrays > 1 else self._no_weights()
            neighbours = self._backend.edges(lists.neighbours, self._transfer)
            weights = self._backend.edges(stored, self._transfer)
            self._edges[inward] = lists.neighbours, neighbours, weights
        return neighbours, weights

    def _no_weights(self) -> NDArray[Any]:
        return np.empty(0, self.weights.dtype)

    def _launch(self, name: str, sent: tuple[NDArray[Any], ...], *arguments: Any) -> None:
        """Launch a kernel on columns that are sent to it, and on what is there."""
        self._backend.launch(getattr(self._kernels, name), *map(self._backend.upload, sent), *arguments)


def _bounds(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where stretches of these lengths begin when they lie end to end, and where the last one ends."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
