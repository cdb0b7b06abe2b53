"""What a cache says: the plan of a batch, the traffic it caused, and the mutations that its lists took part in.

What a cache asks a device to do: before a batch's computation, and while lists are read.

What reads, loads and patches are on the link, in the terms of `Counters`.

What batches changed, list by list: the records that bring a copy up to date which has missed them.

A record is a neighbour, and a weight where weights are cached. A neighbour that left is marked in its sign. One that is
there already has another weight now, one that is not has come. Within a batch those that left come first, so that a
copy never grows beyond what its list is afterwards.
"""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grapin.cache.chunks import Places
from grapin.counters import Counters, count_reads
from grapin.graph.change import Applied


def _none() -> NDArray[np.int64]:
    return np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Plan:
    """First all moves, then all loads. Positions and lengths are in elements."""

    moved: NDArray[np.int64] = field(default_factory=_none)
    """Lists whose copy goes from one position to another. They may be moved in this order, portion by portion, but for
    the last `outgrown`, which must be read before any list is written, and written after all others."""
    sources: NDArray[np.int64] = field(default_factory=_none)
    targets: NDArray[np.int64] = field(default_factory=_none)
    lengths: NDArray[np.int64] = field(default_factory=_none)
    outgrown: int = 0
    """How many of them move because they have outgrown their slot: that may have been given to another."""
    loaded: NDArray[np.int64] = field(default_factory=_none)
    """Lists to read from the host now, each to where `HotCache.positions` says."""
    counters: Counters = field(default_factory=Counters)
    """What the loads are on the link."""


@dataclass(frozen=True, eq=False)
class Step:
    """A stretch of reads: what is moved before it, and whose copies its reads bring up to date or write."""

    plan: Plan
    patched: NDArray[np.int64]
    """Lists whose copy is brought up to date by the mutations it has missed."""
    patched_at: NDArray[np.int64]
    """Beside `patched`: where the copy begins."""
    patched_length: NDArray[np.int64]
    """And how many elements it has before."""
    missed_from: NDArray[np.int64]
    """And the number of the batch that made the first of those mutations, the first batch being 1."""
    filled: NDArray[np.int64]
    """Lists whose copy is written by the first read that goes to the host for them."""
    filled_at: NDArray[np.int64]
    """Beside `filled`: where to."""

    @classmethod
    def of(cls, plan: Plan) -> "Step":
        """Return a step without reads."""
        return cls(plan, *(_none() for _ in range(6)))


@dataclass(frozen=True, eq=False)
class Observed:
    """What happened while one phase read its lists."""

    held: NDArray[np.uint8]
    """How many of the arrays that each row asked for the device held a copy of; the others crossed the link."""
    steps: tuple[Step, ...]
    """What was done to copies meanwhile, in order."""
    counters: Counters
    """What was read, and what of it crossed the link."""


def count_phase(rows: NDArray[np.int64], held: NDArray[np.uint8], patch_bytes: int) -> Counters:
    """Count what a phase read: rows of iteration, place, start, length, arrays, and how many arrays were held."""
    _, _, starts, lengths, arrays = rows.T
    crossing = Counters()
    missing = arrays - held
    for count in np.unique(missing[missing > 0]).tolist():
        some = missing == count
        crossing += count_reads(starts[some], lengths[some], arrays=count)
    cached = missing == 0
    return replace(
        crossing,
        edges=int(lengths.sum()),
        lists=int(np.count_nonzero(lengths)),
        cached_edges=int(lengths[cached].sum()),
        cached_lists=int(np.count_nonzero(lengths[cached])),
        patch_bytes=patch_bytes,
    )


def count_loads(starts: NDArray[np.int64], lengths: NDArray[np.int64], arrays: int) -> Counters:
    """Count lists that are read whole only to be copied into the cache."""
    loads = count_reads(starts, lengths, arrays=arrays)
    return replace(loads, edges=0, lists=0, loads=len(starts), load_bytes=loads.bytes)


class Records(NamedTuple):
    """The records of several lists, side by side."""

    bounds: NDArray[np.int64]
    """Where the records of each list begin, and behind the last one end."""
    neighbours: NDArray[np.int32]
    """`~neighbour` for one that left."""
    weights: NDArray[Any]
    """Beside `neighbours`; length 0 where no weights are cached."""


class Mutations:
    """The records of the last batches, as long as a copy may have missed them."""

    def __init__(self, window: int, *, weights: bool) -> None:
        self._window = window
        self._weights = weights
        self._batches: dict[int, tuple[Places, NDArray[np.int32], NDArray[Any]]] = {}
        """By number: places in ascending order, and beside them the records."""

    def keep(self, batch: int, applied: Applied, *, inward: bool) -> None:
        """Write down what a batch changed, in in-lists of their own as well if there are any."""
        self._batches[batch] = _records(applied, inward=inward, weights=self._weights)
        self._batches.pop(batch - self._window, None)

    def since(self, places: Places, batches: NDArray[np.int64]) -> Records:
        """Return what lists have missed from a batch on, each from its own, in order."""
        if not len(places):
            return Records(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))
        begins, counts, base = [], [], 0
        for number, (owners, _, _) in sorted(self._batches.items()):
            first = np.searchsorted(owners, places)
            missed = np.where(batches <= number, np.searchsorted(owners, places, side="right") - first, 0)
            begins.append(base + first)
            counts.append(missed)
            base += len(owners)
        # One row per list, batch after batch.
        begin, count = np.array(begins).T, np.array(counts).T
        wanted = ranges(begin.ravel(), count.ravel())
        kept = [records for _, records in sorted(self._batches.items())]
        neighbours, weights = (np.concatenate([records[column] for records in kept]) for column in (1, 2))
        return Records(
            np.concatenate((np.zeros(1, np.int64), np.cumsum(count.sum(axis=1)))),
            neighbours[wanted],
            weights[wanted] if self._weights else weights[:0],
        )


def _records(
    applied: Applied, *, inward: bool, weights: bool
) -> tuple[Places, NDArray[np.int32], NDArray[Any]]:
    parts = (applied.deleted, applied.reweighted, applied.inserted)
    sources, targets = (
        np.concatenate([getattr(part, side) for part in parts]) for side in ("source", "target")
    )
    left = np.arange(len(sources)) < len(applied.deleted)
    stored = [part.weight for part in parts if weights and part.weight is not None]
    values: NDArray[Any] = np.concatenate(stored) if stored else np.zeros(len(sources), np.int32)
    owners = 2 * sources.astype(np.int64)
    if inward:
        owners = np.concatenate((owners, 2 * targets.astype(np.int64) + 1))
        left, values = np.tile(left, 2), np.tile(values, 2)
        targets = np.concatenate((targets, sources))
    order = np.argsort(owners, kind="stable")
    return owners[order], np.where(left, ~targets, targets)[order], values[order]


def ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return start, start + 1, ... for each start, as many numbers as its length says."""
    ends = np.cumsum(lengths)
    return np.repeat(starts - ends + lengths, lengths) + np.arange(int(lengths.sum()))
