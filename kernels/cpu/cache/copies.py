"""`Copies`: the memory of a cache, in which its plans are carried out element by element."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.cache import HotCache, Plan
from grapin.cache.plan import Step
from grapin.graph.snapshot import Lists, Snapshot
from grapin.kernels.cpu.cache.mutations import DELETED, INSERTED, Mutations


class Copies:
    """Neighbours and weights of cached lists, each list where `HotCache.positions` says."""

    def __init__(self, cache: HotCache, weight_dtype: Any) -> None:
        self._cache = cache
        capacity = cache.holdings.chunks.capacity
        self.neighbours = np.empty(capacity, np.int32)
        self.weights = np.empty(capacity if cache.holdings.arrays > 1 else 0, weight_dtype or np.int32)
        self._mutations: dict[int, Mutations] = {}
        """By batch, as long as a copy may have missed them."""

    @property
    def nbytes(self) -> int:
        """Bytes of device memory."""
        return self.neighbours.nbytes + self.weights.nbytes

    def keep(self, batch: int, mutations: Mutations) -> None:
        """Remember what a batch changed until no copy can have missed it."""
        self._mutations[batch] = mutations
        self._mutations.pop(batch - self._cache.settings.window, None)

    def carry_out(self, plan: Plan, snapshot: Snapshot) -> None:
        """Move copies, then load lists."""
        self._move(plan)
        self._copy(plan.loaded, self._cache.positions[plan.loaded], snapshot)

    def follow(self, step: Step, snapshot: Snapshot) -> None:
        """Do to copies what a stretch of reads did."""
        self.carry_out(step.plan, snapshot)
        for place, position, length, batch in zip(
            step.patched, step.patched_at, step.patched_length, step.missed_from, strict=True
        ):
            self._patch(int(place), int(position), int(length), int(batch))
        self._copy(step.filled, step.filled_at, snapshot)

    def _move(self, plan: Plan) -> None:
        sources, targets = _ranges(plan.sources, plan.lengths), _ranges(plan.targets, plan.lengths)
        for array in (self.neighbours, self.weights)[: self._cache.holdings.arrays]:
            array[targets] = array[sources]

    def _copy(self, places: NDArray[np.int64], positions: NDArray[np.int64], snapshot: Snapshot) -> None:
        """Write lists as they are on the host to these positions."""
        for inward, lists in enumerate((snapshot.out, snapshot.in_)):
            side = places & 1 == inward
            if lists is not None and side.any():
                self._copy_side(places[side] >> 1, positions[side], lists)

    def _copy_side(self, vertices: NDArray[np.int64], positions: NDArray[np.int64], lists: Lists) -> None:
        lengths = lists.degrees[vertices].astype(np.int64)
        sources, targets = _ranges(lists.starts[vertices], lengths), _ranges(positions, lengths)
        self.neighbours[targets] = lists.neighbours[sources]
        if len(self.weights):
            self.weights[targets] = lists.weights[sources]

    def _patch(self, place: int, position: int, length: int, batch: int) -> None:
        """Apply to one copy what batches from `batch` on changed: append, or find and overwrite."""
        end = position + length
        for number in sorted(self._mutations):
            if number < batch:
                continue
            for kind, neighbour, weight in self._mutations[number].of(place):
                at = end
                if kind != INSERTED:
                    at = position + int(np.flatnonzero(self.neighbours[position:end] == neighbour)[0])
                if kind == DELETED:
                    end -= 1
                    self._set(at, self.neighbours[end], self.weights[end] if len(self.weights) else 0)
                    continue
                end += kind == INSERTED
                self._set(at, neighbour, weight)

    def _set(self, at: int, neighbour: Any, weight: Any) -> None:
        self.neighbours[at] = neighbour
        if len(self.weights):
            self.weights[at] = weight


def _ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return start, start + 1, ... for each start, as many numbers as its length says."""
    ends = np.cumsum(lengths)
    return np.repeat(starts - ends + lengths, lengths) + np.arange(int(lengths.sum()))
