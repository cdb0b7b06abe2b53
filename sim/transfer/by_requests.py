"""Zero-copy: warps read lists from host memory, request by request, unless the device has a copy."""

from typing import Any

from grapin.cache.settings import CacheSettings
from grapin.sim.caching import run_cache
from grapin.sim.compute import device_seconds
from grapin.sim.iterations import Iterations
from grapin.sim.machine import Machine
from grapin.sim.mixes import replay_threads
from grapin.sim.path import Path
from grapin.sim.prediction import Costs
from grapin.sim.replayed import Replayed
from grapin.sim.systems import ModelSystem
from grapin.sim.timeline import Timeline
from grapin.sim.transfer.assembling import costs_of, link_seconds, read_counters, wire_bytes
from grapin.sim.transfer.overlap import in_streams
from grapin.sim.transfer.upkeep import with_upkeep
from grapin.sim.zero_copy import replay_zero_copy
from grapin.trace import Trace


def request_costs(
    trace: Trace,
    system: ModelSystem,
    machine: Machine,
    cache: CacheSettings | None,
    timeline: Timeline | None,
) -> list[Costs]:
    """Return what each phase costs."""
    path = Path(machine)
    if cache is None:
        return _read(trace, Iterations.of(trace), system, path, timeline)
    cached = run_cache(trace, cache)
    costs = _read(cached.trace, Iterations.of(trace, cached.held), system, path, timeline)
    return with_upkeep(costs, path, cached.upkeep)


def _read(
    trace: Trace, iterations: Iterations, system: ModelSystem, path: Path, timeline: Timeline | None
) -> list[Costs]:
    phases = len(trace.phases["version"])
    replayed = _replayed(trace, system, path, iterations, timeline)
    device = device_seconds(iterations, path.machine)
    return costs_of(
        iterations,
        read_counters(iterations, replayed.sizes, phases),
        in_streams(iterations, path.machine, phases, link=link_seconds(replayed), device=device),
        wire_bytes(replayed),
    )


def _replayed(
    trace: Trace, system: ModelSystem, path: Path, iterations: Iterations, timeline: Timeline | None
) -> Replayed:
    if system.access == "naive":
        return replay_threads(trace, path, iterations)
    how: dict[str, Any] = {"aligned": system.access == "aligned", "alone": system.alone}
    if timeline is None:
        return replay_zero_copy(trace, path, **how)
    from grapin.sim.events.replay import replay_events

    return replay_events(trace, path, timeline=timeline, **how)
