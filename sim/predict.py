"""`replay`: a trace, a system and a machine give a prediction.

Sweeps: every combination of systems, machines and caches, on traces that all of them share.

Combinations as a command line names them: machines, numbers of theirs to change, systems, caches.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from grapin.cache.settings import CacheSettings, read_settings
from grapin.errors import InvalidArgument
from grapin.interrupts import held_interrupts
from grapin.pool import spread
from grapin.sim.machine import Machine
from grapin.sim.machines import find_machine
from grapin.sim.prediction import Costs, Prediction
from grapin.sim.systems import ModelSystem, check_recorded, find_model_system
from grapin.sim.timeline import Timeline
from grapin.sim.transfer.compaction import gathering_costs
from grapin.sim.transfer.partition import partition_costs
from grapin.sim.transfer.resident import resident_costs
from grapin.sim.transfer.unified import page_costs
from grapin.sim.transfer.zero_copy import request_costs
from grapin.system import System
from grapin.trace import Trace
from grapin.units import format_bytes

_TRANSFERS: dict[str, Callable[..., list[Costs]]] = {
    "zero-copy": request_costs,
    "unified": page_costs,
    "resident": resident_costs,
    "filter": partition_costs,
    "hybrid": partition_costs,
    "hybrid-released": partition_costs,
    "compaction": gathering_costs,
    "compaction-ahead": gathering_costs,
}
_WITH_TIMELINE = ("zero-copy", "unified")


def replay(
    trace: Trace,
    system: str | System | ModelSystem,
    machine: str | Machine,
    *,
    cache: int | str | CacheSettings | None = None,
    timeline: Timeline | None = None,
) -> Prediction:
    """Predict what the reads of a trace cost under a system on a machine.

    Args:
        trace: what a run read; its repair must be the system's.
        system: by name, one of `grapin.sim.systems.MODEL_SYSTEMS`, or a system.
        machine: by name, one of `grapin.sim.MACHINES`, or a machine.
        cache: room for copies of hot lists on the device, for a system that keeps some: bytes, a size such as `1G` or
            `10%` of the edges' bytes, or settings with a policy of their own. None is no room.
        timeline: collects what happens when. Requests and faults are then followed one by one, which gives the same
            times and takes minutes for a trace that otherwise takes seconds.

    Memory is a few bytes a list read, beside the trace, and a row an iteration.
    """
    system, machine = find_model_system(system), find_machine(machine)
    check_recorded(trace, system)
    settings = _settings(trace, system, machine, cache)
    if timeline is not None and (system.transfer not in _WITH_TIMELINE or system.access == "naive"):
        raise InvalidArgument(f"system={system.name!r} has no timeline: it is a closed form")
    with held_interrupts():
        phases = _TRANSFERS[system.transfer](trace, system, machine, cache=settings, timeline=timeline)
    kept = "none" if settings is None else f"{settings.policy} {format_bytes(settings.capacity)}"
    versions = tuple(trace.phases["version"].tolist())
    return Prediction(system.name, machine.name, kept, machine.link.rate, versions, tuple(phases))


def edge_bytes(trace: Trace) -> int:
    """Return what all edges take at the start, with weights where they are read: what `10%` is a part of."""
    arrays = int(trace.reads["arrays"].max(initial=1))
    return 4 * arrays * int(trace.phases["edges"][0]) if len(trace.phases["edges"]) else 0


def _settings(
    trace: Trace, system: ModelSystem, machine: Machine, cache: int | str | CacheSettings | None
) -> CacheSettings | None:
    """Return the settings of the cache; none for a system without one, which has no use for the room."""
    if cache is None or system.cache == "none":
        return None
    settings = read_settings(cache, policy=system.cache, edge_bytes=edge_bytes(trace))
    if settings.capacity > machine.gpu.memory:
        size, memory = format_bytes(settings.capacity), format_bytes(machine.gpu.memory)
        raise InvalidArgument(f"cache={size} must fit into the {memory} of {machine.gpu.name}")
    return settings


@dataclass(frozen=True)
class Combination:
    """One thing to predict."""

    system: ModelSystem
    machine: Machine
    cache: int | str | CacheSettings | None = None

    def __str__(self) -> str:
        return f"the prediction for {self.system.name} on {self.machine.name}"


def sweep(
    traces: Mapping[str, Trace],
    combinations: Sequence[Combination],
    *,
    processes: int = 1,
    cluster: str | None = None,
    advance: Callable[[float], None] = lambda _: None,
) -> list[Prediction]:
    """Return a prediction for each combination, in their order; `traces` has one for each way to repair.

    Where it happens is up to `processes` and `cluster`, as for `grapin.spread.spread`; the predictions are the same.
    """
    for repair in {str(one.system.repair) for one in combinations} - set(traces):
        raise InvalidArgument(f"traces must have one whose repair is {repair}")
    return spread(
        _predict, combinations, shared=(dict(traces),), processes=processes, cluster=cluster, advance=advance
    )


def _predict(one: Combination, traces: Mapping[str, Trace]) -> Prediction:
    return replay(traces[one.system.repair], one.system, one.machine, cache=one.cache)


def combine(
    machines: Sequence[str],
    systems: Sequence[str],
    caches: Sequence[str | None] = (None,),
    settings: Sequence[str] = (),
) -> list[Combination]:
    """Return every combination in the order asked, machines first; a system without a cache comes once.

    >>> [one.machine.name for one in combine(["a5000"], ["bounded"], settings=["link.generation=4,5"])]
    ['a5000+link.generation=4', 'a5000+link.generation=5']
    """
    for cache in caches:
        if cache is not None:
            read_settings(cache, policy="none", edge_bytes=0)
    variants = [variant for name in machines for variant in _variants(find_machine(name.strip()), settings)]
    found = [find_model_system(name.strip()) for name in systems]
    return [
        Combination(system, machine, cache)
        for machine, system in product(variants, found)
        for cache in (caches if system.cache != "none" else (None,))
    ]


def _variants(machine: Machine, settings: Sequence[str]) -> Iterator[Machine]:
    """Yield the machine with every combination of the values given for its numbers."""
    names, values = [], []
    for setting in settings:
        name, equals, listed = setting.partition("=")
        if not equals or not listed:
            raise InvalidArgument(f"set={setting!r} must be NUMBER=VALUE, such as link.generation=5")
        names.append(name.strip())
        values.append([value.strip() for value in listed.split(",")])
    for chosen in product(*values):
        yield machine.with_settings(dict(zip(names, chosen, strict=True))) if names else machine
