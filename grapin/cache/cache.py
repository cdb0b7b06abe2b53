"""`HotCache`: which lists a device holds a copy of, batch after batch; the bookkeeping, without the copies.

It is told what each batch changed (`begin`) and what each phase reads (`phase.py`), and answers with what to do: moves
and loads before the computation, fills and patches during it. A device carries that out on its own memory; the model
runs the same class over a `Trace`. So the engine's counters and the model's are the same numbers.

A copy is written in one of two ways. A policy that loads *in advance* reads whole lists before the computation, and
again when a batch has changed them. The others fill a slot on *first use*: a read that goes to the host leaves its copy
behind, and nothing crosses the link for the cache's sake. When a batch changes such a list, the host keeps its
mutations side by side (a neighbour each, and a weight where weights are cached), and the next reader fetches those in
place of the list where they are fewer sectors. So no read ever costs more than it does without a cache.
"""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from grapin.cache.chunks import PER_SECTOR, Holdings, Places
from grapin.cache.phase import Phase
from grapin.cache.policies import NOTHING, Adaptive, Policy, Published
from grapin.cache.records import Observed, Plan, count_loads
from grapin.cache.settings import CacheSettings
from grapin.counters import Counters
from grapin.errors import InvalidArgument

GROWTHS = 1
"""A list that outgrew its slot gets room to grow so many times again as much: space for more is lost to other lists."""


class HotCache:
    """The cache of one engine, shared by its programs."""

    def __init__(self, settings: CacheSettings, *, arrays: int = 1, policy: Policy | None = None) -> None:
        self.settings = settings
        self.holdings = Holdings(settings, arrays)
        self.policy = _policy(settings.policy) if policy is None else policy
        self.counters = Counters()
        """All that was counted so far."""
        self._changed: deque[Places] = deque()
        """What the last batches changed, the latest first."""
        self._rows = np.empty(0, np.int64)
        """By place, which row of a phase was its first; without a meaning between phases."""

    @property
    def positions(self) -> NDArray[np.int64]:
        """Where the slot of each list begins on the device, in elements; -1 where it has none."""
        return self.holdings.chunks.positions

    def begin(
        self,
        places: Places,
        starts: NDArray[np.int64],
        lengths: NDArray[np.int64],
        mutations: NDArray[np.int64],
    ) -> Plan:
        """Prepare for a version of the graph: the lists that the batch leading to it changed, as they are now.

        Each list is named once. The arrays are empty for the first version.
        """
        self.holdings.batch += 1
        if self.holdings.batch:
            self.holdings.window.advance()
        self.holdings.learn(places, starts, lengths)
        if self.policy.in_advance:
            plan = self._load(places)
        else:
            self._owe(places, mutations)
            plan = self._make_room(places)
        self.counters += plan.counters
        return plan

    def observe(self, rows: NDArray[np.int64], whole: NDArray[np.bool_] | None = None) -> Observed:
        """Take in what one phase read: rows of iteration, place, start, length, arrays, in the order of reading.

        `whole` tells which of them read a list from its first element to its last; without it all did.
        """
        phase = self.phase()
        phase.read(rows, whole)
        return phase.end()

    def phase(self) -> Phase:
        """Begin a phase whose reads come piece by piece."""
        return Phase(self)

    def count(
        self,
        places: Places,
        starts: NDArray[np.int64],
        lengths: NDArray[np.int64],
        times: NDArray[np.int64],
    ) -> None:
        """Take in how often a phase read each of these lists: enough for a policy that decides before phases."""
        self.holdings.learn(places, starts, lengths)
        self.holdings.window.count(places, times)

    def choose_again(self, frontier: Places) -> Plan:
        """Let the policy choose in the middle of a phase, before these lists are read."""
        return self._make_room(NOTHING, frontier)

    def rows(self) -> NDArray[np.int64]:
        """Return room for a row number beside each place; what it holds has no meaning."""
        if len(self._rows) < self.holdings.places:
            self._rows = np.empty(self.holdings.places, np.int64)
        return self._rows

    def first_rows(
        self, places: Places, number: NDArray[np.int64], *, of: Places | None = None
    ) -> NDArray[np.int64]:
        """Return, for each place or for each of others, the first of the rows `number` that reads the same list."""
        rows = self.rows()
        # Where a place comes several times, the last assignment stands: here, that of its first row.
        rows[places[::-1]] = number[::-1]
        return rows[places if of is None else of]

    def _load(self, changed: Places) -> Plan:
        """Algorithm 3 of the paper: give up what is cold or changed, reclaim its space, load what is hot."""
        holdings, chunks = self.holdings, self.holdings.chunks
        chosen = self.policy.choose(holdings)
        stays = np.zeros(holdings.places, np.bool_)
        stays[chosen] = True
        stays[changed] = False
        held = chunks.held()
        holdings.drop(held[~stays[held]])
        entering = chosen[~holdings.has_slot(chosen)]
        rooms = holdings.lengths[entering]
        moves = self._reclaim(int(rooms.sum()))
        loaded = entering[chunks.reserve(entering, rooms)]
        holdings.copied[loaded] = holdings.arrays
        chunks.note(loaded)
        holdings.stored[loaded] = holdings.lengths[loaded]
        counters = count_loads(holdings.starts[loaded], holdings.lengths[loaded], holdings.arrays)
        return self._planned(*moves, loaded, counters)

    def _owe(self, places: Places, mutations: NDArray[np.int64]) -> None:
        """Note what copies of changed lists have missed, and give up those that it is cheaper to read again."""
        holdings = self.holdings
        # What was missed so long ago that the host no longer keeps it.
        if len(self._changed) == self.settings.window:
            oldest = self._changed.pop()
            late = (holdings.debts[oldest] > 0) & (
                holdings.behind[oldest] <= holdings.batch - len(self._changed) - 1
            )
            holdings.forget(oldest[late])
        self._changed.appendleft(places)
        owing = holdings.copied[places] > 0
        places, missed = places[owing], np.asarray(mutations, np.int64)[owing] * holdings.arrays
        ends = np.cumsum(missed)
        holdings.behind[places] = np.where(
            holdings.debts[places] > 0, holdings.behind[places], holdings.batch
        )
        holdings.debts[places] += (ends - 1) // PER_SECTOR - (ends - missed) // PER_SECTOR + 1
        holdings.chunks.note(places)
        empty = holdings.lengths[places] == 0
        again = holdings.sectors(places) * holdings.arrays
        holdings.forget(places[empty | (holdings.debts[places] >= again)])

    def _make_room(self, changed: Places, frontier: Places = NOTHING) -> Plan:
        """Give up what the policy does not want, move what outgrew its slot, have space ready for first uses."""
        holdings, chunks = self.holdings, self.holdings.chunks
        holdings.drop(self.policy.choose(holdings, frontier))
        changed = changed[holdings.has_slot(changed)]
        grown = changed[holdings.lengths[changed] > chunks.rooms[changed]]
        before = chunks.positions[grown]
        growth = holdings.lengths[grown] - chunks.rooms[grown]
        chunks.release(grown)
        rooms = np.minimum(holdings.lengths[grown] + GROWTHS * growth, chunks.chunk)
        moved, sources = self._reclaim(int(rooms.sum()) + self.policy.wanted())
        fits = holdings.lengths[grown] <= rooms
        fits[fits] = chunks.reserve(grown[fits], rooms[fits])
        holdings.forget(grown[~fits])
        return self._planned(
            np.concatenate((moved, grown[fits])),
            np.concatenate((sources, before[fits])),
            np.empty(0, np.int64),
            Counters(),
            outgrown=int(np.count_nonzero(holdings.copied[grown[fits]])),
        )

    def _reclaim(self, needed: int) -> tuple[Places, NDArray[np.int64]]:
        """Have so many elements ready if there are as many; return which lists may have moved, and from where."""
        chunks = self.holdings.chunks
        if chunks.ready >= needed or chunks.free == chunks.ready:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return chunks.reclaim()

    def _planned(
        self,
        moved: Places,
        sources: NDArray[np.int64],
        loaded: Places,
        counters: Counters,
        *,
        outgrown: int = 0,
    ) -> Plan:
        holdings = self.holdings
        targets = holdings.chunks.positions[moved]
        stay = (sources == targets) & (np.arange(len(moved)) < len(moved) - outgrown)
        real = ~stay & (holdings.copied[moved] > 0)
        moved = moved[real]
        return Plan(moved, sources[real], targets[real], holdings.stored[moved], outgrown, loaded, counters)


def _policy(name: str) -> Policy:
    if name == "oracle":
        raise InvalidArgument(
            "cache policy 'oracle' knows what will be read: record a trace and replay it (grapin.cache.replay)"
        )
    return {"none": Policy, "published": Published, "adaptive": Adaptive}[name]()
