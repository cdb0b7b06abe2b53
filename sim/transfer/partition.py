"""Systems that copy: whole partitions, lists that the host gathers, or for each partition what seems cheapest.

Which lists an iteration reads is known before it begins, so each iteration is a closed form: what the rules of
`grapin.partitions` choose is sent by the copy engine, and what they leave to requests is replayed as such. Copies,
gathering, requests and kernels of different partitions go on at the same time, in streams; an iteration takes as long
as the slowest of link, host and device.

A list belongs to the partition it starts in: which lists there are besides those it names, a trace does not say.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.cache.settings import CacheSettings
from grapin.partitions import CHOICES, count_activity, partition_bytes, volume
from grapin.sim.machine import Machine
from grapin.sim.path import Path, copy_to_device
from grapin.sim.prediction import (
    Costs,
    Iterations,
    costs_of,
    device_seconds,
    in_streams,
    read_counters,
    with_copies,
)
from grapin.sim.stations import link_seconds, wire_bytes
from grapin.sim.transfer.zero_copy import replay_zero_copy, run_cache, with_upkeep
from grapin.system import System
from grapin.trace import Trace
from grapin.units import ELEMENT

_COPYING_TWICE = 2
"""Gathering reads a list and writes it."""


@dataclass(frozen=True, eq=False)
class _Copies:
    """What each iteration copies, and which reads of the trace are left to requests."""

    copied: NDArray[np.int64]
    gathered: NDArray[np.int64]
    requested: NDArray[np.bool_]


def partition_costs(
    trace: Trace, system: System, machine: Machine, *, cache: CacheSettings | None, **_: Any
) -> list[Costs]:
    """Return what each phase costs under a system that decides partition by partition."""
    if cache is None:
        return _moved(trace, Iterations.of(trace), system, machine)
    cached = run_cache(trace, cache)
    costs = _moved(cached.trace, Iterations.of(trace, cached.held), system, machine)
    return with_upkeep(costs, Path(machine), cached.upkeep)


def _moved(trace: Trace, iterations: Iterations, system: System, machine: Machine) -> list[Costs]:
    phases = len(trace.phases["version"])
    copies = _choose(trace, iterations, system)
    replayed = replay_zero_copy(trace, Path(machine), held=~copies.requested)
    transfers = [copy_to_device(machine, size) for size in copies.copied.tolist()]
    copying = np.array([one.seconds + machine.link.round_trip * (one.payload > 0) for one in transfers])
    wire = np.array([(one.down_bytes, one.up_bytes) for one in transfers], np.int64).reshape(-1, 2)
    gathering = _COPYING_TWICE * copies.gathered / machine.host.bandwidth
    # What was copied lies in the device's memory and is read from there.
    device = device_seconds(iterations, machine, resident=True)
    seconds = in_streams(
        iterations, machine, phases, link=link_seconds(replayed) + copying, device=device, host=gathering
    )
    counters = read_counters(iterations, replayed.sizes, phases)
    counters = with_copies(counters, iterations.by_phase(copies.copied, phases))
    return costs_of(iterations, counters, seconds, wire + wire_bytes(replayed))


def _choose(trace: Trace, iterations: Iterations, system: System) -> _Copies:
    copied, gathered = np.zeros((2, len(iterations)), np.int64)
    requested = np.zeros(len(trace), np.bool_)
    transfer = system.transfer
    choose = CHOICES[type(transfer)]
    for place, rows, slots, arrays in _reads_by_direction(trace, iterations):
        size = partition_bytes(transfer, slots * ELEMENT * arrays)
        activity = count_activity(
            trace.reads["start"][rows],
            trace.reads["length"][rows],
            slots=slots,
            arrays=arrays,
            partition=max(size, ELEMENT * arrays),
        )
        moved = volume(activity, choose(activity, transfer))
        copied[place] += moved.copied.sum()
        gathered[place] += moved.gathered.sum()
        requested[rows] = moved.requested
    return _Copies(copied, gathered, requested)


def _reads_by_direction(
    trace: Trace, iterations: Iterations
) -> Iterator[tuple[int, NDArray[np.int64], int, int]]:
    """Yield number, rows, slots of the edge array and arrays read, for each iteration and direction that it reads."""
    out_slots, in_slots = trace.phases["out_slots"].tolist(), trace.phases["in_slots"].tolist()
    phases = iterations.phase.tolist()
    for place, rows in enumerate(iterations.rows()):
        arrays = trace.reads["arrays"][rows]
        # Without an in-direction of its own, the lists of an undirected graph are one array.
        inward = trace.reads["inward"][rows] & (in_slots[phases[place]] > 0)
        for side, slots in ((False, out_slots), (True, in_slots)):
            chosen = np.flatnonzero((inward == side) & (arrays > 0))
            if len(chosen):
                yield place, rows.start + chosen, slots[phases[place]], int(arrays[chosen].max())
