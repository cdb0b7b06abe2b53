"""A trace's iterations in the event model, one after the other: launch, requests, barrier.

Workers that read or write: a GPU's warps, or the steps that the copy engine has under way.

A worker takes a piece of work, makes its steps one after the other, waiting for each, and takes the next piece. In one
step it may ask for several things at a time.

`CopyEngine`: copies large pieces between host and device over the same port as everything else.

It asks for a page at a time, in requests as large as the link allows, and keeps as many pages under way as there are
tags for. A page passes a station as one thing rather than request by request: its requests follow each other anyway.

**Requests**: how the lists of a trace become requests: what a warp asks for, step by step.

A warp reads a list 128 bytes per step and waits for what it asked for before it goes on. In a step it asks for the
32-byte sectors it needs of one 128-byte line in one request; where the weights are read too they are a second array,
which it asks for in the same step. What a request costs depends on how many sectors it is for and with which it begins,
so its code says both: `4 * first + sectors - 1`.

A list is one warp's, so its steps follow each other by a round trip. A long one would take forever that way: beyond
`alone` elements any warp that is free takes the next step of it.

This is how the event model makes requests; the fast replay makes the same ones in compiled code.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from simpy import Environment, Event

from grapin.sim.oracle.events import Port, Then
from grapin.sim.path import KINDS, Cost, Path
from grapin.sim.stations import CAPACITY, Replayed
from grapin.sim.timeline import Timeline
from grapin.sim.transfer.zero_copy import ALONE, check_held
from grapin.trace import Trace
from grapin.validation import check_integer


class Piece(NamedTuple):
    """A part of a list that one warp reads: elements from `start` to `end`, of so many arrays."""

    start: int
    end: int
    arrays: int


class Reading(NamedTuple):
    """One iteration."""

    last_row: int
    """The last row of the trace that belongs to it."""
    pieces: Iterator[Piece]
    """What its warps read, in the order in which they take it up; to be used up before the next iteration's."""


def steps(piece: Piece, *, aligned: bool) -> Iterator[list[int]]:
    """Yield the codes of each step of a warp.

    A step ends with a line; if warps are not `aligned`, it is 32 elements from the start on, mostly in two lines.
    """
    position = piece.start
    while position < piece.end:
        step_end = _step_end(position, piece.end, aligned=aligned)
        line_end = min(step_end, (position | 31) + 1)
        codes = [_code(position, line_end)]
        if line_end < step_end:
            codes.append(_code(line_end, step_end))
        yield codes * piece.arrays
        position = step_end


def readings(trace: Trace, held: NDArray[np.bool_], *, aligned: bool, alone: int) -> Iterator[Reading]:
    """Yield the iterations of a trace in turn; rows that are `held` are left out of what is read."""
    check_integer("alone", alone, least=0)
    phase, iteration = trace.reads["phase"], trace.reads["iteration"]
    begin = 0
    while begin < len(trace):
        end = begin + 1
        while end < len(trace) and iteration[end] == iteration[begin] and phase[end] == phase[begin]:
            end += 1
        yield Reading(end - 1, _pieces(trace.reads, held, begin, end, aligned, alone))
        begin = end


def _pieces(
    reads: dict[str, NDArray[Any]], held: NDArray[np.bool_], begin: int, end: int, aligned: bool, alone: int
) -> Iterator[Piece]:
    for first in range(begin, end, CAPACITY):
        rows = slice(first, min(end, first + CAPACITY))
        columns = (reads[name][rows].tolist() for name in ("start", "length", "arrays"))
        skipped = held[rows].tolist() if held.size else repeat(False)
        for start, length, arrays, here in zip(*columns, skipped, strict=False):
            if here or not length or not arrays:
                continue
            if length <= alone:
                yield Piece(start, start + length, arrays)
                continue
            position = start
            while position < start + length:
                step_end = _step_end(position, start + length, aligned=aligned)
                yield Piece(position, step_end, arrays)
                position = step_end


def _step_end(position: int, end: int, *, aligned: bool) -> int:
    return min(end, (position | 31) + 1 if aligned else position + 32)


def _code(first: int, end: int) -> int:
    """Return the code of a request for elements of one line; a sector holds eight of them."""
    sector = (first >> 3) & 3
    return 4 * sector + (((end - 1) >> 3) & 3) - sector


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
