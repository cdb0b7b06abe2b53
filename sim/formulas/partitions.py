"""Partitions: an edge array cut into stretches of equal size, and what of each an iteration reads.

A list belongs to the partition it starts in. Systems that copy decide for each partition with an active list how its
edges reach the device.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.validation import check_integer, refuse

Numbers = NDArray[np.int64]

PARTITION = 32 * 2**20
"""Bytes of one partition (HyTGraph, section V-B)."""
ELEMENT = 4
LINE = 128


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
    of_list = starts // size
    count = -(-slots // size)
    read = lengths > 0
    lines = np.where(read, (starts + lengths - 1) // (LINE // ELEMENT) - starts // (LINE // ELEMENT) + 1, 0)
    active_edges = _sums(of_list, lengths, count)
    held = np.minimum(size, slots - size * np.arange(count))
    return Activity(
        # A list longer than a partition makes its own as long as itself.
        edges=np.maximum(held, active_edges),
        active_edges=active_edges,
        active_lists=_sums(of_list, read, count),
        lines=_sums(of_list, lines * arrays, count),
        partition=of_list,
        edge_bytes=ELEMENT * arrays,
    )


def choose_filter(activity: Activity) -> Numbers:
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
