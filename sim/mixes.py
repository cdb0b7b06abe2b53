"""Mixes: requests of which only the number of each size is known, sent in an even mixture.

Lists walked by single threads and lists loaded into a cache have no order on the link that would mean anything; they
pass the same stations as all other requests, mixed as evenly as their numbers allow.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from grapin.sim.access import WARP, count_thread_reads
from grapin.sim.iterations import Iterations
from grapin.sim.path import Path
from grapin.sim.replayed import Replayed
from grapin.sim.requests import BARRIER, CAPACITY, KINDS
from grapin.sim.stations import Stations
from grapin.trace import Trace

SIZES = 4
"""Requests have one to four sectors; their codes, for those that begin with a line, are 0 to 3."""


def replay_threads(trace: Trace, path: Path, iterations: Iterations) -> Replayed:
    """Say what the reads of a trace take when each list is walked by one thread, 32 vertices side by side."""
    reads = trace.reads
    kinds = np.zeros((len(iterations), KINDS), np.int64)
    for place, rows in enumerate(iterations.rows()):
        # Threads of one warp are neighbours by number, in one direction and in one array.
        warps = 2 * (reads["vertex"][rows].astype(np.int64) // WARP) + reads["inward"][rows]
        order = np.argsort(warps, kind="stable")
        starts, lengths, arrays = (reads[name][rows][order] for name in ("start", "length", "arrays"))
        for array in (1, 2):
            some = arrays >= array
            found = count_thread_reads(warps[order][some], starts[some], lengths[some])
            kinds[place, :SIZES] += list(found.requests.values())
    ticks = mix_ticks(path, kinds[:, :SIZES]) + path.launch
    number = reads["iteration"][iterations.begin]
    return Replayed(path, iterations.phase.astype(np.int32), number, ticks, kinds)


def mix_ticks(path: Path, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how long each row of requests takes, of which there are so many of one to four sectors."""
    stations = Stations(path, path.request_costs, path.window)
    ticks = [stations.serve(codes, int(codes[-1] == BARRIER))[0] for row in sizes for codes in _mixture(row)]
    return np.concatenate([np.empty(0, np.int64), *ticks])


def _mixture(counts: NDArray[np.int64]) -> Iterator[NDArray[np.uint8]]:
    """Yield the codes of so many requests of each size, evenly mixed, and a barrier at the end."""
    blocks = max(1, -(-int(counts.sum()) // CAPACITY))
    bounds = np.arange(blocks + 1)[:, None] * counts // blocks
    for block, some in enumerate(np.diff(bounds, axis=0)):
        codes = np.repeat(np.arange(SIZES, dtype=np.uint8), some)
        share = np.concatenate([(np.arange(count) + 0.5) / count for count in some if count] or [np.empty(0)])
        mixed = codes[np.argsort(share, kind="stable")]
        yield np.append(mixed, np.uint8(BARRIER)) if block == blocks - 1 else mixed
