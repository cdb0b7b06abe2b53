"""`Port`: the GPU's end of the link, and the way of reads and writes through tags, credits, wires and host memory."""

from collections.abc import Generator
from typing import Any

from simpy import Environment, Event

from grapin.sim.events.memory import HostMemory
from grapin.sim.events.pool import Pool
from grapin.sim.events.wire import Wire
from grapin.sim.path import Cost, Path
from grapin.sim.timeline import Timeline

Steps = Generator[Event, Any, None]
"""What a SimPy process goes through; `yield from` it, or hand it to `env.process`."""


class Port:
    """Shared by all that reads or writes host memory: warps, the copy engine, migration."""

    def __init__(self, env: Environment, path: Path, timeline: Timeline | None = None) -> None:
        self.path = path
        self.env = env
        self.timeline = timeline
        self.tags = Pool(env, "tags in use", path.tags, timeline)
        self.upstream = Wire(env, "upstream", timeline)
        self.downstream = Wire(env, "downstream", timeline)
        self.memory = HostMemory(path.memory_latency, timeline)
        self.requested = 0
        """Bytes asked for so far."""
        self.delivered = 0
        """Bytes that came."""
        self.written = 0
        """Bytes that host memory has taken."""
        self._request_credits = _credits(env, "request credits in use", path.request_credits, timeline)
        self._write_credits = _credits(env, "write credits in use", path.write_credits, timeline)

    def read(self, cost: Cost) -> Steps:
        """Ask for something and wait until all of it is there."""
        env, path = self.env, self.path
        if (turn := self.tags.take(cost.packets)) is not None:
            yield turn
        if self._request_credits and (turn := self._request_credits.take(cost.packets)) is not None:
            yield turn
        self.requested += cost.payload
        begin = int(env.now)
        sent = self.upstream.send(cost.up, cost.up_bytes)
        # Requests reach memory in the order they were sent, so memory's queue is known at once: one event less.
        taken, ready = self.memory.access(sent + path.flight, cost.memory, cost.host_bytes)
        if self._request_credits:
            self._give_at(self._request_credits, cost.packets, taken + path.flight)
        yield env.timeout(ready - begin)
        through = self.downstream.send(cost.down, cost.down_bytes)
        yield env.timeout(through + path.flight - int(env.now))
        self.delivered += cost.payload
        self.tags.give(cost.packets)
        if self.timeline is not None:
            self.timeline.slice("reads", f"{cost.payload} B", begin, int(env.now))

    def write(self, cost: Cost) -> Steps:
        """Send something to host memory and wait until memory has taken it; no answer comes."""
        env, path = self.env, self.path
        if self._write_credits and (turn := self._write_credits.take(cost.packets)) is not None:
            yield turn
        begin = int(env.now)
        sent = self.upstream.send(cost.up, cost.up_bytes)
        taken, _ = self.memory.access(sent + path.flight, cost.memory, cost.host_bytes)
        if self._write_credits:
            self._give_at(self._write_credits, cost.packets, taken + path.flight)
        yield env.timeout(taken + cost.memory - begin)
        self.written += cost.payload
        if self.timeline is not None:
            self.timeline.slice("writes", f"{cost.payload} B", begin, int(env.now))

    def _give_at(self, pool: Pool, count: int, when: int) -> None:
        returned = self.env.timeout(when - int(self.env.now))
        returned.callbacks.append(lambda _: pool.give(count))


def _credits(env: Environment, name: str, size: int | None, timeline: Timeline | None) -> Pool | None:
    return None if size is None else Pool(env, name, size, timeline)
