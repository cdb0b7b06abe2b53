"""Costs of phases, put together from what each iteration takes.

Times of phases from the times of their iterations, by what goes on at the same time in one.

What a cache costs beside what it saves: lists loaded before a phase, copies patched during it.

A trace with a cache in front of the link: which reads are left, and what keeping the copies takes.

The cache is the engine's own bookkeeping (`grapin.cache`) run over the trace, so that any room and policy can be tried
on one recorded run.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from grapin.cache.replay import replay as replay_cache
from grapin.cache.settings import CacheSettings
from grapin.counters import REQUEST_SIZES, Counters
from grapin.sim.closed_form import read_requests
from grapin.sim.iterations import Iterations
from grapin.sim.machine import Machine
from grapin.sim.path import TICKS_PER_SECOND, Cost, Path, to_seconds
from grapin.sim.prediction import Costs, Seconds
from grapin.sim.stations import Replayed, mix_ticks
from grapin.trace import Trace


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


Times = NDArray[np.float64]


def in_streams(
    iterations: Iterations,
    machine: Machine,
    phases: int,
    *,
    link: Times,
    device: Times,
    host: Times | None = None,
) -> list[Seconds]:
    """Link, device and host work at the same time: an iteration takes as long as the slowest."""
    gathering = np.zeros(len(iterations)) if host is None else host
    slowest = np.maximum(np.maximum(link, device), gathering)
    return _summed(iterations, machine, phases, link, device, gathering, link + device + gathering - slowest)


def in_turns(
    iterations: Iterations,
    machine: Machine,
    phases: int,
    *,
    link: Times,
    device: Times,
    host: Times,
    ahead: bool,
) -> list[Seconds]:
    """The host gathers, then the link sends, then the device computes; `ahead` while it computes on what it has."""
    hidden = np.minimum(link + host, device) if ahead else np.zeros(len(iterations))
    return _summed(iterations, machine, phases, link, device, host, hidden)


def _summed(
    iterations: Iterations,
    machine: Machine,
    phases: int,
    link: Times,
    device: Times,
    host: Times,
    hidden: Times,
) -> list[Seconds]:
    columns = np.stack([link, device, host, hidden, np.ones(len(iterations))], axis=1)
    return [
        Seconds(link=sent, device=computed, host=gathered, hidden=saved, launches=count * machine.gpu.launch)
        for sent, computed, gathered, saved, count in iterations.by_phase(columns, phases).tolist()
    ]


_PATCH = 32
"""Bytes of one request for mutations that a copy has missed: lists are patched one by one, a sector at a time."""


def with_upkeep(costs: list[Costs], path: Path, upkeep: list[Counters]) -> list[Costs]:
    """Add to each phase what its cache takes; loads are a kernel of their own, and nothing hides them."""
    return [read + _upkeep(path, kept) for read, kept in zip(costs, upkeep, strict=True)]


def _upkeep(path: Path, kept: Counters) -> Costs:
    sizes = np.array([kept.requests[size] for size in REQUEST_SIZES])
    sizes[0] += kept.patch_bytes // _PATCH
    transfer = read_requests(path.machine, dict(zip(REQUEST_SIZES, sizes.tolist(), strict=True)))
    link = to_seconds(int(mix_ticks(path, sizes[None, :])[0]))
    return Costs(
        counters=kept,
        wire_to_device=transfer.down_bytes,
        wire_to_host=transfer.up_bytes,
        seconds=Seconds(link=link, launches=path.machine.gpu.launch if kept.loads else 0.0),
    )


@dataclass(frozen=True, eq=False)
class Cached:
    """What a cache makes of a trace."""

    trace: Trace
    """The reads that are left: `arrays` says how many arrays of a list still cross the link, perhaps none."""
    held: NDArray[np.uint8]
    """How many arrays of each read the device had a copy of."""
    upkeep: list[Counters]
    """What crossed the link for the cache alone, by phase: loads in advance, and patches."""


def run_cache(trace: Trace, settings: CacheSettings) -> Cached:
    """Run a cache over a trace."""
    held, upkeep = [np.empty(0, np.uint8)], []
    for plan, observed in replay_cache(settings, trace.reads, trace.phases, trace.changes):
        patches = Counters(patch_bytes=observed.counters.patch_bytes)
        upkeep.append(patches if plan is None else plan.counters + patches)
        held.append(observed.held)
    rows = np.concatenate(held)
    left = trace.reads["arrays"] - rows
    return Cached(replace(trace, reads=trace.reads | {"arrays": left}), rows, upkeep)
