"""`System`: one frozen value of four parts: repair, schedule, transfer and cache policy.

The same value runs in the engine and is replayed by the model; each part is looked up in one place per device and in
one of the model. A variant is `dataclasses.replace(system, ...)` or
`system.with_settings({"transfer.partition": "16M"})`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar, Literal

from grapin.figures import Part, figure
from grapin.validation import check_choice, check_integer, refuse

Access = Literal["aligned", "merged", "naive"]
CachePolicy = Literal["none", "published", "adaptive"]
ALONE = 2048
"""Elements up to which our CUDA kernels leave a list to one warp (`grapin.kernels.cuda.walk.LONG`)."""
ANY_LENGTH = 2**31
"""As `alone`: a warp reads a whole list, however long it is, as in EMOGI."""


class Repair(StrEnum):
    """How the changes of a batch reach the values."""

    BOUNDED = "bounded"
    """Read what changed, and little more."""
    PUBLISHED = "published"
    """Grapin's: after correction every valid vertex pushes once."""
    RECOMPUTE = "recompute"
    """Recompute all values from scratch."""


class Schedule(StrEnum):
    """In which order active vertices are taken."""

    DEVICE = "device"
    """As suits the device: by key on a CPU; near-far for `bounded` and in rounds for the others on a GPU."""


class Objective(StrEnum):
    """What a repair spares where it may choose: accumulative programs can push few residuals, or many at once."""

    DEVICE = "device"
    """As suits the device: bytes where lists cross a link, time where they lie in its memory."""
    BYTES = "bytes"
    """Few edges, in more rounds."""
    TIME = "time"
    """Few rounds, in the order of memory."""


@dataclass(frozen=True, kw_only=True)
class Transfer(Part):
    """How the lists of an iteration reach the device; its numbers are settings."""

    role: ClassVar[str] = "transfer"
    name: ClassVar[str]


@dataclass(frozen=True, kw_only=True)
class ZeroCopy(Transfer):
    """Threads read lists request by request over the link."""

    name: ClassVar[str] = "zero-copy"
    access: Access = "aligned"
    """How threads walk a list; see `grapin.sim.stations`."""
    alone: int = ALONE
    """Up to so many elements a list is read by one warp, which waits for each line of it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("transfer.alone", self.alone, least=0, most=ANY_LENGTH)


@dataclass(frozen=True, kw_only=True)
class Unified(Transfer):
    """Pages come by faults."""

    name: ClassVar[str] = "unified"
    advice: Literal["none", "read-mostly"] = "none"
    """What the driver is told about pages; see `grapin.sim.paging.Advice`."""


@dataclass(frozen=True, kw_only=True)
class Resident(Transfer):
    """The device holds all lists."""

    name: ClassVar[str] = "resident"


@dataclass(frozen=True, kw_only=True)
class Filter(Transfer):
    """Partitions are copied whole when anything in them is active."""

    name: ClassVar[str] = "filter"
    partition: int = figure("bytes", 32 * 2**20)
    sources: Mapping[str, str] = field(
        default_factory=lambda: {"partition": "HyTGraph, section V-B"}, compare=False, repr=False
    )


@dataclass(frozen=True, kw_only=True)
class Compaction(Transfer):
    """The host gathers active lists, which are then copied."""

    name: ClassVar[str] = "compaction"
    ahead: bool = False
    """Whether the device goes on computing on what it has while the host gathers."""
    threshold: float = figure("share", 0.8)
    """Share of active edges beyond which everything is copied and nothing gathered."""
    sources: Mapping[str, str] = field(
        default_factory=lambda: {
            "threshold": "Subway, section 3.1; 3.3 and 4.4 state it the other way round"
        },
        compare=False,
        repr=False,
    )


@dataclass(frozen=True, kw_only=True)
class Hybrid(Transfer):
    """HyTGraph: for each partition the cheapest of filter, compaction and zero-copy by its equations 1 to 3."""

    name: ClassVar[str] = "hybrid"
    partition: int = figure("bytes", 32 * 2**20)
    alpha: float = figure("share", 0.8)
    """Compaction is chosen below this part of the cost of filter, if it is also below `beta` of zero-copy's."""
    beta: float = figure("share", 0.4)
    sources: Mapping[str, str] = field(
        default_factory=lambda: {
            "partition": "HyTGraph, section V-B",
            "alpha": "HyTGraph, section V-A, and the default of its released program",
            "beta": "HyTGraph, section V-A, and the default of its released program",
        },
        compare=False,
        repr=False,
    )


@dataclass(frozen=True, kw_only=True)
class HybridReleased(Transfer):
    """HyTGraph as its released program decides: by shares of active edges and their mean degree."""

    name: ClassVar[str] = "hybrid-released"
    segments: int = figure("", 20)
    """Partitions of the edge array; at most a quarter of them are gathered in one iteration."""
    small_degree: int = figure("", 24)
    """Mean active degree below which a partition may be gathered."""
    alpha: float = figure("share", 0.8)
    """Share of active edges beyond which a partition is copied whole."""
    beta: float = figure("share", 0.4)
    """Share of active edges beyond which a partition of small degree is gathered."""
    sources: Mapping[str, str] = field(
        default_factory=lambda: dict.fromkeys(
            ("segments", "small_degree", "alpha", "beta"),
            "iDC-NEU/HyTGraph, include/framework/hybrid_policy.h and include/utils/app_skeleton.h",
        ),
        compare=False,
        repr=False,
    )


@dataclass(frozen=True)
class System:
    """One preset; a variant is `dataclasses.replace(system, ...)`."""

    name: str
    summary: str
    repair: Repair
    transfer: Transfer = ZeroCopy()
    cache: CachePolicy = "none"
    """Which lists the device keeps a copy of, where it is given room for a cache; see `grapin.cache`."""
    schedule: Schedule = Schedule.DEVICE
    objective: Objective = Objective.DEVICE

    @property
    def runs(self) -> bool:
        """Whether the engine can run it; every system can be predicted from the trace of one that repairs alike."""
        return self.transfer in (ZeroCopy(), Unified(), Resident())

    @property
    def numbers(self) -> set[str]:
        """The dotted names of the numbers that can be set."""
        return {one.name for one in self.transfer.figures()}

    def with_settings(self, settings: Mapping[str, object]) -> "System":
        """Return this system with numbers of its transfer changed, by dotted names such as `transfer.partition`."""
        changes = {}
        for name, value in settings.items():
            role, _, own = name.partition(".")
            if role != Transfer.role:
                refuse("setting", name, "name a number of the transfer, such as transfer.partition")
            changes[own] = value
        transfer = self.transfer.with_settings(changes, "set by the user")
        name = "+".join([self.name, *(f"{name}={value}" for name, value in settings.items())])
        return replace(self, name=name, transfer=transfer)


_PRESETS = (
    System("bounded", "repair reads little more than what changes", Repair.BOUNDED, cache="adaptive"),
    System(
        "grapin",
        "Grapin (published): every valid vertex pushes once, the hot subgraph cached in advance",
        Repair.PUBLISHED,
        cache="published",
    ),
    System(
        "grapin-zc",
        "Grapin without a cache: after correction every valid vertex pushes once",
        Repair.PUBLISHED,
    ),
    System("grapin-page", "Grapin through unified memory", Repair.PUBLISHED, Unified()),
    System("grapin-recomp", "all values recomputed from scratch after every batch", Repair.RECOMPUTE),
    System(
        "emogi",
        "EMOGI: a warp a list, from the line it starts in",
        Repair.RECOMPUTE,
        ZeroCopy(alone=ANY_LENGTH),
    ),
    System(
        "emogi-merged",
        "EMOGI without alignment: a warp a list",
        Repair.RECOMPUTE,
        ZeroCopy(access="merged", alone=ANY_LENGTH),
    ),
    System(
        "emogi-naive",
        "EMOGI's first version: a thread a list",
        Repair.RECOMPUTE,
        ZeroCopy(access="naive"),
    ),
    System(
        "hytgraph",
        "HyTGraph: the cheapest of three ways by its equations 1 to 3; lists that are read again stay, given room",
        Repair.RECOMPUTE,
        Hybrid(),
        cache="adaptive",
    ),
    System("hytgraph-icde", "HyTGraph as first published, without a cache", Repair.RECOMPUTE, Hybrid()),
    System(
        "hytgraph-released",
        "HyTGraph by the rule of its released code: shares of active edges and their mean degree",
        Repair.RECOMPUTE,
        HybridReleased(),
    ),
    System(
        "subway-sync",
        "Subway: the host gathers active lists, then copies them",
        Repair.RECOMPUTE,
        Compaction(),
    ),
    System(
        "subway-async",
        "Subway that goes on computing on what it has while the host gathers",
        Repair.RECOMPUTE,
        Compaction(ahead=True),
    ),
    System(
        "exptm-filter",
        "whole partitions are copied when anything in them is active",
        Repair.RECOMPUTE,
        Filter(),
    ),
    System(
        "imptm-um",
        "pages come by faults through unified memory, which is told that they are only read",
        Repair.RECOMPUTE,
        Unified(advice="read-mostly"),
    ),
)

SYSTEMS = {system.name: system for system in _PRESETS}
RUNNABLE = tuple(name for name, system in SYSTEMS.items() if system.runs)
"""The systems that the engine runs; the others are predicted."""


def find_system(name: str | System) -> System:
    """Return the system of this name; a `System` stands for itself."""
    return name if isinstance(name, System) else SYSTEMS[check_choice("system", name, SYSTEMS)]


def find_runnable(name: str | System) -> System:
    """Return a system that the engine can run, or say where it can be had."""
    system = find_system(name)
    if not system.runs:
        refuse(
            "system",
            system.name,
            f"be one that runs: {', '.join(RUNNABLE)}; grapin whatif predicts {system.name}",
        )
    return system


def recorder(repair: Repair) -> System:
    """Return the system that is run to record which lists are read by all that repair this way, over a link."""
    found = next(one for one in _PRESETS if one.repair is repair and one.runs)
    return replace(found, objective=Objective.BYTES)
