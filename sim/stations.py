"""`Stations`: the times of the event model, without its events.

Everything passes the stations of a `Path` in the order in which it was sent. So a request's times follow from those of
a few requests before it: it leaves when the wire is free and when the request that had its tag, `window` places before
it, is answered; it waits for host memory behind the one before it, and so does its answer for the wire down. That is a
handful of maxima and sums a request, in whole ticks, and gives what the event model gives, exactly; filling the
pipeline, being bound by tags or by the link, and draining need no formulas of their own.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import compiled
from grapin.sim.path import Cost, Path
from grapin.sim.requests import BARRIER, KINDS


class Stations:
    """Tags, wires and host memory, as they are between two blocks of codes."""

    def __init__(self, path: Path, costs: Sequence[Cost], window: int, *, writing: bool = False) -> None:
        """Let codes stand for `costs`, of which at most `window` are under way; writes wait for no answer."""
        self._costs = np.array([(cost.up, cost.memory, cost.down) for cost in costs], np.int64)
        back = (0, 0) if writing else (path.memory_latency, path.flight)
        self._delays = np.array([path.flight, *back], np.int64)
        credits_ = path.write_credits if writing else path.request_credits
        self._answered = np.zeros(window, np.int64)
        self._credited = np.zeros((credits_ or 0) // costs[0].packets, np.int64)
        self._state = np.zeros(_STATE, np.int64)
        self._counts = np.zeros(KINDS, np.int64)

    def serve(self, codes: NDArray[np.uint8], barriers: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Let codes pass; return ticks and counts of each iteration that they end."""
        ticks = np.empty(barriers, np.int64)
        kinds = np.empty((barriers, KINDS), np.int64)
        _serve(
            codes,
            self._costs,
            self._delays,
            self._answered,
            self._credited,
            self._state,
            self._counts,
            ticks,
            kinds,
        )
        return ticks, kinds


_UP, _MEMORY, _DOWN, _TAG, _CREDIT, _STATE = range(6)
"""Places in the state: until when each station is taken, and whose tag and credit the next request gets."""


@compiled
def _serve(
    codes: Any,
    costs: Any,
    delays: Any,
    answered: Any,
    credited: Any,
    state: Any,
    counts: Any,
    ticks: Any,
    kinds: Any,
) -> None:
    """Compute the times of one block; every iteration starts anew at time zero, when all before it is answered."""
    flight, latency, back = delays
    up, memory, down, tag, credit = state
    ended = 0
    for code in codes:
        if code == BARRIER:
            # Answers come in order, so the last one to come is the one the downstream wire carried last.
            ticks[ended] = down + back if down else 0
            kinds[ended] = counts
            ended += 1
            up = memory = down = 0
            answered[:] = 0
            credited[:] = 0
            counts[:] = 0
            continue
        counts[code] += 1
        up = max(up, answered[tag])
        if credited.size:
            up = max(up, credited[credit])
        up += costs[code, 0]
        taken = max(up + flight, memory)
        if credited.size:
            credited[credit] = taken + flight
            credit = credit + 1 if credit + 1 < credited.size else 0
        memory = taken + costs[code, 1]
        down = max(memory + latency, down) + costs[code, 2]
        answered[tag] = down + back
        tag = tag + 1 if tag + 1 < answered.size else 0
    state[_UP], state[_MEMORY], state[_DOWN], state[_TAG], state[_CREDIT] = up, memory, down, tag, credit
