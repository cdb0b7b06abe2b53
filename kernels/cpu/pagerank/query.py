"""PageRank on the CPU: residuals between batches, and the choice between pushing a few vertices and sweeping all.

A batch first changes flows (`flows.py`), then the most worthwhile residuals are pushed (`push.py`) until the error is
within tolerance (`residuals.py` says why it is). After every stretch of pushes, the cost of going on is estimated from
how fast the error has just fallen; when sweeps (`passes.py`) would cost less, going by how fast they converged on this
graph before, one is made. So small batches never cost a pass over the graph, and large ones cost little more than the
passes they need.
"""

from dataclasses import dataclass
from math import ceil, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.batch import Edges
from grapin.counters import Counters, Work
from grapin.graph.change import Applied
from grapin.graph.snapshot import Snapshot
from grapin.kernels.cpu.lists import (
    EDGES,
    ITERATIONS,
    LISTS,
    PAGES,
    REQUESTS,
    TRACE_FIELDS,
    arrays_of,
    new_tally,
)
from grapin.kernels.cpu.pagerank.push import file_all, push_best, push_rounds, renew, rescale, sweep
from grapin.kernels.cpu.pagerank.residuals import (
    DRIFT,
    FLOOR,
    LEVELS,
    MASS,
    RESIDUAL,
    THRESHOLD,
    TOTAL,
    Residuals,
    change_flows,
    extended,
    keep_flows,
    new_residuals,
    tell_neighbours,
    within,
)
from grapin.programs.pagerank import PageRank
from grapin.system import Repair, System

BELOW_FLOOR = 1 / 2
"""The part of the allowance that residuals below the floor may take when the floor is set; it may grow by half."""
ROUNDED = 1 / 8
"""The part of the allowance that rounding may take before residuals are recomputed."""
OUT_OF_ORDER = 3
"""What an edge costs that is read in the order of urgency, in edges that are read in the order of memory: between 1, if
only what crosses a link counts, and about 4, the ratio of the times measured on a CPU."""
LEAST_LEFT = 1e-3
"""What a sweep is taken to leave of R at least: without damping it leaves nothing, which no number of sweeps follows
from."""
STRETCHES = 16
"""Pushes are looked at whenever they have read this part of the graph's edges."""
MOST_OPERATIONS = 1 << 30
"""Q is summed up again after so many operations, so that its own rounding stays below `MARGIN`."""
MARGIN = 2.0**-20


@dataclass
class _Run:
    """One start or repair on its way."""

    number: int
    snapshot: Snapshot
    lists: tuple[Any, ...]
    tracing: bool
    tally: NDArray[np.int64]
    trace: NDArray[np.int64]
    used: int = 0
    threshold: int = LEVELS
    """The level above which the last round pushed."""
    changed: int = 0
    dense: bool = False

    def reading(self) -> tuple[Any, ...]:
        return self.lists, self.tally, self.trace, self.used, self.tracing


class PageRankQuery:
    """PageRank, kept up to date on the CPU.

    In its `Work`, `changed` counts the vertices that passed a change on, each once.
    It runs on one thread whatever is asked for: pushes depend on each other, and few are needed.
    """

    def __init__(self, program: PageRank, system: System) -> None:
        self.program = program
        self.system = system
        # Without damping nothing flows and any residual is right, so the smallest number stands for it.
        damping = max(program.damping, MARGIN)
        self._allowed = program.tolerance * (1 - damping) / (2 * damping) * (1 - MARGIN)
        """How large R may be as a part of Q."""
        self._state: Residuals = new_residuals(0)
        self._bound = 0
        self._runs = 0
        self._operations = 0
        self._contraction = 0.5
        """What the last sweep left of R."""

    def start(self, snapshot: Snapshot, *, tracing: bool) -> Work:
        """Compute the ranks from scratch."""
        run = self._run(snapshot, tracing=tracing)
        self._restart(run)
        return _work(run)

    def repair(self, snapshot: Snapshot, applied: Applied, *, tracing: bool) -> Work:
        """Bring the ranks up to date with what a batch changed."""
        self._reserve(snapshot.bound)
        run = self._run(snapshot, tracing=tracing)
        if self.system.repair is Repair.RECOMPUTE:
            self._restart(run)
            return _work(run)
        self._change(run, applied)
        if self.system.repair is Repair.PUBLISHED:
            self._keep_residuals(run)
            self._push_rounds(run)
        else:
            self._keep_sums(run)
            self._converge(run, dense=False)
        self._operations += int(run.tally[LISTS]) + len(applied.inserted) + len(applied.deleted)
        return _work(run)

    def values(self) -> NDArray[np.float64]:
        """Return the rank of each vertex below the bound; those that do not exist have 0."""
        state, bound = self._state, self._bound
        amounts: NDArray[np.float64] = state.pushed[:bound] + state.cells[:bound, RESIDUAL]
        amounts /= max(
            amounts.sum(), 1.0
        )  # every vertex has at least 1: only where there is none, it is less
        return amounts

    def parents(self) -> NDArray[np.int32]:
        """Return -1 for each vertex: a rank comes from everywhere."""
        return np.full(self._bound, -1, np.int32)

    def reached(self, vertex: int) -> bool:
        """Every vertex that exists has a rank."""
        return bool(self._state.pushed[vertex] + self._state.cells[vertex, RESIDUAL] > 0)

    def error_bound(self) -> float:
        """Return what the ranks are off by in sum at most, at this moment."""
        sums = self._state.sums
        ratio = (sums[TOTAL] + sums[DRIFT]) / max(sums[MASS], 1.0)
        return float(ratio / self._allowed * self.program.tolerance)

    def memory(self) -> dict[str, int]:
        """Return the bytes of vertex state by part."""
        state = self._state
        parts = {name: array.nbytes for name, array in state._asdict().items() if name != "rings"}
        return {**parts, "rings": sum(array.nbytes for array in state.rings)}

    def _run(self, snapshot: Snapshot, *, tracing: bool) -> _Run:
        self._runs += 1
        lists = arrays_of(snapshot.out, weights=False)
        return _Run(
            self._runs, snapshot, lists, tracing, new_tally(), np.empty(1024 if tracing else 0, np.int64)
        )

    def _reserve(self, bound: int) -> None:
        """Make room for vertices below `bound`; at least doubling, so that growth costs little per vertex."""
        capacity = len(self._state.pushed)
        if bound > capacity:
            self._state = extended(self._state, max(bound, 2 * capacity))
        self._bound = bound

    def _restart(self, run: _Run) -> None:
        run.dense = True
        bound = run.snapshot.bound
        self._state = new_residuals(bound)
        self._bound = bound
        self._state.cells[:, RESIDUAL] = run.snapshot.alive
        if self.system.repair is Repair.BOUNDED:
            self._file_all(run)
            self._converge(run, dense=True)
        else:
            # Residuals below this are within the allowance however many there are, as Q is at least their number.
            self._state.sums[THRESHOLD] = self._allowed
            self._file_all(run)
            self._push_rounds(run)

    def _change(self, run: _Run, applied: Applied) -> None:
        """Let the batch change the equations."""
        inserted, deleted = _columns(applied.inserted), _columns(applied.deleted)
        vertices = applied.inserted_vertices, applied.deleted_vertices
        degrees, damping, state = run.lists[1], self.program.damping, self._state
        change_flows(inserted, deleted, *vertices, damping, degrees, state)
        if self.system.repair is Repair.BOUNDED:
            keep_flows(inserted, deleted, degrees, state)
        else:
            lists, *reading = run.reading()
            run.trace, run.used = tell_neighbours(inserted, deleted, damping, lists, state, *reading)

    def _push_rounds(self, run: _Run) -> None:
        lists, *reading = run.reading()
        changed, run.trace, run.used = push_rounds(
            run.number, self.program.damping, lists, self._state, *reading
        )
        run.changed += changed

    def _keep_residuals(self, run: _Run) -> None:
        """Compute residuals again in the rare case that rounding asks for it, or a graph that has got small."""
        if self._state.sums[DRIFT] > ROUNDED * self._allowed * self._state.sums[MASS]:
            lists, *reading = run.reading()
            run.trace, run.used = renew(
                self.program.damping, run.snapshot.alive, lists, self._state, *reading
            )
            self._file_all(run)

    def _keep_sums(self, run: _Run) -> None:
        """Compute residuals and sums again in the rare case that rounding or the size of the graph asks for it."""
        self._keep_residuals(run)
        sums = self._state.sums
        allowance = self._allowed * sums[MASS]
        below_floor = sums[FLOOR] * run.snapshot.edges
        if not allowance / 32 <= below_floor <= 0.75 * allowance or self._operations > MOST_OPERATIONS:
            self._file_all(run)

    def _file_all(self, run: _Run) -> None:
        floor = 0.0
        if self.system.repair is Repair.BOUNDED:
            floor = BELOW_FLOOR * self._allowed / max(run.snapshot.edges, 1)
        file_all(self._bound, floor, run.lists[1], self._state)
        self._operations = 0

    def _converge(self, run: _Run, *, dense: bool) -> None:
        """Push and sweep until R is within the allowance."""
        rescaling = True
        while not within(self._allowed, self._state.sums):
            if dense or not self._push_best(run):
                before = self._excess()
                read = self._sweep(run, rescaling=rescaling)
                if read == 0:
                    return
                left = self._excess() / before
                # Scaling may double R before the sweep; where a sweep does not make up for that, it is not repeated.
                rescaling = rescaling and left < 1 - (1 - self.program.damping) / 2
                self._contraction = max(min(left, self.program.damping), LEAST_LEFT)
            dense = False

    def _excess(self) -> float:
        """How many times the allowance R is."""
        sums = self._state.sums
        return float((sums[TOTAL] + sums[DRIFT]) / (self._allowed * sums[MASS]))

    def _push_best(self, run: _Run) -> bool:
        """Push the most worthwhile residuals; False as soon as sweeps promise to be cheaper."""
        edges = run.snapshot.edges
        stretch = max(edges // STRETCHES, 64)
        while True:
            before, read = self._excess(), int(run.tally[EDGES])
            lists, *reading = run.reading()
            limits = self._allowed, read + stretch, run.threshold
            changed, run.threshold, run.trace, run.used = push_best(
                run.number, self.program.damping, *limits, lists, self._state, *reading
            )
            run.changed += changed
            excess = self._excess()
            if excess <= 1:
                return True
            if int(run.tally[EDGES]) - read < stretch or excess >= before:
                return False
            by_pushes = OUT_OF_ORDER * stretch * log(excess) / log(before / excess)
            by_sweeps = edges * ceil(log(excess) / -log(self._contraction))
            if by_pushes > by_sweeps:
                return False

    def _sweep(self, run: _Run, *, rescaling: bool) -> int:
        """Push all vertices once, after scaling the total away. Return how many edges that read."""
        read = int(run.tally[EDGES])
        if rescaling:
            rescale(run.snapshot.alive, run.lists[1], self._state)
        lists, *reading = run.reading()
        changed, run.trace, run.used = sweep(
            run.number, self.program.damping, self._bound, lists, self._state, *reading
        )
        run.changed += changed
        run.dense = True
        self._file_all(run)
        return int(run.tally[EDGES]) - read


def _columns(edges: Edges) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    return edges.source, edges.target


def _work(run: _Run) -> Work:
    counts = run.tally.tolist()
    sizes = counts[REQUESTS : REQUESTS + 4]
    counters = Counters.of(counts[EDGES], counts[LISTS], sizes, counts[PAGES])
    reads = run.trace[: run.used].reshape(-1, TRACE_FIELDS).copy() if run.tracing else None
    return Work(
        iterations=counts[ITERATIONS],
        changed=int(run.changed),
        dense=run.dense,
        counters=counters,
        reads=reads,
    )
