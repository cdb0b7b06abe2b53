"""Run a cache over a recorded trace: what would have crossed the link with this policy and this much room.

`oracle`: the clairvoyant choice for each version, to measure others against; it needs a recorded trace.

Knowing what the coming batch reads, it holds what saves most on the link for the room it takes during that batch. A
copy that is there already saves every read of its list; one that is not yet saves all but the first, which makes it.
Among lists that save nothing yet, those read most for their size come first: later batches will find them. What the
batch does not read is given up only for what it does.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grapin.cache.cache import HotCache
from grapin.cache.chunks import Holdings, Places
from grapin.cache.policies import NOTHING, Policy
from grapin.cache.records import Observed, Plan
from grapin.cache.settings import CacheSettings


class Coming(NamedTuple):
    """The lists that one version's phases will read, each once."""

    places: Places
    times: NDArray[np.int64]
    """How often each is read."""
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]


def coming_of(rows: NDArray[np.int64]) -> Coming:
    """Sum up rows of iteration, place, start, length, arrays, of whole lists."""
    places, first, times = np.unique(rows[:, 1], return_index=True, return_counts=True)
    return Coming(places, times, rows[first, 2], rows[first, 3])


class Oracle(Policy):
    """Holds what the coming batch will profit from most; otherwise as `adaptive`: filled on first use, patched."""

    on_first_use = True

    def __init__(self, future: Iterator[Coming]) -> None:
        self._future = future
        self._chosen = np.empty(0, np.int64)
        self._wanted = 0

    def choose(self, holdings: Holdings, frontier: Places = NOTHING) -> Places:
        """Return what must go for what the coming batch profits from."""
        del frontier
        chunks = holdings.chunks
        coming = next(self._future)
        holdings.learn(coming.places, coming.starts, coming.lengths)
        able = holdings.cacheable(coming.places)
        places, times = coming.places[able], coming.times[able]
        density = holdings.sectors(places) / holdings.lengths[places]
        saved = times - (holdings.copied[places] == 0)
        best = places[np.lexsort((-times * density, -saved * density))]
        sizes = np.cumsum(np.maximum(holdings.lengths[best], chunks.rooms[best]))
        self._chosen = np.sort(best[: np.searchsorted(sizes, chunks.capacity, side="right")])
        entering = self._chosen[~holdings.has_slot(self._chosen)]
        self._wanted = int(holdings.lengths[entering].sum())
        held = chunks.held()
        return chunks.first_with(held[~self._is_chosen(held)], self._wanted - chunks.free)

    def wanted(self) -> int:
        """Return the room of what was chosen and is not there."""
        return self._wanted

    def admits(self, holdings: Holdings, places: Places) -> NDArray[np.bool_]:
        """Let in what was chosen."""
        del holdings
        return self._is_chosen(places)

    def _is_chosen(self, places: Places) -> NDArray[np.bool_]:
        return np.isin(places, self._chosen, assume_unique=True)


OUTWARD = ~1
"""Where a graph has no in-lists of its own, a vertex has one list, whichever way it is read."""

Table = dict[str, NDArray[Any]]


def replay(
    settings: CacheSettings, reads: Table, phases: Table, changes: Table, *, arrays: int | None = None
) -> Iterator[tuple[Plan | None, Observed]]:
    """Yield for each phase of a trace what was done before it, at the first phase of a version, and while it read.

    The tables are those of `grapin.trace.Trace`; without a column `whole` all reads are whole. `arrays` is what a copy
    has; without it, as many as any read asked.
    """
    places = _places(reads)
    if not phases["in_slots"].any():
        places &= OUTWARD
    rows = np.column_stack((reads["iteration"], places, reads["start"], reads["length"], reads["arrays"]))
    rows = rows.astype(np.int64)
    whole = reads.get("whole")
    versions = phases["version"]
    bounds = np.searchsorted(reads["phase"], np.arange(len(versions) + 1))
    policy = None
    if settings.policy == "oracle":
        firsts = np.flatnonzero(np.diff(versions, prepend=-1))
        ends = np.append(firsts[1:], len(versions))
        parts = (slice(bounds[first], bounds[end]) for first, end in zip(firsts, ends, strict=True))
        policy = Oracle(coming_of(rows[part] if whole is None else rows[part][whole[part]]) for part in parts)
    cache = HotCache(settings, arrays=arrays or int(reads["arrays"].max(initial=1)), policy=policy)
    for phase, version in enumerate(versions):
        plan = None
        if phase == 0 or version != versions[phase - 1]:
            changed = changes["version"] == version
            table = {name: column[changed] for name, column in changes.items()}
            plan = cache.begin(_places(table), table["start"], table["length"], table["mutations"])
        part = slice(bounds[phase], bounds[phase + 1])
        yield plan, cache.observe(rows[part], None if whole is None else whole[part])


def _places(table: Table) -> NDArray[np.int64]:
    places: NDArray[np.int64] = 2 * table["vertex"].astype(np.int64) + table["inward"]
    return places
