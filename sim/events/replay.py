"""A trace's iterations in the event model, one after the other: launch, requests, barrier."""

from collections.abc import Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from simpy import Environment

from grapin.sim.events.issue import issue
from grapin.sim.events.port import Port, Steps
from grapin.sim.path import Cost, Path
from grapin.sim.replayed import Replayed
from grapin.sim.requests import BARRIER, KINDS, Block, requests
from grapin.sim.timeline import Timeline
from grapin.trace import Trace


def replay_events(
    trace: Trace,
    path: Path,
    *,
    aligned: bool = True,
    held: NDArray[np.bool_] | None = None,
    timeline: Timeline | None = None,
) -> Replayed:
    """Follow every request of a trace; `timeline` collects what there is to see on the way.

    `grapin.sim.zero_copy.replay_zero_copy` gives the same answer without following each.
    """
    return _Run(
        trace, Port(Environment(), path, timeline), requests(trace, aligned=aligned, held=held)
    ).result()


class _Run:
    """One pass over the stream of requests, which is as long as the trace and never held whole."""

    def __init__(self, trace: Trace, port: Port, blocks: Iterator[Block]) -> None:
        self._trace = trace
        self._port = port
        self._last_rows: list[int] = []
        self._ticks: list[int] = []
        self._kinds: list[list[int]] = []
        self._codes = self._follow(blocks)

    def result(self) -> Replayed:
        port, reads = self._port, self._trace.reads
        port.env.process(self._iterate())
        port.env.run()
        return Replayed(
            port.path,
            reads["phase"][self._last_rows],
            reads["iteration"][self._last_rows],
            np.array(self._ticks, np.int64),
            np.array(self._kinds, np.int64).reshape(-1, KINDS),
        )

    def _follow(self, blocks: Iterator[Block]) -> Iterator[int]:
        for block in blocks:
            self._last_rows += block.last_rows.tolist()
            yield from block.codes.tolist()

    def _iterate(self) -> Steps:
        port = self._port
        for code in self._codes:
            begin = int(port.env.now)
            kinds = [0] * KINDS
            yield port.env.timeout(port.path.launch)
            ready = int(port.env.now)
            yield issue(port.env, port.read, self._costs(code, kinds), port.path.window)
            self._ticks.append(int(port.env.now) - begin)
            self._kinds.append(kinds)
            if port.timeline is not None:
                port.timeline.slice("iterations", "launch", begin, ready)
                port.timeline.slice(
                    "iterations", f"iteration {len(self._ticks) - 1}", ready, int(port.env.now)
                )

    def _costs(self, first: int, kinds: list[int]) -> Iterator[Cost]:
        """Yield what is left of an iteration, counting it."""
        for code in chain([first], self._codes):
            if code == BARRIER:
                return
            kinds[code] += 1
            yield self._port.path.request_costs[code]
