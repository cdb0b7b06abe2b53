"""What batches changed, list by list: the records that bring a copy up to date which has missed them.

A record is a neighbour, and a weight where weights are cached. A neighbour that left is marked in its sign. One that is
there already has another weight now, one that is not has come. Within a batch those that left come first, so that a
copy never grows beyond what its list is afterwards.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grapin.cache.holdings import Places
from grapin.graph.applied import Applied


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
        # One row a list, batch after batch.
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
