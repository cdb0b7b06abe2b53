"""`Holdings`: what is known of each list, and what the device holds of it.

Arrays are by place: twice the vertex, plus one for its in-list.
"""

import numpy as np
from numpy.typing import NDArray

from grapin.cache.chunks import NOWHERE, Chunks
from grapin.cache.settings import ELEMENT, CacheSettings
from grapin.cache.window import AccessWindow

SECTOR = 32
"""Bytes of the smallest request to host memory."""
PER_SECTOR = SECTOR // ELEMENT

Places = NDArray[np.int64]


class Holdings:
    """The state of a cache between batches, which policies look at and `HotCache` changes."""

    def __init__(self, settings: CacheSettings, arrays: int) -> None:
        self.arrays = arrays
        """How many parallel arrays a copy has: neighbours and, if any program reads them, weights."""
        element = ELEMENT * arrays
        self.chunks = Chunks(settings.capacity // element, settings.chunk // element)
        self.window = AccessWindow(settings.window)
        self.batch = -1
        """How many batches have begun; the first version is 0."""
        self.places = 0
        """Lists below this have an entry in the arrays below."""
        self.starts = np.empty(0, np.int64)
        """Where each list begins on the host, in elements, as its last read or change told."""
        self.lengths = np.empty(0, np.int64)
        self.copied = np.empty(0, np.uint8)
        """How many arrays of each list there is a copy of."""
        self.stored = np.empty(0, np.int64)
        """How many elements those copies have."""
        self.debts = np.empty(0, np.int64)
        """Sectors of mutations that each copy has missed; 0 when it is up to date."""
        self.behind = np.empty(0, np.int64)
        """The batch of the first mutation it has missed."""
        self.stretch = 0
        """How many stretches of reads have begun."""
        self.considered = np.empty(0, np.int64)
        """The last stretch in which the whole of each list was read."""

    def reach(self, places: Places) -> None:
        """Make room for these lists; at least doubling, so that growth costs little per list."""
        needed = int(places.max(initial=-1)) + 1
        if needed <= self.places:
            return
        self.places = max(needed, 2 * self.places)
        for name in ("starts", "lengths", "copied", "stored", "debts", "behind", "considered"):
            array = getattr(self, name)
            setattr(self, name, np.pad(array, (0, self.places - len(array))))
        self.chunks.grow(self.places)
        self.window.grow(self.places)

    def learn(self, places: Places, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> None:
        """Remember where lists are on the host now."""
        self.reach(places)
        self.starts[places] = starts
        self.lengths[places] = lengths

    def sectors(self, places: Places) -> NDArray[np.int64]:
        """Return how many sectors a read of one array of each list takes; none may be empty."""
        starts = self.starts[places]
        ends = starts + self.lengths[places] - 1
        return ends // PER_SECTOR - starts // PER_SECTOR + 1

    def has_slot(self, places: Places) -> NDArray[np.bool_]:
        """Tell for which lists there is room on the device."""
        slots: NDArray[np.bool_] = self.chunks.positions[places] != NOWHERE
        return slots

    def cacheable(self, places: Places) -> NDArray[np.bool_]:
        """Tell which lists can be held at all: the empty need not, and those longer than a chunk cannot."""
        return (self.lengths[places] > 0) & (self.lengths[places] <= self.chunks.chunk)

    def forget(self, places: Places) -> None:
        """Let copies be worthless; their slots stay."""
        self.copied[places] = 0
        self.debts[places] = 0
        self.chunks.note(places)

    def drop(self, places: Places) -> None:
        """Give up copies and slots."""
        self.forget(places)
        self.chunks.release(places)
