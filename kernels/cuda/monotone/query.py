"""A monotone program on a GPU: its state between batches, and the steps that repair it.

The steps are those of the CPU (`grapin.kernels.cpu.monotone.query`): correct, pull, forward, or all from scratch when
that turns out to read less.

Kernels bound to one program on one backend; equal rules share them.
"""

from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from grapin.batch import Edges
from grapin.counters import Work
from grapin.errors import ValueOverflow
from grapin.graph.change import Applied
from grapin.graph.snapshot import Snapshot
from grapin.kernels.cuda.backend import Backend, bind_functions
from grapin.kernels.cuda.cache.cuda_cache import CudaCache
from grapin.kernels.cuda.in_flight import bind_in_flight
from grapin.kernels.cuda.index import ListIndex
from grapin.kernels.cuda.lists import ITERATION
from grapin.kernels.cuda.monotone import close, correct, forward, queues
from grapin.kernels.cuda.monotone.queues import (
    AFFECTED,
    CHANGED,
    INVALIDATED,
    OVERFLOWS,
    WIDEST,
    State,
    new_state,
)
from grapin.kernels.cuda.monotone.rounds import Board, Rounds
from grapin.kernels.cuda.staging import Staging
from grapin.kernels.cuda.walk import bind_walk
from grapin.kernels.rules import (
    LOW,
    NO_KEY,
    SHIFT,
    UNREACHED,
    Coding,
    coding,
    digest,
    does_not_compile,
    make_offer,
    make_start,
)
from grapin.partitions import Choice
from grapin.programs.program import Monotone
from grapin.programs.starting import source_arrays
from grapin.system import Repair, Resident, Schedule, Staged, System, ZeroCopy
from grapin.system import Rounds as InRounds

_bound: WeakKeyDictionary[Any, dict[tuple[Any, ...], SimpleNamespace]] = WeakKeyDictionary()


def stored_entry(weights: Any, entry: Any) -> Any:
    """The weight of an edge of a batch."""
    return weights[entry]


def unit_entry(weights: Any, entry: Any) -> int:  # noqa: ARG001  (the same signature as the other)
    """Every edge weighs 1."""
    return 1


def bind_monotone(
    backend: Backend,
    program: Monotone,
    code: Coding,
    *,
    stored_weights: bool,
    sides: int,
    searches: bool,
    cached: bool,
    schedule: Schedule,
    **sizes: Any,
) -> SimpleNamespace:
    """Return the kernels for one program, by name; `sizes` may set `SHORT` and `LONG` of `walk.py`.

    Walks say how many arrays they read (`arrays`) and whether they may stop early (`peeks`).
    """
    variant = f"{program.name}_{digest(program, code)}"
    name = variant, stored_weights, sides, searches, cached, schedule, *sorted(sizes.items())
    made = _bound.setdefault(backend.compiler, {})
    if name not in made:
        made[name] = _bind(
            backend, variant, program, code, stored_weights, sides, searches, cached, schedule, sizes
        )
    return made[name]


def _bind(
    backend: Backend,
    variant: str,
    program: Monotone,
    code: Coding,
    stored_weights: bool,
    sides: int,
    searches: bool,
    cached: bool,
    schedule: Schedule,
    sizes: dict[str, Any],
) -> SimpleNamespace:
    names = bind_functions(
        backend,
        (*queues.FUNCTIONS, *forward.LOWERING, *close.FUNCTIONS, *correct.FUNCTIONS),
        offer=make_offer(program, code, backend.function),
        start_key=make_start(program, code, backend.function),
        weight_of=backend.function(stored_entry if stored_weights else unit_entry),
        SIDES=sides,
        SEARCHES=searches,
        **sizes,
    )
    kernels = (*queues.KERNELS, *forward.KERNELS, *correct.KERNELS, *close.KERNELS)

    def walks(visit: Any, begin: Any, *, weights: bool = stored_weights, **more: Any) -> SimpleNamespace:
        inner = bind_functions(backend, (begin, visit), **names)
        more |= {"begin": inner[begin.__name__], "visit": inner[visit.__name__]}
        return bind_walk(
            backend, f"{visit.__name__}_{variant}", weights=weights, cached=cached, **names, **more
        )

    exchanges = isinstance(schedule, InRounds) and schedule.exchanges and program.both_ways
    note = backend.function(correct.note_offer, **names)
    return SimpleNamespace(
        **{one.__name__: backend.kernel(one, variant, **names) for one in kernels},
        push=walks(
            forward.exchange if exchanges else forward.push,
            forward.own_key,
            **in_flight(backend, schedule, abandons=not cached, rereads=exchanges),
        ),
        consider=walks(
            correct.consider,
            forward.own_key,
            REDUCES=True,
            STOPS=True,
            enough=names["supported"],
            done=names["is_supported"],
            finish=note,
        ),
        release=walks(correct.release, correct.nothing, weights=False),
        gain=walks(correct.gain, correct.nothing, REDUCES=True, finish=note),
    )


def in_flight(backend: Backend, schedule: Schedule, *, abandons: bool, rereads: bool) -> dict[str, Any]:
    """Return what a walk is bound to where the backend has to be told which lists are in flight; else nothing.

    A list that is to leave a copy behind must be read to its end (`abandons`).
    """
    if not isinstance(schedule, InRounds) or not getattr(backend, "interleaves", False):
        return {}
    return {
        "make_walk": bind_in_flight,
        "BLOCKS": schedule.blocks,
        "WARPS": schedule.warps,
        "LISTS": schedule.lists,
        "AHEAD": schedule.ahead,
        "ABANDONS": schedule.abandons and abandons and not rereads,
        "REREADS": rereads,
    }


MIN_BUDGET = 64
"""So few edges are read before anything is weighed."""
VERTICES_PER_EDGE = 64
"""A pass over all words costs as much as reading one edge for so many vertices: they lie in device memory."""
NOTHING_NEAR, ALL_NEAR = -1, WIDEST
"""Thresholds to begin with."""


class MonotoneQuery:
    """One monotone program, kept up to date on a backend."""

    def __init__(
        self,
        backend: Backend,
        program: Monotone,
        system: System,
        *,
        weight_dtype: Any,
        directed: bool,
        **sizes: Any,
    ) -> None:
        self.program = program
        self.system = system
        self.code: Coding = coding(program, weight_dtype)
        self._backend = backend
        self._sides = 2 if program.both_ways and directed else 1
        self._reads_weights = program.weighted and weight_dtype is not None
        self._weight_dtype = weight_dtype if self._reads_weights else np.dtype(np.int32)
        self._searches = system.repair is Repair.BOUNDED
        self._resident = isinstance(system.transfer, Resident)
        early = isinstance(system.transfer, ZeroCopy) and system.transfer.early
        self._sizes = sizes | ({"EARLY": True} if early else {})
        self._kernels = self._bind(cached=isinstance(system.transfer, Staged))
        roots, values = source_arrays(program, real=self.code.real)
        self._roots = backend.upload(roots), backend.upload(self.code.encode(values))
        self._index = ListIndex(backend, system.transfer, weights=self._reads_weights)
        self._board = Board(backend)
        self._cache: CudaCache | None = None
        self._staging: Staging | None = None
        if isinstance(system.transfer, Staged):
            self._staging = self._index.copies = Staging(
                backend, system.transfer, weights=self._reads_weights, weight_dtype=self._weight_dtype
            )
        self._bound = 0
        self._state: State = new_state(backend, 1, self._board.control, *self._roots)
        self._long_lists = backend.empty(1, np.int32)
        self._passes = 1.0
        """Edges read for each edge of the graph when all is computed from scratch."""

    def read_through(self, cache: CudaCache) -> None:
        """Let all reads pass through the cache from now on; before the first of them."""
        self._cache = cache
        self._index.copies = cache.copies
        self._kernels = self._bind(cached=True)

    def start(self, snapshot: Snapshot, *, tracing: bool) -> Work:
        """Compute the values from scratch."""
        self._follow(snapshot, None)
        rounds = self._rounds(snapshot, None, tracing=tracing)
        before = self._backend.full(snapshot.bound, NO_KEY, np.uint32)
        try:
            self._begin_again(rounds, snapshot)
        except NumbaError as error:
            raise does_not_compile(self.program, error) from error
        return self._compared(rounds, before, dense=False, affected=False)

    def repair(self, snapshot: Snapshot, applied: Applied, *, tracing: bool) -> Work:
        """Bring the values up to date with what a batch changed."""
        self._follow(snapshot, applied)
        rounds = self._rounds(snapshot, applied, tracing=tracing)
        if self.system.repair is Repair.RECOMPUTE:
            return self._recompute(rounds, snapshot)
        self._change_vertices(rounds, applied)
        rounds.restart(NOTHING_NEAR)
        self._detach(rounds, applied)
        if self._searches:
            return self._repair_sparsely(rounds, snapshot, applied)
        return self._repair_published(rounds)

    def values(self) -> NDArray[Any]:
        """Return the value of each vertex below the bound."""
        return self.code.decode((self._words() >> SHIFT).astype(np.uint32))

    def parents(self) -> NDArray[np.int32]:
        """Return the vertex each value came from, -1 for roots and unreached vertices."""
        return (self._words() & LOW).astype(np.uint32).view(np.int32)

    def reached(self, vertex: int) -> bool:
        """Tell whether a vertex has a value."""
        word = self._backend.download(self._backend.part(self._state.words, vertex, vertex + 1))
        return bool(word[0] != UNREACHED)

    def memory(self) -> dict[str, int]:
        """Return the bytes on the device by part."""
        state = self._state
        queues = (state.journal, state.near, state.far, state.lost, self._long_lists)
        notes = (state.marks, state.stamps, state.old_keys, state.offers)
        return {
            "words": int(state.words.nbytes),
            "marks": sum(int(array.nbytes) for array in notes),
            "queues": sum(int(array.nbytes) for array in queues),
            "staging": 0 if self._staging is None else self._staging.nbytes,
            **self._index.memory(),
        }

    def _bind(self, *, cached: bool) -> SimpleNamespace:
        return bind_monotone(
            self._backend,
            self.program,
            self.code,
            stored_weights=self._reads_weights,
            sides=self._sides,
            searches=self._searches,
            cached=cached,
            schedule=self.system.schedule,
            **self._sizes,
        )

    def _words(self) -> NDArray[np.uint64]:
        return self._backend.download(self._backend.part(self._state.words, 0, self._bound))

    def _follow(self, snapshot: Snapshot, applied: Applied | None) -> None:
        """Make room for vertices below the bound, at least doubling it, and learn where lists are."""
        room, backend = len(self._state.words), self._backend
        if snapshot.bound > room:
            state = new_state(backend, max(snapshot.bound, 2 * room), self._board.control, *self._roots)
            for old, new in ((self._state.words, state.words), (self._state.stamps, state.stamps)):
                backend.copy(backend.part(new, 0, room), old)
            self._state = state
            self._long_lists = backend.empty(len(state.words), np.int32)
        self._bound = snapshot.bound
        if self._staging is not None:
            self._staging.follow(snapshot)
        self._index.update(snapshot, applied)

    def _rounds(self, snapshot: Snapshot, applied: Applied | None, *, tracing: bool) -> Rounds:
        cached = None if self._cache is None else self._cache.reads(snapshot, applied)
        return Rounds(
            self._backend,
            self._kernels,
            self._state,
            self._board,
            self._index,
            long_lists=self._long_lists,
            sides=self._sides,
            tracing=tracing,
            cached=cached,
            staging=self._staging,
            schedule=self.system.schedule,
        )

    def _change_vertices(self, rounds: Rounds, applied: Applied) -> None:
        for vertices, exist in ((applied.deleted_vertices, False), (applied.inserted_vertices, True)):
            if len(vertices):
                rounds.launch("place_vertices", self._backend.upload(vertices), np.bool_(exist))

    def _detach(self, rounds: Rounds, applied: Applied) -> None:
        for edges, worsened in ((applied.deleted, False), (applied.reweighted, True)):
            for columns in self._columns(edges):
                rounds.launch("detach_edges", *columns, np.bool_(worsened))

    def _columns(self, edges: Edges) -> list[tuple[Any, Any, Any]]:
        """Return edges as kernels take them, turned round as well where values travel both ways."""
        if not len(edges):
            return []
        given = (
            edges.weight
            if self._reads_weights and edges.weight is not None
            else np.empty(0, self._weight_dtype)
        )
        source, target, weights = map(self._backend.upload, (edges.source, edges.target, given))
        return [(source, target, weights), (target, source, weights)][: self._sides]

    def _repair_sparsely(self, rounds: Rounds, snapshot: Snapshot, applied: Applied) -> Work:
        """Read what changes and little more; give up when that is more than computing from scratch."""
        budget = MIN_BUDGET + int(self._passes * snapshot.edges) + snapshot.bound // VERTICES_PER_EDGE
        if not rounds.correct(budget, searches=True):
            return self._recompute(rounds, snapshot)
        rounds.settle_lost()
        rounds.restart(NOTHING_NEAR)
        rounds.launch("queue_corrected")
        for edges in (applied.inserted, applied.reweighted):
            for columns in self._columns(edges):
                rounds.launch("offer_edges", *columns)
        if not rounds.forward(budget):
            return self._recompute(rounds, snapshot)
        return self._closed(rounds)

    def _repair_published(self, rounds: Rounds) -> Work:
        """Throw away what hung below lost edges, then let every vertex that has a value push it once."""
        rounds.correct(WIDEST * WIDEST, searches=False)
        rounds.settle_lost()
        rounds.restart(ALL_NEAR)
        rounds.launch("queue_all", np.int64(self._bound))
        rounds.forward()
        return self._closed(rounds)

    def _recompute(self, rounds: Rounds, snapshot: Snapshot) -> Work:
        """Compute all from scratch, and compare with the keys from before the batch."""
        before = self._backend.empty(snapshot.bound, np.uint32)
        rounds.launch("recall", before)
        self._begin_again(rounds, snapshot)
        return self._compared(rounds, before, dense=True, affected=True)

    def _begin_again(self, rounds: Rounds, snapshot: Snapshot) -> None:
        """Forget all values and compute them from scratch."""
        read = self._board.look().counters.edges
        # Lists that are staged are read in rounds: a copy that brings few of them is mostly in vain.
        by_key = type(self.system.schedule) is Schedule and self._staging is None
        rounds.restart(NOTHING_NEAR if by_key else ALL_NEAR)
        self._board.forget_journal()
        rounds.launch("begin_again", self._backend.upload(snapshot.alive))
        rounds.forward()
        self._passes = (self._board.look().counters.edges - read) / max(1, snapshot.edges)

    def _closed(self, rounds: Rounds) -> Work:
        """Count what changed by the journal, and clear it."""
        rounds.launch("close", rounds.pushes[0][0], rounds.pulls[0][0])
        return self._work(rounds, dense=False, affected=True)

    def _compared(self, rounds: Rounds, before: Any, *, dense: bool, affected: bool) -> Work:
        """Count what changed by comparing all keys, and clear the journal."""
        lists = rounds.pushes[0][0], rounds.pulls[0][0]
        rounds.launch("close", *lists)
        self._board.forget_changes()
        rounds.launch("compare", *lists, before)
        return self._work(rounds, dense=dense, affected=affected)

    def _work(self, rounds: Rounds, *, dense: bool, affected: bool) -> Work:
        seen = self._board.look()
        if seen.control[OVERFLOWS]:
            raise ValueOverflow(self.program.name)
        reads = rounds.reads()
        held = np.ones(len(reads), np.bool_) if reads is not None and self._resident else None
        tasks = None if self._staging is None else self._staging.tasks
        if tasks is not None and reads is not None:
            held = np.repeat(tasks["way"] != Choice.ZERO_COPY, tasks["rows"])
        work = Work(
            iterations=int(seen.progress[ITERATION]) - 1,
            changed=int(seen.control[CHANGED]),
            invalidated=int(seen.control[INVALIDATED]),
            affected_edges=int(seen.control[AFFECTED]) if affected else 0,
            dense=dense,
            counters=self._index.crossing(seen.counters),
            reads=reads,
            cached=held,
            tasks=tasks,
        )
        return rounds.through_the_cache(work)
