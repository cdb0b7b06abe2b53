"""`Port`: the GPU's end of the link, and the way of reads and writes through tags, credits, wires and host memory.

What happens next is handed along as a function (`then`) rather than waited for in a process of SimPy's: two events a
read are enough then, and twice as many reads a second.

`Pool`: a fixed number of tokens, handed out in the order in which they were asked for.

Tags are one: a read holds one from its request to its last completion. Credits are another: a packet holds one from
leaving until the room it takes on the other side is known to be free again.

`HostMemory`: takes one access up after the other, at its bandwidth, and answers each after its latency.

`Wire`: one direction of the link; packets leave one after the other, each as soon as the one before is through.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from simpy import Environment

from grapin.sim.path import Cost, Path
from grapin.sim.timeline import Timeline


class HostMemory:
    """One queue in the order of arrival; a small access costs as much as a whole one (`Cost.host_bytes`)."""

    def __init__(self, latency: int, timeline: Timeline | None = None) -> None:
        self.bytes = 0
        """Bytes read and written, whole accesses."""
        self._latency = latency
        self._free = 0
        self._timeline = timeline

    def access(self, arrival: int, ticks: int, size: int) -> tuple[int, int]:
        """Queue an access that arrives at a time not before the last one's, and keeps memory busy so long.

        Returns when memory takes it up, which frees its place in the port's queue, and when its data are there.
        """
        taken = max(arrival, self._free)
        self._free = taken + ticks
        self.bytes += size
        if self._timeline is not None and taken > arrival:
            self._timeline.level("host memory queue", arrival, taken)
        return taken, self._free + self._latency


T = TypeVar("T")


class Pool(Generic[T]):
    """Tokens that are all alike, for things of one type."""

    def __init__(self, env: Environment, name: str, size: int, timeline: Timeline | None = None) -> None:
        self.size = size
        self._env = env
        self._name = name
        self._free = size
        self._waiting: deque[tuple[int, Callable[[T], None], T]] = deque()
        self._timeline = timeline
        self._since = 0

    @property
    def used(self) -> int:
        """How many tokens are out."""
        return self.size - self._free

    def take(self, count: int, then: Callable[[T], None], what: T) -> None:
        """Take tokens for something, now or when it is its turn, and go on by `then(what)`."""
        if self._waiting or count > self._free:
            self._waiting.append((count, then, what))
        else:
            self._change(-count)
            then(what)

    def give(self, count: int) -> None:
        """Give tokens back, and hand them to whoever waits."""
        self._change(count)
        while self._waiting and self._waiting[0][0] <= self._free:
            wanted, then, what = self._waiting.popleft()
            self._change(-wanted)
            then(what)

    def _change(self, by: int) -> None:
        if self._timeline is not None:
            now = int(self._env.now)
            if now > self._since:
                self._timeline.level(self._name, self._since, now, self.used)
            self._since = now
        self._free += by


class Wire:
    """Knows until when it is taken: since packets keep their order, no more is needed to say when the next is through.

    What framing, headers and acknowledgements take is in the ticks that a packet is sent with (`grapin.sim.path`).
    """

    def __init__(self, name: str, timeline: Timeline | None = None) -> None:
        self.busy = 0
        """Ticks for which something was sent."""
        self.bytes = 0
        """Bytes that were sent, headers and framing included."""
        self._track = f"{name} busy"
        self._free = 0
        self._timeline = timeline

    def send(self, now: int, ticks: int, size: int) -> int:
        """Send a packet that takes so long; return at what time it is through."""
        begin = max(now, self._free)
        self._free = begin + ticks
        self.busy += ticks
        self.bytes += size
        if self._timeline is not None:
            self._timeline.level(self._track, begin, self._free)
        return self._free


Then = Callable[[], object]
"""What to go on with; `event.succeed` of an event of SimPy's, to wait for it in a process."""


class _Move(NamedTuple):
    """A read or a write on its way."""

    cost: Cost
    then: Then | None
    begin: int = 0
    """When it was sent, if there is a timeline to show it in."""


class Port:
    """Shared by all that reads or writes host memory: warps, the copy engine, migration."""

    def __init__(self, env: Environment, path: Path, timeline: Timeline | None = None) -> None:
        self.path = path
        self.env = env
        self.timeline = timeline
        self.tags: Pool[_Move] = Pool(env, "tags in use", path.tags, timeline)
        self.upstream = Wire("upstream", timeline)
        self.downstream = Wire("downstream", timeline)
        self.memory = HostMemory(path.memory_latency, timeline)
        self.requested = 0
        """Bytes asked for so far."""
        self.delivered = 0
        """Bytes that came."""
        self.written = 0
        """Bytes that host memory has taken."""
        self._request_credits = _credits(env, "request credits in use", path.request_credits, timeline)
        self._write_credits = _credits(env, "write credits in use", path.write_credits, timeline)

    def read(self, cost: Cost, then: Then | None = None) -> None:
        """Ask for something, as soon as there are tags and credits; `then` comes when all of it is there."""
        self.tags.take(cost.packets, self._tagged, _Move(cost, then))

    def write(self, cost: Cost, then: Then | None = None) -> None:
        """Send something to host memory; `then` comes when memory has taken it, for no answer does."""
        move = _Move(cost, then)
        if self._write_credits is None:
            self._send(move)
        else:
            self._write_credits.take(cost.packets, self._send, move)

    def _tagged(self, move: _Move) -> None:
        if self._request_credits is None:
            self._request(move)
        else:
            self._request_credits.take(move.cost.packets, self._request, move)

    def _request(self, move: _Move) -> None:
        cost, now = move.cost, int(self.env.now)
        self.requested += cost.payload
        sent = self.upstream.send(now, cost.up, cost.up_bytes)
        # Requests reach memory in the order they were sent, so memory's queue is known at once: one event less.
        taken, ready = self.memory.access(sent + self.path.flight, cost.memory, cost.host_bytes)
        self._return(self._request_credits, cost, taken - now)
        self._after(ready - now, self._answer, self._marked(move))

    def _answer(self, event: Any) -> None:
        cost, now = event.value.cost, int(self.env.now)
        through = self.downstream.send(now, cost.down, cost.down_bytes)
        self._after(through + self.path.flight - now, self._deliver, event.value)

    def _deliver(self, event: Any) -> None:
        cost, then, begin = event.value
        self.delivered += cost.payload
        if self.timeline is not None:
            self.timeline.slice("reads", f"{cost.payload} B", begin, int(self.env.now))
        self.tags.give(cost.packets)
        if then is not None:
            then()

    def _send(self, move: _Move) -> None:
        cost, now = move.cost, int(self.env.now)
        sent = self.upstream.send(now, cost.up, cost.up_bytes)
        taken, _ = self.memory.access(sent + self.path.flight, cost.memory, cost.host_bytes)
        self._return(self._write_credits, cost, taken - now)
        self._after(taken + cost.memory - now, self._written, self._marked(move))

    def _written(self, event: Any) -> None:
        cost, then, begin = event.value
        self.written += cost.payload
        if self.timeline is not None:
            self.timeline.slice("writes", f"{cost.payload} B", begin, int(self.env.now))
        if then is not None:
            then()

    def _return(self, credits_: Pool[_Move] | None, cost: Cost, delay: int) -> None:
        """Give credits back when the other side has room again and has said so."""
        if credits_ is not None:
            self._after(delay + self.path.flight, lambda _: credits_.give(cost.packets), None)

    def _marked(self, move: _Move) -> _Move:
        return move if self.timeline is None else move._replace(begin=int(self.env.now))

    def _after(self, delay: int, what: Callable[[Any], None], move: _Move | None) -> None:
        self.env.timeout(delay, move).callbacks.append(what)


def _credits(env: Environment, name: str, size: int | None, timeline: Timeline | None) -> Pool[_Move] | None:
    return None if size is None else Pool(env, name, size, timeline)
