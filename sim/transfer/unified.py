"""Unified memory: the device touches pages, faults bring them, and the driver makes room for them.

The driver serves faults while other warps compute on what is there; a phase takes as long as the slower of the two.
"""

from typing import Any

import numpy as np

from grapin.counters import Counters
from grapin.sim.closed_form import copy_to_device, copy_to_host
from grapin.sim.iterations import Iterations, device_seconds
from grapin.sim.machine import Machine
from grapin.sim.paging.memory import UnifiedReplay, UnifiedVolumes
from grapin.sim.paging.parameters import Driver
from grapin.sim.paging.replay import replay_unified
from grapin.sim.prediction import Costs, Seconds
from grapin.sim.timeline import Timeline
from grapin.sim.transfer.costs import read_counters
from grapin.system import System, Unified
from grapin.trace import Trace


def page_costs(
    trace: Trace, system: System, machine: Machine, *, timeline: Timeline | None, driver: Driver, **_: Any
) -> list[Costs]:
    """Return what each phase costs."""
    phases = len(trace.phases["version"])
    iterations = Iterations.of(trace)
    counters = read_counters(iterations, np.zeros((len(iterations), 4), np.int64), phases)
    device = iterations.by_phase(device_seconds(iterations, machine, resident=True), phases).tolist()
    rounds = np.bincount(iterations.phase, minlength=phases).tolist()
    volumes = _replayed(trace, system, machine, driver, timeline).phases
    parts = zip(counters, volumes, device, rounds, strict=True)
    return [_costs(machine, *part) for part in parts]


def _replayed(
    trace: Trace, system: System, machine: Machine, driver: Driver, timeline: Timeline | None
) -> UnifiedReplay:
    assert isinstance(system.transfer, Unified)
    advice = system.transfer.advice
    if timeline is None:
        return replay_unified(trace, machine, advice=advice, driver=driver)
    from grapin.sim.oracle.paging import replay_unified_events

    return replay_unified_events(trace, machine, advice=advice, driver=driver, timeline=timeline)


def _costs(
    machine: Machine, counters: Counters, moved: UnifiedVolumes, device: float, iterations: int
) -> Costs:
    down, up = copy_to_device(machine, moved.bytes_in), copy_to_host(machine, moved.bytes_out)
    # Both directions may be busy at a time; what is left of the phase is the driver's work on faults.
    link = min(moved.seconds, max(down.seconds, up.seconds))
    return Costs(
        counters=counters,
        migrated_bytes=moved.bytes_in,
        evicted_bytes=moved.bytes_out,
        evictions=moved.evictions,
        faults=moved.faults,
        wire_to_device=down.down_bytes + up.down_bytes,
        wire_to_host=down.up_bytes + up.up_bytes,
        iterations=iterations,
        seconds=Seconds(
            link=link,
            device=device,
            faults=moved.seconds - link,
            launches=iterations * machine.gpu.launch,
            hidden=min(moved.seconds, device),
        ),
    )
