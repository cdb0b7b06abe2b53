"""A trace's iterations in the event model, one after the other: launch, requests, barrier."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray
from simpy import Environment

from grapin.sim.events.copy_engine import Steps
from grapin.sim.events.issue import issue
from grapin.sim.events.port import Port
from grapin.sim.path import Cost, Path
from grapin.sim.replayed import Replayed
from grapin.sim.requests import ALONE, KINDS, Piece, Reading, check_held, readings, steps
from grapin.sim.timeline import Timeline
from grapin.trace import Trace


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

    `grapin.sim.zero_copy.replay_zero_copy` says what the other arguments mean, and gives the same answer.
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
