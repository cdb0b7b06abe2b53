"""Workers that issue reads or writes, each waiting for its own before it takes the next: a GPU's warps, for instance.

Work is dealt out one request at a time, in order: a long list is shared by as many warps as it has lines, as kernels do
that balance their load. With a warp a list, a hub's lines would come one round trip after the other instead. Warps that
could do no more than wait for a tag are left out.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from simpy import Environment, Event

from grapin.sim.events.port import Steps
from grapin.sim.path import Cost


def issue(env: Environment, move: Callable[[Cost], Steps], costs: Iterable[Cost], workers: int) -> Event:
    """Let so many workers `move` everything (`port.read`, `port.write`); the event happens when all is moved."""
    done = Event(env)
    rest = iter(costs)
    first = list(islice(rest, workers))
    working = len(first)

    def work(cost: Cost | None, rest: Iterator[Cost]) -> Steps:
        nonlocal working
        while cost is not None:
            yield from move(cost)
            cost = next(rest, None)
        working -= 1
        if not working:
            done.succeed()

    for cost in first:
        env.process(work(cost, rest))
    if not first:
        done.succeed()
    return done
