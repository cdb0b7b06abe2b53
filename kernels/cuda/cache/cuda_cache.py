"""`CudaCache` and `CachedReads`: how the reads of kernels pass through a cache in the device's memory.

A policy that decides before phases leaves kernels alone: their leading lanes find in one word per list whether there is
a copy, and count reads in one byte per list, as in the paper; the bytes of the lists that were read are taken when the
phase ends. A policy that fills copies on first use is asked before every walk. The vertices to be read are known by
then, and sent to the host, which decides and sends back the words that change. The walk then reads from copies, and
leaves behind what it reads from the host. So copies cost no traffic, and what crosses the link is what the bookkeeping
says; what that costs is that the host looks at every round.
"""

from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from grapin.cache import CacheSettings, HotCache
from grapin.counters import Counters, Work
from grapin.device import Query
from grapin.graph.change import Applied
from grapin.graph.snapshot import Lists, Snapshot
from grapin.kernels.cache import OUTWARD, DeviceCache, has_own_in_lists
from grapin.kernels.cuda.backend import Backend
from grapin.kernels.cuda.cache.copies import DeviceCopies
from grapin.kernels.cuda.lists import TOUCHED, TRACE_FIELDS, Reading
from grapin.system import Transfer


@runtime_checkable
class Cacheable(Query, Protocol):
    """A query that can be told to read through a cache."""

    def read_through(self, cache: "CudaCache") -> None:
        """Let all reads pass through the cache from now on; before the first of them."""


class CudaCache(DeviceCache):
    """The cache of an engine, in the memory of a backend."""

    copies: DeviceCopies

    def __init__(
        self,
        backend: Backend,
        settings: CacheSettings,
        transfer: Transfer,
        *,
        arrays: int,
        weight_dtype: Any,
        **sizes: Any,
    ) -> None:
        hot = HotCache(settings, arrays=arrays)
        super().__init__(hot, DeviceCopies(backend, hot, transfer, weight_dtype, **sizes))
        self.backend = backend
        self.accesses = backend.empty(0, np.uint8)
        """One byte a list: how often the phase under way has read it; all 0 between phases."""
        self.touched = backend.empty(0, np.uint32)
        """Room for the place numbers of the lists that it reads."""

    def attach(self, query: Query) -> Query:
        """Return the query, reading through the cache."""
        assert isinstance(query, Cacheable)
        query.read_through(self)
        return query

    def nbytes(self) -> int:
        """Return the bytes of device memory."""
        return self.copies.nbytes + int(self.accesses.nbytes + self.touched.nbytes)

    def reads(self, snapshot: Snapshot, applied: Applied | None) -> "CachedReads":
        """Prepare for a version, once, and begin the phase of one query."""
        loads = self.begin(snapshot, applied)
        if not self.hot.policy.on_first_use and 2 * snapshot.bound > len(self.accesses):
            room = max(2 * snapshot.bound, 2 * len(self.accesses))
            self.accesses = self.backend.full(room, 0, np.uint8)
            self.touched = self.backend.empty(room, np.uint32)
        return CachedReads(self, snapshot, loads)


class CachedReads:
    """The reads of one query at one version."""

    def __init__(self, cache: CudaCache, snapshot: Snapshot, loads: Counters) -> None:
        self._cache = cache
        self._snapshot = snapshot
        self._loads = loads
        self._one_list = not has_own_in_lists(snapshot)
        self._rows = [np.empty((0, TRACE_FIELDS), np.int64)]
        self._whole = [np.empty(0, np.bool_)]
        self._held = [np.empty(0, np.uint8)]
        self._phase = cache.hot.phase() if cache.hot.policy.on_first_use else None

    @property
    def stepwise(self) -> bool:
        """Whether the host must be asked before every walk."""
        return self._phase is not None

    def counted_by(self, reading: Reading) -> Reading:
        """Return what is kept of reads, with a byte a list where those are wanted."""
        if self.stepwise:
            return reading
        return reading._replace(accesses=self._cache.accesses, touched=self._cache.touched)

    def before(self, vertices: NDArray[np.int32], inward: int, iteration: int, arrays: int) -> None:
        """Decide about the whole lists that a walk is about to read, and have their copies and words ready."""
        lists = self._lists(inward)
        # Which warp queued a vertex first is chance; what is held should not be.
        vertices = np.sort(vertices[lists.degrees[vertices] > 0])
        rows = np.empty((len(vertices), TRACE_FIELDS), np.int64)
        rows[:, 0], rows[:, 4] = iteration, arrays
        rows[:, 1] = 2 * vertices.astype(np.int64) + inward
        rows[:, 2], rows[:, 3] = lists.starts[vertices], lists.degrees[vertices]
        self._take(rows, whole=True)

    def before_peeks(self, vertices: NDArray[np.int32], inward: int, iteration: int) -> None:
        """Have copies and words ready for a walk over these lists that may stop early and changes nothing."""
        assert self._phase is not None
        copies = self._cache.copies
        if self._lists(inward).degrees[vertices].any():
            copies.carry_out(self._phase.open(iteration), self._snapshot)
        else:
            copies.tell()

    def after_peeks(self, rows: NDArray[np.int64]) -> None:
        """Take in what such a walk read."""
        self._take(rows, whole=False)

    def end(self, work: Work, reading: Reading, *, tracing: bool) -> Work:
        """End the phase; return the work with all that crossed the link, and with where each list was read from."""
        if self._phase is not None:
            patches = Counters(patch_bytes=self._phase.end().counters.patch_bytes)
            self._cache.copies.tell()
            rows, whole = np.concatenate(self._rows), np.concatenate(self._whole)
            held = np.concatenate(self._held)
        else:
            self._count(reading)
            patches, whole = Counters(), None
            rows = np.empty((0, TRACE_FIELDS), np.int64) if work.reads is None else work.reads
            held = self._known(rows[:, 1])
        work = replace(work, counters=self._loads + work.counters + patches)
        return replace(work, reads=rows, whole=whole, cached=held >= rows[:, 4]) if tracing else work

    def _lists(self, inward: int) -> Lists:
        lists = self._snapshot.in_ if inward and not self._one_list else self._snapshot.out
        assert lists is not None
        return lists

    def _take(self, rows: NDArray[np.int64], *, whole: bool) -> None:
        assert self._phase is not None
        cache = self._cache
        these = np.full(len(rows), whole)
        decided = rows
        if self._one_list:
            decided = rows.copy()
            decided[:, 1] &= OUTWARD
        held, steps = self._phase.read(decided, these)
        for step in steps:  # a walk is of one iteration, so there is one, or none where nothing is read
            missing = np.isin(decided[:, 1], step.filled)
            cache.copies.prepare(step, cache.mutations, decided[missing, 1], held[missing])
        self._rows.append(rows)
        self._whole.append(these)
        self._held.append(held)

    def _known(self, places: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return how many arrays of these lists the device holds, which is the same throughout the phase."""
        copied = self._cache.hot.holdings.copied
        places = places & OUTWARD if self._one_list else places
        known: NDArray[np.uint8] = np.append(copied, np.uint8(0))[np.minimum(places, len(copied))]
        return known

    def _count(self, reading: Reading) -> None:
        """Take the bytes of the lists that were read, and clear them."""
        cache, backend = self._cache, self._cache.backend
        count = int(backend.download(reading.progress)[TOUCHED])
        if not count:
            return
        counts = backend.empty(count, np.uint8)
        cache.copies.take_counts(cache.touched, count, cache.accesses, counts)
        places = backend.download(backend.part(cache.touched, 0, count)).astype(np.int64)
        places = places & OUTWARD if self._one_list else places
        places, number = np.unique(places, return_inverse=True)
        times = np.bincount(number, weights=backend.download(counts)).astype(np.int64)
        starts, lengths = np.empty((2, len(places)), np.int64)
        for inward, lists in enumerate((self._snapshot.out, self._snapshot.in_)):
            side = places & 1 == inward
            if lists is not None and side.any():
                starts[side], lengths[side] = (
                    lists.starts[places[side] >> 1],
                    lists.degrees[places[side] >> 1],
                )
        cache.hot.count(places, starts, lengths, times)
