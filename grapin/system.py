"""`System`: one frozen value of four parts: repair, schedule, transfer and cache policy.

The same value runs in the engine and is replayed by the model; each part is looked up in one place per device and in
one of the model. A variant is `dataclasses.replace(system, ...)` or
`system.with_settings({"transfer.partition": "16M"})`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

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


@dataclass(frozen=True, kw_only=True)
class Schedule(Part):
    """In which order active vertices are taken; its numbers are settings.

    This one suits the device: by key on a CPU; near keys first in the kernels of a GPU.
    """

    role: ClassVar[str] = "schedule"
    name: ClassVar[str] = "device"


@dataclass(frozen=True, kw_only=True)
class Rounds(Schedule):
    """Bulk-synchronous: a round takes all vertices whose values changed in the last one, in the order of their ids.

    Values are updated in place, so what a round reads of the values that it changes depends on which lists are read at
    the same time. The one-lane device has `blocks` blocks of `warps` warps in flight: their lists take turns, as many
    elements a turn as a warp has lanes. With one warp lists are read one after the other, the least parallel a GPU can
    be. A GPU decides that by itself, and the CPU's own kernels take vertices by key whatever the schedule.
    """

    name: ClassVar[str] = "rounds"
    blocks: int = figure("", 1)
    """Blocks in flight."""
    warps: int = figure("", 1)
    """Warps of a block; a block's place is free when all of them are done."""
    lists: int = figure("", 1)
    """Vertices with consecutive ids of which a warp reads the active ones' lists, one after the other."""
    ahead: bool = False
    """Whether a warp takes the values of all its vertices before it reads the first of their lists."""
    abandons: bool = False
    """Whether a warp leaves a list when its vertex gets a better value meanwhile: the next round reads it again."""
    exchanges: bool = False
    """Whether a vertex takes the better value of a neighbour whose edge it reads, where edges lead both ways."""


@dataclass(frozen=True, kw_only=True)
class Local(Schedule):
    """A loaded part goes on until none of its vertices is active; then the next part is loaded."""

    name: ClassVar[str] = "local"
    whole_first: bool = True
    """Whether the first values begin with a load of all lists, active or not: so values travel far in each part."""


@dataclass(frozen=True, kw_only=True)
class Priority(Schedule):
    """Parts that contribute most come first, and a part that was copied whole is computed again before it goes.

    A round takes the vertices that are active when it begins. Each reads its list with the newest value, and is active
    in the next round only if it got a better one since.
    """

    name: ClassVar[str] = "priority"
    again: int = 1
    """How often a loaded part is computed again, by its vertices that have become active meanwhile."""
    order: Literal["active", "natural"] = "active"
    """Which parts that are copied whole come first: those with most active vertices, or as they lie in memory."""


class Objective(StrEnum):
    """What a repair spares where it may choose: accumulative programs can push few residuals, or many at once."""

    DEVICE = "device"
    """As suits the device: bytes where lists cross a link, time where they lie in its memory."""
    BYTES = "bytes"
    """Few edges, in more rounds."""
    TIME = "time"
    """Few rounds, in the order of memory."""


@dataclass(frozen=True, kw_only=True)
class Layout(Part):
    """Where lists lie in the arrays that they are read from, and what an edge takes there.

    `stored` is as our store has them. Programs whose requests were counted have lists behind each other (`packed`), or
    with gaps behind them as the released Grapin deals them out (`spaced`), in an array that begins some bytes behind a
    page, as large arrays from malloc do.
    """

    role: ClassVar[str] = "layout"
    lists: Literal["stored", "packed", "spaced"] = "stored"
    base: int = 0
    """How many bytes behind a page arrays begin; a multiple of an edge."""
    edge: int = figure("bytes", 4)
    """What a neighbour takes: 4 or 8."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("layout.lists", self.lists, ("stored", "packed", "spaced"))
        if self.edge not in (4, 8):
            refuse("layout.edge", self.edge, "be 4 or 8 bytes")
        if self.base % self.edge:
            refuse("layout.base", self.base, f"be a multiple of {self.edge} bytes, which an edge takes")

    def starts(self, degrees: NDArray[Any]) -> NDArray[np.int64]:
        """Return the place of each list's first element, given how long lists are when the arrays are laid out.

        Spaced as C-GpuStreamGraph does it: three of four slots are gaps, each behind the list that it may extend.
        """
        if self.lists == "stored":
            refuse("layout.lists", self.lists, "be packed or spaced: where stored lists lie, the graph says")
        lengths = np.asarray(degrees, np.int64)
        packed = np.cumsum(lengths) - lengths
        if self.lists == "packed" or not len(lengths):
            return packed
        edges, vertices = int(lengths.sum()), len(lengths)
        places = packed + np.arange(vertices)
        return packed + places * (3 * edges) // (edges + vertices)


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
    shared: Access = "aligned"
    """How the warps that share a longer list walk it."""
    early: bool = False
    """Whether a warp also loads what lies before a list in the line it begins in, as far as lists begin there."""

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
class Staged(Transfer):
    """Lists are copied into memory of the device, task by task, before they are read."""

    index_bytes: int = 8
    """Sent with each gathered list: its vertex and its offset, as published; 0 where the device makes both itself."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("transfer.index_bytes", self.index_bytes, least=0, most=64)


@dataclass(frozen=True, kw_only=True)
class Filter(Staged):
    """Partitions are copied whole when anything in them is active."""

    name: ClassVar[str] = "filter"
    partition: int = figure("bytes", 32 * 2**20)
    combine: int = figure("", 1)
    """Consecutive partitions that one copy brings."""
    streams: int = figure("", 2)
    """Staging buffers: while lists are read from one, the next is filled."""
    sources: Mapping[str, str] = field(
        default_factory=lambda: {"partition": "HyTGraph, section V-B"}, compare=False, repr=False
    )


@dataclass(frozen=True, kw_only=True)
class Compaction(Staged):
    """The host gathers active lists, which are then copied."""

    name: ClassVar[str] = "compaction"
    memory: int = figure("bytes", 12 * 2**30)
    """Device memory for gathered lists; more of them come in pieces, one after the other."""
    threshold: float = figure("share", 0.8)
    """Share of active edges beyond which everything is copied and nothing gathered."""
    sources: Mapping[str, str] = field(
        default_factory=lambda: {
            "memory": "Subway, section 4.1: all of a Titan XP",
            "threshold": "Subway, section 3.1; 3.3 and 4.4 state it the other way round",
        },
        compare=False,
        repr=False,
    )


@dataclass(frozen=True, kw_only=True)
class Hybrid(Staged):
    """HyTGraph: for each partition the cheapest of filter, compaction and zero-copy by its equations 1 to 3."""

    name: ClassVar[str] = "hybrid"
    partition: int = figure("bytes", 32 * 2**20)
    alpha: float = figure("share", 0.8)
    """Compaction is chosen below this part of the cost of filter, if it is also below `beta` of zero-copy's."""
    beta: float = figure("share", 0.4)
    combine: int = figure("", 4)
    """Consecutive partitions that one copy brings, if all are copied whole."""
    streams: int = figure("", 4)
    """Staging buffers: while lists are read from one, the next is filled."""
    sources: Mapping[str, str] = field(
        default_factory=lambda: {
            "partition": "HyTGraph, section V-B",
            "alpha": "HyTGraph, section V-A, and the default of its released program",
            "beta": "HyTGraph, section V-A, and the default of its released program",
            "combine": "HyTGraph, section V-B: k = 4",
            "streams": "the default of HyTGraph's released program",
        },
        compare=False,
        repr=False,
    )


@dataclass(frozen=True, kw_only=True)
class HybridReleased(Staged):
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
    streams: int = figure("", 4)
    """Staging buffers: while lists are read from one, the next is filled."""
    sources: Mapping[str, str] = field(
        default_factory=lambda: dict.fromkeys(
            ("segments", "small_degree", "alpha", "beta", "streams"),
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
    schedule: Schedule = Schedule()
    layout: Layout = Layout()
    objective: Objective = Objective.DEVICE

    @property
    def runs(self) -> bool:
        """Whether every device can run it; every system can be predicted from the trace of one that repairs alike."""
        transfer = self.transfer
        aligned = isinstance(transfer, ZeroCopy) and transfer.access == "aligned"
        return aligned or transfer in (Unified(), Resident())

    @property
    def staged(self) -> bool:
        """Whether devices can run it that copy lists to their memory task by task."""
        return isinstance(self.transfer, Staged)

    @property
    def numbers(self) -> set[str]:
        """The dotted names of the numbers that can be set."""
        return {one.name for part in (self.transfer, self.schedule) for one in part.figures()}

    def with_settings(self, settings: Mapping[str, object]) -> "System":
        """Return this system with numbers of its parts changed, by dotted names such as `transfer.partition`."""
        parts: dict[str, Part] = {Transfer.role: self.transfer, Schedule.role: self.schedule}
        for dotted, value in settings.items():
            role, _, own = dotted.partition(".")
            if role not in parts:
                refuse(
                    "setting",
                    dotted,
                    "name a number of the transfer, such as transfer.partition, or the schedule",
                )
            parts[role] = parts[role].with_settings({own: value}, "set by the user")
        name = "+".join([self.name, *(f"{name}={value}" for name, value in settings.items())])
        changed: dict[str, Any] = {"name": name, **parts}
        return replace(self, **changed)


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
    System(
        "grapin-released",
        "Grapin's program without a cache: a block of 16 warps takes the values of 512 vertices, lists lie spaced",
        Repair.PUBLISHED,
        ZeroCopy(alone=511, shared="merged"),
        schedule=Rounds(blocks=82, warps=16, lists=32, ahead=True),
        layout=Layout(lists="spaced", base=16),
    ),
    System("grapin-page", "Grapin through unified memory", Repair.PUBLISHED, Unified()),
    System(
        "grapin-recomp",
        "all values recomputed from scratch after every batch",
        Repair.RECOMPUTE,
    ),
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
        "emogi-released",
        "EMOGI's program: a warp a list, 82 blocks of 32 warps in flight, packed lists of 8-byte edges",
        Repair.RECOMPUTE,
        ZeroCopy(alone=ANY_LENGTH),
        schedule=Rounds(blocks=82, warps=32, abandons=True, exchanges=True),
        layout=Layout(lists="packed", edge=8),
    ),
    System(
        "hytgraph",
        "HyTGraph: the cheapest of three ways by its equations 1 to 3; lists that are read again stay, given room",
        Repair.RECOMPUTE,
        Hybrid(),
        cache="adaptive",
        schedule=Priority(order="natural"),
    ),
    System(
        "hytgraph-icde",
        "HyTGraph as first published, without a cache",
        Repair.RECOMPUTE,
        Hybrid(),
        schedule=Priority(order="natural"),
    ),
    System(
        "hytgraph-released",
        "HyTGraph by the rule of its released code: shares of active edges and their mean degree",
        Repair.RECOMPUTE,
        HybridReleased(),
        schedule=Priority(),
    ),
    System(
        "subway-sync",
        "Subway: the host gathers active lists, then copies them",
        Repair.RECOMPUTE,
        Compaction(),
    ),
    System(
        "subway-async",
        "Subway that computes on each loaded part until none of its vertices is active",
        Repair.RECOMPUTE,
        Compaction(),
        schedule=Local(),
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
"""The systems that every device runs."""
STAGED = tuple(name for name, system in SYSTEMS.items() if system.staged)
"""The systems that run on a GPU and on the devices with a GPU's schedule; the others are predicted."""


def find_system(name: str | System) -> System:
    """Return the system of this name; a `System` stands for itself."""
    return name if isinstance(name, System) else SYSTEMS[check_choice("system", name, SYSTEMS)]


def find_runnable(name: str | System) -> System:
    """Return a system that the engine can run, or say where it can be had."""
    system = find_system(name)
    if not system.runs and not system.staged:
        refuse(
            "system",
            system.name,
            f"be one that runs: {', '.join((*RUNNABLE, *STAGED))}; grapin whatif predicts {system.name}",
        )
    return system


def recorder(repair: Repair) -> System:
    """Return the system that is run to record which lists are read by all that repair this way, over a link."""
    found = next(one for one in _PRESETS if one.repair is repair and one.runs)
    return replace(found, objective=Objective.BYTES)
