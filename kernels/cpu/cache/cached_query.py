"""`CachedQuery`: a cache between a query and the link, without a change to any kernel."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.cache import CacheSettings, HotCache
from grapin.counters import Counters
from grapin.graph.applied import Applied
from grapin.graph.snapshot import Snapshot
from grapin.kernels.cpu.cache.copies import HostCopies
from grapin.kernels.device_cache import OUTWARD, DeviceCache, has_own_in_lists
from grapin.trace import whole_reads
from grapin.work import Query, Work


class HostCache(DeviceCache):
    """The cache of an engine on the CPU; it is told what was read when that is done."""

    copies: HostCopies

    def __init__(self, settings: CacheSettings, *, arrays: int, weight_dtype: Any) -> None:
        hot = HotCache(settings, arrays=arrays)
        super().__init__(hot, HostCopies(hot, weight_dtype))

    def attach(self, query: Query) -> Query:
        """Return the query with its reads passing through the cache."""
        return CachedQuery(query, self)

    def read(self, rows: NDArray[np.int64], snapshot: Snapshot) -> tuple[NDArray[np.uint8], Counters]:
        """Take in what a phase read; return how many arrays of each row were held, and what was counted."""
        whole = whole_reads(rows, snapshot)
        if not has_own_in_lists(snapshot):
            rows = rows.copy()
            rows[:, 1] &= OUTWARD
        observed = self.hot.observe(rows, whole)
        for step in observed.steps:
            self.copies.follow(step, snapshot, self.mutations)
        return observed.held, observed.counters


class CachedQuery:
    """A query whose reads pass through a cache: values are the query's own, counters say what crossed the link."""

    def __init__(self, query: Query, cache: HostCache) -> None:
        self._query = query
        self._cache = cache

    def start(self, snapshot: Snapshot, *, tracing: bool) -> Work:
        """Compute the values from nothing."""
        loads = self._cache.begin(snapshot, None)
        return self._cached(self._query.start(snapshot, tracing=True), snapshot, loads, tracing=tracing)

    def repair(self, snapshot: Snapshot, applied: Applied, *, tracing: bool) -> Work:
        """Bring the values up to date with what a batch changed."""
        loads = self._cache.begin(snapshot, applied)
        work = self._query.repair(snapshot, applied, tracing=True)
        return self._cached(work, snapshot, loads, tracing=tracing)

    def values(self) -> NDArray[Any]:
        """Return the value of each vertex."""
        return self._query.values()

    def parents(self) -> NDArray[np.int32]:
        """Return the vertex each value came from."""
        return self._query.parents()

    def reached(self, vertex: int) -> bool:
        """Tell whether a vertex has a value."""
        return self._query.reached(vertex)

    def memory(self) -> dict[str, int]:
        """Return the bytes of vertex state by part."""
        return self._query.memory()

    def _cached(self, work: Work, snapshot: Snapshot, loads: Counters, *, tracing: bool) -> Work:
        assert work.reads is not None
        held, counters = self._cache.read(work.reads, snapshot)
        return replace(
            work,
            counters=loads + counters,
            reads=work.reads if tracing else None,
            cached=held >= work.reads[:, 4] if tracing else None,
        )
