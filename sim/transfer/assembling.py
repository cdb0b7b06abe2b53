"""Costs of phases, put together from what each iteration takes."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from grapin.counters import Counters
from grapin.sim.iterations import Iterations
from grapin.sim.path import TICKS_PER_SECOND, Cost
from grapin.sim.prediction import Costs, Seconds
from grapin.sim.replayed import Replayed


def link_seconds(replayed: Replayed) -> NDArray[np.float64]:
    """Return how long the requests of each iteration take, its launch aside."""
    busy: NDArray[np.float64] = (replayed.ticks - replayed.path.launch) / TICKS_PER_SECOND
    return busy


def wire_bytes(replayed: Replayed) -> NDArray[np.int64]:
    """Return the bytes of each iteration on the wire to the device and on the one to the host."""
    columns = [Cost._fields.index(name) for name in ("down_bytes", "up_bytes")]
    wire: NDArray[np.int64] = replayed.kinds @ replayed.path.request_table[:, columns]
    return wire


def read_counters(iterations: Iterations, sizes: NDArray[np.int64], phases: int) -> list[Counters]:
    """Return what each phase read, given the requests of one to four sectors that each iteration made."""
    read = np.stack(
        [iterations.edges, iterations.lists, iterations.pages, iterations.held_edges, iterations.held_lists],
        axis=1,
    )
    sums = iterations.by_phase(np.concatenate([read, sizes], axis=1), phases).tolist()
    return [
        replace(Counters.of(edges, lists, requests, pages), cached_edges=held_edges, cached_lists=held_lists)
        for edges, lists, pages, held_edges, held_lists, *requests in sums
    ]


def with_copies(counters: list[Counters], copied: NDArray[np.int64]) -> list[Counters]:
    """Add what the copy engine sent in each phase."""
    return [replace(read, copied_bytes=size) for read, size in zip(counters, copied.tolist(), strict=True)]


def costs_of(
    iterations: Iterations, counters: list[Counters], seconds: list[Seconds], wire: NDArray[np.int64]
) -> list[Costs]:
    """Join the parts of each phase; `wire` has the bytes of each iteration to the device and to the host."""
    sums = iterations.by_phase(np.column_stack([wire, np.ones(len(wire), np.int64)]), len(counters)).tolist()
    return [
        Costs(counters=read, seconds=took, wire_to_device=down, wire_to_host=up, iterations=count)
        for read, took, (down, up, count) in zip(counters, seconds, sums, strict=True)
    ]
