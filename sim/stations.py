"""`Stations`: the times of the event model, without its events.

Everything passes the stations of a `Path` in the order in which it was sent. So a request's times follow from those of
a few requests before it: it leaves when the wire is free and when the request that had its tag, as many places before
as there are tags, is answered; it waits for host memory behind the one before it, and so does its answer for the wire
down. That is a handful of maxima and sums a request, in whole ticks, and gives what the event model gives, exactly;
filling the pipeline, being bound by tags or by the link, and draining need no formulas of their own.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import compiled, kernel
from grapin.sim.path import Cost, Path
from grapin.sim.requests import BARRIER, KINDS

UP, MEMORY, DOWN, TAG, CREDIT, STATE = range(6)
"""Places in the state: until when each station is taken, and whose tag and credit the next request gets."""


class Stations:
    """Tags, credits, wires and host memory, as one request after the other leaves them."""

    def __init__(self, path: Path, costs: Sequence[Cost], window: int, *, writing: bool = False) -> None:
        """Let codes stand for `costs`, of which at most `window` are under way; writes wait for no answer."""
        self.costs = np.array([(cost.up, cost.memory, cost.down) for cost in costs], np.int64)
        back = (0, 0) if writing else (path.memory_latency, path.flight)
        self.delays = np.array([path.flight, *back], np.int64)
        credits_ = path.write_credits if writing else path.request_credits
        self.answered = np.zeros(window, np.int64)
        """When each tag is free again."""
        self.credited = np.zeros((credits_ or 0) // costs[0].packets, np.int64)
        """When each credit is back; empty where they never run out."""
        self.state = np.zeros(STATE, np.int64)
        self._counts = np.zeros(KINDS, np.int64)

    def serve(self, codes: NDArray[np.uint8], barriers: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Let codes pass in their order; return ticks and counts of each iteration that they end."""
        ticks = np.empty(barriers, np.int64)
        kinds = np.empty((barriers, KINDS), np.int64)
        tables = self.costs, self.delays, self.answered, self.credited, self.state
        _serve(codes, *tables, self._counts, ticks, kinds)
        return ticks, kinds


@kernel
def send(code: Any, ready: Any, costs: Any, delays: Any, answered: Any, credited: Any, state: Any) -> Any:
    """Let one request pass that may leave at `ready`; return when it is answered."""
    flight, latency, back = delays[0], delays[1], delays[2]
    tag = state[TAG]
    up = max(state[UP], ready, answered[tag])
    if credited.size:
        up = max(up, credited[state[CREDIT]])
    up += costs[code, 0]
    taken = max(up + flight, state[MEMORY])
    if credited.size:
        credited[state[CREDIT]] = taken + flight
        state[CREDIT] = (state[CREDIT] + 1) % credited.size
    memory = taken + costs[code, 1]
    down = max(memory + latency, state[DOWN]) + costs[code, 2]
    state[UP], state[MEMORY], state[DOWN] = up, memory, down
    state[TAG] = tag + 1 if tag + 1 < answered.size else 0
    answered[tag] = down + back
    return down + back


@kernel
def begin_anew(answered: Any, credited: Any, state: Any) -> None:
    """Start an iteration at time zero, when everything before it is answered."""
    answered[:] = 0
    credited[:] = 0
    state[:] = 0


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
    ended = 0
    for code in codes:
        if code == BARRIER:
            # Answers come in order, so the last one to come is the one the downstream wire carried last.
            ticks[ended] = state[DOWN] + delays[2] if state[DOWN] else 0
            kinds[ended] = counts
            ended += 1
            begin_anew(answered, credited, state)
            counts[:] = 0
        else:
            counts[code] += 1
            send(code, 0, costs, delays, answered, credited, state)
