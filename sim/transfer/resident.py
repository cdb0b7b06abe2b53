"""The device holds all lists: they are copied once, and lists that a batch changed are sent again."""

from typing import Any

import numpy as np

from grapin.errors import InvalidArgument
from grapin.sim.machine import Machine
from grapin.sim.path import copy_to_device
from grapin.sim.prediction import (
    Costs,
    Iterations,
    Seconds,
    costs_of,
    device_seconds,
    in_streams,
    read_counters,
    with_copies,
)
from grapin.system import System
from grapin.trace import Trace
from grapin.units import ELEMENT, format_bytes


def resident_costs(trace: Trace, system: System, machine: Machine, **_: Any) -> list[Costs]:
    """Return what each phase costs, or say that the lists do not fit."""
    phases = len(trace.phases["version"])
    arrays = int(trace.reads["arrays"].max(initial=1))
    slots = trace.phases["out_slots"] + trace.phases["in_slots"]
    needed = int(slots.max(initial=0)) * ELEMENT * arrays
    if needed > machine.gpu.memory:
        raise InvalidArgument(
            f"system={system.name!r} must have a GPU that holds {format_bytes(needed)} of lists, "
            f"and {machine.name} has {format_bytes(machine.gpu.memory)}"
        )
    iterations = Iterations.of(trace)
    nothing = np.zeros(len(iterations))
    device = device_seconds(iterations, machine, resident=True)
    sent = _sent(trace, arrays)
    counters = read_counters(iterations, np.zeros((len(iterations), 4), np.int64), phases)
    seconds = in_streams(iterations, machine, phases, link=nothing, device=device)
    costs = costs_of(
        iterations, with_copies(counters, sent), seconds, np.zeros((len(iterations), 2), np.int64)
    )
    return [one + _copying(machine, size) for one, size in zip(costs, sent.tolist(), strict=True)]


def _sent(trace: Trace, arrays: int) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Return the bytes sent before each phase: all at first, then what the batch changed, once for all programs."""
    versions = trace.phases["version"]
    sent = np.zeros(len(versions), np.int64)
    for phase in np.flatnonzero(np.diff(versions, prepend=-1)):
        changed = trace.changes["version"] == versions[phase]
        sent[phase] = trace.changes["length"][changed].sum(dtype=np.int64)
    if len(sent):
        sent[0] = trace.phases["out_slots"][0] + trace.phases["in_slots"][0]
    return sent * ELEMENT * arrays


def _copying(machine: Machine, size: int) -> Costs:
    transfer = copy_to_device(machine, size)
    return Costs(
        wire_to_device=transfer.down_bytes,
        wire_to_host=transfer.up_bytes,
        seconds=Seconds(link=transfer.seconds + machine.link.round_trip if size else 0.0),
    )
