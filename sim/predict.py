"""`replay`: a trace, a system and a machine give a prediction.

Sweeps: every combination of systems, machines and caches, on traces that all of them share.

Combinations as a command line names them: machines, numbers of theirs to change, systems, caches.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from grapin.cache.settings import PERCENT, CacheSettings, read_settings
from grapin.errors import InvalidArgument
from grapin.interrupts import held_interrupts
from grapin.pool import map_tasks
from grapin.sim.machine import Machine, find_machine
from grapin.sim.paging.parameters import DRIVER, Driver
from grapin.sim.prediction import Costs, Prediction
from grapin.sim.timeline import Timeline
from grapin.sim.transfer.compaction import gathering_costs
from grapin.sim.transfer.partition import partition_costs
from grapin.sim.transfer.resident import resident_costs
from grapin.sim.transfer.tasks import recorded_costs
from grapin.sim.transfer.unified import page_costs
from grapin.sim.transfer.zero_copy import request_costs
from grapin.system import (
    Compaction,
    Filter,
    Hybrid,
    HybridReleased,
    Resident,
    System,
    Transfer,
    Unified,
    ZeroCopy,
    find_system,
    recorder,
)
from grapin.trace import Trace
from grapin.units import format_bytes
from grapin.validation import refuse

_TRANSFERS: dict[type[Transfer], Callable[..., list[Costs]]] = {
    ZeroCopy: request_costs,
    Unified: page_costs,
    Resident: resident_costs,
    Filter: partition_costs,
    Hybrid: partition_costs,
    HybridReleased: partition_costs,
    Compaction: gathering_costs,
}
"""What each way to move lists costs."""


def replay(
    trace: Trace,
    system: str | System,
    machine: str | Machine,
    *,
    cache: int | str | CacheSettings | None = None,
    timeline: Timeline | None = None,
    driver: Driver = DRIVER,
) -> Prediction:
    """Predict what the reads of a trace cost under a system on a machine.

    Args:
        trace: what a run read; its repair must be the system's.
        system: by name, one of `grapin.system.SYSTEMS`, or a system.
        machine: by name, one of `grapin.sim.MACHINES`, or a machine.
        cache: room for cached lists on the device, for a system that keeps some: bytes, a size such as `1G`
            or `10%` of the edges' bytes, or settings with a policy of their own. None is no room.
        timeline: collects what happens when. Requests and faults are then followed one by one, which gives the same
            times and takes minutes for a trace that otherwise takes seconds.
        driver: what serves the faults of unified memory.

    Memory is a few bytes per list read, beside the trace, and a row per iteration.
    """
    system, machine = find_system(system), find_machine(machine)
    check_recorded(trace, system)
    settings = _settings(trace, system, machine, cache)
    if len(trace.tasks["rows"]):
        return _recorded(trace, system, machine, timeline)
    if timeline is not None and not _has_events(system.transfer):
        raise InvalidArgument(f"system={system.name!r} has no timeline: it is a closed form")
    with held_interrupts():
        phases = _TRANSFERS[type(system.transfer)](
            trace, system, machine, cache=settings, timeline=timeline, driver=driver
        )
    kept = "none" if settings is None else f"{settings.policy} {format_bytes(settings.capacity)}"
    versions = tuple(trace.phases["version"].tolist())
    return Prediction(system.name, machine.name, kept, machine.link.rate, versions, tuple(phases))


def _recorded(trace: Trace, system: System, machine: Machine, timeline: Timeline | None) -> Prediction:
    """Predict a system that copies lists from the tasks of its own run."""
    with held_interrupts():
        phases = recorded_costs(trace, system, machine, timeline=timeline)
    versions = tuple(trace.phases["version"].tolist())
    return Prediction(system.name, machine.name, "none", machine.link.rate, versions, tuple(phases))


def check_recorded(trace: Trace, system: System) -> None:
    """Refuse a trace that cannot answer for a system because its run read other lists."""
    if not isinstance(trace, Trace):
        raise InvalidArgument(f"trace={trace!r:.60} must be a Trace: engine.trace, or Trace.load(path)")
    if trace.about.get("device") == "reference":
        raise InvalidArgument(
            "trace must be of a device that reads lists one by one: the reference read none, so there is nothing to "
            "predict from; record one with grapin run --device cpu --trace FILE"
        )
    ran = str(trace.about["system"])
    if len(trace.tasks["rows"]) and ran.partition("+")[0] != system.name.partition("+")[0]:
        raise InvalidArgument(
            f"system={system.name!r} must be {ran}, whose tasks the trace has; for others record one with "
            f"grapin run --system {recorder(system.repair).name} --trace FILE"
        )
    recorded = trace.about["repair"]
    if recorded != system.repair:
        raise InvalidArgument(
            f"system={system.name!r} must have a trace whose repair is {system.repair}, not {recorded}: "
            f"record one with grapin run --system {recorder(system.repair).name} --trace FILE"
        )


def _has_events(transfer: Transfer) -> bool:
    """Tell whether single requests or faults can be followed; all else is a closed form."""
    return isinstance(transfer, Unified) or (isinstance(transfer, ZeroCopy) and transfer.access != "naive")


def edge_bytes(trace: Trace) -> int:
    """Return what all edges take at the start, with weights where they are read: what `10%` is a part of."""
    arrays = int(trace.reads["arrays"].max(initial=1))
    return 4 * arrays * int(trace.phases["edges"][0]) if len(trace.phases["edges"]) else 0


def _settings(
    trace: Trace, system: System, machine: Machine, cache: int | str | CacheSettings | None
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

    system: System
    machine: Machine
    cache: int | str | CacheSettings | None = None
    memory_share: float | None = None
    """The GPU's memory as a part of the bytes of all edges, in place of the machine's own."""
    driver: Driver = DRIVER
    """What serves the faults of unified memory."""

    def sized(self, trace: Trace) -> "Combination":
        """Return the same with memory in bytes."""
        return replace(self, machine=self.machine_for(trace), memory_share=None)

    def machine_for(self, trace: Trace) -> Machine:
        """Return the machine, with memory for its part of the graph that the trace is of."""
        return self.machine_of(edge_bytes(trace))

    def machine_of(self, size: float) -> Machine:
        """Return the machine, with memory for its part of a graph whose edges take so many bytes."""
        if self.memory_share is None:
            return self.machine
        memory = max(1, int(size * self.memory_share))
        sized = self.machine.with_settings({"gpu.memory": memory}, source="set as a part of the edges")
        return replace(sized, name=self.machine.name)

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

    Where it happens is up to `processes` and `cluster`, as for `grapin.pool.map_tasks`; the predictions are the same.
    """
    for repair in {str(one.system.repair) for one in combinations} - set(traces):
        raise InvalidArgument(f"traces must have one whose repair is {repair}")
    return map_tasks(
        _predict, combinations, shared=(dict(traces),), processes=processes, cluster=cluster, advance=advance
    )


def _predict(one: Combination, traces: Mapping[str, Trace]) -> Prediction:
    trace = traces[one.system.repair]
    machine = one.machine_for(trace)
    try:
        return replay(trace, one.system, machine, cache=one.cache, driver=one.driver)
    except InvalidArgument as error:
        if one.memory_share is None:
            raise
        size = format_bytes(machine.gpu.memory)
        raise InvalidArgument(f"{machine.name} has {size}, that part of the graph's edges: {error}") from None


MEMORY = "gpu.memory"
LEAST_SHARE, MOST_SHARE = 0.0001, 100.0
"""Parts of the edges that a GPU's memory may hold: beyond these it is a slip of the keyboard."""


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
    own = [one for one in settings if one.strip().startswith(f"{Transfer.role}.")]
    of_machines = _variants([one for one in settings if one not in own])
    variants = [
        _changed(machine, values)
        for machine in (find_machine(name.strip()) for name in machines)
        for values in of_machines
    ]
    return [
        Combination(system, machine, cache, share)
        for (machine, share), system in product(variants, _systems(systems, own))
        for cache in (caches if system.cache != "none" else (None,))
    ]


def _systems(names: Sequence[str], settings: Sequence[str]) -> list[System]:
    """Return the systems of these names; those whose transfer has the numbers that are set, once for each value."""
    found = [find_system(name.strip()) for name in names]
    numbers = {setting.partition("=")[0].strip() for setting in settings}
    if settings and not any(numbers <= system.numbers for system in found):
        refuse("set", min(numbers), f"be a number of the transfer of {' or '.join(names)}")
    return [
        system.with_settings(values) if values else system
        for system in found
        for values in (_variants(settings) if numbers <= system.numbers else [{}])
    ]


def _variants(settings: Sequence[str]) -> list[dict[str, str]]:
    """Return every combination of the values given, by the names of the numbers."""
    names, values = [], []
    for setting in settings:
        name, equals, listed = setting.partition("=")
        if not equals or not listed:
            raise InvalidArgument(f"set={setting!r} must be NUMBER=VALUE, such as link.generation=5")
        names.append(name.strip())
        values.append([value.strip() for value in listed.split(",")])
        if names.count(names[-1]) > 1:
            raise InvalidArgument(f"set={setting!r} must be left out: {names[-1]} is set already")
    return [dict(zip(names, chosen, strict=True)) for chosen in product(*values)]


def _changed(machine: Machine, given: Mapping[str, str]) -> tuple[Machine, float | None]:
    """Return the machine with these numbers, and its memory where that is a part of the edges (`gpu.memory=33%`).

    How much that part is, only the graph says.
    """
    share = _share(given.get(MEMORY, ""))
    known = {name: value for name, value in given.items() if share is None or name != MEMORY}
    changed = machine.with_settings(known) if known else machine
    if share is not None:
        name = "+".join([machine.name, *(f"{name}={value}" for name, value in given.items())])
        changed = replace(changed, name=name)
    return changed, share


def _share(text: str) -> float | None:
    """Read `33%`; None is for what is no part of anything."""
    found = PERCENT.fullmatch(text)
    if found is None:
        return None
    share = float(found[1]) / 100
    if not LEAST_SHARE <= share <= MOST_SHARE:
        refuse(MEMORY, text, f"be from {LEAST_SHARE:.2%} to {MOST_SHARE:.0%} of the bytes of all edges")
    return share


def memory_settings(memory: str | None, oversubscribe: str | None) -> tuple[str, ...]:
    """Return as settings what `--gpu-memory` and `--oversubscribe` say; several values have commas between them.

    >>> memory_settings(None, "2,4")
    ('gpu.memory=50%,25%',)
    """
    if memory is not None and oversubscribe is not None:
        raise InvalidArgument(
            f"oversubscribe={oversubscribe!r} must be left out: gpu_memory={memory!r} says it"
        )
    if oversubscribe is not None:
        memory = ",".join(_oversubscribed(text) for text in oversubscribe.split(","))
    return () if memory is None else (f"{MEMORY}={memory}",)


def _oversubscribed(text: str) -> str:
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not 1 / MOST_SHARE <= factor <= 1 / LEAST_SHARE:
        least, most = 1 / MOST_SHARE, 1 / LEAST_SHARE
        refuse(
            "oversubscribe",
            text,
            f"be how many times as large as memory the edges are, from {least:g} to {most:g}",
        )
    return f"{100 / factor:.6g}%"
