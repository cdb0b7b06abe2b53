"""A trace with a cache in front of the link: which reads are left, and what keeping the copies takes.

The cache is the engine's own bookkeeping (`grapin.cache`) run over the trace, so that any room and policy can be tried
on one recorded run.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from grapin.cache.replaying import replay as replay_cache
from grapin.cache.settings import CacheSettings
from grapin.counters import Counters
from grapin.trace import Trace


@dataclass(frozen=True, eq=False)
class Cached:
    """What a cache makes of a trace."""

    trace: Trace
    """The reads that are left: `arrays` says how many arrays of a list still cross the link, perhaps none."""
    held: NDArray[np.uint8]
    """How many arrays of each read the device had a copy of."""
    upkeep: list[Counters]
    """What crossed the link for the cache alone, by phase: loads in advance, and patches."""


def run_cache(trace: Trace, settings: CacheSettings) -> Cached:
    """Run a cache over a trace."""
    held, upkeep = [np.empty(0, np.uint8)], []
    for plan, observed in replay_cache(settings, trace.reads, trace.phases, trace.changes):
        patches = Counters(patch_bytes=observed.counters.patch_bytes)
        upkeep.append(patches if plan is None else plan.counters + patches)
        held.append(observed.held)
    rows = np.concatenate(held)
    left = trace.reads["arrays"] - rows
    return Cached(replace(trace, reads=trace.reads | {"arrays": left}), rows, upkeep)
