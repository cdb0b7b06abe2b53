"""`HotCache`: which lists a device holds a copy of, batch after batch; the bookkeeping, without the copies.

It is told what each batch changed (`begin`) and what each phase reads, and answers with what to do: moves and loads
before the computation, fills and patches during it. A device carries that out on its own memory; the model runs the
same class over a `Trace`. So the engine's counters and the model's are the same numbers.

A copy is written in one of two ways. A policy that loads *in advance* reads whole lists before the computation, and
again when a batch has changed them. The others fill a slot on *first use*: a read that goes to the host leaves its copy
behind, and nothing crosses the link for the cache's sake. When a batch changes such a list, the host keeps its
mutations side by side (a neighbour each, and a weight where weights are cached), and the next reader fetches those in
place of the list where they are fewer sectors. So no read ever costs more than it does without a cache.

A `Phase` is the reads of one program at one version. They come in pieces. A device that must know where to read from
before it reads hands in a *walk* at a time: all reads of one iteration in one direction, which it knows before it makes
any. A replay hands in the whole phase, and what is decided is the same. It is decided in *stretches*: parts of a phase,
cut between iterations, before each of which the policy may choose again, knowing what earlier ones read and what the
first walk is about to. A *whole* read goes through its list from the first element to the last. Only such a read leaves
a copy behind or brings one up to date. A read that may stop early takes what it needs from a copy that is up to date,
or else from the host.
"""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from grapin.cache.chunks import PER_SECTOR, Holdings, Places
from grapin.cache.policies import NOTHING, Adaptive, Policy, Published
from grapin.cache.records import Observed, Plan, Step, count_loads, count_phase
from grapin.cache.settings import CacheSettings
from grapin.counters import Counters
from grapin.errors import InvalidArgument
from grapin.units import SECTOR

NEVER = np.iinfo(np.int64).max
"""Behind every row."""

_Patches = tuple[Places, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


class Phase:
    """One phase on its way."""

    def __init__(self, cache: "HotCache") -> None:
        self._cache = cache
        self._holdings = cache.holdings
        self._policy = cache.policy
        self._open = False
        """Whether one is under way, be it without reads as yet."""
        self._places: list[Places] = []
        """Lists that the stretch under way has read, in order."""
        self._iteration = 0
        """That of the last row."""
        self._elements = 0
        """How many elements the stretch has read."""
        self._recheck_interval = 0.0
        """After so many elements it ends, as soon as an iteration does."""
        self._held = [np.empty(0, np.uint8)]
        self._steps: list[Step] = []
        self._counters = Counters()

    def read(
        self, rows: NDArray[np.int64], whole: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.uint8], list[Step]]:
        """Take in reads: rows of iteration, place, start, length, arrays, in order; without `whole` all are whole.

        Returns how many of its arrays each row finds on the device, and what is to be done to copies meanwhile.
        """
        whole = np.ones(len(rows), np.bool_) if whole is None else whole
        elements = np.concatenate((np.zeros(1, np.int64), np.cumsum(rows[:, 3])))
        begins = np.flatnonzero(np.diff(rows[:, 0], prepend=self._iteration))
        held, steps, begin = [np.empty(0, np.uint8)], [], 0
        while begin < len(rows):
            end = self._end_of_stretch(begins, elements, begin)
            if end > begin:
                part = rows[begin:end], whole[begin:end]
                found, step = self._read(*part, self._begin_stretch(self._first_walk(*part)))
                held.append(found)
                steps.append(step)
                self._elements += int(elements[end] - elements[begin])
            if end < len(rows):
                self._end_stretch()
            begin = end
        self._iteration = int(rows[-1, 0]) if len(rows) else self._iteration
        self._held += held
        self._steps += steps
        return np.concatenate(held), steps

    def open(self, iteration: int) -> Plan:
        """Begin what reads of an iteration belong to, before it is known how far they go; some must follow.

        Returns what is to be done before they are made.
        """
        if self._places and iteration != self._iteration and self._elements >= self._recheck_interval:
            self._end_stretch()
        plan = self._begin_stretch(NOTHING)
        self._steps.append(Step.of(plan))
        return plan

    def end(self) -> Observed:
        """End the phase, and return all that happened."""
        self._end_stretch()
        self._cache.counters += self._counters
        return Observed(np.concatenate(self._held), tuple(self._steps), self._counters)

    def _end_of_stretch(self, begins: NDArray[np.int64], elements: NDArray[np.int64], begin: int) -> int:
        """Return the first row that belongs to another stretch: it begins an iteration, and enough was read."""
        if not self._places:
            self._recheck_interval = self._policy.recheck_interval(self._holdings)
        possible = begins[np.searchsorted(begins, begin if self._places else begin + 1) :]
        enough = elements[begin] + self._recheck_interval - self._elements
        place = int(np.searchsorted(elements[possible], enough))
        return int(possible[place]) if place < len(possible) else len(elements) - 1

    def _begin_stretch(self, frontier: Places) -> Plan:
        """Let the policy choose again, if a stretch begins, with these whole lists, and it wants to."""
        if self._open:
            return Plan()
        self._open = True
        self._holdings.stretch += 1
        again = self._policy.should_rechoose(self._holdings, frontier)
        return self._cache.choose_again(frontier) if again else Plan()

    def _first_walk(self, rows: NDArray[np.int64], whole: NDArray[np.bool_]) -> Places:
        """Return the lists that the first walk is about to read whole, if a stretch begins with it."""
        if self._open or not whole[0]:
            return NOTHING
        same = (rows[:, 0] == rows[0, 0]) & (rows[:, 1] & 1 == rows[0, 1] & 1) & whole
        walk = rows[: len(rows) if same.all() else int(np.argmin(same))]
        self._holdings.learn(*walk[:, 1:4].T)
        return np.unique(walk[:, 1])

    def _end_stretch(self) -> None:
        """Count how often each list was read."""
        places = np.concatenate([np.empty(0, np.int64), *self._places])
        number = np.arange(len(places))
        first = self._cache.first_rows(places, number)
        times = np.bincount(first, minlength=len(places))[first == number]
        self._holdings.window.count(places[first == number], times)
        self._places, self._elements, self._open = [], 0, False

    def _read(
        self, rows: NDArray[np.int64], whole: NDArray[np.bool_], plan: Plan
    ) -> tuple[NDArray[np.uint8], Step]:
        """Return how many arrays each row of one stretch finds, and what that does to copies."""
        _, places, starts, lengths, arrays = rows.T
        holdings = self._holdings
        holdings.reach(places)
        holdings.learn(places[whole], starts[whole], lengths[whole])
        # As far as reads that come before any whole one are concerned, a copy that is behind is none.
        before = np.where(holdings.stale_sectors[places] > 0, 0, holdings.copied[places])
        asking = self._first_askings(places, whole)
        patches, sent = self._patch(places[asking], arrays[asking])
        self._admit(places[asking])
        held = self._find(places, arrays, whole, before)
        filled = np.unique(places[whole & holdings.has_slot(places) & (held < arrays)])
        holdings.stored[filled] = holdings.lengths[filled]
        holdings.chunks.note(filled)
        self._places.append(places)
        self._counters += count_phase(rows, held, sent)
        return held, Step(plan, *patches, filled, self._cache.positions[filled])

    def _first_askings(self, places: Places, whole: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the rows that are the first of the stretch to read the whole of their list."""
        rows = np.flatnonzero(whole)
        first: NDArray[np.int64] = rows[self._cache.first_rows(places[rows], rows) == rows]
        first = first[self._holdings.considered[places[first]] != self._holdings.stretch]
        self._holdings.considered[places[first]] = self._holdings.stretch
        return first

    def _patch(self, read: Places, arrays: NDArray[np.int64]) -> tuple[_Patches, int]:
        """Bring copies up to date by what they missed, or let them be filled again where that costs less."""
        holdings = self._holdings
        owing = holdings.stale_sectors[read] > 0
        places = read[owing]
        saved = holdings.sectors(places) * np.minimum(holdings.copied[places], arrays[owing])
        pays = holdings.stale_sectors[places] <= saved
        holdings.forget(places[~pays])
        patched = places[pays]
        sent = int(holdings.stale_sectors[patched].sum()) * SECTOR
        patches = (
            patched,
            self._cache.positions[patched],
            holdings.stored[patched],
            holdings.stale_since[patched],
        )
        holdings.stale_sectors[patched] = 0
        holdings.chunks.note(patched)
        holdings.stored[patched] = holdings.lengths[patched]
        return patches, sent

    def _admit(self, read: Places) -> None:
        """Give slots to lists that are read and have none, as far as the policy wants and space allows."""
        holdings = self._holdings
        new = read[~holdings.has_slot(read) & holdings.cacheable(read)]
        admitted = new[self._policy.admits(holdings, new)]
        given = holdings.chunks.reserve(admitted, holdings.lengths[admitted])
        self._policy.on_rejected(holdings, admitted[~given])

    def _find(
        self,
        places: Places,
        arrays: NDArray[np.int64],
        whole: NDArray[np.bool_],
        before: NDArray[np.uint8],
    ) -> NDArray[np.uint8]:
        """Return how many arrays each row finds; what a whole read does not find it leaves behind, given a slot."""
        holdings = self._holdings
        number = np.arange(len(places))
        slots = holdings.has_slot(places)
        early = ~whole & (number < self._first_whole(places, whole))
        held = np.zeros(len(places), np.uint8)
        for count in range(1, holdings.arrays + 1):
            asking = arrays >= count
            left = slots & (number > self._first_whole(places, whole & asking))
            here = np.where(early, before >= count, left | (holdings.copied[places] >= count))
            held += asking & here
            kept = places[asking & whole & slots]
            holdings.copied[kept] = np.maximum(holdings.copied[kept], count)
        return held

    def _first_whole(self, places: Places, whole: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return for each row the first of the given rows that reads its list, `NEVER` where none does."""
        rows = self._cache.rows()
        rows[places] = NEVER
        some = np.flatnonzero(whole)
        return self._cache.first_rows(places[some], some, of=places)


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
            late = (holdings.stale_sectors[oldest] > 0) & (
                holdings.stale_since[oldest] <= holdings.batch - len(self._changed) - 1
            )
            holdings.forget(oldest[late])
        self._changed.appendleft(places)
        owing = holdings.copied[places] > 0
        places, missed = places[owing], np.asarray(mutations, np.int64)[owing] * holdings.arrays
        ends = np.cumsum(missed)
        holdings.stale_since[places] = np.where(
            holdings.stale_sectors[places] > 0, holdings.stale_since[places], holdings.batch
        )
        holdings.stale_sectors[places] += (ends - 1) // PER_SECTOR - (ends - missed) // PER_SECTOR + 1
        holdings.chunks.note(places)
        empty = holdings.lengths[places] == 0
        again = holdings.sectors(places) * holdings.arrays
        holdings.forget(places[empty | (holdings.stale_sectors[places] >= again)])

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
