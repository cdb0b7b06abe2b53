"""A monotone program on the CPU: words between batches, and the order of kernels that repairs them.

Which kernels run is the system's choice (`System.repair`). Sparse repair may read as many edges as computing from
scratch would; if that is not enough it gives up and does just that, so a batch never costs more than twice the cheaper
of the two, whichever it turns out to be.

Kernels bound to one program: compiled on first use, kept on disk, shared by equal programs.
"""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from grapin.batch import Edges
from grapin.compiled import compiled, rule
from grapin.counters import Counters, Work
from grapin.errors import ValueOverflow
from grapin.graph.change import Applied
from grapin.graph.snapshot import Snapshot
from grapin.kernels.cpu.lists import (
    EDGES,
    ITERATIONS,
    LEAST_VERTICES,
    LISTS,
    NO_WEIGHTS,
    OVERFLOWS,
    PAGES,
    REQUESTS,
    TRACE_FIELDS,
    arrays_of,
    new_tally,
)
from grapin.kernels.cpu.monotone import forward, repair
from grapin.kernels.cpu.monotone.forward import (
    Journal,
    Losses,
    log_all,
    log_once,
    new_journal,
    new_losses,
    word,
)
from grapin.kernels.cpu.monotone.repair import GAVE_UP, SWEEP, detach_removed
from grapin.kernels.cpu.monotone.rounds import sweep, sweep_kernels
from grapin.kernels.rules import (
    LOW,
    NO_KEY,
    NO_PARENT,
    SHIFT,
    UNREACHED,
    Coding,
    coding,
    digest,
    does_not_compile,
    make_offer,
    make_start,
    rebind,
)
from grapin.kernels.unbound import SIDES, offer, start_key, weight_at
from grapin.programs.program import Monotone
from grapin.programs.starting import source_arrays
from grapin.system import Repair, System


@compiled
def stored_weight(weights: Any, place: int) -> Any:
    """The weight beside a neighbour."""
    return weights[place]


@compiled
def unit_weight(weights: Any, place: int) -> int:  # noqa: ARG001  (the same signature as the other)
    """Every edge weighs 1."""
    return 1


def start_keys(vertices: Any, roots: Any, root_keys: Any) -> Any:
    """Return the key each of the given vertices starts with, `NO_KEY` for none."""
    keys = np.empty(vertices.size, np.uint32)
    for i in range(vertices.size):
        keys[i] = np.uint32(start_key(vertices[i], roots, root_keys))
    return keys


@compiled
def place_vertices(words: Any, journal: Journal, vertices: Any, keys: Any) -> None:
    """Make each vertex a root with its key, or unreached where it has none."""
    for i in range(vertices.size):
        vertex = vertices[i]
        log_once(journal, vertex, np.uint32(words[vertex] >> SHIFT))
        words[vertex] = UNREACHED if keys[i] == NO_KEY else word(keys[i], NO_PARENT)


def offered_too_much(words: Any, pulls: Any) -> bool:
    """Tell whether a vertex without a value is offered one that does not fit its key.

    Asked only when some offer to such a vertex did not: alone that is no error, as a smaller one may follow, when a
    vertex that settles later has a lighter edge. What counts is where all values have settled.
    """
    for side in range(SIDES):
        starts, degrees, neighbours, weights = pulls[side]
        for vertex in range(degrees.size):
            if np.uint32(words[vertex] >> SHIFT) != NO_KEY:
                continue
            for i in range(starts[vertex], starts[vertex] + degrees[vertex]):
                key = np.uint32(words[neighbours[i]] >> SHIFT)
                if key != NO_KEY and offer(key, weight_at(weights, i)) > np.int64(NO_KEY):
                    return True
    return False


_KERNELS = (
    repair.detach_worsened,
    repair.correct,
    repair.pull,
    forward.queue_losses,
    forward.queue_offers,
    forward.forward,
    forward.close_journal,
    repair.invalidate,
    offered_too_much,
    start_keys,
)
_bound: dict[str, SimpleNamespace] = {}


def bind_monotone(program: Monotone, code: Coding, *, stored_weights: bool, sides: int) -> SimpleNamespace:
    """Return the kernels for one program, by name; equal rules give the very same kernels."""
    reads = stored_weights and program.weighted
    name = f"{program.name}_{digest(program, code)}_{sides}{'w' if reads else ''}"
    if name not in _bound:
        rules = {
            "offer": make_offer(program, code, rule),
            "start_key": make_start(program, code, rule),
            "weight_at": stored_weight if reads else unit_weight,
            "SIDES": sides,
            "ARRAYS": 2 if reads else 1,
        }
        kernels = {kernel.__name__: compiled(rebind(kernel, name, **rules)) for kernel in _KERNELS}
        kernels["repair"] = compiled(rebind(repair.repair, name, **rules, **kernels))
        _bound[name] = SimpleNamespace(**kernels, **sweep_kernels(name, rules))
    return _bound[name]


MIN_BUDGET = 64
"""So few edges are read before anything is weighed."""
VERTICES_PER_EDGE = 8
"""A pass over all words costs about as much as reading one edge for so many vertices: they share a cache line."""
SWEPT_FROM = 1 << 12
"""So many queued vertices are settled by a sweep: its buckets are cheaper than a heap, and threads can share it."""


@dataclass
class _Run:
    """One start or repair on its way: the lists it reads, what it counted, the trace so far."""

    pulls: tuple[Any, ...]
    pushes: tuple[Any, ...]
    tracing: bool
    tally: NDArray[np.int64]
    trace: NDArray[np.int64]
    used: int = 0
    invalidated: int = 0
    dense: bool = False

    def add(self, reads: NDArray[np.int64] | None) -> None:
        """Put what a sweep read behind what was read before."""
        if reads is not None:
            self.trace = np.concatenate((self.trace[: self.used], reads.ravel()))
            self.used = len(self.trace)

    @property
    def reads(self) -> NDArray[np.int64] | None:
        """One row per list read, when tracing."""
        return self.trace[: self.used].reshape(-1, TRACE_FIELDS).copy() if self.tracing else None


class MonotoneQuery:
    """One monotone program, kept up to date on the CPU."""

    def __init__(
        self, program: Monotone, system: System, *, weight_dtype: Any, directed: bool, threads: int
    ) -> None:
        self.program = program
        self.system = system
        self.threads = threads
        self.code: Coding = coding(program, weight_dtype)
        self._sides = 2 if program.both_ways and directed else 1
        self._reads_weights = program.weighted and weight_dtype is not None
        self._kernels = bind_monotone(
            program, self.code, stored_weights=self._reads_weights, sides=self._sides
        )
        self._roots, values = source_arrays(program, real=self.code.real)
        self._root_keys = self.code.encode(values)
        self._words = np.empty(0, np.uint64)
        self._bound = 0
        self._journal: Journal = new_journal(0)
        self._losses: Losses = new_losses(0)
        self._passes = 1.0
        """Edges read for each edge of the graph when all is computed from scratch."""

    def start(self, snapshot: Snapshot, *, tracing: bool) -> Work:
        """Compute the values from scratch."""
        self._reserve(snapshot.bound)
        run = self._run(snapshot, tracing=tracing)
        try:
            self._restart(run, snapshot)
        except NumbaError as error:
            raise does_not_compile(self.program, error) from error
        return self._work(run, changed=int(np.count_nonzero(self._keys() != NO_KEY)), affected=0)

    def repair(self, snapshot: Snapshot, applied: Applied, *, tracing: bool) -> Work:
        """Bring the values up to date with what a batch changed."""
        self._reserve(snapshot.bound)
        run = self._run(snapshot, tracing=tracing)
        if self.system.repair is Repair.RECOMPUTE:
            return self._recompute(run, snapshot)
        self._change_vertices(applied)
        if self.system.repair is Repair.PUBLISHED:
            return self._repair_published(run, applied)
        return self._repair_sparsely(run, snapshot, applied)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what `resume` goes on from: words, and what a recomputation reads."""
        return {"words": self._words[: self._bound].copy(), "passes": np.array(self._passes)}

    def resume(self, snapshot: Snapshot, state: dict[str, NDArray[Any]]) -> None:
        """Go on from what `state` returned, on the same graph."""
        self._reserve(snapshot.bound)
        self._words[: self._bound] = state["words"]
        self._passes = float(state["passes"])

    def values(self) -> NDArray[Any]:
        """Return the value of each vertex below the bound."""
        return self.code.decode(self._keys())

    def parents(self) -> NDArray[np.int32]:
        """Return the vertex each value came from, -1 for roots and unreached vertices."""
        return (self._words[: self._bound] & LOW).astype(np.uint32).view(np.int32)

    def reached(self, vertex: int) -> bool:
        """Tell whether a vertex has a value."""
        return bool(self._words[vertex] != UNREACHED)

    def memory(self) -> dict[str, int]:
        """Return the bytes of vertex state; the journal's are backed by memory only where a batch wrote."""
        journal = [array for array in (*self._journal, *self._losses) if array is not self._journal.marks]
        return {
            "words": self._words.nbytes,
            "marks": self._journal.marks.nbytes,
            "journal": sum(array.nbytes for array in journal),
        }

    def _keys(self) -> NDArray[np.uint32]:
        return (self._words[: self._bound] >> SHIFT).astype(np.uint32)

    def _reserve(self, bound: int) -> None:
        """Make room for vertices below `bound`; at least doubling, so that growth costs little per vertex."""
        if max(bound, LEAST_VERTICES) > len(self._words):
            room = max(bound, 2 * len(self._words), LEAST_VERTICES)
            words = np.full(room, UNREACHED)
            words[: self._bound] = self._words[: self._bound]
            self._words = words
            self._journal = new_journal(room)
            self._losses = new_losses(room)
        self._bound = bound

    def _run(self, snapshot: Snapshot, *, tracing: bool) -> _Run:
        pulls, pushes = self._sided(snapshot)
        return _Run(pulls, pushes, tracing, new_tally(), np.empty(1024 if tracing else 0, np.int64))

    def _sided(self, snapshot: Snapshot) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        out = arrays_of(snapshot.out, weights=self._reads_weights)
        into = out if snapshot.in_ is None else arrays_of(snapshot.in_, weights=self._reads_weights)
        return ((into, out), (out, into)) if self._sides == 2 else ((into,), (out,))

    def _start_keys(self, vertices: NDArray[np.int32]) -> NDArray[np.uint32]:
        keys: NDArray[np.uint32] = self._kernels.start_keys(vertices, self._roots, self._root_keys)
        return keys

    def _change_vertices(self, applied: Applied) -> None:
        """Take away the keys of deleted vertices, and give inserted ones the key they start with."""
        gone, come = applied.deleted_vertices, applied.inserted_vertices
        if len(gone):
            place_vertices(self._words, self._journal, gone, np.full(len(gone), NO_KEY))
        if len(come):
            place_vertices(self._words, self._journal, come, self._start_keys(come))

    def _repair_sparsely(self, run: _Run, snapshot: Snapshot, applied: Applied) -> Work:
        """Read what changes and little more; give up when that is more than computing from scratch."""
        ending, heap, size, changed, affected, run.trace, run.used = self._kernels.repair(
            self._words,
            self._journal,
            self._losses,
            run.pulls,
            run.pushes,
            self._roots,
            self._root_keys,
            self._columns(applied.deleted),
            self._columns(applied.reweighted),
            self._columns(applied.inserted),
            self._cost_from_scratch(snapshot),
            SWEPT_FROM,
            run.tally,
            run.trace,
            run.tracing,
        )
        run.invalidated = int(self._losses.count[0])
        if ending == GAVE_UP:
            return self._recompute(run, snapshot)
        if ending == SWEEP:
            self._relax(run, np.unique((heap[:size] & LOW).astype(np.int32)), changes=True)
            return self._closed(run)
        return self._work(run, changed, affected)

    def _cost_from_scratch(self, snapshot: Snapshot) -> int:
        """Return how many edges one might read in the time it takes to compute all values from scratch."""
        return MIN_BUDGET + int(self._passes * snapshot.edges) + snapshot.bound // VERTICES_PER_EDGE

    def _repair_published(self, run: _Run, applied: Applied) -> Work:
        """Throw away what hung below lost edges, then let every vertex that has a value push it once."""
        deleted, reweighted = self._columns(applied.deleted), self._columns(applied.reweighted)
        queue = np.empty(2 * (len(applied.deleted) + len(applied.reweighted)) + 64, np.uint64)
        size = 0
        for tail, head in ((0, 1), (1, 0))[: self._sides]:
            size = detach_removed(self._words, self._journal, queue, size, deleted[tail], deleted[head])
            size = self._kernels.detach_worsened(
                self._words, self._journal, queue, size, reweighted[tail], reweighted[head], reweighted[2]
            )
        self._losses.count[0] = 0
        run.trace, run.used = self._kernels.invalidate(
            self._words,
            self._journal,
            self._losses,
            run.pushes,
            self._roots,
            self._root_keys,
            queue,
            size,
            run.tally,
            run.trace,
            run.tracing,
        )
        run.invalidated = int(self._losses.count[0])
        self._relax(run, np.flatnonzero(self._keys() != NO_KEY).astype(np.int32), changes=True)
        return self._closed(run)

    def _columns(self, edges: Edges) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return edges as kernels take them, with weights only where they are read."""
        weights = edges.weight if self._reads_weights and edges.weight is not None else NO_WEIGHTS
        return edges.source, edges.target, weights

    def _closed(self, run: _Run) -> Work:
        return self._work(
            run, *self._kernels.close_journal(self._words, self._journal, run.pulls, run.pushes)
        )

    def _relax(self, run: _Run, active: NDArray[np.int32], *, changes: bool) -> None:
        """Let the given vertices offer their keys, and all that improve by it, until nothing changes."""
        swept = sweep(
            self._kernels,
            self._words,
            run.pulls,
            run.pushes,
            active,
            threads=self.threads,
            tally=run.tally,
            pulling=self.system.repair is Repair.BOUNDED,  # the published systems only ever push
            trace=run.tracing,
            changes=changes,
        )
        run.add(swept.reads)
        if swept.vertices is not None:
            log_all(self._journal, swept.vertices, swept.old_keys)

    def _restart(self, run: _Run, snapshot: Snapshot) -> None:
        """Forget all values and compute them from scratch."""
        vertices = np.flatnonzero(snapshot.alive).astype(np.int32)
        keys = self._start_keys(vertices)
        roots = vertices[keys != NO_KEY]
        self._words[:] = UNREACHED
        self._words[roots] = (keys[keys != NO_KEY].astype(np.uint64) << SHIFT) | np.uint64(NO_PARENT)
        before = int(run.tally[EDGES])
        self._relax(run, roots, changes=False)
        self._passes = (int(run.tally[EDGES]) - before) / max(1, snapshot.edges)

    def _recompute(self, run: _Run, snapshot: Snapshot) -> Work:
        """Compute all from scratch, and compare with the keys from before the batch."""
        run.dense = True
        before = self._keys()
        logged = int(self._journal.count[0])
        before[self._journal.vertices[:logged]] = self._journal.keys[:logged]
        self._kernels.close_journal(self._words, self._journal, run.pulls, run.pushes)
        self._restart(run, snapshot)
        after = self._keys()
        changed, worse = after != before, after > before
        bound = len(after)
        affected = sum(int(lists[1][:bound][changed].sum(dtype=np.int64)) for lists in run.pushes)
        affected += sum(int(lists[1][:bound][worse].sum(dtype=np.int64)) for lists in run.pulls)
        return self._work(run, int(np.count_nonzero(changed)), affected)

    def _work(self, run: _Run, changed: int, affected: int) -> Work:
        if run.tally[OVERFLOWS] and self._kernels.offered_too_much(self._words, run.pulls):
            raise ValueOverflow(self.program.name)
        sizes = run.tally[REQUESTS : REQUESTS + 4].tolist()
        counters = Counters.of(int(run.tally[EDGES]), int(run.tally[LISTS]), sizes, int(run.tally[PAGES]))
        return Work(
            iterations=int(run.tally[ITERATIONS]),
            changed=changed,
            invalidated=run.invalidated,
            affected_edges=affected,
            dense=run.dense,
            counters=counters,
            reads=run.reads,
        )
