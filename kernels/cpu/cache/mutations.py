"""What a batch changed, list by list: the records that a reader fetches to bring its copy up to date."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.graph.applied import Applied

INSERTED, DELETED, REWEIGHTED = 0, 1, 2


class Mutations:
    """Records of one batch side by side for each list: kind, neighbour, weight."""

    def __init__(self, applied: Applied, *, inward: bool, weights: bool) -> None:
        # Deletions first, so that a copy never grows beyond what its list is after the batch.
        parts = (applied.deleted, applied.reweighted, applied.inserted)
        sources, targets = (
            np.concatenate([getattr(part, side) for part in parts]) for side in ("source", "target")
        )
        kinds = np.repeat(np.array((DELETED, REWEIGHTED, INSERTED)), [len(part) for part in parts])
        stored = [part.weight for part in parts if weights and part.weight is not None]
        values: NDArray[Any] = np.concatenate(stored) if stored else np.zeros(len(kinds), np.int32)
        places = 2 * sources.astype(np.int64)
        if inward:
            places = np.concatenate((places, 2 * targets.astype(np.int64) + 1))
            kinds, values = np.tile(kinds, 2), np.tile(values, 2)
            sources, targets = np.concatenate((sources, targets)), np.concatenate((targets, sources))
        order = np.argsort(places, kind="stable")
        self._places, self._kinds = places[order], kinds[order]
        self._neighbours, self._weights = targets[order], values[order]

    def of(self, place: int) -> Iterator[tuple[int, Any, Any]]:
        """Yield the records of one list."""
        first, last = np.searchsorted(self._places, (place, place + 1))
        yield from zip(
            self._kinds[first:last].tolist(),
            self._neighbours[first:last],
            self._weights[first:last],
            strict=True,
        )
