"""`DeviceCache` and `CachedQuery`: a cache between a query and the link, without a change to any kernel."""

from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.cache import CacheSettings, HotCache
from grapin.counters import Counters
from grapin.graph.applied import Applied
from grapin.graph.snapshot import Snapshot
from grapin.kernels.cpu.cache.copies import Copies
from grapin.kernels.cpu.cache.mutations import Mutations
from grapin.trace import changed_lists
from grapin.work import Query, Work

OUTWARD = ~1
"""Where a graph has no in-lists of its own, a vertex has one list, whichever way it is read."""


class DeviceCache:
    """The cache of one engine: its bookkeeping, and the copies themselves; shared by the engine's queries."""

    def __init__(self, settings: CacheSettings, *, arrays: int, weight_dtype: Any) -> None:
        self.hot = HotCache(settings, arrays=arrays)
        self.copies = Copies(self.hot, weight_dtype)
        self._version: int | None = None

    def about(self) -> dict[str, Any]:
        """Return how the cache was made, as plain values."""
        return asdict(self.hot.settings) | {"arrays": self.hot.holdings.arrays}

    def begin(self, snapshot: Snapshot, applied: Applied | None) -> Counters:
        """Prepare for a version, once, whichever query comes first; return what crossed the link for that."""
        if snapshot.version == self._version:
            return Counters()
        self._version = snapshot.version
        if applied is None:
            nothing = np.empty(0, np.int64)
            plan = self.hot.begin(nothing, nothing, nothing, nothing)
        else:
            _, vertices, inward, starts, lengths, mutations = changed_lists(snapshot, applied)
            plan = self.hot.begin(2 * vertices.astype(np.int64) + inward, starts, lengths, mutations)
            inward_too = snapshot.in_ is not None and snapshot.in_ is not snapshot.out
            weights = self.hot.holdings.arrays > 1
            self.copies.keep(self.hot.holdings.batch, Mutations(applied, inward=inward_too, weights=weights))
        self.copies.carry_out(plan, snapshot)
        return plan.counters

    def read(self, rows: NDArray[np.int64], snapshot: Snapshot) -> tuple[NDArray[np.uint8], Counters]:
        """Take in what a phase read; return how many arrays of each row were held, and what was counted."""
        if snapshot.in_ is None or snapshot.in_ is snapshot.out:
            rows = rows.copy()
            rows[:, 1] &= OUTWARD
        observed = self.hot.observe(rows)
        for step in observed.steps:
            self.copies.follow(step, snapshot)
        return observed.held, observed.counters


class CachedQuery:
    """A query whose reads pass through a cache: values are the query's own, counters say what crossed the link."""

    def __init__(self, query: Query, cache: DeviceCache) -> None:
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
