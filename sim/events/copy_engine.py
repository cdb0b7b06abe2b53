"""`CopyEngine`: copies large pieces between host and device over the same port as everything else.

It asks for a page at a time, in requests as large as the link allows, and keeps as many pages under way as there are
tags for. A page passes a station as one thing rather than request by request: its requests follow each other anyway.
"""

from collections.abc import Callable
from itertools import chain, repeat

from grapin.sim.events.issue import issue
from grapin.sim.events.port import Port, Steps
from grapin.sim.path import Cost


class CopyEngine:
    """One engine; several copies at a time share the port."""

    def __init__(self, port: Port) -> None:
        self._port = port

    def to_device(self, size: int) -> Steps:
        """Copy so many bytes from host memory and wait for the last."""
        yield from self._copy("to device", size, self._port.read, self._port.path.read_cost)

    def to_host(self, size: int) -> Steps:
        """Copy so many bytes to host memory and wait until it has taken the last."""
        yield from self._copy("to host", size, self._port.write, self._port.path.write_cost)

    def _copy(
        self, name: str, size: int, move: Callable[[Cost], Steps], cost: Callable[[int], Cost]
    ) -> Steps:
        port = self._port
        begin = int(port.env.now)
        times, tail = divmod(size, port.path.burst)
        steps = chain(repeat(cost(port.path.burst), times), [cost(tail)] if tail else [])
        yield issue(port.env, move, steps, port.path.bursts)
        if port.timeline is not None:
            port.timeline.slice("copies", f"{size} B {name}", begin, int(port.env.now))
