"""Run a cache over a recorded trace: what would have crossed the link with this policy and this much room."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.cache.hot import HotCache
from grapin.cache.oracle import Oracle, coming_of
from grapin.cache.plan import Observed, Plan
from grapin.cache.settings import CacheSettings

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
