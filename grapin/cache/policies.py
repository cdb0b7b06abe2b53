"""`Policy`: what is decided about copies, and when. The base class is the policy `none`: nothing is ever held.

`published`: the paper's choice. The lists read most in the last batches, as many as fit, loaded before the next.

All lists are sorted by how often they were read, as the paper does it (Grapin §5.1: sort, prefix sum of sizes, search);
so a batch costs here as much as there are lists, however little it reads. The paper's engine reads out-lists only; here
any list counts that a repair reads.

`adaptive`: copies cost nothing to make, so the question is only which of them deserve the room.

A list is worth what its copy saves on the link for each element it takes: how often it is likely to be read, times
the sectors of a read, over its length. A list of one neighbour takes 4 bytes and saves a request of 32, so short lists
win over long ones that are read as often.

How often a list is likely to be read is told by its reads in the batch under way and in those of the window. What
either kind of read tells differs from stream to stream, and is learned from the batches before. A repair in passes over
the graph reads every list once, so that a read announces no other, but the next batch reads the same; one that lets
residuals die down reads again what it has just read, and the next batch reads elsewhere. So the first read of a list in
a batch counts for the part of lists that were read again in the batch before, each further one counts whole, and a read
of the window counts for the part of reads that one batch repeats of another.

The worthiest lists that fit are held. That is decided between two iterations, when the coming one reads much that
deserves room and has none: a device knows which lists an iteration reads before it reads them, so what is read now
competes with what is held, with this read counted for both. Before a batch only little room is made, for iterations
that are too short to be worth a decision. What has to go is then first what no batch of the window read, the longest
unread first.

Work grows with what is read: a decision costs as much as there are lists held and about to be read, and is made when a
part of the room is asked for; before a batch, as much as there are lists that the window's batches read.
"""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from grapin.cache.chunks import Holdings, Places

NOTHING: Places = np.empty(0, np.int64)
"""No lists."""


class Policy:
    """One way to choose what a device holds; a policy overrides what it does differently from holding nothing."""

    in_advance = False
    """Whether chosen lists are read before the computation, rather than left behind by the first read of them."""
    on_first_use = False
    """Whether lists may be let in, and copies mended, while a phase reads."""

    def choose(self, holdings: Holdings, frontier: Places = NOTHING) -> Places:
        """In advance: return the lists to hold during the coming batch. Otherwise: those to give up now.

        Within a phase, `frontier` are the lists that the coming iteration reads, each once and in order.
        """
        del holdings, frontier
        return NOTHING

    def wanted(self) -> int:
        """Return how many elements reads may fill after a choice; space is reclaimed so that they are ready."""
        return 0

    def admits(self, holdings: Holdings, places: Places) -> NDArray[np.bool_]:
        """Tell which lists without a slot, being read from the host in this order, may leave a copy behind."""
        del holdings
        return np.zeros(len(places), np.bool_)

    def on_rejected(self, holdings: Holdings, places: Places) -> None:
        """Hear which admitted lists found no room."""

    def recheck_interval(self, holdings: Holdings) -> float:
        """Return how many elements a phase reads until the policy is asked whether it should choose again."""
        del holdings
        return np.inf

    def should_rechoose(self, holdings: Holdings, frontier: Places = NOTHING) -> bool:
        """Tell, before an iteration of a phase that reads these lists, whether to choose again."""
        del holdings, frontier
        return False


class Published(Policy):
    """Frequency over the window, loaded in advance, loaded again whole when changed."""

    in_advance = True

    def choose(self, holdings: Holdings, frontier: Places = NOTHING) -> Places:
        """Return the hottest lists that together fit, hottest first, and by place where they are equally hot."""
        del frontier
        hotness = holdings.window.hotness()
        read = np.flatnonzero(hotness)
        read = read[holdings.cacheable(read)]
        hottest = read[np.argsort(-hotness[read], kind="stable")]
        sizes = np.cumsum(holdings.lengths[hottest])
        return hottest[: np.searchsorted(sizes, holdings.chunks.capacity, side="right")]


LEAST = 1e-3
"""What a list counts for that was read, but in no way that tells: less than any read that does."""
RESERVE = 1 / 400
"""The part of the room that is kept free for what short iterations read."""
LOOKS = 32
"""How often, while elements for the whole room go by, it is asked whether to choose again. More often costs time on the
host, and less traffic: with 8, 2 % more on PageRank's shortest rounds."""
FEWEST = 1 << 12
"""Elements between such questions at least, however little room there is."""
ASKED = 1 / 128
"""A new choice is made when this part of the room is asked for by lists that deserve it and found none."""


class Adaptive(Policy):
    """Filled on first use, patched when changed, ranked by what a copy saves for the room it takes."""

    on_first_use = True

    def __init__(self) -> None:
        self._threshold = 0.0
        """Lists worth less than this are not let in."""
        self._wanted = 0
        """Elements that were made free, or are to be, at the last choice."""
        self._refused: list[Places] = []
        """Lists that deserved room and found none since then, some perhaps several times."""
        self._asked = 0
        """Their elements."""
        self._first = 0.0
        """What the first read of a list in the batch under way counts for."""
        self._past = 1.0
        """What a read of a batch before counts for."""
        self._start = 0.0
        """What of that a read of the first computation counts for."""
        self._cold: deque[Places] = deque()
        """Lists that fell out of the window, the longest unread first; some may have been read since."""
        self._now = np.empty(0, np.uint8)
        """By list, whether it is about to be read; 0 between choices."""

    def choose(self, holdings: Holdings, frontier: Places = NOTHING) -> Places:
        """Return as many of the least worthy as must go for the worthiest."""
        chunks = holdings.chunks
        competing = self._held_or_read(holdings, frontier) if len(frontier) else self._read_lately(holdings)
        now = self._about_to_be_read(holdings, competing, frontier)
        worth = self._worth(holdings, competing, now)
        order = np.argsort(-worth, kind="stable")
        competing, worth = competing[order], worth[order]
        reserve = int(RESERVE * chunks.capacity)
        sizes = np.cumsum(holdings.lengths[competing])
        fitting = int(np.searchsorted(sizes, chunks.capacity - reserve, side="right"))
        self._threshold = float(worth[fitting]) if fitting < len(competing) else 0.0
        entering = competing[:fitting][~holdings.has_slot(competing[:fitting])]
        self._wanted = int(holdings.lengths[entering].sum()) + reserve
        self._refused, self._asked = [], 0
        needed = self._wanted - chunks.free
        cold = self._coldest(holdings, needed)
        least = competing[fitting:][::-1]
        least = least[holdings.has_slot(least)]
        return np.concatenate((cold, chunks.first_with(least, needed - int(chunks.rooms[cold].sum()))))

    def wanted(self) -> int:
        """Return the room of what is wanted but not there, and of the reserve."""
        return self._wanted

    def admits(self, holdings: Holdings, places: Places) -> NDArray[np.bool_]:
        """Let in what this read makes worthy."""
        deserving: NDArray[np.bool_] = self._worth(holdings, places, np.uint8(1)) >= self._threshold
        return deserving

    def on_rejected(self, holdings: Holdings, places: Places) -> None:
        """Remember what found no room."""
        self._refused.append(places)
        self._asked += int(holdings.lengths[places].sum())

    def recheck_interval(self, holdings: Holdings) -> float:
        """Look several times while as much as there is room for goes by."""
        return max(FEWEST, holdings.chunks.capacity / LOOKS)

    def should_rechoose(self, holdings: Holdings, frontier: Places = NOTHING) -> bool:
        """Choose again when much that deserves room found none, or would not."""
        absent = frontier[~holdings.has_slot(frontier) & holdings.cacheable(frontier)]
        asking = int(holdings.lengths[absent[self.admits(holdings, absent)]].sum())
        return self._asked + max(0, asking - holdings.chunks.free) > ASKED * holdings.chunks.capacity

    def _read_lately(self, holdings: Holdings) -> Places:
        """Return what the window's batches read, having learned from it what reads tell."""
        window = holdings.window
        self._cold.extend(window.take_forgotten())
        read = window.touched()
        last, *before = window.history(read)[1:].astype(np.int64)
        if last.any():
            self._first = np.count_nonzero(last > 1) / np.count_nonzero(last)
        if holdings.batch == 1 and last.any():
            # It reads everything, perhaps many times; all its reads together weigh as much as one of each list.
            self._start = 1 / max(1.0, float(last[last > 0].mean()))
        if holdings.batch > 2 and before and last.any():
            self._past = float(np.minimum(last, before[0]).sum() / max(last.sum(), before[0].sum()))
        return read[holdings.cacheable(read)]

    def _held_or_read(self, holdings: Holdings, frontier: Places) -> Places:
        """Return what is held, what is about to be read, and what was refused and may be read again."""
        absent = np.unique(np.concatenate((frontier, *self._refused)))
        absent = absent[~holdings.has_slot(absent) & holdings.cacheable(absent)]
        return np.concatenate((holdings.chunks.held(), absent))

    def _about_to_be_read(self, holdings: Holdings, places: Places, frontier: Places) -> NDArray[np.uint8]:
        """Return 1 for lists of the frontier."""
        if len(self._now) < holdings.places:
            self._now = np.zeros(holdings.places, np.uint8)
        self._now[frontier] = 1
        now: NDArray[np.uint8] = self._now[places]
        self._now[frontier] = 0
        return now

    def _worth(
        self, holdings: Holdings, places: Places, now: NDArray[np.uint8] | np.uint8
    ) -> NDArray[np.float64]:
        """Return the sectors that a copy of each list is expected to save for each of its elements."""
        counts = holdings.window.history(places).astype(np.float64)
        under_way = counts[0] + now
        finished = min(max(holdings.batch, 1), len(counts) - 1)
        weights = np.full(len(counts) - 1, self._past / finished)
        if 0 < holdings.batch < len(counts):
            weights[holdings.batch - 1] *= self._start
        expected = np.maximum(under_way - (1 - self._first), 0) + weights @ counts[1:] + LEAST
        worth: NDArray[np.float64] = (
            expected * holdings.sectors(places) / np.maximum(holdings.lengths[places], 1)
        )
        return worth

    def _coldest(self, holdings: Holdings, needed: int) -> Places:
        """Return lists that no batch of the window read, until so many elements are free."""
        chunks, found = holdings.chunks, [NOTHING]
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
