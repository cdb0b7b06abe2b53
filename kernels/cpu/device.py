"""The device `cpu`: always there, and the default where there is no GPU.

Its cache is a second array in host memory, which stands for a device's; plans are carried out element by element.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.cache import CacheSettings, HotCache, Plan
from grapin.cache.records import Mutations, Records, Step, ranges
from grapin.counters import Counters, Work
from grapin.device import Query
from grapin.errors import InvalidArgument
from grapin.graph.change import Applied
from grapin.graph.snapshot import Lists, Snapshot
from grapin.kernels.cache import OUTWARD, DeviceCache, has_own_in_lists
from grapin.kernels.cpu.accumulative.query import AccumulativeQuery
from grapin.kernels.cpu.monotone.query import MonotoneQuery
from grapin.kernels.cpu.triangles import TriangleQuery
from grapin.programs import Accumulative, Monotone, Program, Triangles
from grapin.system import System
from grapin.trace import whole_reads


class HostCopies:
    """Neighbours and weights of cached lists, each list where `HotCache.positions` says."""

    def __init__(self, hot: HotCache, weight_dtype: Any) -> None:
        self._hot = hot
        capacity = hot.holdings.chunks.capacity
        self.neighbours = np.empty(capacity, np.int32)
        self.weights = np.empty(capacity if hot.holdings.arrays > 1 else 0, weight_dtype or np.int32)

    @property
    def nbytes(self) -> int:
        """Bytes of device memory."""
        return self.neighbours.nbytes + self.weights.nbytes

    def contents(self) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """Return neighbours and weights as they are now."""
        return self.neighbours, self.weights

    def carry_out(self, plan: Plan, snapshot: Snapshot) -> Counters:
        """Move copies, then load lists; return what crossed the link for that."""
        self._move(plan)
        self._copy(plan.loaded, self._hot.positions[plan.loaded], snapshot)
        return plan.counters

    def follow(self, step: Step, snapshot: Snapshot, mutations: Mutations) -> None:
        """Do to copies what a stretch of reads did."""
        self.carry_out(step.plan, snapshot)
        records = mutations.since(step.patched, step.missed_from)
        for entry, (position, length) in enumerate(zip(step.patched_at, step.patched_length, strict=True)):
            self._patch(int(position), int(length), records, entry)
        self._copy(step.filled, step.filled_at, snapshot)

    def _move(self, plan: Plan) -> None:
        sources, targets = ranges(plan.sources, plan.lengths), ranges(plan.targets, plan.lengths)
        for array in (self.neighbours, self.weights)[: self._hot.holdings.arrays]:
            array[targets] = array[sources]

    def _copy(self, places: NDArray[np.int64], positions: NDArray[np.int64], snapshot: Snapshot) -> None:
        """Write lists as they are on the host to these positions."""
        for inward, lists in enumerate((snapshot.out, snapshot.in_)):
            side = places & 1 == inward
            if lists is not None and side.any():
                self._copy_side(places[side] >> 1, positions[side], lists)

    def _copy_side(self, vertices: NDArray[np.int64], positions: NDArray[np.int64], lists: Lists) -> None:
        lengths = lists.degrees[vertices].astype(np.int64)
        sources, targets = ranges(lists.starts[vertices], lengths), ranges(positions, lengths)
        self.neighbours[targets] = lists.neighbours[sources]
        if len(self.weights):
            self.weights[targets] = lists.weights[sources]

    def _patch(self, position: int, length: int, records: Records, entry: int) -> None:
        """Apply to one copy what it has missed: take out, overwrite, or append."""
        end = position + length
        for record in range(*records.bounds[entry : entry + 2]):
            neighbour = records.neighbours[record]
            leaves = neighbour < 0
            found = np.flatnonzero(self.neighbours[position:end] == (~neighbour if leaves else neighbour))
            at = position + int(found[0]) if len(found) else end
            if leaves:
                end -= 1
                self.neighbours[at] = self.neighbours[end]
            else:
                self.neighbours[at] = neighbour
            if len(self.weights):
                self.weights[at] = self.weights[end] if leaves else records.weights[record]
            end += not leaves and at == end


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
        """Compute the values from scratch."""
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


name = "cpu"


def unavailable() -> str | None:
    """Return None: every machine has a CPU."""
    return None


def query(program: Program, system: System, *, weight_dtype: Any, directed: bool, threads: int) -> Query:
    """Prepare one program for graphs with these weights."""
    if isinstance(program, Monotone):
        return MonotoneQuery(program, system, weight_dtype=weight_dtype, directed=directed, threads=threads)
    if isinstance(program, Accumulative):
        return AccumulativeQuery(program, system, weight_dtype=weight_dtype, threads=threads)
    if isinstance(program, Triangles):
        return TriangleQuery(program, system)
    raise InvalidArgument(f"program={program!r} must be a Monotone or an Accumulative program")


def cache(settings: CacheSettings, system: System, *, arrays: int, weight_dtype: Any) -> HostCache:  # noqa: ARG001
    """Return an empty cache; how the system moves data makes no difference to a second array."""
    return HostCache(settings, arrays=arrays, weight_dtype=weight_dtype)
