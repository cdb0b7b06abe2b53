"""`Pool`: a fixed number of tokens, handed out in the order in which they were asked for.

Tags are one: a read holds one from its request to its last completion. Credits are another: a packet holds one from
leaving until the room it takes on the other side is known to be free again.
"""

from collections import deque

from simpy import Environment, Event

from grapin.sim.timeline import Timeline


class Pool:
    """Tokens that are all alike."""

    def __init__(self, env: Environment, name: str, size: int, timeline: Timeline | None = None) -> None:
        self.size = size
        self._env = env
        self._name = name
        self._free = size
        self._waiting: deque[tuple[int, Event]] = deque()
        self._timeline = timeline
        self._since = 0

    @property
    def used(self) -> int:
        """How many tokens are out."""
        return self.size - self._free

    def take(self, count: int = 1) -> Event | None:
        """Take tokens; None says that they are taken, an event that they will be when it happens.

        Returning None rather than an event that has happened saves the model a third of its time.
        """
        if not self._waiting and count <= self._free:
            self._change(-count)
            return None
        turn = Event(self._env)
        self._waiting.append((count, turn))
        return turn

    def give(self, count: int = 1) -> None:
        """Give tokens back, and hand them to whoever waits."""
        self._change(count)
        while self._waiting and self._waiting[0][0] <= self._free:
            wanted, turn = self._waiting.popleft()
            self._change(-wanted)
            turn.succeed()

    def _change(self, by: int) -> None:
        if self._timeline is not None:
            now = int(self._env.now)
            if now > self._since:
                self._timeline.level(self._name, self._since, now, self.used)
            self._since = now
        self._free += by
