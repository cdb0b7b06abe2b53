"""`DeviceCache`: the cache of one engine on any device: bookkeeping that all share, copies in the device's memory."""

from dataclasses import asdict
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from grapin.cache import HotCache, Plan
from grapin.cache.records import Mutations
from grapin.counters import Counters
from grapin.graph.change import Applied
from grapin.graph.snapshot import Snapshot
from grapin.trace import changed_lists

OUTWARD = ~1
"""Where a graph has no in-lists of its own, a vertex has one list, whichever way it is read."""


class Copies(Protocol):
    """The memory of a cache, in which its plans are carried out."""

    @property
    def nbytes(self) -> int:
        """Bytes of device memory."""

    def contents(self) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """Return neighbours and weights of all copies, each list where its position says."""

    def carry_out(self, plan: Plan, snapshot: Snapshot) -> Counters:
        """Move copies, then load lists; return what crossed the link for that."""


class DeviceCache:
    """What is decided about copies, and the copies; shared by the engine's queries."""

    def __init__(self, hot: HotCache, copies: Copies) -> None:
        self.hot = hot
        self.copies = copies
        self.mutations = Mutations(hot.settings.window, weights=hot.holdings.arrays > 1)
        self._version: int | None = None

    def about(self) -> dict[str, Any]:
        """Return how the cache was made, as plain values."""
        return asdict(self.hot.settings) | {"arrays": self.hot.holdings.arrays}

    def nbytes(self) -> int:
        """Return the bytes of device memory."""
        return self.copies.nbytes

    def begin(self, snapshot: Snapshot, applied: Applied | None) -> Counters:
        """Prepare for a version, once, whichever query comes first; return what crossed the link for that."""
        if snapshot.version == self._version:
            return Counters()
        self._version = snapshot.version
        if applied is None:
            nothing = np.empty(0, np.int64)
            plan = self.hot.begin(nothing, nothing, nothing, nothing)
        else:
            _, vertices, inward, starts, lengths, mutations = changed_lists(snapshot, applied)
            plan = self.hot.begin(2 * vertices.astype(np.int64) + inward, starts, lengths, mutations)
            self.mutations.keep(self.hot.holdings.batch, applied, inward=has_own_in_lists(snapshot))
        return self.copies.carry_out(plan, snapshot)


def has_own_in_lists(snapshot: Snapshot) -> bool:
    """Tell whether in-lists are others than out-lists."""
    return snapshot.in_ is not None and snapshot.in_ is not snapshot.out
