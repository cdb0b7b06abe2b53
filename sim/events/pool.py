"""`Pool`: a fixed number of tokens, handed out in the order in which they were asked for.

Tags are one: a read holds one from its request to its last completion. Credits are another: a packet holds one from
leaving until the room it takes on the other side is known to be free again.
"""

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from simpy import Environment

from grapin.sim.timeline import Timeline

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
