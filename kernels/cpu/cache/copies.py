"""`HostCopies`: a second array in host memory stands for the device's; plans are carried out element by element."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.cache import HotCache, Plan
from grapin.cache.mutations import Mutations, Records, ranges
from grapin.cache.plan import Step
from grapin.counters import Counters
from grapin.graph.snapshot import Lists, Snapshot


class HostCopies:
    """Neighbours and weights of cached lists, each list where `HotCache.positions` says."""

    def __init__(self, hot: HotCache, weight_dtype: Any) -> None:
        self._hot = hot
        capacity = hot.holdings.chunks.capacity
        self.neighbours = np.empty(capacity, np.int32)
        self.weights = np.empty(capacity if hot.holdings.arrays > 1 else 0, weight_dtype or np.int32)

    @property
    def nbytes(self) -> int:
        """Bytes of device memory."""
        return self.neighbours.nbytes + self.weights.nbytes

    def contents(self) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """Return neighbours and weights as they are now."""
        return self.neighbours, self.weights

    def carry_out(self, plan: Plan, snapshot: Snapshot) -> Counters:
        """Move copies, then load lists; return what crossed the link for that."""
        self._move(plan)
        self._copy(plan.loaded, self._hot.positions[plan.loaded], snapshot)
        return plan.counters

    def follow(self, step: Step, snapshot: Snapshot, mutations: Mutations) -> None:
        """Do to copies what a stretch of reads did."""
        self.carry_out(step.plan, snapshot)
        records = mutations.since(step.patched, step.missed_from)
        for entry, (position, length) in enumerate(zip(step.patched_at, step.patched_length, strict=True)):
            self._patch(int(position), int(length), records, entry)
        self._copy(step.filled, step.filled_at, snapshot)

    def _move(self, plan: Plan) -> None:
        sources, targets = ranges(plan.sources, plan.lengths), ranges(plan.targets, plan.lengths)
        for array in (self.neighbours, self.weights)[: self._hot.holdings.arrays]:
            array[targets] = array[sources]

    def _copy(self, places: NDArray[np.int64], positions: NDArray[np.int64], snapshot: Snapshot) -> None:
        """Write lists as they are on the host to these positions."""
        for inward, lists in enumerate((snapshot.out, snapshot.in_)):
            side = places & 1 == inward
            if lists is not None and side.any():
                self._copy_side(places[side] >> 1, positions[side], lists)

    def _copy_side(self, vertices: NDArray[np.int64], positions: NDArray[np.int64], lists: Lists) -> None:
        lengths = lists.degrees[vertices].astype(np.int64)
        sources, targets = ranges(lists.starts[vertices], lengths), ranges(positions, lengths)
        self.neighbours[targets] = lists.neighbours[sources]
        if len(self.weights):
            self.weights[targets] = lists.weights[sources]

    def _patch(self, position: int, length: int, records: Records, entry: int) -> None:
        """Apply to one copy what it has missed: take out, overwrite, or append."""
        end = position + length
        for record in range(*records.bounds[entry : entry + 2]):
            neighbour = records.neighbours[record]
            leaves = neighbour < 0
            found = np.flatnonzero(self.neighbours[position:end] == (~neighbour if leaves else neighbour))
            at = position + int(found[0]) if len(found) else end
            if leaves:
                end -= 1
                self.neighbours[at] = self.neighbours[end]
            else:
                self.neighbours[at] = neighbour
            if len(self.weights):
                self.weights[at] = self.weights[end] if leaves else records.weights[record]
            end += not leaves and at == end
