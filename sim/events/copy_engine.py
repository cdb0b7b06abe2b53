"""`CopyEngine`: copies large pieces between host and device over the same port as everything else.

It asks for a page at a time, in requests as large as the link allows, and keeps as many pages under way as there are
tags for. A page passes a station as one thing rather than request by request: its requests follow each other anyway.
"""

from collections.abc import Callable, Generator, Iterable
from itertools import chain, repeat
from typing import Any

from simpy import Event

from grapin.sim.events.issue import Move, issue
from grapin.sim.events.port import Port
from grapin.sim.path import Cost

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
