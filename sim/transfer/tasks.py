"""Recorded tasks: what a system that copies lists before they are read did, copy by copy, is what its model replays.

A task goes through three stations, each of which serves one task after the other: the host gathers its lists, the link
brings them (or what requests ask for), the device computes on them. While one task is computed on, the next is copied
into another staging buffer, as many as the system has streams. Tasks of one iteration follow each other without the
host; between iterations it looks at what has become active.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grapin.partitions import Choice
from grapin.sim.machine import Machine
from grapin.sim.path import Path, copy_to_device
from grapin.sim.prediction import Costs, Iterations, Seconds, read_counters, with_copies
from grapin.sim.stations import link_seconds, wire_bytes
from grapin.sim.timeline import Timeline
from grapin.sim.transfer.zero_copy import replay_zero_copy
from grapin.system import Filter, Hybrid, HybridReleased, System
from grapin.trace import Trace
from grapin.units import ELEMENT, SECTOR

_COPYING_TWICE = 2
"""Gathering reads a list and writes it."""
_SECTORS_OF_A_LIST = 2
"""Its place in the store and its word."""
_TICKS = 10**15
"""Femtoseconds, which timelines count in, a second."""
Times = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Stages:
    """How long each task takes at each station, alone, in seconds; and what it needs of them."""

    host: Times
    link: Times
    device: Times
    copied: NDArray[np.bool_]
    """Whether it goes into a staging buffer; what requests ask for is computed on as it comes."""


@dataclass(frozen=True)
class Spans:
    """When a task is served: begin and end at host, link and device."""

    host: tuple[float, float]
    link: tuple[float, float]
    device: tuple[float, float]


def overlap(stages: Stages, streams: int) -> list[Spans]:
    """Return when each task is served, in their order, with so many staging buffers."""
    host = link = device = 0.0
    done: list[float] = []
    spans = []
    columns = zip(*(column.tolist() for column in vars(stages).values()), strict=True)
    for gathering, sending, computing, copied in columns:
        if not copied:
            begin = link
            link = begin + sending
            first = max(begin, device)
            device = max(link, first + computing)
            spans.append(Spans((host, host), (begin, link), (first, device)))
            continue
        free = done[-streams] if len(done) >= streams else 0.0
        gather = max(host, free) if gathering else free
        host = gather + gathering if gathering else host
        send = max(link, gather + gathering)
        link = send + sending
        compute = max(device, link)
        device = compute + computing
        done.append(device)
        spans.append(Spans((gather, gather + gathering), (send, link), (compute, device)))
    return spans


def recorded_costs(
    trace: Trace, system: System, machine: Machine, *, timeline: Timeline | None = None
) -> list[Costs]:
    """Return what each phase of a trace costs whose tasks were recorded."""
    phases, tasks = len(trace.phases["version"]), trace.tasks
    held = trace.reads["cached"]
    iterations = Iterations.of(trace, np.where(held, trace.reads["arrays"], 0).astype(np.uint8))
    replayed = replay_zero_copy(trace, Path(machine), held=held)
    counters = read_counters(iterations, replayed.sizes, phases)
    copied = np.bincount(tasks["phase"], tasks["copied"], phases).astype(np.int64)
    counters = with_copies(counters, copied)
    stages, copies_wire = _stages(trace, iterations, link_seconds(replayed), machine)
    requests_wire = iterations.by_phase(wire_bytes(replayed), phases)
    clock, costs = 0.0, []
    for phase, read in enumerate(counters):
        of_phase = np.flatnonzero(tasks["phase"] == phase)
        seconds, clock = _phase_seconds(trace, stages, of_phase, system, machine, timeline, clock)
        rounds = int((iterations.phase == phase).sum())
        seconds += Seconds(launches=rounds * machine.gpu.launch)
        down, up = (requests_wire[phase] + copies_wire[of_phase].sum(axis=0)).tolist()
        costs.append(
            Costs(counters=read, seconds=seconds, wire_to_device=down, wire_to_host=up, iterations=rounds)
        )
    return costs


def _streams(system: System) -> int:
    transfer = system.transfer
    return transfer.streams if isinstance(transfer, (Filter, Hybrid, HybridReleased)) else 1


def _stages(
    trace: Trace, iterations: Iterations, requests: Times, machine: Machine
) -> tuple[Stages, NDArray[np.int64]]:
    """Return what each task takes, and what its copy puts on the wire to the device and to the host."""
    tasks, reads = trace.tasks, trace.reads
    asked = tasks["way"] == Choice.ZERO_COPY
    transfers = [copy_to_device(machine, size) for size in tasks["copied"].tolist()]
    link = np.array([one.seconds + machine.link.round_trip * (one.payload > 0) for one in transfers])
    wire = np.array([(one.down_bytes, one.up_bytes) for one in transfers], np.int64).reshape(-1, 2)
    # The requests of an iteration belong to its tasks that make requests, by what they read.
    of_read = np.repeat(np.arange(len(iterations)), iterations.end - iterations.begin)
    read = np.where(reads["cached"], 0, reads["length"]).astype(np.float64)
    total = np.bincount(of_read, read, len(iterations))
    share = np.divide(read, total[of_read], out=np.zeros(len(read)), where=total[of_read] > 0)
    link += np.bincount(trace.task, share * requests[of_read], len(link)) * asked
    elements = np.bincount(trace.task, reads["length"].astype(np.int64) * reads["arrays"], len(link))
    words = SECTOR * (tasks["edges"] + _SECTORS_OF_A_LIST * tasks["lists"])
    device = (words + ELEMENT * elements * ~asked) / machine.gpu.bandwidth
    host = _COPYING_TWICE * tasks["gathered"] / machine.host.bandwidth
    return Stages(host, link, device, ~asked), wire


def _phase_seconds(
    trace: Trace,
    stages: Stages,
    of_phase: NDArray[np.int64],
    system: System,
    machine: Machine,
    timeline: Timeline | None,
    clock: float,
) -> tuple[Seconds, float]:
    """Return what the tasks of a phase take, and when they are done."""
    numbers = trace.tasks["iteration"][of_phase]
    seconds = Seconds()
    for some in np.split(of_phase, np.flatnonzero(np.diff(numbers)) + 1):
        part = Stages(*(column[some] for column in vars(stages).values()))
        spans = overlap(part, _streams(system))
        took = max((span.device[1] for span in spans), default=0.0)
        sums = (float(column.sum()) for column in (part.link, part.device, part.host))
        link, device, host = sums
        seconds += Seconds(link=link, device=device, host=host, hidden=link + device + host - took)
        for task, span in zip(some.tolist(), spans, strict=True):
            _show(timeline, Choice(trace.tasks["way"][task]), span, clock)
        clock += took + machine.gpu.launch
    return seconds, clock


def _show(timeline: Timeline | None, way: Choice, span: Spans, clock: float) -> None:
    if timeline is None:
        return
    name = way.name.lower().replace("_", "-")
    for station, (begin, end) in vars(span).items():
        if end > begin:
            timeline.slice(
                f"tasks: {station}", name, int((clock + begin) * _TICKS), int((clock + end) * _TICKS)
            )
