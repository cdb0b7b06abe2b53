"""The systems the model knows: those the engine runs, and those that others published, as presets over the same parts.

A system of the engine is replayed as it is. The others are static: after every batch they compute from nothing, so they
are replayed from the trace of a run that does, and what differs is how the lists of each iteration cross the link.
"""

from dataclasses import dataclass
from typing import Literal

from grapin.errors import InvalidArgument
from grapin.sim.oracle.requests import ALONE, ANY_LENGTH
from grapin.system import SYSTEMS, System
from grapin.trace import Trace
from grapin.validation import check_choice

Repair = Literal["bounded", "published", "recompute"]
Access = Literal["aligned", "merged", "naive"]
Transfer = Literal[
    "zero-copy",
    "unified",
    "resident",
    "filter",
    "compaction",
    "compaction-ahead",
    "hybrid",
    "hybrid-released",
]

RECORDED_BY = {"bounded": "bounded", "published": "grapin-zc", "recompute": "grapin-recomp"}
"""The system whose run is recorded for each way to repair: traces of one repair are alike."""


@dataclass(frozen=True)
class ModelSystem:
    """One system as the model replays it; a variant is `dataclasses.replace(system, ...)`."""

    name: str
    repair: Repair
    transfer: Transfer
    """How the lists of an iteration come to the device: by requests, by page faults, not at all as it holds them; in
    whole partitions; gathered by the host, all at once or in step with the computation; or whichever of requests,
    partitions and gathering costs least, by the published equations or by the rule of the released code."""
    summary: str
    cache: Literal["none", "published", "adaptive"] = "none"
    access: Access = "aligned"
    """How threads walk a list that they read by requests; see `grapin.sim.access`."""
    alone: int = ALONE
    """Up to so many elements a list is one warp's, which waits for each line of it: `grapin.sim.oracle.requests`."""
    advice: str = "none"
    """What the driver is told about pages; see `grapin.sim.paging.Advice`."""

    @classmethod
    def of(cls, system: System) -> "ModelSystem":
        """Return a system of the engine as the model sees it."""
        return cls(system.name, system.repair, system.transfer, system.summary, system.cache)


_OTHERS = (
    ModelSystem(
        "emogi",
        "recompute",
        "zero-copy",
        "EMOGI: a warp a list, from the line it starts in",
        alone=ANY_LENGTH,
    ),
    ModelSystem(
        "emogi-merged",
        "recompute",
        "zero-copy",
        "EMOGI without alignment: a warp a list",
        access="merged",
        alone=ANY_LENGTH,
    ),
    ModelSystem(
        "emogi-naive", "recompute", "zero-copy", "EMOGI's first version: a thread a list", access="naive"
    ),
    ModelSystem(
        "hytgraph",
        "recompute",
        "hybrid",
        "HyTGraph: the cheapest of three ways by its equations 1 to 3; lists that are read again stay, given room",
        cache="adaptive",
    ),
    ModelSystem("hytgraph-icde", "recompute", "hybrid", "HyTGraph as first published, without a cache"),
    ModelSystem(
        "hytgraph-released",
        "recompute",
        "hybrid-released",
        "HyTGraph by the rule of its released code: shares of active edges and their mean degree",
    ),
    ModelSystem(
        "subway-sync", "recompute", "compaction", "Subway: the host gathers active lists, then copies them"
    ),
    ModelSystem(
        "subway-async",
        "recompute",
        "compaction-ahead",
        "Subway that goes on computing on what it has while the host gathers",
    ),
    ModelSystem(
        "exptm-filter", "recompute", "filter", "whole partitions are copied when anything in them is active"
    ),
    ModelSystem(
        "imptm-um",
        "recompute",
        "unified",
        "pages come by faults through unified memory, which is told that they are only read",
        advice="read-mostly",
    ),
)

MODEL_SYSTEMS = {
    system.name: system for system in (*(ModelSystem.of(one) for one in SYSTEMS.values()), *_OTHERS)
}


def find_model_system(name: str | System | ModelSystem) -> ModelSystem:
    """Return the system of this name; a system stands for itself."""
    if isinstance(name, System):
        return ModelSystem.of(name)
    if isinstance(name, ModelSystem):
        return name
    return MODEL_SYSTEMS[check_choice("system", name, MODEL_SYSTEMS)]


def check_recorded(trace: Trace, system: ModelSystem) -> None:
    """Refuse a trace that cannot answer for a system because its run read other lists."""
    if not isinstance(trace, Trace):
        raise InvalidArgument(f"trace={trace!r:.60} must be a Trace: engine.trace, or Trace.load(path)")
    recorded = trace.about["repair"]
    if recorded != system.repair:
        raise InvalidArgument(
            f"system={system.name!r} must have a trace whose repair is {system.repair}, not {recorded}: "
            f"record one with grapin run --system {RECORDED_BY[system.repair]} --trace FILE"
        )
