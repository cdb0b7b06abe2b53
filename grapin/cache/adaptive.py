"""`adaptive`: copies cost nothing to make, so the question is only which of them deserve the room.

A list is worth what its copy saves on the link for each element it takes: how often it is likely to be read, times
the sectors of a read, over its length. A list of one neighbour takes 4 bytes and saves a request of 32, so short lists
win over long ones that are read as often. How often a list is likely to be read is taken from the batches of the
window, the one under way included.

The best lists that fit are *wanted*: they are kept, or let in when they are read. A list that would be wanted if the
read at hand were counted is let in *on trial*: that is what pays when every batch reads something else. How much space
is kept free for those depends on how many of the last ones were read again. What has to go for both is first what no
batch of the window read, the longest unread first, then the least worthy. All this is decided before each batch, and
again between two iterations when lists that were let in found no room: what one batch reads again and again may not
have been read before it.

Work grows with what the window's batches read, not with the graph or the cache.
"""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from grapin.cache.holdings import Holdings, Places
from grapin.cache.policy import Policy

UNDER_WAY = 1.0
"""What a repeated read in the batch under way counts for, beside a read in a batch before it."""
LEAST = 1e-3
"""What a list counts for that was read, but in no batch that tells: less than any read that does."""
LEAST_TRIAL, MOST_TRIAL = 1 / 400, 1 / 4
"""Parts of the room that lists on trial may take between two choices, at least and at most."""
LOOKS = 8
"""How often, while elements for the whole room go by, it is asked whether to choose again."""
FEWEST = 1 << 12
"""Elements between such questions at least, however little room there is."""
OF_ROOM, OF_READ = 1 / 16, 1 / 50
"""A new choice is made when what was refused exceeds these parts of the room and of all that the window's batches
read: the second bounds the work, which is in proportion to what they read."""


class Adaptive(Policy):
    """Filled on first use, patched when changed, ranked by what a copy saves for the room it takes."""

    on_first_use = True

    def __init__(self) -> None:
        self._threshold = 0.0
        """Lists worth less than this are not wanted."""
        self._wanted = 0
        self._tried: list[tuple[Places, NDArray[np.uint8]]] = []
        """Lists let in on trial since the last choice, and how often the same batch had read them before."""
        self._tried_in = 0
        """The batch in which that was."""
        self._trial = 0
        """Elements that may still be let in on trial."""
        self._asked = self._granted = 0
        """Elements that asked for that in the stretch under way, and of lists that were let in."""
        self._refused = 0
        """Elements of lists that found no room since then."""
        self._window_elements = 0
        """Elements of the lists that the window's batches read."""
        self._start_weight = 0.0
        """What a read of the first computation counts for."""
        self._cold: deque[Places] = deque()
        """Lists that fell out of the window, the longest unread first; some may have been read since."""

    def choose(self, holdings: Holdings) -> Places:
        """Return as many of the least worthy as must go for the wanted and for those on trial."""
        chunks, window = holdings.chunks, holdings.window
        self._cold.extend(window.take_forgotten())
        read = window.touched()
        read = read[holdings.cacheable(read)]
        if holdings.batch == 1 and len(read) and not self._start_weight:
            # It reads everything, perhaps many times; all its reads together weigh as much as one of each list.
            self._start_weight = 1 / max(1.0, float(window.history(read)[1].mean()))
        # A copy that is not there must be made by a read before it saves one.
        worth = self._worth(holdings, read, fewer=holdings.copied[read] == 0)
        order = np.argsort(-worth, kind="stable")
        read, worth = read[order], worth[order]
        sizes = np.cumsum(holdings.lengths[read])
        self._trial = self._room_for_trials(holdings)
        fitting = int(np.searchsorted(sizes, chunks.capacity - self._trial, side="right"))
        self._threshold = float(worth[fitting]) if fitting < len(read) else 0.0
        entering = read[:fitting][~holdings.has_slot(read[:fitting])]
        self._wanted = int(holdings.lengths[entering].sum()) + self._trial
        self._window_elements = int(sizes[-1]) if len(sizes) else 0
        self._refused = 0
        needed = self._wanted - chunks.free
        cold = self._coldest(holdings, needed)
        least = read[fitting:][::-1]
        least = least[holdings.has_slot(least)]
        return np.concatenate((cold, chunks.first_with(least, needed - int(chunks.rooms[cold].sum()))))

    def wanted(self) -> int:
        """Return the room of what is wanted but not there, and of what is on trial."""
        return self._wanted

    def admits(self, holdings: Holdings, places: Places) -> NDArray[np.bool_]:
        """Let in what is wanted, and on trial what this read makes so."""
        worth = self._worth(holdings, places)
        wanted = worth >= self._threshold
        with_this = worth + UNDER_WAY * _saving(holdings, places)
        on_trial = np.flatnonzero(~wanted & (with_this >= self._threshold))
        asked = self._asked + np.cumsum(holdings.lengths[places[on_trial]])
        self._asked = int(asked[-1]) if len(asked) else self._asked
        on_trial = on_trial[asked <= self._trial]
        self._granted += int(holdings.lengths[places[on_trial]].sum())
        self._tried.append((places[on_trial], holdings.window.history(places[on_trial])[0]))
        wanted[on_trial] = True
        return wanted

    def refused(self, elements: int) -> None:
        """Add up what found no room."""
        self._refused += elements

    def settle(self) -> None:
        """Take what was granted from what is left."""
        self._trial -= self._granted
        self._asked = self._granted = 0

    def patience(self, holdings: Holdings) -> float:
        """Look several times while as much as there is room for goes by."""
        return max(FEWEST, holdings.chunks.capacity / LOOKS)

    def restless(self, holdings: Holdings) -> bool:
        """Choose again when much that was let in found no room."""
        return self._refused > max(OF_ROOM * holdings.chunks.capacity, OF_READ * self._window_elements)

    def _worth(
        self, holdings: Holdings, places: Places, *, fewer: NDArray[np.bool_] | int = 0
    ) -> NDArray[np.float64]:
        """Return the sectors that a copy of each list is expected to save for each of its elements."""
        counts = holdings.window.history(places)
        # A pass over the graph reads every list once: that it had its turn is no reason to expect another.
        counts[0] -= counts[0] > 0
        weights = np.ones(len(counts))
        weights[0] = UNDER_WAY
        if 0 < holdings.batch < len(counts):
            weights[holdings.batch] = self._start_weight
        expected: NDArray[np.float64] = np.maximum(weights @ counts - fewer, 0)
        return (expected + LEAST) * _saving(holdings, places)

    def _room_for_trials(self, holdings: Holdings) -> int:
        """Return room for twice as much as was on trial last and read again, within limits."""
        again = 0
        for places, times in self._tried:
            more = holdings.window.history(places)[holdings.batch - self._tried_in] > times + 1
            again += int(holdings.lengths[places[more]].sum())
        self._tried, self._tried_in = [], holdings.batch
        capacity = holdings.chunks.capacity
        return int(min(max(LEAST_TRIAL * capacity, 2 * again), MOST_TRIAL * capacity))

    def _coldest(self, holdings: Holdings, needed: int) -> Places:
        """Return lists that no batch of the window read, until so many elements are free."""
        chunks, found = holdings.chunks, [np.empty(0, np.int64)]
        while needed > 0 and self._cold:
            oldest = self._cold.popleft()
            cold = oldest[holdings.has_slot(oldest) & ~holdings.window.history(oldest).any(axis=0)]
            cold = np.setdiff1d(cold, np.concatenate(found))
            leaving = chunks.first_with(cold, needed)
            if len(leaving) < len(cold):
                self._cold.appendleft(cold[len(leaving) :])
            needed -= int(chunks.rooms[leaving].sum())
            found.append(leaving)
        return np.concatenate(found)


def _saving(holdings: Holdings, places: Places) -> NDArray[np.float64]:
    """Return the sectors that one read takes, for each element of its list; an empty list saves nothing."""
    return holdings.sectors(places) / np.maximum(holdings.lengths[places], 1)
