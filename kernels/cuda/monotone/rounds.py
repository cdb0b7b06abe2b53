"""Driving the kernels: which are launched in which order, and when the host looks at how far they got.

Launches follow each other on one stream, and what steers them stays on the device. The host looks after one round, then
after two more, then four: a round too many finds empty queues and is over at once. Where reads are traced it looks at
every round, because there must be room for what the round will write; where a cache fills copies on first use, at every
walk, because it must be asked.
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
    WIDEST,
    State,
)

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

    def forward(self, budget: int = WIDEST * WIDEST) -> bool:
        """Let queued vertices offer their values until nothing improves; tell whether it got there within budget."""
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
        for lists, inward in sides:
            reading = self._reading
            if self._asking is not None:
                self._prepare(self._asking, kernels, items, slot, inward)
            if self._asking is None or kernels.peeks:
                reading = reading._replace(trace=self._trace)
            where = self._state, reading, lists, np.int64(inward)
            self._backend.launch(kernels.walk, *where, items, self._state.control, np.int64(slot))
            self._backend.launch(kernels.walk_long, *where)
            self._backend.fill(self._backend.part(self._reading.progress, LONG_LISTS, LONG_LISTS + 1), 0)
            if self._asking is not None and kernels.peeks:
                self._asking.after_peeks(self._traced())
                self._backend.fill(self._backend.part(self._reading.progress, TRACED, TRACED + 1), 0)

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
        stepwise = self._tracing or self._asking is not None
        return 1 if stepwise else min(2 * steps, MAX_ROUNDS_PER_SYNC)

    def _make_room(self, seen: Seen, *, lists: int) -> None:
        """Make room for the rows of a round in which every vertex has so many lists read, if they are wanted."""
        if not self._tracing and self._asking is None:
            return
        used = int(seen.progress[TRACED]) * TRACE_FIELDS
        needed = used + seen.near * lists * len(self.pushes) * TRACE_FIELDS
        if needed > self._trace.size:
            trace = self._backend.empty(max(needed, 2 * self._trace.size), np.int64)
            if used:
                old = self._backend.part(self._trace, 0, used)
                self._backend.copy(self._backend.part(trace, 0, used), old)
            self._trace = trace
