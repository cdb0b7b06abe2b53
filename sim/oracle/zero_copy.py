"""A trace's iterations in the event model, one after the other: launch, requests, barrier.

Workers that read or write: a GPU's warps, or the steps that the copy engine has under way.

A worker takes a piece of work, makes its steps one after the other, waiting for each, and takes the next piece. In one
step it may ask for several things at a time.

`CopyEngine`: copies large pieces between host and device over the same port as everything else.

It asks for a page at a time, in requests as large as the link allows, and keeps as many pages under way as there are
tags for. A page passes a station as one thing rather than request by request: its requests follow each other anyway.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from simpy import Environment, Event

from grapin.sim.oracle.events import Port, Then
from grapin.sim.oracle.requests import Piece, Reading, readings, steps
from grapin.sim.path import KINDS, Cost, Path
from grapin.sim.stations import Replayed
from grapin.sim.timeline import Timeline
from grapin.sim.transfer.zero_copy import ALONE, check_held
from grapin.trace import Trace

Move = Callable[[Cost, Then | None], None]
"""`port.read` or `port.write`."""
Work = Iterable[Sequence[Cost]]
"""A piece of work: what each step of it asks for."""


def issue(env: Environment, move: Move, work: Iterable[Work], workers: int) -> Event:
    """Let so many workers `move` everything; the event happens when all is moved."""
    rest = iter(work)
    first = list(islice(rest, workers))
    crew = _Crew(env, move, rest, len(first))
    for piece in first:
        crew.step(iter(piece))
    if not first:
        crew.done.succeed()
    return crew.done


class _Crew:
    """Workers that share what there is to do; each piece of it has at least one step."""

    def __init__(self, env: Environment, move: Move, rest: Iterator[Work], working: int) -> None:
        self.done = Event(env)
        self._move = move
        self._rest = rest
        self._working = working

    def step(self, steps: Iterator[Sequence[Cost]]) -> None:
        """Make one worker's next step; answers come in order, so it goes on after the last."""
        costs = next(steps, None)
        if costs is None:
            piece = next(self._rest, None)
            if piece is None:
                self._leave()
                return
            steps = iter(piece)
            costs = next(steps)
        for cost in costs[:-1]:
            self._move(cost, None)
        self._move(costs[-1], partial(self.step, steps))

    def _leave(self) -> None:
        self._working -= 1
        if not self._working:
            self.done.succeed()


Steps = Generator[Event, Any, None]
"""What a process of SimPy's goes through; `yield from` it, or hand it to `env.process`."""


class CopyEngine:
    """One engine; several copies at a time share the port."""

    def __init__(self, port: Port) -> None:
        self._port = port

    def to_device(self, size: int) -> Steps:
        """Copy so many bytes from host memory and wait for the last."""
        port = self._port
        steps = _steps(size, port.path.read_burst, port.path.read_cost)
        yield from self._copy(f"{size} B to device", steps, port.read)

    def to_host(self, size: int) -> Steps:
        """Copy so many bytes to host memory and wait until it has taken the last."""
        port = self._port
        steps = _steps(size, port.path.write_burst, port.path.write_cost)
        yield from self._copy(f"{size} B to host", steps, port.write)

    def _copy(self, name: str, steps: Iterable[Cost], move: Move) -> Steps:
        port = self._port
        begin = int(port.env.now)
        yield issue(port.env, move, ([[step]] for step in steps), port.path.bursts)
        if port.timeline is not None:
            port.timeline.slice("copies", name, begin, int(port.env.now))


def _steps(size: int, burst: int, cost: Callable[[int], Cost]) -> Iterable[Cost]:
    times, tail = divmod(size, burst)
    return chain(repeat(cost(burst), times), [cost(tail)] if tail else [])


def replay_events(
    trace: Trace,
    path: Path,
    *,
    aligned: bool = True,
    alone: int = ALONE,
    held: NDArray[np.bool_] | None = None,
    timeline: Timeline | None = None,
) -> Replayed:
    """Follow every request of a trace; `timeline` collects what there is to see on the way.

    `grapin.sim.transfer.zero_copy.replay_zero_copy` says what the other arguments mean, and gives the same answer.
    """
    run = _Run(Port(Environment(), path, timeline), aligned=aligned)
    iterations = readings(trace, check_held(trace, held), aligned=aligned, alone=alone)
    run.port.env.process(run.iterate(iterations))
    run.port.env.run()
    return Replayed(
        path,
        trace.reads["phase"][run.last_rows],
        trace.reads["iteration"][run.last_rows],
        np.array(run.ticks, np.int64),
        np.array(run.kinds, np.int64).reshape(-1, KINDS),
    )


class _Run:
    """What has been replayed so far."""

    def __init__(self, port: Port, *, aligned: bool) -> None:
        self.port = port
        self._aligned = aligned
        self.last_rows: list[int] = []
        self.ticks: list[int] = []
        self.kinds: list[list[int]] = []

    def iterate(self, iterations: Iterator[Reading]) -> Steps:
        env, path, timeline = self.port.env, self.port.path, self.port.timeline
        for number, reading in enumerate(iterations):
            begin = int(env.now)
            kinds = [0] * KINDS
            yield env.timeout(path.launch)
            ready = int(env.now)
            yield issue(env, self.port.read, map(partial(self._costs, kinds), reading.pieces), path.warps)
            self.last_rows.append(reading.last_row)
            self.ticks.append(int(env.now) - begin)
            self.kinds.append(kinds)
            if timeline is not None:
                timeline.slice("iterations", "launch", begin, ready)
                timeline.slice("iterations", f"iteration {number}", ready, int(env.now))

    def _costs(self, kinds: list[int], piece: Piece) -> Iterator[list[Cost]]:
        """Yield what each step of a warp costs, counting its requests."""
        for codes in steps(piece, aligned=self._aligned):
            for code in codes:
                kinds[code] += 1
            yield [self.port.path.request_costs[code] for code in codes]
