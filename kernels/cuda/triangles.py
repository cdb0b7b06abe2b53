"""Triangles on a GPU: the neighbours of each end of a changed pair become a table, and tables of two ends are compared.

A table is open addressing in a stretch of one array, twice as long as the list at least: so neighbours are told apart
whether they came from out-lists, in-lists or the pairs that a batch parted, and lists may be in any order. Lists are
read once, as all programs read them (`walk.py`); what follows happens in the device's memory.

From scratch every vertex has a table of those neighbours only whose lists are longer, and is compared with each of
them: by one warp (the naive form of faimGraph), or by a warp for each piece of a table (its balanced form), so that a
hub is not left to one.

The order of kernels, and what is kept between batches: `TriangleQuery`.
"""

from types import SimpleNamespace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from grapin.batch import edge_keys
from grapin.counters import Work
from grapin.graph.change import Applied
from grapin.graph.snapshot import Snapshot
from grapin.kernels.cuda.backend import Backend, bind_functions
from grapin.kernels.cuda.cache.cuda_cache import CachedReads, CudaCache
from grapin.kernels.cuda.index import ListIndex
from grapin.kernels.cuda.lists import (
    ITERATION,
    LONG_LISTS,
    TRACE_FIELDS,
    TRACED,
    DeviceLists,
    Reading,
    counters_of,
    new_reading,
)
from grapin.kernels.cuda.walk import bind_walk
from grapin.kernels.cuda.warp import WARP, lane_id, warp_sum
from grapin.kernels.triangles import MADE, PARTED, Pairs, changed_pairs
from grapin.programs.triangles import Triangles
from grapin.system import Repair, System

EMPTY = -1
"""A place of a table without a neighbour."""
PIECE = 32
"""Places of a table that one warp goes through in the balanced form: a page of faimGraph holds as many bytes."""
SPREAD = 0x9E3779B1  # the golden ratio of 2**32, Knuth, The Art of Computer Programming, vol. 3, 6.4
LOW = 0xFFFFFFFF
"""The lower half of a key."""
RUN, CHANGED, CONTROLS = range(3)
"""Places in `control`: the number of the run; of how many vertices it changed the count."""
LENGTH_BITS, LENGTH_MASK = 6, 63
"""Where a table is, in one number: the last bits are the logarithm of its length, before them is its start."""


class Tables(NamedTuple):
    """The state of the program, and the tables of one run."""

    counts: Any
    """By vertex, int64."""
    seen: Any
    """By vertex: the last run that changed its count."""
    control: Any
    ranks: Any
    """By vertex: its place in the order of lengths of lists, where tables are of longer lists only; else length 0."""
    ends: Any
    """The vertices that have a table, ascending."""
    starts: Any
    """Beside `ends` and one more: where each table begins; all lengths are powers of two."""
    entries: Any
    pair_keys: Any
    """The changed pairs (`kernels/triangles.py`): the end in the upper half, the other in the lower."""
    pair_numbers: Any
    pair_signs: Any


def first_at_least(array: Any, value: Any) -> Any:
    """Return the first place of an ascending array with this value or more."""
    low, high = np.int64(0), np.int64(array.size)
    while low < high:
        middle = (low + high) // 2
        if array[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


def insert(state: Tables, where: Any, vertex: Any) -> None:
    """Put a vertex into a table, if it is not there; `where` is what `begin` returns."""
    start, mask = where >> LENGTH_BITS, (np.int64(1) << (where & LENGTH_MASK)) - 1
    place = np.int64(vertex) * SPREAD >> 5 & mask
    found = cuda.atomic.cas(state.entries, start + place, np.int32(EMPTY), np.int32(vertex))
    while found != EMPTY:
        if found == vertex:
            return
        place = (place + 1) & mask
        found = cuda.atomic.cas(state.entries, start + place, np.int32(EMPTY), np.int32(vertex))


def is_in(state: Tables, table: Any, vertex: Any) -> Any:
    """Tell whether a table has a vertex."""
    start, length = state.starts[table], state.starts[table + 1] - state.starts[table]
    place = np.int64(vertex) * SPREAD >> 5 & (length - 1)
    while state.entries[start + place] != EMPTY:
        if state.entries[start + place] == vertex:
            return True
        place = (place + 1) & (length - 1)
    return False


def stands(state: Tables, end: Any, other: Any, number: Any, sign: Any) -> Any:
    """Tell whether a side counts with the pair of this number: it did not change, or alike and later."""
    key = np.int64(end) << 32 | np.int64(other)
    row = first_at_least(state.pair_keys, key)
    if row == state.pair_keys.size or state.pair_keys[row] != key:
        return True
    return state.pair_signs[row] == sign and state.pair_numbers[row] > number


def closes(state: Tables, here: Any, there: Any, table: Any, third: Any, number: Any, sign: Any) -> Any:
    """Tell whether a neighbour of `here` makes a triangle with `there`, whose table this is, to be counted with it."""
    if third == there or not is_in(state, table, third):
        return False
    return stands(state, here, third, number, sign) and stands(state, there, third, number, sign)


def add_triangles(state: Tables, vertex: Any, count: Any) -> None:
    """Add to the count of a vertex."""
    cuda.atomic.add(state.counts, vertex, np.int64(count))
    if cuda.atomic.max(state.seen, vertex, np.int32(state.control[RUN])) < state.control[RUN]:
        cuda.atomic.add(state.control, CHANGED, np.int64(1))


def compare(state: Tables, one: Any, other: Any, number: Any, sign: Any) -> None:
    """Add the triangles of one pair to all corners; `one` and `other` are the tables of its ends."""
    small, large = one, other
    if state.starts[one + 1] - state.starts[one] > state.starts[other + 1] - state.starts[other]:
        small, large = other, one
    here, there = state.ends[small], state.ends[large]
    found = np.int64(0)
    place = state.starts[small] + lane_id()
    while place < state.starts[small + 1]:
        third = state.entries[place]
        if third != EMPTY and closes(state, here, there, large, third, number, sign):
            add_triangles(state, third, sign)
            found += 1
        place += WARP
    found = warp_sum(found)
    if found > 0 and lane_id() == 0:
        add_triangles(state, here, found * sign)
        add_triangles(state, there, found * sign)


def begin(state: Tables, vertex: Any) -> Any:
    """Return where the table of a vertex is whose list is read: its start, and its length as a power of two."""
    table = first_at_least(state.ends, vertex)
    start, length = state.starts[table], state.starts[table + 1] - state.starts[table]
    bits = np.int64(0)
    while np.int64(1) << bits < length:
        bits += 1
    return start << LENGTH_BITS | bits


def visit(
    state: Tables,
    vertex: Any,
    value: Any,
    other: Any,
    weight: Any,  # noqa: ARG001  (`walk.py` says what visits are given)
    inside: Any,
    found: Any,
) -> Any:
    """Put a neighbour into the table."""
    if inside and other != vertex and (state.ranks.size == 0 or state.ranks[other] > state.ranks[vertex]):
        insert(state, value, other)
    return found


def add_parted(state: Tables) -> None:
    """Put into the tables those that were neighbours before the batch."""
    for row in range(cuda.grid(1), state.pair_keys.size, cuda.gridsize(1)):
        if state.pair_signs[row] == PARTED:
            key = state.pair_keys[row]
            insert(state, begin(state, key >> 32), np.int32(key & LOW))


def count_pairs(state: Tables) -> None:
    """Count the triangles that the changed pairs make, and were in; a warp takes a pair."""
    for row in range(cuda.grid(1) // WARP, state.pair_keys.size, cuda.gridsize(1) // WARP):
        end, other = state.pair_keys[row] >> 32, state.pair_keys[row] & LOW
        if end < other:
            one, two = first_at_least(state.ends, end), first_at_least(state.ends, other)
            compare(state, one, two, state.pair_numbers[row], state.pair_signs[row])


def count_all(state: Tables, balanced: Any) -> None:
    """Count all triangles: a warp takes a table, or a piece of all, and compares its vertex with all in there."""
    units = (state.entries.size + PIECE - 1) // PIECE if balanced else state.ends.size
    for unit in range(cuda.grid(1) // WARP, units, cuda.gridsize(1) // WARP):
        table = np.int64(unit)
        if balanced:
            table = first_at_least(state.starts, np.int64(unit) * PIECE + 1) - 1
        place = np.int64(unit) * PIECE if balanced else state.starts[table]
        last = min(place + PIECE, np.int64(state.entries.size)) if balanced else state.starts[table + 1]
        while place < last:
            while state.starts[table + 1] <= place:
                table += 1
            other = state.entries[place]
            if other != EMPTY:
                compare(state, table, first_at_least(state.ends, other), 0, MADE)
            place += 1


FUNCTIONS = (first_at_least, insert, is_in, stands, closes, add_triangles, compare, begin, visit)
KERNELS = (add_parted, count_pairs, count_all)

_bound: WeakKeyDictionary[Any, dict[tuple[Any, ...], SimpleNamespace]] = WeakKeyDictionary()


def bind_triangles(backend: Backend, *, cached: bool, **sizes: Any) -> SimpleNamespace:
    """Return the kernels by name; `sizes` may set `SHORT` and `LONG` of `walk.py`."""
    made = _bound.setdefault(backend.compiler, {})
    name = cached, *sorted(sizes.items())
    if name not in made:
        names = bind_functions(backend, FUNCTIONS, **sizes)
        made[name] = SimpleNamespace(
            fill=bind_walk(backend, "triangles", weights=False, cached=cached, **names),
            **{one.__name__: backend.kernel(one, "triangles", **names) for one in KERNELS},
        )
    return made[name]


class TriangleQuery:
    """The triangles of each vertex, kept up to date on a device.

    In its `Work`, `changed` counts the vertices of which a triangle came or went, each once.
    """

    def __init__(
        self, backend: Backend, program: Triangles, system: System, *, balanced: bool = True, **sizes: Any
    ) -> None:
        self.program = program
        self._recomputes = system.repair is Repair.RECOMPUTE
        self._backend = backend
        self._balanced = balanced
        self._sizes = sizes
        self._kernels = bind_triangles(backend, cached=False, **sizes)
        self._index = ListIndex(backend, system.transfer, weights=False)
        self._counts, self._seen = backend.full(0, 0, np.int64), backend.full(0, 0, np.int32)
        self._cache: CudaCache | None = None
        self._bound = 0
        self._runs = 0

    def read_through(self, cache: CudaCache) -> None:
        """Let all reads pass through the cache from now on; before the first of them."""
        self._cache = cache
        self._index.copies = cache.copies
        self._kernels = bind_triangles(self._backend, cached=True, **self._sizes)

    def start(self, snapshot: Snapshot, *, tracing: bool) -> Work:
        """Count all triangles."""
        self._follow(snapshot, None)
        return self._restart(snapshot, None, tracing=tracing)

    def repair(self, snapshot: Snapshot, applied: Applied, *, tracing: bool) -> Work:
        """Count the triangles that a batch made and parted."""
        self._follow(snapshot, applied)
        if self._recomputes:
            return self._restart(snapshot, applied, tracing=tracing)
        pairs = changed_pairs(snapshot, applied)
        ends, parted = np.unique(pairs.ends, return_inverse=True)
        parted = np.bincount(parted, weights=pairs.signs == PARTED, minlength=len(ends))
        run = self._run(snapshot, applied, ends, _sizes(snapshot)[ends] + parted, pairs, tracing=tracing)
        run.fill()
        self._backend.launch(self._kernels.add_parted, run.state)
        self._backend.launch(self._kernels.count_pairs, run.state)
        return run.work(dense=False)

    def values(self) -> NDArray[np.int64]:
        """Return the triangles of each vertex below the bound."""
        return self._backend.download(self._backend.part(self._counts, 0, self._bound))

    def parents(self) -> NDArray[np.int32]:
        """Return -1 for each vertex: a count comes from nowhere."""
        return np.full(self._bound, -1, np.int32)

    def reached(self, vertex: int) -> bool:
        """Every vertex has a count."""
        return vertex < self._bound

    def memory(self) -> dict[str, int]:
        """Return the bytes on the device by part; tables are there during a batch only."""
        return {"counts": int(self._counts.nbytes), "seen": int(self._seen.nbytes)} | self._index.memory()

    def _follow(self, snapshot: Snapshot, applied: Applied | None) -> None:
        """Make room for vertices below the bound, at least doubling it, and learn where lists are."""
        backend, room = self._backend, len(self._counts)
        if snapshot.bound > room:
            room = max(snapshot.bound, 2 * room)
            larger = backend.full(room, 0, np.int64), backend.full(room, 0, np.int32)
            for before, after in zip((self._counts, self._seen), larger, strict=True):
                backend.copy(backend.part(after, 0, len(before)), before)
            self._counts, self._seen = larger
        self._bound = snapshot.bound
        self._index.update(snapshot, applied)

    def _restart(self, snapshot: Snapshot, applied: Applied | None, *, tracing: bool) -> Work:
        # Of longer lists there are few: n vertices with at least d neighbours each have at least n d ends of edges.
        sizes = _sizes(snapshot)
        most = int(np.sqrt(sizes.sum(dtype=np.int64))) + 1
        ends = np.arange(snapshot.bound, dtype=np.int32)
        self._backend.fill(self._counts, 0)
        run = self._run(snapshot, applied, ends, np.minimum(sizes, most), None, tracing=tracing)
        run.fill()
        self._backend.launch(self._kernels.count_all, run.state, self._balanced)
        return run.work(dense=True)

    def _run(
        self,
        snapshot: Snapshot,
        applied: Applied | None,
        ends: NDArray[np.int32],
        sizes: NDArray[Any],
        pairs: Pairs | None,
        *,
        tracing: bool,
    ) -> "_Run":
        self._runs += 1
        backend, index = self._backend, self._index
        starts = np.zeros(len(ends) + 1, np.int64)
        np.cumsum(_table_lengths(sizes), out=starts[1:])
        nothing = np.empty(0, np.int32)
        keys = edge_keys(nothing, nothing) if pairs is None else edge_keys(pairs.ends, pairs.others)
        columns = [nothing, nothing] if pairs is None else [pairs.numbers, pairs.signs]
        state = Tables(
            self._counts,
            self._seen,
            backend.upload(np.array([self._runs, 0], np.int64)),
            backend.upload(nothing if pairs is not None else _ranks(snapshot)),
            backend.upload(ends),
            backend.upload(starts),
            backend.full(int(starts[-1]), EMPTY, np.int32),
            backend.upload(keys),
            *map(backend.upload, columns),
        )
        cached = None if self._cache is None else self._cache.reads(snapshot, applied)
        lists = [index.out] if _has_one_list(snapshot) else [index.out, index.in_]
        return _Run(backend, self._kernels.fill, state, ends, lists, cached, snapshot.bound, tracing=tracing)


class _Run:
    """One start or repair on its way."""

    def __init__(
        self,
        backend: Backend,
        walks: SimpleNamespace,
        state: Tables,
        ends: NDArray[np.int32],
        lists: list[DeviceLists],
        cached: CachedReads | None,
        bound: int,
        *,
        tracing: bool,
    ) -> None:
        self.state = state
        self._backend = backend
        self._walks = walks
        self._ends = ends
        self._lists = lists
        self._cached = cached
        self._tracing = tracing
        self._reads = [np.empty((0, TRACE_FIELDS), np.int64)]
        reading: Reading = new_reading(backend, backend.empty(bound, np.int32))
        backend.fill(backend.part(reading.progress, ITERATION, ITERATION + 1), 1)
        if cached is not None:
            reading = cached.counted_by(reading)
        if tracing and (cached is None or not cached.stepwise):
            reading = reading._replace(trace=backend.empty(len(ends) * TRACE_FIELDS, np.int64))
        self._reading = reading

    def fill(self) -> None:
        """Read the lists of all that have a table into it."""
        backend, reading = self._backend, self._reading
        bounds = backend.upload(np.array([0, len(self._ends)], np.int64))
        for inward, lists in enumerate(self._lists):
            if self._cached is not None and self._cached.stepwise:
                self._cached.before(self._ends, inward, 1, 1)
            where = self.state, reading, lists, inward
            backend.launch(self._walks.walk, *where, self.state.ends, bounds, 0)
            backend.launch(self._walks.walk_long, *where)
            backend.fill(backend.part(reading.progress, LONG_LISTS, LONG_LISTS + 1), 0)
            if reading.trace.size:
                used = int(backend.download(reading.progress)[TRACED]) * TRACE_FIELDS
                rows = backend.download(backend.part(reading.trace, 0, used)).reshape(-1, TRACE_FIELDS)
                self._reads.append(rows[np.argsort(rows[:, 1])])  # which warp came first is chance
                backend.fill(backend.part(reading.progress, TRACED, TRACED + 1), 0)

    def work(self, *, dense: bool) -> Work:
        """Return what the run took."""
        counters = counters_of(self._backend.download(self._reading.tallies))
        work = Work(
            iterations=int(counters.lists > 0),
            changed=int(self._backend.download(self.state.control)[CHANGED]),
            dense=dense,
            counters=counters,
            reads=np.concatenate(self._reads) if self._tracing else None,
        )
        if self._cached is None:
            return work
        return self._cached.end(work, self._reading, tracing=self._tracing)


def _has_one_list(snapshot: Snapshot) -> bool:
    return snapshot.in_ is None or snapshot.in_ is snapshot.out


def _sizes(snapshot: Snapshot) -> NDArray[np.int64]:
    sizes = snapshot.out.degrees.astype(np.int64)
    if not _has_one_list(snapshot) and snapshot.in_ is not None:
        sizes += snapshot.in_.degrees
    return sizes


def _ranks(snapshot: Snapshot) -> NDArray[np.int32]:
    """Return the place of each vertex in the order of lengths of lists."""
    ranks = np.empty(snapshot.bound, np.int32)
    ranks[np.argsort(_sizes(snapshot), kind="stable")] = np.arange(snapshot.bound, dtype=np.int32)
    return ranks


def _table_lengths(sizes: NDArray[Any]) -> NDArray[np.int64]:
    """Return powers of two, twice the sizes at least, so that a search soon ends at a place that is empty."""
    exponents = np.ceil(np.log2(np.maximum(2 * sizes, 2)))
    lengths: NDArray[np.int64] = np.int64(1) << exponents.astype(np.int64)
    return lengths
