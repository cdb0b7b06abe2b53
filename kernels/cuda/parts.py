"""Computing on loaded parts: which part of the graph is loaded next, and how often its vertices push before it goes.

`Local` (Subway, section 3.2): a loaded part goes on until none of its vertices is active. `Priority` (HyTGraph, section
VI-A): parts that contribute most come first, and a part that was loaded is computed once more. Either way a vertex
pushes the newest value there is, and is active again only when it gets a better one: `Staging.active` says which lists
have yet to be read, so that a value that came early is not pushed twice.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from grapin.kernels.cuda.lists import DeviceLists
from grapin.kernels.cuda.staging import Staging, Task
from grapin.partitions import Choice
from grapin.system import Local, Priority

Vertices = NDArray[np.int32]


UNLIMITED = 1 << 62
"""As a budget of edges: more than can be read."""


class Frontier(Protocol):
    """Active vertices on the device, and what they do."""

    def queued(self) -> Vertices:
        """Return the vertices that became active since this was asked last, in ascending order."""

    def push(self, vertices: Vertices, inward: int, iteration: int) -> None:
        """Let these vertices push along their lists of one direction."""

    def edges_read(self) -> int:
        """Return how many edges were read so far."""


class Parts:
    """One run of a frontier over a graph that is loaded part by part."""

    def __init__(
        self,
        staging: Staging,
        frontier: Frontier,
        sides: tuple[tuple[DeviceLists, int], ...],
        *,
        iteration: int,
    ) -> None:
        self._staging = staging
        self._frontier = frontier
        self._sides = sides
        self.iteration = iteration
        """Reads of one iteration do not wait for each other: a walk over a part, or a round over all parts."""
        self._pending: list[list[Vertices]] = [[], []]
        """By direction: vertices that became active; those whose lists were read since are among them."""

    def run(self, schedule: Local | Priority, budget: int) -> bool:
        """Compute until no vertex is active, and tell whether that came about before more than `budget` was read."""
        whole = budget == UNLIMITED and isinstance(schedule, Local) and schedule.whole_first
        self._collect()
        while any(self._pending) or whole:
            if self._frontier.edges_read() > budget:
                self._forget()
                return False
            for lists, inward in self._sides:
                vertices = self._take(inward)
                if whole:
                    vertices = np.arange(len(self._staging.degrees(inward)), dtype=np.int32)
                tasks = self._staging.plan(vertices, inward, entire=True)
                if isinstance(schedule, Local):
                    self._exhaust(tasks, lists)
                else:
                    self._round(_ordered(tasks, schedule), lists, schedule.again)
            whole = False
            self.iteration += isinstance(schedule, Priority)
        return True

    def _exhaust(self, tasks: list[Task], lists: DeviceLists) -> None:
        """Compute on each part until none of its vertices is active."""
        for task in tasks:
            with self._staging.loaded(task, lists, self.iteration):
                here = self._active(task)
                while len(here):
                    self._push(here, task.inward)
                    self.iteration += 1
                    here = self._active(task)

    def _round(self, tasks: list[Task], lists: DeviceLists, again: int) -> None:
        """Compute on each part by those that were active when the round began, and again by those that are now."""
        for task in tasks:
            with self._staging.loaded(task, lists, self.iteration):
                self._push(task.vertices, task.inward)
                for _ in range(again if task.way != Choice.ZERO_COPY else 0):
                    here = self._active(task)
                    if len(here):
                        self._push(here, task.inward)

    def _push(self, vertices: Vertices, inward: int) -> None:
        self._staging.active[inward][vertices] = False
        self._frontier.push(vertices, inward, self.iteration)
        self._collect()

    def _active(self, task: Task) -> Vertices:
        staged = task.staged
        return staged[self._staging.active[task.inward][staged]]

    def _collect(self) -> None:
        """Write down who became active, where there is a list to read."""
        queued = self._frontier.queued()
        for _, inward in self._sides:
            active = self._staging.active[inward]
            some = queued[~active[queued] & (self._staging.degrees(inward)[queued] > 0)]
            if len(some):
                active[some] = True
                self._pending[inward].append(some)

    def _take(self, inward: int) -> Vertices:
        """Return who is active, in ascending order."""
        pending, self._pending[inward] = self._pending[inward], []
        vertices: Vertices = np.unique(np.concatenate([np.empty(0, np.int32), *pending]))
        found: Vertices = vertices[self._staging.active[inward][vertices]]
        return found

    def _forget(self) -> None:
        for _, inward in self._sides:
            self._staging.active[inward][self._take(inward)] = False


def _ordered(tasks: list[Task], schedule: Priority) -> list[Task]:
    """Return tasks that copy partitions whole with the most active vertices first; the others stay behind them."""
    if schedule.order == "natural":
        return tasks
    return sorted(tasks, key=lambda task: -len(task.vertices) if task.way == Choice.FILTER else 0)
