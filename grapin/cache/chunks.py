"""Where cached lists lie on the device: one array in chunks, lists side by side, space reclaimed chunk by chunk.

This is the memory of the paper's Algorithm 3. New lists are put behind the last one of a chunk. A list that leaves is
only marked; its space comes back when room is needed: then the chunks with marked space are compacted, lists of the
emptiest are moved behind those of the fullest, and what is emptied that way takes new lists. Chunks that nothing left
stay as they are.

`Holdings`: what is known of each list, and what the device holds of it.

Arrays are by place: twice the vertex, plus one for its in-list.

How often each list was read in the last batches: one saturating byte a list and batch, the oldest forgotten.
"""

import numpy as np
from numpy.typing import NDArray

from grapin.cache.settings import CacheSettings
from grapin.units import ELEMENT, SECTOR

NOWHERE = -1

Places = NDArray[np.int64]


class Chunks:
    """Slots of lists, in elements; a list is known by its place, twice the vertex plus one for in-lists."""

    def __init__(self, capacity: int, chunk: int) -> None:
        self.capacity = capacity
        self.chunk = min(chunk, capacity)
        """A slot never crosses a multiple of this."""
        count = -(-capacity // self.chunk) if self.chunk else 0
        self._begins = np.arange(count, dtype=np.int64) * self.chunk
        self._ends = np.minimum(self._begins + self.chunk, capacity)
        self._tails = self._begins.copy()
        """Behind the last slot of each chunk."""
        self._live = np.zeros(count, np.int64)
        """Elements of slots that are in use, by chunk."""
        self._slots: list[list[NDArray[np.int64]]] = [[] for _ in range(count)]
        """Places with their positions, by chunk and in order, those that left since included."""
        self.positions = np.empty(0, np.int64)
        """Where the slot of each place begins, `NOWHERE` without one."""
        self.rooms = np.empty(0, np.int64)
        """How many elements each slot has."""
        self.noted: list[Places] | None = None
        """Places whose slot or copy is another since a device last looked; None where no device asks."""

    def note(self, places: Places) -> None:
        """Let a device know that the slot or the copy of these places is another."""
        if self.noted is not None:
            self.noted.append(places)

    @property
    def used(self) -> int:
        """Elements of slots that are in use."""
        return int(self._live.sum())

    @property
    def free(self) -> int:
        """All other elements, whether or not they must be reclaimed first."""
        return self.capacity - self.used

    @property
    def ready(self) -> int:
        """Elements behind the last slots: what can be reserved without reclaiming."""
        return int((self._ends - self._tails).sum())

    def grow(self, places: int) -> None:
        """Make room for lists below `places`."""
        missing = places - len(self.positions)
        self.positions = np.pad(self.positions, (0, missing), constant_values=NOWHERE)
        self.rooms = np.pad(self.rooms, (0, missing))

    def held(self) -> Places:
        """Return all places that have a slot, in the order of their positions."""
        return np.concatenate([np.empty(0, np.int64), *map(self._in_use, range(len(self._slots)))])

    def first_with(self, places: Places, elements: int) -> Places:
        """Return as many of these places, from the first on, as have so many elements together."""
        if elements <= 0:
            return places[:0]
        return places[: int(np.searchsorted(np.cumsum(self.rooms[places]), elements)) + 1]

    def release(self, places: Places) -> None:
        """Mark the slots of these places as free."""
        np.subtract.at(self._live, self.positions[places] // self.chunk, self.rooms[places])
        self.positions[places] = NOWHERE
        self.rooms[places] = 0
        self.note(places)

    def reserve(self, places: Places, rooms: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Give slots to places that have none, first come first served; tell which of them got one."""
        given = np.zeros(len(places), np.bool_)
        for chunk in np.flatnonzero(self._tails < self._ends):
            waiting = np.flatnonzero(~given)
            while len(waiting):
                # What does not fit is passed over; each turn fills at least half of what is left, or all that fits.
                left = self._ends[chunk] - self._tails[chunk]
                waiting = waiting[rooms[waiting] <= left]
                taken = waiting[np.cumsum(rooms[waiting]) <= left]
                if not len(taken):
                    break
                self._append(int(chunk), places[taken], rooms[taken])
                given[taken] = True
                waiting = waiting[len(taken) :]
        return given

    def reclaim(self) -> tuple[Places, NDArray[np.int64]]:
        """Make marked space ready to be reserved; return whose slots may have moved, and where they were.

        Moved one after the other in this order, none is written over one that is still to be moved: what is compacted
        goes towards the beginning of its chunk, and what goes to another chunk goes behind what that has left.
        """
        affected = np.flatnonzero(self._tails - self._begins > self._live)
        # Emptiest first; the head hands its lists to the tail until one of them can do no more (Algorithm 3, line 14).
        order = affected[np.argsort(self._live[affected], kind="stable")]
        kept = [self._in_use(int(chunk)) for chunk in order]
        before = [self.positions[places] for places in kept]
        for chunk in order:
            self._tails[chunk] = self._begins[chunk]
            self._live[chunk] = 0
            self._slots[chunk] = []
        moved = [(np.empty(0, np.int64), np.empty(0, np.int64))]

        def hand(giver: int, count: int, taker: int) -> None:
            """Put the first lists that one chunk has left behind what is in another."""
            places, positions = kept[giver][:count], before[giver][:count]
            self._append(int(order[taker]), places, self.rooms[places])
            moved.append((places, positions))
            kept[giver], before[giver] = kept[giver][count:], before[giver][count:]

        head, tail = 0, len(order) - 1
        if len(order):
            hand(tail, len(kept[tail]), tail)
        while head < tail:
            room = self._ends[order[tail]] - self._tails[order[tail]]
            sizes = np.cumsum(self.rooms[kept[head]])
            hand(head, int(np.searchsorted(sizes, room, side="right")), tail)
            if len(kept[head]):
                tail -= 1
                hand(tail, len(kept[tail]), tail)
            else:
                head += 1
        places, positions = (np.concatenate(column) for column in zip(*moved, strict=True))
        return places, positions

    def _in_use(self, chunk: int) -> Places:
        """Return the places in a chunk that did not leave, in order."""
        entries = [np.empty((2, 0), np.int64), *self._slots[chunk]]
        places, positions = np.concatenate(entries, axis=1)
        # A place that left and came back is written down twice, but lies where the later entry says.
        in_use: Places = places[self.positions[places] == positions]
        return in_use

    def _append(self, chunk: int, places: Places, rooms: NDArray[np.int64]) -> None:
        total = int(rooms.sum())
        self.positions[places] = self._tails[chunk] + np.cumsum(rooms) - rooms
        self.rooms[places] = rooms
        self._slots[chunk].append(np.stack((places, self.positions[places])))
        self._tails[chunk] += total
        self._live[chunk] += total
        self.note(places)


MOST = 255
"""What a byte can count; the paper finds tens to a few hundred reads a vertex and batch (Grapin §5.1)."""


class AccessWindow:
    """Counts of the batch under way and of the `window` batches before it.

    The paper shifts one integer a vertex to the right when a batch ends. Here the batches' bytes lie in a ring of rows,
    and the row that falls out is cleared only where it counted: a batch costs what it read, not what there is.
    """

    def __init__(self, window: int) -> None:
        self._counts = np.zeros((window + 1, 0), np.uint8)
        self._touched: list[list[NDArray[np.int64]]] = [[] for _ in range(window + 1)]
        self._current = 0
        self._forgotten: list[NDArray[np.int64]] = []

    def grow(self, places: int) -> None:
        """Make room for lists below `places`."""
        missing = places - self._counts.shape[1]
        self._counts = np.pad(self._counts, ((0, 0), (0, missing)))

    def advance(self) -> None:
        """End the batch under way, and forget the oldest."""
        self._current = (self._current + 1) % len(self._counts)
        self._forgotten = self._touched[self._current]
        for places in self._touched[self._current]:
            self._counts[self._current, places] = 0
        self._touched[self._current] = []

    def count(self, places: NDArray[np.int64], times: NDArray[np.int64]) -> None:
        """Count reads of lists in the batch under way; each list is named once."""
        row = self._counts[self._current]
        before = row[places]
        row[places] = np.minimum(before + times, MOST)
        self._touched[self._current].append(places[before == 0])

    def take_forgotten(self) -> list[NDArray[np.int64]]:
        """Return, once, the lists that the batch read which fell out of the window last."""
        forgotten, self._forgotten = self._forgotten, []
        return forgotten

    def touched(self) -> NDArray[np.int64]:
        """Return the lists that the batches of the window read, each once."""
        found = [np.empty(0, np.int64)]
        for age, row in enumerate(self._ages()):
            places = np.concatenate([np.empty(0, np.int64), *self._touched[row]])
            found.append(places[~self.history(places)[:age].any(axis=0)])
        return np.concatenate(found)

    def history(self, places: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the counts of the batch under way and of those before it, a row each, the latest first."""
        return np.stack([self._counts[row, places] for row in self._ages()])

    def hotness(self) -> NDArray[np.int64]:
        """Return for every list how often the finished batches of the window read it."""
        finished: NDArray[np.int64] = self._counts[self._ages()[1:]].sum(axis=0, dtype=np.int64)
        return finished

    def _ages(self) -> list[int]:
        """Return the rows of the ring, that of the batch under way first."""
        rows = len(self._counts)
        return [(self._current - age) % rows for age in range(rows)]


PER_SECTOR = SECTOR // ELEMENT


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
        self.stale_sectors = np.empty(0, np.int64)
        """Sectors of mutations that each copy has missed; 0 when it is up to date."""
        self.stale_since = np.empty(0, np.int64)
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
        for name in ("starts", "lengths", "copied", "stored", "stale_sectors", "stale_since", "considered"):
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
        """Invalidate cached lists; keep their slots."""
        self.copied[places] = 0
        self.stale_sectors[places] = 0
        self.chunks.note(places)

    def drop(self, places: Places) -> None:
        """Give up copies and slots."""
        self.forget(places)
        self.chunks.release(places)
