"""PageRank on a GPU: residuals on the device between batches, and the order of kernels that keeps the error bounded.

A batch first changes flows (`flows.py`), then rounds of pushes (`rounds.py`) bring the error within the tolerance. The
host comes in only when rounds stop for another reason: all that waited is used up, and the line from which vertices
wait has to be lowered; so many edges were read that scaling the total away may pay (`flows.py`); or rounding has to
be forgotten. Which kernels run is the system's choice (`System.repair`), as on the CPU.

The kernels of PageRank on one backend, bound once.
"""

from dataclasses import dataclass, field, replace
from math import inf
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from grapin.counters import Work
from grapin.graph.change import Applied
from grapin.graph.snapshot import Snapshot
from grapin.kernels.cuda.backend import Backend, Shape, bind_functions
from grapin.kernels.cuda.cache.cuda_cache import CachedReads, CudaCache
from grapin.kernels.cuda.index import ListIndex
from grapin.kernels.cuda.lists import ITERATION, TRACE_FIELDS, TRACED, Reading, counters_of, new_reading
from grapin.kernels.cuda.pagerank import flows, residuals, rounds
from grapin.kernels.cuda.pagerank.residuals import (
    CHANGED,
    CHOSEN,
    CHOSEN_FROM,
    COUNT,
    DRIFT,
    MASS,
    READ,
    REST,
    SIGNED,
    STATUS,
    THRESHOLD,
    TOTAL,
    TOUCHED,
    WAITING,
    Ranks,
    extended,
    new_ranks,
)
from grapin.kernels.cuda.pagerank.rounds import LONG_RUN, PUSHING, WITHIN
from grapin.kernels.cuda.walk import bind_walk
from grapin.programs.pagerank import PageRank
from grapin.system import Repair, System

_bound: WeakKeyDictionary[Any, dict[tuple[Any, ...], SimpleNamespace]] = WeakKeyDictionary()


def bind_pagerank(backend: Backend, *, cached: bool, **sizes: Any) -> SimpleNamespace:
    """Return the kernels by name; `sizes` may set `SHORT` and `LONG` of `walk.py`."""
    made = _bound.setdefault(backend, {})
    name = cached, *sorted(sizes.items())
    if name not in made:
        names = bind_functions(backend, (*residuals.FUNCTIONS, *rounds.FUNCTIONS), **sizes)
        kernels = (*flows.KERNELS, *rounds.KERNELS)
        made[name] = SimpleNamespace(
            push=bind_walk(backend, "pagerank", weights=False, cached=cached, **names),
            **{one.__name__: backend.kernel(one, "pagerank", **names) for one in kernels},
        )
    return made[name]


BELOW_FLOOR = 1 / 2
"""The part of the allowance that residuals below the floor take at most."""
ROUNDED = 1 / 8
"""The part of the allowance that rounding may take before residuals are recomputed."""
DEPTH = 8
"""How far below the last threshold vertices wait: those in between are at hand for the next batches."""
MOST_WAITING = 1 / 8
"""The part of all vertices that may wait between batches; each round looks at all of them."""
PATIENCE = 1 / 2
"""After so many edges, as a part of the graph's, all residuals are looked at; twice as many when that did not pay."""
AHEAD, MOST_AHEAD = 4, 32
"""How many rounds are launched before the host looks at them, at first and at most."""
MOST_OPERATIONS = 1 << 30
"""Q is summed up again after pushes along so many edges, so that its own rounding stays below `MARGIN`."""
MARGIN = 2.0**-20


@dataclass
class _Run:
    """One start or repair on its way."""

    number: int
    snapshot: Snapshot
    reading: Reading
    tracing: bool
    cached: CachedReads | None
    reads: list[NDArray[np.int64]] = field(default_factory=list)
    dense: bool = False
    patience: float = PATIENCE
    excess: float = inf
    """R as a part of Q when it was last scaled."""

    @property
    def stepwise(self) -> bool:
        """Whether the host looks at every walk."""
        return self.tracing or (self.cached is not None and self.cached.stepwise)


class PageRankQuery:
    """PageRank, kept up to date on a device.

    In its `Work`, `changed` counts the vertices that passed a change on, each once.
    """

    def __init__(self, backend: Backend, program: PageRank, system: System, **sizes: Any) -> None:
        self.program = program
        self.system = system
        self._backend = backend
        self._keeping = system.repair is Repair.BOUNDED
        # Without damping nothing flows and any residual is right, so the smallest number stands for it.
        damping = max(program.damping, MARGIN)
        self._allowed = program.tolerance * (1 - damping) / (2 * damping) * (1 - MARGIN)
        """How large R may be as a part of Q."""
        self._sizes = sizes
        self._kernels = bind_pagerank(backend, cached=False, **sizes)
        self._index = ListIndex(backend, system.transfer, weights=False)
        self._state: Ranks = new_ranks(backend, 0)
        self._sums: NDArray[np.float64] = backend.download(self._state.sums)
        """As they were when the last run ended."""
        self._cache: CudaCache | None = None
        self._bound = 0
        self._runs = 0
        self._operations = 0

    def read_through(self, cache: CudaCache) -> None:
        """Let all reads pass through the cache from now on; before the first of them."""
        self._cache = cache
        self._index.copies = cache.copies
        self._kernels = bind_pagerank(self._backend, cached=True, **self._sizes)

    def start(self, snapshot: Snapshot, *, tracing: bool) -> Work:
        """Compute the ranks from scratch."""
        self._follow(snapshot, None)
        run = self._run(snapshot, None, tracing=tracing)
        self._restart(run)
        return self._work(run)

    def repair(self, snapshot: Snapshot, applied: Applied, *, tracing: bool) -> Work:
        """Bring the ranks up to date with what a batch changed."""
        self._follow(snapshot, applied)
        run = self._run(snapshot, applied, tracing=tracing)
        if self.system.repair is Repair.RECOMPUTE or not snapshot.edges:  # without edges all is known at once
            self._restart(run)
            return self._work(run)
        self._change(run, applied)
        if self._sums[DRIFT] > ROUNDED * self._allowed * self._sums[MASS]:
            self._renew(run)
        elif self._operations > MOST_OPERATIONS:
            self._survey(run, self._sums[REST])
        self._converge(run)
        if not self._keeping and self._sums[DRIFT] > ROUNDED * self._allowed * self._sums[MASS]:
            self._renew(
                run
            )  # the published system stops by thresholds, and does not see that a graph has got small
            self._converge(run)
        return self._work(run)

    def values(self) -> NDArray[np.float64]:
        """Return the rank of each vertex below the bound; those that do not exist have 0."""
        amounts = self._amounts(0, self._bound)
        # Every vertex has at least 1: only where there is none, the sum is less.
        amounts /= max(amounts.sum(), 1.0)
        return amounts

    def parents(self) -> NDArray[np.int32]:
        """Return -1 for each vertex: a rank comes from everywhere."""
        return np.full(self._bound, -1, np.int32)

    def reached(self, vertex: int) -> bool:
        """Every vertex that exists has a rank."""
        return bool(self._amounts(vertex, vertex + 1)[0] > 0)

    def error_bound(self) -> float:
        """Return what the ranks are off by in sum at most, at this moment."""
        ratio = (self._sums[TOTAL] + self._sums[DRIFT]) / max(self._sums[MASS], 1.0)
        return float(ratio / self._allowed * self.program.tolerance)

    def memory(self) -> dict[str, int]:
        """Return the bytes on the device by part."""
        parts = {name: int(array.nbytes) for name, array in self._state._asdict().items()}
        return parts | self._index.memory()

    def _amounts(self, begin: int, end: int) -> NDArray[np.float64]:
        backend, state = self._backend, self._state
        cells = backend.download(backend.part(state.cells, 2 * begin, 2 * end))
        amounts: NDArray[np.float64] = cells[::2] + backend.download(backend.part(state.pushed, begin, end))
        return amounts

    def _launch(self, kernel: Any, *arguments: Any) -> None:
        self._backend.launch(kernel, *arguments)

    def _launch_warp(self, kernel: Any, *arguments: Any) -> None:
        """Run a kernel that is for a single warp."""
        self._backend.launch(kernel, *arguments, shape=Shape(1, self._backend.warp))

    def _run(self, snapshot: Snapshot, applied: Applied | None, *, tracing: bool) -> _Run:
        backend = self._backend
        self._runs += 1
        cached = None if self._cache is None else self._cache.reads(snapshot, applied)
        reading = new_reading(backend, self._state.long_lists)
        backend.fill(backend.part(reading.progress, ITERATION, ITERATION + 1), 1)
        if cached is not None:
            reading = cached.counted_by(reading)
        if tracing and (cached is None or not cached.stepwise):
            reading = reading._replace(trace=backend.empty(snapshot.bound * TRACE_FIELDS, np.int64))
        return _Run(self._runs, snapshot, reading, tracing, cached)

    def _follow(self, snapshot: Snapshot, applied: Applied | None) -> None:
        """Make room for vertices below the bound, at least doubling it, and learn where out-lists are."""
        capacity = len(self._state.pushed)
        if snapshot.bound > capacity:
            self._state = extended(self._backend, self._state, max(snapshot.bound, 2 * capacity))
        self._bound = snapshot.bound
        self._index.update(replace(snapshot, in_=None), applied)

    def _restart(self, run: _Run) -> None:
        run.dense = True
        backend, alive = self._backend, run.snapshot.alive
        self._begin_run()
        backend.fill(self._state.control, 0)
        self._launch(
            self._kernels.reset, self._state, backend.upload(alive), self._index.out.degrees, self._keeping
        )
        # Of a graph without vertices too the floor is positive, for those that are inserted next.
        floor = self._floor(run) * max(int(np.count_nonzero(alive)), 1)
        self._survey(run, floor if self._keeping else self._allowed)
        self._converge(run)

    def _begin_run(self) -> None:
        """Count again what is counted by run."""
        backend, state = self._backend, self._state
        backend.fill(backend.part(state.control, TOUCHED, CHANGED + 1), 0)
        backend.fill(backend.part(state.sums, READ, READ + 1), 0.0)

    def _floor(self, run: _Run) -> float:
        """Return the worth, as a part of Q, below which all residuals together are well within the allowance."""
        return BELOW_FLOOR * self._allowed / max(run.snapshot.edges, 1)

    def _change(self, run: _Run, applied: Applied) -> None:
        """Let the batch change the equations."""
        kernels, state, degrees = self._kernels, self._state, self._index.out.degrees
        damping, upload = self.program.damping, self._backend.upload
        edges = [
            (upload(edges.source), upload(edges.target), sign)
            for edges, sign in ((applied.inserted, 1), (applied.deleted, -1))
            if len(edges)
        ]
        come, gone = applied.inserted_vertices, applied.deleted_vertices
        most = len(applied.inserted) + len(applied.deleted) + len(gone)
        touched = self._backend.empty(max(most, 1), np.int32)
        self._begin_run()
        if len(come):
            self._launch(kernels.welcome, upload(come), state)
        for sources, _, sign in edges:
            self._launch(kernels.withdraw, sources, sign, touched, state)
        if len(gone):
            self._launch(kernels.withdraw, upload(gone), 0, touched, state)
        self._launch(kernels.open_lists, touched, degrees, state)
        for sources, targets, sign in edges:
            self._launch(kernels.change_flows, sources, targets, sign, damping, degrees, state)
        if len(gone):
            self._launch(kernels.forget, upload(gone), state)
        self._launch(kernels.settle, touched, damping, self._keeping, degrees, state)
        if not self._keeping:
            self._walk(run)

    def _walk(self, run: _Run) -> None:
        """Let the chosen hand their shares on."""
        state, walks = self._state, self._kernels.push
        if run.cached is not None and run.cached.stepwise:
            self._prepare(run, run.cached)
        where = state, run.reading, self._index.out, 0
        self._launch(walks.walk, *where, state.chosen, state.control, CHOSEN_FROM)
        self._launch(walks.walk_long, *where)
        if run.reading.trace.size:
            self._take_trace(run)

    def _prepare(self, run: _Run, cached: CachedReads) -> None:
        """Let the cache decide about the lists that are about to be read."""
        backend, state = self._backend, self._state
        count = int(backend.download(state.control)[CHOSEN])
        if count:
            chosen = backend.download(backend.part(state.chosen, 0, count))
            cached.before(chosen, 0, int(backend.download(run.reading.progress)[ITERATION]), 1)

    def _take_trace(self, run: _Run) -> None:
        """Fetch what one walk read, in the order of vertices: which warp came first is chance."""
        backend, reading = self._backend, run.reading
        used = int(backend.download(reading.progress)[TRACED]) * TRACE_FIELDS
        rows = backend.download(backend.part(reading.trace, 0, used)).reshape(-1, TRACE_FIELDS)
        run.reads.append(rows[np.argsort(rows[:, 1])])
        backend.fill(backend.part(reading.progress, TRACED, TRACED + 1), 0)

    def _survey(self, run: _Run, rest: float) -> None:
        """Look at all residuals, and let those wait that are worth at least `rest`."""
        self._launch_warp(self._kernels.clear_sums, self._state, rest)
        self._launch(self._kernels.survey, self._state, run.snapshot.bound)
        self._operations = 0

    def _renew(self, run: _Run) -> None:
        """Compute all residuals from the lists."""
        self._launch_warp(self._kernels.end_walk, self._state, run.reading)
        self._launch(
            self._kernels.renew,
            self._state,
            run.snapshot.bound,
            self._index.out.degrees,
            self.program.damping,
        )
        self._walk(run)
        self._survey(run, self._sums[REST])

    def _converge(self, run: _Run) -> None:
        """Push until R is within the allowance; in the published system, until no residual is above its threshold."""
        floor = self._floor(run) if self._keeping else inf
        allowed = self._allowed if self._keeping else 0.0
        limit = run.patience * run.snapshot.edges if self._keeping else inf
        renewed = False
        self._resume(0.0)
        while True:
            control = self._push(run, allowed, floor, limit)
            sums = self._sums = self._backend.download(self._state.sums)
            if control[STATUS] == WITHIN or not self._keeping:
                break
            if control[STATUS] == LONG_RUN:
                self._straighten(run, sums, floor)
                limit = sums[READ] + run.patience * run.snapshot.edges
            elif sums[REST] > floor * sums[MASS]:
                self._survey(run, max(floor * sums[MASS], sums[REST] / DEPTH))
                self._resume(sums[REST])
            elif not renewed:
                self._renew(run)
                self._resume(0.0)
                renewed = True
            else:
                break  # what is left is rounding
        self._operations += int(sums[READ])
        if control[WAITING] > MOST_WAITING * self._bound and self._keeping:
            self._set_rest(max(sums[REST], sums[THRESHOLD] / DEPTH))

    def _resume(self, threshold: float) -> None:
        """Let rounds begin with this threshold; with that of the most worthwhile if it is 0."""
        self._launch_warp(self._kernels.resume, self._state, threshold)
        if threshold == 0.0:
            self._launch(self._kernels.find_peak, self._state)

    def _set_rest(self, rest: float) -> None:
        self._sums[REST] = rest
        self._backend.copy(self._state.sums, self._sums)

    def _push(self, run: _Run, allowed: float, floor: float, limit: float) -> NDArray[np.int64]:
        """Launch rounds until one finds a reason to stop."""
        state, ahead = self._state, 1 if run.stepwise else AHEAD
        while True:
            for _ in range(ahead):
                self._launch_warp(self._kernels.begin_round, state, run.reading, allowed, floor, limit)
                self._launch(
                    self._kernels.choose, state, self._index.out.degrees, run.number, self.program.damping
                )
                self._walk(run)
            control: NDArray[np.int64] = self._backend.download(state.control)
            if control[STATUS] != PUSHING:
                return control
            if not run.stepwise:
                ahead = min(2 * ahead, MOST_AHEAD)

    def _straighten(self, run: _Run, sums: NDArray[np.float64], floor: float) -> None:
        """Scale the total of all residuals away if it is most of R, and let rounds go on."""
        excess = (sums[TOTAL] + sums[DRIFT]) / sums[MASS]
        if excess > run.excess * (1 - (1 - self.program.damping) / 2):
            run.patience *= 2  # scaling may double R, and pushing has not made up for that
        self._survey(run, sums[REST])
        now = self._backend.download(self._state.sums)
        if 2 * abs(now[SIGNED]) <= sums[TOTAL] or not now[SIGNED] < now[COUNT]:
            self._resume(sums[THRESHOLD])
            return
        run.dense = True
        run.excess = excess
        factor = now[COUNT] / (now[COUNT] - now[SIGNED])
        self._launch(self._kernels.rescale, self._state, run.snapshot.bound, factor)
        self._survey(run, floor * now[MASS])
        self._resume(0.0)

    def _work(self, run: _Run) -> Work:
        backend, reading = self._backend, run.reading
        nothing = np.empty((0, TRACE_FIELDS), np.int64)
        work = Work(
            iterations=int(backend.download(reading.progress)[ITERATION]) - 1,
            changed=int(backend.download(self._state.control)[CHANGED]),
            dense=run.dense,
            counters=counters_of(backend.download(reading.tallies)),
            reads=np.concatenate([nothing, *run.reads]) if run.tracing else None,
        )
        return work if run.cached is None else run.cached.end(work, reading, tracing=run.tracing)
