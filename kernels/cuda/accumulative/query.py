"""An accumulative program on a GPU: its state between batches, and which kernels run in which order.

A batch first changes flows (`flows.py`), then rounds of pushes (`rounds.py`) bring the error within the tolerance. As
many rounds are launched as the last batch took before the host looks for the first time, and it comes in only when
rounds stop: because the error is small enough, or because residuals have to be computed again.
"""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from grapin.counters import Work
from grapin.graph.change import Applied
from grapin.graph.snapshot import Snapshot
from grapin.kernels.cuda.accumulative import flows, rounds
from grapin.kernels.cuda.accumulative.flows import (
    CHANGED,
    CHOSEN,
    CHOSEN_FROM,
    COMES,
    CONTROLS,
    FRESH,
    GOES,
    Flows,
    new_flows,
)
from grapin.kernels.cuda.backend import Backend, bind_functions
from grapin.kernels.cuda.cache.cuda_cache import CachedReads, CudaCache
from grapin.kernels.cuda.index import ListIndex
from grapin.kernels.cuda.lists import (
    ITERATION,
    PROGRESS_SIZE,
    STRIPES,
    TALLY_SIZE,
    TRACE_FIELDS,
    TRACED,
    Reading,
    counters_of,
    new_reading,
)
from grapin.kernels.cuda.walk import bind_walk_at_once
from grapin.kernels.equation import (
    DRIFT,
    FACTOR,
    HOLDS,
    LOST,
    NUMBERS,
    OFF,
    PUSHING,
    RENEWALS,
    REPORTED_OFF,
    SCALE,
    STATUS,
    TERMS,
    Bound,
    Change,
    Equation,
)
from grapin.programs.accumulative import Accumulative
from grapin.system import Repair, Resident, System

_bound: WeakKeyDictionary[Any, dict[tuple[Any, ...], SimpleNamespace]] = WeakKeyDictionary()


def bind_accumulative(
    backend: Backend, *, weights: bool, absorbing: bool, cached: bool, **sizes: Any
) -> SimpleNamespace:
    """Return the kernels by name; `sizes` may set `SHORT` and `LONG` of `walk.py`."""
    made = _bound.setdefault(backend.compiler, {})
    name = weights, absorbing, cached, *sorted(sizes.items())
    if name not in made:
        names = bind_functions(backend, (*flows.FUNCTIONS, *rounds.FUNCTIONS), ABSORBING=absorbing, **sizes)

        def push(visit: Any) -> Any:
            inner = bind_functions(backend, (flows.share_of, visit), **names)
            inner |= {"begin": inner["share_of"], "visit": inner[visit.__name__]}
            return bind_walk_at_once(backend, visit.__name__, weights=weights, cached=cached, **inner)

        kernels = (*flows.KERNELS, *rounds.KERNELS)
        made[name] = SimpleNamespace(
            push=push(flows.hand_on),
            push_carefully=push(flows.hand_on_carefully),
            **{one.__name__: backend.kernel(one, "accumulative", **names) for one in kernels},
        )
    return made[name]


MOST_AHEAD = 16
"""How many rounds are launched before the host looks at them, at most."""
MORE = 2
"""How many more it launches when it looked too early; then twice as many, and so on."""


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
    renewals: int = 0

    @property
    def stepwise(self) -> bool:
        """Whether the host looks at every walk."""
        return self.tracing or (self.cached is not None and self.cached.stepwise)


class AccumulativeQuery:
    """One accumulative program, kept up to date on a device.

    In its `Work`, `changed` counts the vertices that passed a change on, each once.
    """

    def __init__(
        self, backend: Backend, program: Accumulative, system: System, *, weight_dtype: Any, **sizes: Any
    ) -> None:
        self.program = program
        self.system = system
        self._backend = backend
        self._equation = Equation(program, stored_weights=weight_dtype is not None)
        self._bound = Bound(program, system, linked=not isinstance(system.transfer, Resident))
        self._sizes = sizes
        self._kernels = self._bind(cached=False)
        self._index = ListIndex(backend, system.transfer, weights=self._equation.weighted)
        self._board = backend.full(CONTROLS + PROGRESS_SIZE + STRIPES * TALLY_SIZE, 0, np.int64)
        """Control, progress and tallies lie behind each other, so that one copy shows them all."""
        self._state: Flows = new_flows(backend, 0, backend.part(self._board, 0, CONTROLS))
        self._long_lists = backend.empty(1, np.int32)
        self._set_numbers()
        self._cache: CudaCache | None = None
        self._vertices = 0
        self._runs = 0
        self._ahead = MORE
        """How many rounds the last repair took."""

    def read_through(self, cache: CudaCache) -> None:
        """Let all reads pass through the cache from now on; before the first of them."""
        self._cache = cache
        self._index.copies = cache.copies
        self._kernels = self._bind(cached=True)

    def start(self, snapshot: Snapshot, *, tracing: bool) -> Work:
        """Compute the values from scratch."""
        self._follow(snapshot, None)
        run = self._run(snapshot, None, tracing=tracing)
        self._restart(run)
        return self._work(run)

    def repair(self, snapshot: Snapshot, applied: Applied, *, tracing: bool) -> Work:
        """Bring the values up to date with what a batch changed."""
        self._follow(snapshot, applied)
        run = self._run(snapshot, applied, tracing=tracing)
        if self.system.repair is Repair.RECOMPUTE:
            self._restart(run)
        else:
            self._change(run, self._equation.change(snapshot, applied))
            self._converge(run)
        return self._work(run)

    def values(self) -> NDArray[np.float64]:
        """Return the value of each vertex below the bound; those that do not exist have 0."""
        backend, numbers = self._backend, self._bound.numbers
        values = backend.empty(self._vertices, np.float64)
        if self._vertices:
            self._launch("report", np.int64(self._vertices), numbers[REPORTED_OFF], numbers[SCALE], values)
        return backend.download(values)

    def parents(self) -> NDArray[np.int32]:
        """Return -1 for each vertex: a value comes from everywhere."""
        return np.full(self._vertices, -1, np.int32)

    def reached(self, vertex: int) -> bool:
        """Tell whether a vertex has a value."""
        return bool(self.values()[vertex] > 0)

    def error_bound(self) -> float:
        """Return what the values are off by in sum at most, as a part of their sum."""
        return self._bound.error

    def memory(self) -> dict[str, int]:
        """Return the bytes on the device by part."""
        parts = {name: int(array.nbytes) for name, array in self._state._asdict().items()}
        return parts | self._index.memory()

    def _bind(self, *, cached: bool) -> SimpleNamespace:
        absorbing = len(self.program.fixed()) > 0
        weights = self._equation.weighted
        return bind_accumulative(
            self._backend, weights=weights, absorbing=absorbing, cached=cached, **self._sizes
        )

    def _launch(self, name: str, *arguments: Any) -> None:
        """Launch a kernel on the state."""
        self._backend.launch(getattr(self._kernels, name), self._state, *arguments)

    def _set_numbers(self) -> None:
        part = self._backend.part(self._state.numbers, 0, NUMBERS)
        self._backend.copy(part, np.array(self._bound.numbers))

    def _run(self, snapshot: Snapshot, applied: Applied | None, *, tracing: bool) -> _Run:
        backend, middle = self._backend, CONTROLS + PROGRESS_SIZE
        self._runs += 1
        backend.fill(self._board, 0)
        reading = new_reading(backend, self._long_lists)._replace(
            progress=backend.part(self._board, CONTROLS, middle),
            tallies=backend.part(self._board, middle, len(self._board)),
        )
        cached = None if self._cache is None else self._cache.reads(snapshot, applied)
        if cached is not None:
            reading = cached.counted_by(reading)
        if tracing and (cached is None or not cached.stepwise):
            reading = reading._replace(trace=backend.empty(snapshot.bound * TRACE_FIELDS, np.int64))
        return _Run(self._runs, snapshot, reading, tracing, cached)

    def _follow(self, snapshot: Snapshot, applied: Applied | None) -> None:
        """Make room for vertices below the bound, at least doubling it, and learn where out-lists are."""
        backend, old = self._backend, self._state
        room = len(old.pushed)
        if snapshot.bound > room:
            self._state = new_flows(backend, max(snapshot.bound, 2 * room), old.control)
            for name, before in old._asdict().items():
                after = getattr(self._state, name)
                if name != "control":
                    backend.copy(backend.part(after, 0, len(before)), before)
            self._long_lists = backend.empty(len(self._state.pushed), np.int32)
            fixed = self.program.fixed()
            if len(fixed):
                flags = np.zeros(len(self._state.pushed), np.uint8)
                flags[fixed[fixed < len(flags)]] = 1
                backend.copy(self._state.fixed, flags)
        self._vertices = snapshot.bound
        self._index.update(replace(snapshot, in_=None), applied)

    def _restart(self, run: _Run) -> None:
        """Forget all, and begin with an even guess where recentring leaves only its unevenness to be pushed."""
        run.dense = True
        backend, state = self._backend, self._state
        base, rates, passed = self._equation.start(run.snapshot)
        counted, cost = self._bound.weigh(rates, passed, run.snapshot.out.degrees[: self._vertices])
        pushed = (rates > 0).astype(np.float64) if self._bound.recentred else np.zeros(self._vertices)
        columns = pushed, base, base, rates, counted, cost
        for array, column in zip(state[: len(columns)], columns, strict=True):
            backend.copy(backend.part(array, 0, self._vertices), column)
        self._bound.numbers[OFF] = self._bound.numbers[DRIFT] = 0.0
        self._set_numbers()
        if self._bound.recentred:
            self._renew(run)
        self._converge(run)

    def _change(self, run: _Run, what: Change) -> None:
        """Let the batch change the equation."""
        upload, keeping = self._backend.upload, self._bound.keeping
        vertices = np.unique(np.concatenate([what.touched, what.come, what.gone]))
        if not len(vertices):
            return
        touched, come, gone = (
            np.searchsorted(vertices, part) for part in (what.touched, what.come, what.gone)
        )
        flags = np.zeros(len(vertices), np.uint8)
        flags[touched[what.fresh]] |= FRESH
        flags[come] |= COMES
        flags[gone] |= GOES
        rates, passed, bases = np.zeros((3, len(vertices)))
        rates[touched], passed[touched], bases[come] = what.rates, what.passed, what.bases
        degrees = run.snapshot.out.degrees[vertices]
        told = degrees > 0
        if keeping:
            told &= rates == 0
        if told.any():
            self._launch(
                "choose_touched",
                run.reading,
                upload(vertices[told]),
                upload(rates[told]),
                self._index.out.degrees,
            )
            self._walk(run, "push_carefully")
        where, how, to = upload(vertices), upload(flags), upload(rates)
        self._launch("open_lists", where, how, to, upload(bases))
        if len(what.sources):
            self._launch("change_flows", upload(what.sources), upload(what.targets), upload(what.gains))
        weighed = map(upload, self._bound.weigh(rates, passed, degrees))
        self._launch("settle", where, how, to, *weighed, np.bool_(keeping))

    def _walk(self, run: _Run, name: str) -> None:
        """Let the chosen hand their shares on."""
        if run.cached is not None and run.cached.stepwise:
            self._prepare(run.cached)
        state = self._state
        where = run.reading, self._index.out, np.int64(0)
        self._launch(name, *where, state.chosen, state.control, np.int64(CHOSEN_FROM))
        if run.reading.trace.size:
            self._take_trace(run)

    def _prepare(self, cached: CachedReads) -> None:
        """Let the cache decide about the lists that are about to be read."""
        backend, board = self._backend, self._backend.download(self._board)
        count = int(board[CHOSEN])
        if count:
            chosen = backend.download(backend.part(self._state.chosen, 0, count))
            arrays = 2 if self._equation.weighted else 1
            cached.before(chosen, 0, int(board[CONTROLS + ITERATION]), arrays)

    def _take_trace(self, run: _Run) -> None:
        """Fetch what one walk read, in the order of vertices: which warp came first is chance."""
        backend, reading = self._backend, run.reading
        used = int(backend.download(reading.progress)[TRACED]) * TRACE_FIELDS
        rows = backend.download(backend.part(reading.trace, 0, used)).reshape(-1, TRACE_FIELDS)
        run.reads.append(rows[np.argsort(rows[:, 1])])
        backend.fill(backend.part(reading.progress, TRACED, TRACED + 1), 0)

    def _renew(self, run: _Run) -> None:
        """Compute all residuals from the lists."""
        self._backend.fill(self._backend.part(self._state.numbers, DRIFT, DRIFT + 1), 0.0)
        self._launch("begin_residuals", run.reading, np.int64(self._vertices), self._index.out.degrees)
        self._walk(run, "push_carefully")

    def _converge(self, run: _Run) -> None:
        """Push until the bound is within the tolerance."""
        backend, bound = self._backend, self._bound
        numbers, vertices, degrees = self._state.numbers, np.int64(self._vertices), self._index.out.degrees
        adders = backend.shape.blocks * backend.shape.threads // backend.warp
        given = bound.terms(self._vertices, adders), bound.factor(self._equation.contraction)
        backend.copy(backend.part(numbers, TERMS, FACTOR + 1), np.array(given))
        survey = run.reading, vertices, degrees, np.float64(bound.push_cost), np.bool_(bound.even)
        self._launch("survey", *survey)
        self._launch("sum_sizes", vertices)
        ahead, more = 1 if run.stepwise else self._ahead, MORE
        while True:
            for _ in range(ahead):
                self._launch("choose_worth", run.reading, vertices, degrees, np.int64(run.number))
                self._walk(run, "push")
                self._launch("sum_residuals", run.reading, vertices)
                self._launch("sum_sizes", vertices)
            bound.numbers = backend.download(backend.part(numbers, 0, NUMBERS)).tolist()
            status = bound.numbers[STATUS]
            if status == HOLDS:
                break
            if status == LOST:
                self._restart(run)
                return
            if status != PUSHING:
                if run.renewals == RENEWALS:
                    bound.refuse()
                run.renewals += 1
                self._renew(run)
                self._launch("survey", *survey)
                self._launch("sum_sizes", vertices)
            if not run.stepwise:
                ahead, more = more, min(2 * more, MOST_AHEAD)

    def _work(self, run: _Run) -> Work:
        board = self._backend.download(self._board)
        nothing = np.empty((0, TRACE_FIELDS), np.int64)
        iterations = int(board[CONTROLS + ITERATION])
        if not run.dense:
            self._ahead = min(max(iterations, 1), MOST_AHEAD)
        work = Work(
            iterations=iterations,
            changed=int(board[CHANGED]),
            dense=run.dense,
            counters=self._index.crossing(counters_of(board[CONTROLS + PROGRESS_SIZE :])),
            reads=np.concatenate([nothing, *run.reads]) if run.tracing else None,
        )
        return work if run.cached is None else run.cached.end(work, run.reading, tracing=run.tracing)
