"""Partitions of an edge array, what of each an iteration reads, and how its active edges had better reach the device.

Engine and model decide by the same formulas: the engine before it copies anything, the model for a trace that was
recorded under another system.

HyTGraph takes for each partition the cheapest of three ways to the device. The papers (ICDE 2023, section V-A, and its
longer form in TPDS) weigh by equations 1 to 3, in round trips: 256 requests of 128 bytes are under way at a time. The
released code (iDC-NEU/HyTGraph, include/framework/hybrid_policy.h) evaluates none of them and goes by shares of active
edges instead. Both rules are here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.graph.snapshot import Lists
from grapin.system import Filter, Hybrid, HybridReleased, Transfer
from grapin.units import ELEMENT, LINE, format_bytes
from grapin.validation import check_integer, refuse

Numbers = NDArray[np.int64]

_HYBRID, _RELEASED = Hybrid(), HybridReleased()
PARTITION = _HYBRID.partition
"""Bytes of one partition where nobody says."""


class Choice(IntEnum):
    """How the edges of a partition reach the device."""

    NOTHING = 0
    """They do not: no list of it is read."""
    FILTER = 1
    """The whole partition is copied."""
    COMPACTION = 2
    """The host gathers the active lists, which are then copied."""
    ZERO_COPY = 3
    """Threads read the active lists by requests."""


@dataclass(frozen=True)
class Activity:
    """One iteration's reads by partition; the arrays have one entry a partition, `partition` one a list."""

    edges: Numbers
    """Elements a partition holds; the room between lists is copied with them."""
    active_edges: Numbers
    active_lists: Numbers
    lines: Numbers
    """128-byte lines that the active lists touch: as many requests."""
    partition: Numbers
    """The partition of each list, in the order they were given."""
    edge_bytes: int
    """Bytes of one element, its weight included where that is read."""

    @property
    def active(self) -> NDArray[np.bool_]:
        """Which partitions have a list that is read."""
        return self.active_lists > 0


@dataclass(frozen=True)
class Volume:
    """What an iteration moves under some choices, by partition."""

    copied: Numbers
    """Bytes sent by the copy engine."""
    gathered: Numbers
    """Of these, bytes that the host gathered first."""
    requested: NDArray[np.bool_]
    """Which lists, in the order they were given, are read by requests instead."""


def count_activity(
    starts: NDArray[Any], lengths: NDArray[Any], *, slots: int, arrays: int = 1, partition: int = PARTITION
) -> Activity:
    """Sum up lists given by start and length in elements, in an array of `slots` elements, or two with weights."""
    size = check_integer("partition", partition, least=ELEMENT * arrays) // (ELEMENT * arrays)
    starts, lengths = np.asarray(starts, np.int64), np.asarray(lengths, np.int64)
    if len(starts) and int((starts + lengths).max()) > slots:
        refuse("slots", slots, f"be at least {int((starts + lengths).max())}, where the last list ends")
    count = -(-slots // size)
    held = np.minimum(size, slots - size * np.arange(count))
    return sum_up(starts, lengths, starts // size, held, arrays=arrays)


def sum_up(starts: Numbers, lengths: Numbers, of_list: Numbers, held: Numbers, *, arrays: int) -> Activity:
    """Sum up lists by the partition each belongs to; a partition holds so many elements."""
    read, count = lengths > 0, len(held)
    lines = np.where(read, (starts + lengths - 1) // (LINE // ELEMENT) - starts // (LINE // ELEMENT) + 1, 0)
    active_edges = _sums(of_list, lengths, count)
    return Activity(
        # A list longer than a partition makes its own as long as itself.
        edges=np.maximum(held, active_edges),
        active_edges=active_edges,
        active_lists=_sums(of_list, read, count),
        lines=_sums(of_list, lines * arrays, count),
        partition=of_list,
        edge_bytes=ELEMENT * arrays,
    )


def choose_filter(activity: Activity, _: Filter | None = None) -> Numbers:
    """Copy every partition with an active list whole: what partitioning systems did before they compared costs."""
    return np.where(activity.active, Choice.FILTER, Choice.NOTHING)


def volume(activity: Activity, choices: Numbers, *, index_bytes: int = 8) -> Volume:
    """Return what these choices move; a gathered list brings `index_bytes` with it, its vertex and its offset."""
    whole = np.where(choices == Choice.FILTER, activity.edges * activity.edge_bytes, 0)
    lists = activity.active_edges * activity.edge_bytes + activity.active_lists * index_bytes
    gathered = np.where(choices == Choice.COMPACTION, lists, 0)
    return Volume(whole + gathered, gathered, (choices == Choice.ZERO_COPY)[activity.partition])


def _sums(of_list: Numbers, amounts: NDArray[Any], count: int) -> Numbers:
    # Sums of whole numbers below 2**53 are exact in the floats that bincount adds up.
    return np.bincount(of_list, amounts, count).astype(np.int64)


OUTSTANDING = 256  # MR of the equations
GAMMA = 0.625  # the fixed part of a round trip, section V-A

Times = NDArray[np.float64]


@dataclass(frozen=True)
class PartitionCosts:
    """The time each way takes, by partition, in the unit of `round_trip`."""

    filter: Times
    """Equation 1: the whole partition in full requests."""
    compaction: Times
    """Equation 2: active lists and an index entry for each, in full requests; and gathering them, if that is known."""
    zero_copy: Times
    """Equation 3: a request for each line of an active list; the round trip is shorter as requests are less full."""


def equations(
    activity: Activity, *, round_trip: float = 1.0, index_bytes: int = 8, gathering_rate: float | None = None
) -> PartitionCosts:
    """Evaluate equations 1 to 3.

    Without `gathering_rate` (bytes a second that the host gathers) equation 2 is the transfer alone, which is what the
    paper compares: "in practice, we compute Tec by considering only the transfer overhead".
    """
    lists = activity.active_edges * activity.edge_bytes + activity.active_lists * index_bytes
    gathering = 0.0 if gathering_rate is None else lists / gathering_rate
    share = activity.active_edges / np.maximum(activity.edges, 1)
    return PartitionCosts(
        filter=_rounds(activity.edges * activity.edge_bytes / LINE) * round_trip,
        compaction=_rounds(lists / LINE) * round_trip + gathering,
        zero_copy=_rounds(activity.lines) * (GAMMA + (1 - GAMMA) * share) * round_trip,
    )


def choose_by_cost(activity: Activity, hybrid: Hybrid = _HYBRID, *, index_bytes: int = 8) -> Numbers:
    """Choose as the paper says: gather if that is cheap enough beside both others, else the cheaper of those.

    On a tie between the others the partition is copied, as the text says; the paper's listing leaves it to requests.
    """
    costs = equations(activity, index_bytes=index_bytes)
    gather = costs.compaction < np.minimum(hybrid.alpha * costs.filter, hybrid.beta * costs.zero_copy)
    others = np.where(costs.zero_copy < costs.filter, Choice.ZERO_COPY, Choice.FILTER)
    chosen = np.where(gather, Choice.COMPACTION, others)
    return np.where(activity.active, chosen, Choice.NOTHING)


def choose_as_released(activity: Activity, released: HybridReleased = _RELEASED) -> Numbers:
    """Choose as the released code does: copy what is mostly active, gather what is half active and of small degree.

    In one iteration at most a quarter of the segments are gathered, first come, first served.
    """
    copy = activity.active_edges > released.alpha * activity.edges
    small = activity.active_edges < released.small_degree * activity.active_lists
    gather = ~copy & (activity.active_edges > released.beta * activity.edges) & small
    gather &= np.cumsum(gather) <= released.segments // 4
    chosen = np.where(copy, Choice.FILTER, np.where(gather, Choice.COMPACTION, Choice.ZERO_COPY))
    return np.where(activity.active, chosen, Choice.NOTHING)


def _rounds(requests: NDArray[np.generic]) -> Times:
    return np.ceil(np.asarray(requests, np.float64) / OUTSTANDING)


CHOICES: dict[type[Transfer], Callable[..., Numbers]] = {
    Filter: choose_filter,
    Hybrid: choose_by_cost,
    HybridReleased: choose_as_released,
}
"""How each way to move lists decides about partitions."""


def partition_bytes(transfer: Transfer, whole: int) -> int:
    """Return the bytes of a partition of an edge array of so many."""
    if isinstance(transfer, HybridReleased):
        return max(-(-whole // transfer.segments), 1)
    assert isinstance(transfer, (Filter, Hybrid))
    return transfer.partition


def cut(lists: Lists, size: int, *, at_least: bool = False) -> tuple[Numbers, Numbers]:
    """Return where partitions of whole lists begin and end, in elements, none longer than `size` but for one list.

    With `at_least` a partition takes lists until it is as long as that. It costs a look-up a partition, however many
    lists there are.
    """
    begins, ends = [], []
    starts, degrees, vertex, bound = lists.starts, lists.degrees, 0, len(lists.starts)
    while vertex < bound:
        begin = int(starts[vertex])
        if at_least:
            last = int(np.searchsorted(starts, begin + size, "left"))
        else:
            last = int(np.searchsorted(starts, begin + size, "right")) - 1
            if last == bound - 1 and int(starts[last]) + int(degrees[last]) <= begin + size:
                last = bound
        last = max(last, vertex + 1)
        begins.append(begin)
        ends.append(int(starts[last - 1]) + int(degrees[last - 1]))
        vertex = last
    return np.array(begins, np.int64), np.array(ends, np.int64)


def check_room(name: str, size: int, longest: int, edge_bytes: int) -> None:
    """Refuse room for lists that the longest of them does not fit into."""
    if longest * edge_bytes > size:
        needed = format_bytes(longest * edge_bytes)
        refuse(
            name, format_bytes(size), f"be at least {needed}, which the longest list takes: {longest} edges"
        )
