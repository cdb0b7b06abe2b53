"""An accumulative program on the CPU: residuals between batches, pushed round by round until the error is certain.

Threads share a round by sources: each pushes its part of them in a copy of all residuals of its own, and what they
did is added up by ranges of targets. So answers do not depend on chance, and stay within the bound for any number of
threads.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.counters import Counters, Work
from grapin.graph.change import Applied
from grapin.graph.snapshot import Snapshot
from grapin.kernels.cpu.accumulative.push import (
    Flows,
    census,
    change,
    measure,
    merge,
    push_round,
    renew,
    report,
    tell_neighbours,
)
from grapin.kernels.cpu.lists import (
    EDGES,
    ITERATIONS,
    LEAST_VERTICES,
    PAGES,
    REQUESTS,
    TRACE_FIELDS,
    arrays_of,
    new_tally,
)
from grapin.kernels.equation import (
    BLOCK,
    DRIFT,
    FACTOR,
    HOLDS,
    LOST,
    OFF,
    RENEWALS,
    REPORTED_OFF,
    ROUNDED,
    SCALE,
    STATUS,
    TERMS,
    THRESHOLD,
    Bound,
    Change,
    Equation,
    begin_rounds,
    recentring_base,
    take_push,
    take_sums,
)
from grapin.programs.accumulative import Accumulative
from grapin.system import Repair, System

SHARED_FROM = 1 << 18
"""Edges from which a round is shared among threads: to read them takes several times as long as to copy residuals."""


@dataclass
class _Run:
    """One start or repair on its way."""

    number: int
    snapshot: Snapshot
    lists: tuple[Any, ...]
    tracing: bool
    tally: NDArray[np.int64] = field(default_factory=new_tally)
    trace: NDArray[np.int64] = field(default_factory=lambda: np.empty(1024, np.int64))
    used: int = 0
    changed: int = 0
    dense: bool = False

    def reading(self) -> tuple[Any, ...]:
        return self.tally, self.trace, self.used, self.tracing


class AccumulativeQuery:
    """One accumulative program, kept up to date on the CPU.

    In its `Work`, `changed` counts the vertices that passed a change on, each once.
    """

    def __init__(self, program: Accumulative, system: System, *, weight_dtype: Any, threads: int) -> None:
        self.program = program
        self.system = system
        self.threads = threads
        self._equation = Equation(program, stored_weights=weight_dtype is not None)
        self._bound = Bound(program, system, linked=False)
        self._fixed = program.fixed()
        self._state = _new_flows(LEAST_VERTICES)
        self._chosen = np.empty((threads, BLOCK), np.int64)
        self._vertices = 0
        self._runs = 0

    def start(self, snapshot: Snapshot, *, tracing: bool) -> Work:
        """Compute the values from scratch."""
        run = self._run(snapshot, tracing=tracing)
        self._restart(run)
        return _work(run)

    def repair(self, snapshot: Snapshot, applied: Applied, *, tracing: bool) -> Work:
        """Bring the values up to date with what a batch changed."""
        run = self._run(snapshot, tracing=tracing)
        if self.system.repair is Repair.RECOMPUTE:
            self._restart(run)
            return _work(run)
        self._reserve(snapshot.bound)
        self._change(run, self._equation.change(snapshot, applied))
        self._converge(run)
        return _work(run)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what `resume` goes on from: the flows of each vertex, and what is known of them together."""
        flows = {name: array[: self._vertices].copy() for name, array in self._state._asdict().items()}
        return flows | {"known": np.array([*self._bound.numbers, self._equation.contraction, self._runs])}

    def resume(self, snapshot: Snapshot, state: dict[str, NDArray[Any]]) -> None:
        """Go on from what `state` returned, on the same graph."""
        self._reserve(max(snapshot.bound, LEAST_VERTICES))
        self._vertices = snapshot.bound
        for name, array in self._state._asdict().items():
            array[: self._vertices] = state[name]
        *self._bound.numbers, self._equation.contraction, runs = state["known"].tolist()
        self._runs = int(runs)

    def values(self) -> NDArray[np.float64]:
        """Return the value of each vertex below the bound; those that do not exist have 0."""
        values = np.empty(self._vertices)
        numbers = self._bound.numbers
        report(self._vertices, numbers[REPORTED_OFF], numbers[SCALE], self._state, values)
        return values

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
        """Return the bytes of vertex state by part."""
        return {name: array.nbytes for name, array in self._state._asdict().items()}

    def _run(self, snapshot: Snapshot, *, tracing: bool) -> _Run:
        self._runs += 1
        lists = arrays_of(snapshot.out, weights=self._equation.weighted)
        return _Run(self._runs, snapshot, lists, tracing)

    def _reserve(self, bound: int) -> None:
        """Make room for vertices below `bound`; at least doubling, so that growth costs little per vertex."""
        old = self._state
        if bound > len(old.pushed):
            self._state = _new_flows(max(bound, 2 * len(old.pushed)))
            for before, after in zip(old, self._state, strict=True):
                after[: len(before)] = before
        self._vertices = bound

    def _restart(self, run: _Run) -> None:
        """Forget all, and begin with an even guess where recentring leaves only its unevenness to be pushed."""
        self._state = _new_flows(0)
        self._reserve(max(run.snapshot.bound, LEAST_VERTICES))
        self._vertices = run.snapshot.bound
        state, bound = self._state, self._vertices
        state.base[:bound], rates, passed = self._equation.start(run.snapshot)
        self._set_rates(np.arange(bound), rates, passed, run.lists[1][:bound])
        state.residual[:] = state.base
        numbers = self._bound.numbers
        numbers[OFF] = numbers[DRIFT] = 0.0
        if self._bound.recentred:
            state.pushed[:] = state.rate > 0
            self._renew(run)
        run.dense = True
        self._converge(run)

    def _set_rates(self, vertices: Any, rates: Any, passed: Any, degrees: Any) -> None:
        """Let vertices pass this on from now on."""
        state = self._state
        state.rate[vertices] = rates
        state.counted[vertices], state.cost[vertices] = self._bound.weigh(rates, passed, degrees)

    def _change(self, run: _Run, what: Change) -> None:
        """Let the batch change the equation."""
        keeping, state = self.system.repair is Repair.BOUNDED, self._state
        state.residual[what.come] = state.base[what.come] = what.bases
        degrees = run.lists[1][what.touched]
        telling = (what.rates == 0) & (degrees > 0) if keeping else degrees > 0
        if telling.any():
            rounded, run.trace, run.used = tell_neighbours(
                what.touched[telling], what.rates[telling], run.lists, state, *run.reading()
            )
            self._bound.numbers[DRIFT] += rounded
        self._bound.numbers[DRIFT] += change(
            (what.sources, what.targets, what.gains),
            (what.touched, what.fresh, what.rates),
            keeping,
            self._bound.numbers[OFF],
            state,
        )
        self._set_rates(what.touched, what.rates, what.passed, degrees)
        for array in (state.pushed, state.residual, state.base):
            array[what.gone] = 0.0

    def _renew(self, run: _Run) -> None:
        """Compute residuals from the lists, with amounts on the scale of the base."""
        numbers = self._bound.numbers
        if numbers[OFF] != 0.0:
            self._state.pushed[:] /= 1 - numbers[OFF]
        numbers[DRIFT], run.trace, run.used = renew(self._vertices, run.lists, self._state, *run.reading())
        numbers[OFF] = 0.0

    def _converge(self, run: _Run) -> None:
        """Push until the bound is within the tolerance."""
        state, vertices, bound = self._state, self._vertices, self._bound
        numbers = bound.numbers
        numbers[FACTOR] = bound.factor(self._equation.contraction)
        numbers[TERMS] = bound.terms(vertices, 0)
        renewals = 0
        begin_rounds(numbers, *self._census(run))
        with self._pool() as pool:
            while True:
                take_sums(numbers, *measure(vertices, self._fixed, recentring_base(numbers), state))
                if numbers[STATUS] == HOLDS:
                    return
                if numbers[STATUS] == LOST:
                    self._restart(run)
                    return
                if numbers[STATUS] == ROUNDED:
                    if renewals == RENEWALS:
                        bound.refuse()
                    renewals += 1
                    self._renew(run)
                    begin_rounds(numbers, *self._census(run))
                    continue
                before = int(run.tally[EDGES])
                amount = self._push(run, pool)
                edges = int(run.tally[EDGES]) - before
                take_push(numbers, amount, edges, self.threads * vertices)

    def _census(self, run: _Run) -> Any:
        bound = self._bound
        return census(self._vertices, run.lists[1], bound.push_cost, bound.even, self._state)

    def _push(self, run: _Run, pool: ThreadPoolExecutor | None) -> float:
        """Do one round; return the sum of what was pushed."""
        state, vertices, numbers = self._state, self._vertices, self._bound.numbers
        where = numbers[THRESHOLD], numbers[OFF], run.number
        if pool is None or self._chosen_edges(run) < SHARED_FROM:
            amount, changed, run.trace, run.used = push_round(
                0, vertices, *where, state.residual, run.lists, state, self._chosen[0], *run.reading()
            )
            run.changed += changed
            return float(amount)
        ends = np.linspace(0, vertices, self.threads + 1).astype(int).tolist()
        ranges = list(zip(range(self.threads), ends, ends[1:], strict=False))
        copies = np.empty((self.threads, vertices))

        def push_part(part: int, begin: int, end: int) -> Any:
            tally = new_tally()
            copies[part] = state.residual[:vertices]
            rest: Any = run.lists, state, self._chosen[part], tally, run.trace, 0, False
            return (*push_round(begin, end, *where, copies[part], *rest)[:2], tally)

        def merge_part(_part: int, begin: int, end: int) -> None:
            merge(begin, end, copies, state.residual)

        parts = list(pool.map(lambda one: push_part(*one), ranges))
        list(pool.map(lambda one: merge_part(*one), ranges))
        counts = sum(tally for *_, tally in parts)
        counts[ITERATIONS] = 1
        run.tally += counts
        run.changed += sum(changed for _, changed, _ in parts)
        return float(sum(amount for amount, *_ in parts))

    def _chosen_edges(self, run: _Run) -> int:
        """Return how many edges those read that push now."""
        state, end = self._state, self._vertices
        numbers = self._bound.numbers
        sizes = np.abs(state.residual[:end] - numbers[OFF]) > numbers[THRESHOLD] * state.cost[:end]
        return int(run.lists[1][:end][sizes].sum(dtype=np.int64))

    @contextmanager
    def _pool(self) -> Iterator[ThreadPoolExecutor | None]:
        if self.threads == 1:
            yield None
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                yield pool


def _new_flows(capacity: int) -> Flows:
    """Return the state of vertices that do not exist."""
    pushed, residual, base, rate = np.zeros((4, capacity))
    cost = np.full(capacity, np.inf, np.float32)
    return Flows(
        pushed, residual, base, rate, np.zeros(capacity, np.float32), cost, np.zeros(capacity, np.int64)
    )


def _work(run: _Run) -> Work:
    counts = run.tally.tolist()
    counters = Counters.of(counts[EDGES], counts[1], counts[REQUESTS : REQUESTS + 4], counts[PAGES])
    reads = run.trace[: run.used].reshape(-1, TRACE_FIELDS).copy() if run.tracing else None
    return Work(
        iterations=counts[ITERATIONS],
        changed=int(run.changed),
        dense=run.dense,
        counters=counters,
        reads=reads,
    )
