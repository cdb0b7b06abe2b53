"""Workers that read or write: a GPU's warps, or the steps that the copy engine has under way.

A worker takes a piece of work, makes its steps one after the other, waiting for each, and takes the next piece. In one
step it may ask for several things at a time.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice

from simpy import Environment, Event

from grapin.sim.events.port import Then
from grapin.sim.path import Cost

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
