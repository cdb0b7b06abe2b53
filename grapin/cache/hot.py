"""`HotCache`: which lists a device holds a copy of, batch after batch; the bookkeeping, without the copies.

It is told what each batch changed (`begin`) and what each phase reads (`observe`), and answers with what to do: moves
and loads before the computation, fills and patches during it. A device carries that out on its own memory; the model
runs the same class over a `Trace`. So the engine's counters and the model's are the same numbers.

A copy is written in one of two ways. A policy that loads *in advance* reads whole lists before the computation, and
again when a batch has changed them. The others fill a slot on *first use*: a read that goes to the host leaves its copy
behind, and nothing crosses the link for the cache's sake. When a batch changes such a list, the host keeps its
mutations side by side (a neighbour each, and a weight where weights are cached), and the next reader fetches those in
place of the list where they are fewer sectors. So no read ever costs more than it does without a cache.
"""

from collections import deque
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from grapin.cache.adaptive import Adaptive
from grapin.cache.holdings import PER_SECTOR, SECTOR, Holdings, Places
from grapin.cache.plan import Observed, Plan, Step
from grapin.cache.policy import Policy
from grapin.cache.published import Published
from grapin.cache.settings import CacheSettings
from grapin.cache.traffic import count_loads, count_phase
from grapin.counters import Counters
from grapin.errors import InvalidArgument

SLACK = 4
"""A list that outgrew its slot gets room for one more element for every so many: it may well grow again."""

_Patches = tuple[Places, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


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

    def observe(self, rows: NDArray[np.int64]) -> Observed:
        """Take in what one phase read: rows of iteration, place, start, length, arrays, in the order of reading."""
        held, steps = [np.empty(0, np.uint8)], []
        patch_bytes = 0
        for begin, end in self._stretches(rows):
            again = begin > 0 and self.policy.restless(self.holdings)
            plan = self._make_room(np.empty(0, np.int64)) if again else Plan()
            found, step, sent = self._read(rows[begin:end], plan)
            held.append(found)
            steps.append(step)
            patch_bytes += sent
        together = np.concatenate(held)
        counters = count_phase(rows, together, patch_bytes)
        self.counters += counters
        return Observed(together, tuple(steps), counters)

    def _stretches(self, rows: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """Cut a phase between iterations, where the policy wants to choose anew."""
        read = np.cumsum(rows[:, 3])
        lasts = np.flatnonzero(np.diff(rows[:, 0], append=-1))
        read_until = read[lasts]
        begin = 0
        while begin < len(rows):
            enough = read[begin] - rows[begin, 3] + self.policy.patience(self.holdings)
            end = int(lasts[min(int(np.searchsorted(read_until, enough)), len(lasts) - 1)]) + 1
            yield begin, end
            begin = end

    def _read(self, rows: NDArray[np.int64], plan: Plan) -> tuple[NDArray[np.uint8], Step, int]:
        """Return how many arrays each row found, what that did to copies, and the bytes of patches."""
        _, places, starts, lengths, arrays = rows.T
        holdings = self.holdings
        holdings.learn(places, starts, lengths)
        number = np.arange(len(rows))
        first = self._first_rows(places, number)
        read = places[first == number]
        patches, sent = self._patch(read, arrays[first == number])
        self._admit(read)
        held = self._held(places, arrays)
        filled = np.unique(places[holdings.has_slot(places) & (held < arrays)])
        holdings.stored[filled] = holdings.lengths[filled]
        holdings.window.count(read, np.bincount(first, minlength=len(rows))[first == number])
        return held, Step(plan, *patches, filled, self.positions[filled]), sent

    def _first_rows(self, places: Places, number: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each row of `number` the first of them that reads the same list."""
        if len(self._rows) < self.holdings.places:
            self._rows = np.empty(self.holdings.places, np.int64)
        # Where a place comes several times, the last assignment stands: here, that of its first row.
        self._rows[places[::-1]] = number[::-1]
        return self._rows[places]

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
        empty = holdings.lengths[places] == 0
        again = holdings.sectors(places) * holdings.arrays
        holdings.forget(places[empty | (holdings.debts[places] >= again)])

    def _make_room(self, changed: Places) -> Plan:
        """Give up what the policy does not want, move what outgrew its slot, have space ready for first uses."""
        holdings, chunks = self.holdings, self.holdings.chunks
        holdings.drop(self.policy.choose(holdings))
        changed = changed[holdings.has_slot(changed)]
        grown = changed[holdings.lengths[changed] > chunks.rooms[changed]]
        before = chunks.positions[grown]
        chunks.release(grown)
        rooms = np.minimum(holdings.lengths[grown] * (SLACK + 1) // SLACK, chunks.chunk)
        moved, sources = self._reclaim(int(rooms.sum()) + self.policy.wanted())
        fits = holdings.lengths[grown] <= rooms
        fits[fits] = chunks.reserve(grown[fits], rooms[fits])
        holdings.forget(grown[~fits])
        return self._planned(
            np.concatenate((moved, grown[fits])),
            np.concatenate((sources, before[fits])),
            np.empty(0, np.int64),
            Counters(),
        )

    def _reclaim(self, needed: int) -> tuple[Places, NDArray[np.int64]]:
        """Have so many elements ready if there are as many; return which lists may have moved, and from where."""
        chunks = self.holdings.chunks
        if chunks.ready >= needed or chunks.free == chunks.ready:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return chunks.reclaim()

    def _planned(self, moved: Places, sources: NDArray[np.int64], loaded: Places, counters: Counters) -> Plan:
        holdings = self.holdings
        targets = holdings.chunks.positions[moved]
        real = (sources != targets) & (holdings.copied[moved] > 0)
        moved = moved[real]
        return Plan(moved, sources[real], targets[real], holdings.stored[moved], loaded, counters)

    def _patch(self, read: Places, arrays: NDArray[np.int64]) -> tuple[_Patches, int]:
        """Bring copies up to date by what they missed, or let them be filled again where that costs less."""
        holdings = self.holdings
        owing = holdings.debts[read] > 0
        places = read[owing]
        saved = holdings.sectors(places) * np.minimum(holdings.copied[places], arrays[owing])
        pays = holdings.debts[places] <= saved
        holdings.forget(places[~pays])
        patched = places[pays]
        sent = int(holdings.debts[patched].sum()) * SECTOR
        patches = patched, self.positions[patched], holdings.stored[patched], holdings.behind[patched]
        holdings.debts[patched] = 0
        holdings.stored[patched] = holdings.lengths[patched]
        return patches, sent

    def _admit(self, read: Places) -> None:
        """Give slots to lists that are read and have none, as far as the policy wants and space allows."""
        holdings = self.holdings
        new = read[~holdings.has_slot(read) & holdings.cacheable(read)]
        admitted = new[self.policy.admits(holdings, new)]
        given = holdings.chunks.reserve(admitted, holdings.lengths[admitted])
        self.policy.refused(int(holdings.lengths[admitted[~given]].sum()))

    def _held(self, places: Places, arrays: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return how many arrays each row found on the device; what it did not find it leaves there, given a slot."""
        holdings = self.holdings
        held = np.zeros(len(places), np.uint8)
        for count in range(1, holdings.arrays + 1):
            asking = np.flatnonzero(arrays >= count)
            asked = places[asking]
            later = asking > self._first_rows(asked, asking)
            slots = holdings.has_slot(asked)
            held[asking] += (holdings.copied[asked] >= count) | (later & slots)
            kept = asked[slots]
            holdings.copied[kept] = np.maximum(holdings.copied[kept], count)
        return held


def _policy(name: str) -> Policy:
    if name == "oracle":
        raise InvalidArgument(
            "cache policy 'oracle' knows what will be read: record a trace and replay it (grapin.cache.replay)"
        )
    return {"none": Policy, "published": Published, "adaptive": Adaptive}[name]()
