"""`Phase`: the reads of one program at one version, as they come: which find a copy, which leave one, which mend one.

Reads come in pieces. A device that must know where to read from before it reads hands in a *walk* at a time: all reads
of one iteration in one direction, which it knows before it makes any. A replay hands in the whole phase, and what is
decided is the same. It is decided in *stretches*: parts of a phase, cut between iterations, before each of which the
policy may choose again, knowing what earlier ones read and what the first walk is about to.

A *whole* read goes through its list from the first element to the last. Only such a read leaves a copy behind or brings
one up to date. A read that may stop early takes what it needs from a copy that is up to date, or else from the host.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from grapin.cache.chunks import Places
from grapin.cache.policies import NOTHING
from grapin.cache.records import Observed, Plan, Step, count_phase
from grapin.counters import Counters
from grapin.units import SECTOR

if TYPE_CHECKING:
    from grapin.cache.cache import HotCache

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
        self._patience = 0.0
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
        if self._places and iteration != self._iteration and self._elements >= self._patience:
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
            self._patience = self._policy.patience(self._holdings)
        possible = begins[np.searchsorted(begins, begin if self._places else begin + 1) :]
        enough = elements[begin] + self._patience - self._elements
        place = int(np.searchsorted(elements[possible], enough))
        return int(possible[place]) if place < len(possible) else len(elements) - 1

    def _begin_stretch(self, frontier: Places) -> Plan:
        """Let the policy choose again, if a stretch begins, with these whole lists, and it wants to."""
        if self._open:
            return Plan()
        self._open = True
        self._holdings.stretch += 1
        again = self._policy.restless(self._holdings, frontier)
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
        before = np.where(holdings.debts[places] > 0, 0, holdings.copied[places])
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
        owing = holdings.debts[read] > 0
        places = read[owing]
        saved = holdings.sectors(places) * np.minimum(holdings.copied[places], arrays[owing])
        pays = holdings.debts[places] <= saved
        holdings.forget(places[~pays])
        patched = places[pays]
        sent = int(holdings.debts[patched].sum()) * SECTOR
        patches = (
            patched,
            self._cache.positions[patched],
            holdings.stored[patched],
            holdings.behind[patched],
        )
        holdings.debts[patched] = 0
        holdings.chunks.note(patched)
        holdings.stored[patched] = holdings.lengths[patched]
        return patches, sent

    def _admit(self, read: Places) -> None:
        """Give slots to lists that are read and have none, as far as the policy wants and space allows."""
        holdings = self._holdings
        new = read[~holdings.has_slot(read) & holdings.cacheable(read)]
        admitted = new[self._policy.admits(holdings, new)]
        given = holdings.chunks.reserve(admitted, holdings.lengths[admitted])
        self._policy.refused(holdings, admitted[~given])

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
