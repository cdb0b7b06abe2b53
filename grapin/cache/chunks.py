"""Where cached lists lie on the device: one array in chunks, lists side by side, space reclaimed chunk by chunk.

This is the memory of the paper's Algorithm 3. New lists are put behind the last one of a chunk. A list that leaves is
only marked; its space comes back when room is needed: then the chunks with marked space are compacted, lists of the
emptiest are moved behind those of the fullest, and what is emptied that way takes new lists. Chunks that nothing left
stay as they are.
"""

import numpy as np
from numpy.typing import NDArray

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
