"""Driving the kernels: which are launched in which order, and when the host looks at how far they got.

Launches follow each other on one stream, and what steers them stays on the device. The host looks after one round, then
after two more, then four: a round too many finds empty queues and is over at once. Where reads are traced it looks at
every round, because there must be room for what the round will write; where a cache fills copies on first use, at every
walk, because it must be asked. Where lists are staged it looks at every walk too, and launches it task by task.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.counters import Work
from grapin.kernels.cuda.backend import Backend, Shape
from grapin.kernels.cuda.cache.cuda_cache import CachedReads
from grapin.kernels.cuda.index import ListIndex
from grapin.kernels.cuda.lists import (
    ITERATION,
    LONG_LISTS,
    PROGRESS_SIZE,
    STRIPES,
    TALLY_SIZE,
    TRACE_FIELDS,
    TRACED,
    DeviceLists,
    Reading,
    counters_of,
    new_reading,
)
from grapin.kernels.cuda.monotone.queues import (
    AFFECTED,
    CHANGED,
    CONTROL_SIZE,
    FAR,
    JOURNAL,
    LOST,
    NEAR,
    State,
)
from grapin.kernels.cuda.parts import UNLIMITED, Parts
from grapin.kernels.cuda.staging import Staging
from grapin.system import Local, Priority, Schedule

BOARD_SIZE = CONTROL_SIZE + PROGRESS_SIZE + STRIPES * TALLY_SIZE
"""Control, progress and tallies lie behind each other, so that one copy shows them all."""
MAX_ROUNDS_PER_SYNC = 16
"""So many rounds at most are launched before the host looks again."""


class Board:
    """The numbers on the device that the host looks at."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._numbers = backend.full(BOARD_SIZE, 0, np.int64)
        self.control = backend.part(self._numbers, 0, CONTROL_SIZE)
        self.progress = backend.part(self._numbers, CONTROL_SIZE, CONTROL_SIZE + PROGRESS_SIZE)
        self.tallies = backend.part(self._numbers, CONTROL_SIZE + PROGRESS_SIZE, BOARD_SIZE)

    def look(self) -> "Seen":
        """Wait for all that was launched, and return the numbers."""
        return Seen(self._backend.download(self._numbers))

    def begin(self) -> None:
        """Count from scratch; the first iteration is number 1."""
        self._backend.fill(self._backend.part(self.control, JOURNAL, CONTROL_SIZE), 0)
        self._backend.fill(self.progress, 0)
        self._backend.fill(self._backend.part(self.progress, ITERATION, ITERATION + 1), 1)
        self._backend.fill(self.tallies, 0)

    def forget_journal(self) -> None:
        """Empty the journal, when all that it holds has been cleared."""
        self._backend.fill(self._backend.part(self.control, JOURNAL, JOURNAL + 1), 0)

    def forget_changes(self) -> None:
        """Count changes from scratch."""
        self._backend.fill(self._backend.part(self.control, CHANGED, AFFECTED + 1), 0)


class Seen:
    """A board as it was when the host looked."""

    def __init__(self, numbers: NDArray[np.int64]) -> None:
        self.control = numbers[:CONTROL_SIZE]
        self.progress = numbers[CONTROL_SIZE : CONTROL_SIZE + PROGRESS_SIZE]
        self.counters = counters_of(numbers[CONTROL_SIZE + PROGRESS_SIZE :])
        """What was read so far."""

    @property
    def near(self) -> int:
        """How many vertices the next round takes."""
        return int(self.control[NEAR + 1] - self.control[NEAR])

    @property
    def finished(self) -> bool:
        """Whether no vertex is queued."""
        return self.near == 0 and bool(self.control[FAR] == self.control[FAR + 1])


class Rounds:
    """One start or repair on its way."""

    def __init__(
        self,
        backend: Backend,
        kernels: SimpleNamespace,
        state: State,
        board: Board,
        index: ListIndex,
        *,
        long_lists: Any,
        sides: int,
        tracing: bool,
        cached: CachedReads | None,
        staging: Staging | None,
        schedule: Schedule,
    ) -> None:
        self._backend = backend
        self._kernels = kernels
        self._state = state
        self._board = board
        self._tracing = tracing
        self._alone = Shape(1, backend.warp)
        self._wanted = backend.shape.blocks * backend.shape.threads
        self.pushes = ((index.out, 0), (index.in_, 1))[:sides]
        self.pulls = ((index.in_, 1), (index.out, 0))[:sides]
        self._staging = staging
        self._schedule = schedule
        self._cached = cached
        self._asking = cached if cached is not None and cached.stepwise else None
        """The cache, if it must be asked before every walk."""
        reading = new_reading(backend, long_lists)._replace(tallies=board.tallies, progress=board.progress)
        self._reading = reading if cached is None else cached.counted_by(reading)
        self._trace = backend.empty(0, np.int64)
        """Room for one row per list read: of all reads when tracing, else of a walk that may stop early."""
        board.begin()

    def launch(self, name: str, *arguments: Any) -> None:
        """Launch a kernel on the state."""
        self._backend.launch(getattr(self._kernels, name), self._state, *arguments)

    def restart(self, threshold: int) -> None:
        """Empty the queues."""
        self._backend.launch(self._kernels.restart, self._state, np.int64(threshold), shape=self._alone)

    def correct(self, budget: int, *, searches: bool) -> bool:
        """Decide whatever is pending, unless more than `budget` edges are read for it; tell whether it is done."""
        self._advance()
        steps = 1
        while True:
            seen = self._board.look()
            if seen.finished or seen.counters.edges > budget:
                return seen.finished
            self._make_room(seen, lists=4)
            for _ in range(steps):
                if searches:
                    self._walk("consider", self.pulls, self._state.near, NEAR)
                self.launch("decide")
                self._walk("release", self.pushes, self._state.lost, LOST)
                self._advance()
            steps = self._more(steps)

    def settle_lost(self) -> None:
        """Give lost vertices the best offer there is for them."""
        self.launch("settle_lost", np.bool_(False))
        self._end_round()
        if self._tracing:
            self._make_room(self._board.look(), lists=2)
        self._walk("gain", self.pulls, self._state.near, NEAR)
        self.launch("settle_lost", np.bool_(True))
        self._end_round()  # what was read here is an iteration of its own, if anything was

    def forward(self, budget: int = UNLIMITED) -> bool:
        """Let queued vertices offer their values until nothing improves; tell whether it got there within budget."""
        if self._staging is not None and isinstance(self._schedule, (Local, Priority)):
            return self._forward_in_parts(self._staging, self._schedule, budget)
        self._advance()
        steps = 1
        while True:
            seen = self._board.look()
            if seen.finished or seen.counters.edges > budget:
                return seen.finished
            self._make_room(seen, lists=2)
            for _ in range(steps):
                self._walk("push", self.pushes, self._state.near, NEAR)
                self._advance()
            steps = self._more(steps)

    def reads(self) -> NDArray[np.int64] | None:
        """Return one row per list read, when tracing; where the cache is asked before every walk it has them."""
        return self._traced() if self._tracing and self._asking is None else None

    def through_the_cache(self, work: Work) -> Work:
        """Return what was done with what the cache has to do with it."""
        if self._cached is None:
            return work
        return self._cached.end(work, self._reading, tracing=self._tracing)

    def _walk(self, visit: str, sides: tuple[tuple[DeviceLists, int], ...], items: Any, slot: int) -> None:
        kernels = getattr(self._kernels, visit)
        if self._staging is not None:
            self._walk_staged(self._staging, kernels, sides, items, slot)
            return
        for lists, inward in sides:
            reading = self._reading
            if self._asking is not None:
                self._prepare(self._asking, kernels, items, slot, inward)
            if self._asking is None or kernels.peeks:
                reading = reading._replace(trace=self._trace)
            self._launch_walk(kernels, reading, lists, inward, items, self._state.control, slot)
            if self._asking is not None and kernels.peeks:
                self._asking.after_peeks(self._traced())
                self._backend.fill(self._backend.part(self._reading.progress, TRACED, TRACED + 1), 0)

    def _launch_walk(
        self,
        kernels: SimpleNamespace,
        reading: Reading,
        lists: DeviceLists,
        inward: int,
        items: Any,
        bounds: Any,
        slot: int,
    ) -> None:
        where = self._state, reading, lists, np.int64(inward)
        self._backend.launch(kernels.walk, *where, items, bounds, np.int64(slot))
        self._backend.launch(kernels.walk_long, *where)
        self._backend.fill(self._backend.part(self._reading.progress, LONG_LISTS, LONG_LISTS + 1), 0)

    def _walk_staged(
        self,
        staging: Staging,
        kernels: SimpleNamespace,
        sides: tuple[tuple[DeviceLists, int], ...],
        items: Any,
        slot: int,
    ) -> None:
        """Read lists task by task, each when its lists are where the kernels find them."""
        seen = self._board.look()
        first, last = seen.control[slot : slot + 2].tolist()
        # Which warp queued a vertex first is chance; which partition is copied first should not be.
        vertices = np.sort(self._backend.download(self._backend.part(items, first, last)))
        for lists, inward in sides:
            for task in staging.plan(vertices, inward):
                with staging.loaded(task, lists, int(seen.progress[ITERATION])):
                    self._read(staging, kernels, lists, task.vertices, inward)

    def _read(
        self,
        staging: Staging,
        kernels: SimpleNamespace,
        lists: DeviceLists,
        vertices: NDArray[np.int32],
        inward: int,
    ) -> None:
        """Read lists of the task that is loaded."""
        items = self._backend.upload(vertices)
        reading = self._reading._replace(trace=self._trace) if self._tracing else self._reading
        bounds = self._backend.upload(np.array([0, len(vertices)]))
        self._launch_walk(kernels, reading, lists, inward, items, bounds, 0)
        traced = int(self._backend.download(self._reading.progress)[TRACED]) if self._tracing else None
        staging.count(vertices, inward, traced)

    def _forward_in_parts(self, staging: Staging, schedule: Local | Priority, budget: int) -> bool:
        """Do as `forward`, on one loaded part of the graph after another."""
        parts = Parts(staging, self, self.pushes, iteration=int(self._board.look().progress[ITERATION]))
        done = parts.run(schedule, budget)
        self._number(parts.iteration)
        return done

    def queued(self) -> NDArray[np.int32]:
        """End a round, and return whom it queued, in ascending order."""
        while True:
            self._advance()
            seen = self._board.look()
            if seen.near or seen.finished:
                break
        first, last = seen.control[NEAR : NEAR + 2].tolist()
        return np.sort(self._backend.download(self._backend.part(self._state.near, first, last)))

    def push(self, vertices: NDArray[np.int32], inward: int, iteration: int) -> None:
        """Let vertices offer their values along lists of one direction that are loaded, or read over the link."""
        assert self._staging is not None
        if self._tracing:
            self._make_room_for(self._board.look(), len(vertices))
        self._number(iteration)
        lists = self.pushes[inward][0]
        self._read(self._staging, self._kernels.push, lists, vertices, inward)

    def edges_read(self) -> int:
        """Return how many edges were read so far."""
        return self._board.look().counters.edges

    def _number(self, iteration: int) -> None:
        progress = self._reading.progress
        self._backend.fill(self._backend.part(progress, ITERATION, ITERATION + 1), iteration)

    def _prepare(
        self, cached: CachedReads, kernels: SimpleNamespace, items: Any, slot: int, inward: int
    ) -> None:
        """Let the cache decide about the lists that are about to be read."""
        seen = self._board.look()
        first, last = seen.control[slot : slot + 2].tolist()
        if first == last:
            return
        vertices = self._backend.download(self._backend.part(items, first, last))
        iteration = int(seen.progress[ITERATION])
        if kernels.peeks:
            cached.before_peeks(vertices, inward, iteration)
        else:
            cached.before(vertices, inward, iteration, kernels.arrays)

    def _traced(self) -> NDArray[np.int64]:
        used = int(self._backend.download(self._reading.progress)[TRACED]) * TRACE_FIELDS
        rows = self._backend.download(self._backend.part(self._trace, 0, used))
        return rows.reshape(-1, TRACE_FIELDS)

    def _end_round(self) -> None:
        self._backend.launch(
            self._kernels.advance, self._state, self._reading, np.int64(self._wanted), shape=self._alone
        )

    def _advance(self) -> None:
        self._end_round()
        self._backend.launch(self._kernels.split, self._state)

    def _more(self, steps: int) -> int:
        stepwise = self._tracing or self._asking is not None or self._staging is not None
        return 1 if stepwise else min(2 * steps, MAX_ROUNDS_PER_SYNC)

    def _make_room(self, seen: Seen, *, lists: int) -> None:
        """Make room for the rows of a round in which every vertex has so many lists read, if they are wanted."""
        if self._tracing or self._asking is not None:
            self._make_room_for(seen, seen.near * lists * len(self.pushes))

    def _make_room_for(self, seen: Seen, rows: int) -> None:
        used = int(seen.progress[TRACED]) * TRACE_FIELDS
        needed = used + rows * TRACE_FIELDS
        if needed > self._trace.size:
            trace = self._backend.empty(max(needed, 2 * self._trace.size), np.int64)
            if used:
                old = self._backend.part(self._trace, 0, used)
                self._backend.copy(self._backend.part(trace, 0, used), old)
            self._trace = trace
