"""The fast replay of zero-copy reads: the times of the event model, without its events.

Everything passes the stations of a `Path` in the order in which it was sent. So a request's times follow from those of
a few requests before it: it leaves when the wire is free and when the request that had its tag, `tags` places before
it, is answered; it waits for host memory behind the one before it, and so does its answer for the wire down. That is a
handful of maxima and sums a request, in whole ticks, and gives what the event model gives, exactly; filling the
pipeline, being bound by tags or by the link, and draining need no formulas of their own.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import compiled
from grapin.sim.path import Path
from grapin.sim.replayed import Replayed
from grapin.sim.requests import BARRIER, KINDS, requests
from grapin.trace import Trace


def replay_zero_copy(
    trace: Trace, path: Path, *, aligned: bool = True, held: NDArray[np.bool_] | None = None
) -> Replayed:
    """Say what the reads of a trace take when warps make them request by request over the link.

    `held` marks reads that need none, because the device has a copy of the list; None stands for none of them. Memory
    is that of the result, one row an iteration, and of one block of requests.
    """
    station = Station(path, path.request_table[:, :3], path.window)
    rows, ticks, kinds = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty((0, KINDS), np.int64)]
    for block in requests(trace, aligned=aligned, held=held):
        block_ticks, block_kinds = station.serve(block.codes, len(block.last_rows))
        rows.append(block.last_rows.copy())
        ticks.append(block_ticks)
        kinds.append(block_kinds)
    last = np.concatenate(rows)
    phases, iterations = trace.reads["phase"][last], trace.reads["iteration"][last]
    return Replayed(path, phases, iterations, np.concatenate(ticks) + path.launch, np.concatenate(kinds))


class Station:
    """The stations of a path between two blocks of codes."""

    def __init__(self, path: Path, costs: NDArray[np.int64], window: int) -> None:
        self._costs = np.ascontiguousarray(costs)
        self._delays = np.array([path.flight, path.memory_latency], np.int64)
        self._answered = np.zeros(window, np.int64)
        self._credited = np.zeros(path.request_credits or 0, np.int64)
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
    flight, latency = delays[0], delays[1]
    up, memory, down, tag, credit = state[_UP], state[_MEMORY], state[_DOWN], state[_TAG], state[_CREDIT]
    window, credits_ = answered.size, credited.size
    ended = 0
    for code in codes:
        if code == BARRIER:
            # Answers come in order, so the last one to come is the one the downstream wire carried last.
            ticks[ended] = down + flight if down else 0
            kinds[ended] = counts
            ended += 1
            up = memory = down = 0
            answered[:] = 0
            credited[:] = 0
            counts[:] = 0
            continue
        counts[code] += 1
        up = max(up, answered[tag])
        if credits_:
            up = max(up, credited[credit])
        up += costs[code, 0]
        taken = max(up + flight, memory)
        if credits_:
            credited[credit] = taken + flight
            credit = credit + 1 if credit + 1 < credits_ else 0
        memory = taken + costs[code, 1]
        down = max(memory + latency, down) + costs[code, 2]
        answered[tag] = down + flight
        tag = tag + 1 if tag + 1 < window else 0
    state[_UP], state[_MEMORY], state[_DOWN], state[_TAG], state[_CREDIT] = up, memory, down, tag, credit
