"""Tiling: the trace of a small graph, laid side by side until it is as long as that of a large one.

What a GPU does to memory hangs on what has a size: how many blocks its memory holds, how many warps are in flight, how
many faults a batch takes. Made smaller with the graph, all of these reach one soon, and one block is not a hundredth of
a hundred blocks. So it is the graph that is made larger, not the machine smaller: copies of its lists lie one behind
the other, and each iteration reads those of all copies. What a graph has per list (how long it is, how often it is
read, how many rounds there are) stays that of the small one; how it grows is for `extrapolation` to say.

Copies take turns, and each begins at another place of an iteration: lists that are read one after the other lie as
far apart as those of a large graph do, and no two copies of a list are read together.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from grapin.trace import Trace

_ALIGNED = 32
"""Elements of a line of 128 bytes, which copies begin with as arrays do."""


def tiled(trace: Trace, copies: int, *, changed: float, alike: bool = True) -> Trace:
    """Return so many copies of a trace side by side.

    Args:
        trace: what a small graph's run read.
        copies: how many.
        changed: how many copies' changes the batches make; less than one is a part of them.
        alike: whether a batch reads all copies, as one that reads the whole graph does, or only those it changes.
    """
    some = min(copies, max(1, round(changed)))
    phase = trace.reads["phase"].astype(np.int64)
    begins = np.flatnonzero(np.diff(phase, prepend=-1) | np.diff(trace.reads["iteration"], prepend=-1))
    lengths = np.diff(begins, append=len(trace))
    first = int(trace.phases["version"].min(initial=0))
    start = trace.phases["version"][phase[begins]] == first
    taken = np.where(start | alike, copies, some)
    rows, copy = _in_turns(begins, lengths, taken)
    reads = {name: column[rows] for name, column in trace.reads.items()}
    reads["start"] = reads["start"] + copy * _strides(trace, reads["inward"])
    reads["vertex"] = (reads["vertex"] + copy * int(trace.phases["vertices"].max(initial=0))).astype(np.int32)
    phases = dict(trace.phases)
    for name in ("vertices", "edges"):
        phases[name] = phases[name] * copies
    for name in ("out_slots", "in_slots"):
        phases[name] = _aligned(phases[name]) * copies
    return replace(
        trace, reads=reads, phases=phases, changes=_changes(trace, copies if alike else some, changed)
    )


def _in_turns(
    begins: NDArray[np.int64], lengths: NDArray[np.int64], copies: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows of the trace and the copy each is of, iteration by iteration."""
    sizes = lengths * copies
    iteration = np.repeat(np.arange(len(begins)), sizes)
    place = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    length, count = lengths[iteration], copies[iteration]
    copy = place % count
    return begins[iteration] + (place // count + copy * length // count) % length, copy


def _changes(trace: Trace, copies: int, changed: float) -> dict[str, NDArray[np.generic]]:
    """Return as many changes as so many copies make, version by version, evenly chosen from all copies' changes."""
    count = len(trace.changes["version"])
    row, turn = np.repeat(np.arange(count), copies), np.tile(np.arange(copies), count)
    kept = np.diff(np.floor(np.arange(len(row) + 1) * min(1.0, changed / copies))) > 0
    row, copy = row[kept], ((turn + row) % copies)[kept]
    changes = {name: column[row] for name, column in trace.changes.items()}
    changes["start"] = changes["start"] + copy * _strides(trace, changes["inward"])
    shifted = changes["vertex"] + copy * int(trace.phases["vertices"].max(initial=0))
    changes["vertex"] = shifted.astype(np.int32)
    return changes


def _strides(trace: Trace, inward: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return how far apart copies of a list lie; one array serves both directions where there is no second."""
    out, in_ = (int(_aligned(trace.phases[name]).max(initial=0)) for name in ("out_slots", "in_slots"))
    return np.where(inward, in_ or out, out)


def _aligned(slots: NDArray[np.int64]) -> NDArray[np.int64]:
    return -(-slots // _ALIGNED) * _ALIGNED
