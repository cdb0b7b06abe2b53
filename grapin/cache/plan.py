"""What a cache asks a device to do: before a batch's computation, and while lists are read."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from grapin.counters import Counters


def _none() -> NDArray[np.int64]:
    return np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Plan:
    """First all moves, then all loads. Positions and lengths are in elements."""

    moved: NDArray[np.int64] = field(default_factory=_none)
    """Lists whose copy goes from one position to another. They may be moved in this order, portion by portion, but for
    the last `outgrown`, which must be read before any list is written, and written after all others."""
    sources: NDArray[np.int64] = field(default_factory=_none)
    targets: NDArray[np.int64] = field(default_factory=_none)
    lengths: NDArray[np.int64] = field(default_factory=_none)
    outgrown: int = 0
    """How many of them move because they have outgrown their slot: that may have been given to another."""
    loaded: NDArray[np.int64] = field(default_factory=_none)
    """Lists to read from the host now, each to where `HotCache.positions` says."""
    counters: Counters = field(default_factory=Counters)
    """What the loads are on the link."""


@dataclass(frozen=True, eq=False)
class Step:
    """A stretch of reads: what is moved before it, and whose copies its reads bring up to date or write."""

    plan: Plan
    patched: NDArray[np.int64]
    """Lists whose copy is brought up to date by the mutations it has missed."""
    patched_at: NDArray[np.int64]
    """Beside `patched`: where the copy begins."""
    patched_length: NDArray[np.int64]
    """And how many elements it has before."""
    missed_from: NDArray[np.int64]
    """And the number of the batch that made the first of those mutations, the first batch being 1."""
    filled: NDArray[np.int64]
    """Lists whose copy is written by the first read that goes to the host for them."""
    filled_at: NDArray[np.int64]
    """Beside `filled`: where to."""

    @classmethod
    def of(cls, plan: Plan) -> "Step":
        """Return a step without reads."""
        return cls(plan, *(_none() for _ in range(6)))


@dataclass(frozen=True, eq=False)
class Observed:
    """What happened while one phase read its lists."""

    held: NDArray[np.uint8]
    """How many of the arrays that each row asked for the device held a copy of; the others crossed the link."""
    steps: tuple[Step, ...]
    """What was done to copies meanwhile, in order."""
    counters: Counters
    """What was read, and what of it crossed the link."""
