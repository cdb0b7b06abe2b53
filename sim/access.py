"""Access patterns: which requests a GPU makes of the same lists, by how its threads walk them.

Three ways to read a neighbour list from host memory, each better than the last (EMOGI, PVLDB 14(2), section 4):

- **naive**: a thread walks a list, 32 lists side by side in a warp. In one step each thread reads one element; what
  falls into one 128-byte line is one request of that line's 32-byte sectors. Threads are far apart in memory, so
  nearly every request is one sector.
- **merged**: a warp walks a list, 128 bytes a step from where the list starts, so that a step mostly straddles two
  lines.
- **aligned**: a warp begins at the line in which the list starts, and leaves out what lies before it.

The last two are `grapin.counters.count_reads` with `aligned=False` and `aligned=True`; here is the first.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from grapin.counters import Counters
from grapin.units import SECTOR

_BLOCK = 1 << 22
"""So many elements are expanded at a time, whatever the trace's length."""

Numbers = NDArray[np.int64]


def count_thread_reads(
    warps: Numbers, starts: Numbers, lengths: Numbers, *, element: int = 4, kept: bool = True
) -> Counters:
    """Count lists that single threads walk; rows of one warp, which lie together, go step by step.

    Starts and lengths count elements of `element` bytes. A thread asks again when it enters a new sector, if what it
    has read of a sector is `kept` until it is through; else for every element. A GPU's caches are between the two.
    """
    sizes = np.zeros(4, np.int64)
    some = lengths > 0
    warps, starts, lengths = warps[some], starts[some].astype(np.int64), lengths[some].astype(np.int64)
    for rows in _blocks(warps, lengths):
        sizes += _requests(warps[rows], starts[rows], lengths[rows], SECTOR // element, kept=kept)
    ends = (starts + lengths) * element - 1
    pages = int(((ends >> 12) - (starts * element >> 12) + 1).sum())
    return Counters.of(int(lengths.sum()), len(lengths), sizes.tolist(), pages)


def _blocks(warps: Numbers, lengths: Numbers) -> Iterator[slice]:
    """Cut where a warp ends, so that a block has few elements more than it may expand."""
    ends = np.append(np.flatnonzero(np.diff(warps)) + 1, len(warps)) if len(warps) else np.empty(0, np.int64)
    through = np.cumsum(lengths)
    begin = 0
    while begin < len(warps):
        before = int(through[begin - 1]) if begin else 0
        fits = int(np.searchsorted(through, before + _BLOCK, "right"))
        place = int(np.searchsorted(ends, max(fits, begin + 1), "right")) - 1
        end = int(ends[place]) if place >= 0 and ends[place] > begin else int(ends[place + 1])
        yield slice(begin, end)
        begin = end


def _requests(
    warps: Numbers, starts: Numbers, lengths: Numbers, per_sector: int, *, kept: bool
) -> NDArray[np.int64]:
    """Return how many requests of one to four sectors the steps of these warps make."""
    first = starts // per_sector
    times = (starts + lengths - 1) // per_sector - first + 1 if kept else lengths
    row = np.repeat(np.arange(len(starts)), times)
    turn = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times)
    if kept:
        sector = first[row] + turn
        step = np.maximum(0, sector * per_sector - starts[row])
    else:
        step = turn
        sector = (starts[row] + turn) // per_sector
    warp = warps[row]
    order = np.lexsort((sector, step, warp))
    warp, step, sector = warp[order], step[order], sector[order]
    same = (warp[1:] == warp[:-1]) & (step[1:] == step[:-1])
    fresh = np.append(True, ~(same & (sector[1:] == sector[:-1])))
    begins = np.append(True, ~(same & (sector[1:] >> 2 == sector[:-1] >> 2)))
    request = np.cumsum(begins) - 1
    return np.bincount(np.bincount(request[fresh]) - 1, minlength=4)
