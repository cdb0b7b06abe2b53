"""Neighbour lists as kernels see them: where each begins, the edges behind it, and what reading them is counted as.

Places (`starts`, `degrees`) are on the device, edges wherever the system says. A list may have a copy on the device:
`held` says at which position, or -1; kernels then read the copy. A list is named by its place number, twice the vertex
plus one for in-lists.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from grapin.counters import Counters
from grapin.kernels.cuda.warp import WARP

EDGES, LISTS, REQUESTS, PAGES, CACHED_EDGES, CACHED_LISTS, TALLY_SIZE = 0, 1, 2, 6, 7, 8, 9
"""Places in a tally; `REQUESTS` is the first of four, by size: 32, 64, 96 and 128 bytes."""
STRIPES = 64
"""Tallies that warps share: so many that they seldom meet in one."""
TRACE_FIELDS = 5
"""Numbers a trace entry takes: iteration, place number, start, length, arrays read."""
ITERATION, TRACED, LONG_LISTS, PROGRESS_SIZE = 0, 1, 2, 3
"""Places in `Reading.progress`."""
CACHED: bool = False
"""Bound to True where lists may have copies on the device."""


class DeviceLists(NamedTuple):
    """The lists of one direction."""

    starts: Any
    degrees: Any
    neighbours: Any
    weights: Any
    """Beside `neighbours`; length 0 where weights are not read."""
    held: Any
    """By place number, the position of a list's copy, int64, a multiple of 32; -1 where there is none."""
    copied_neighbours: Any
    copied_weights: Any


class Reading(NamedTuple):
    """What is kept of every list read."""

    tallies: Any
    """`STRIPES` tallies, one behind the other."""
    progress: Any
    """int64: the iteration that reads belong to, how many trace entries there are, how many long lists."""
    trace: Any
    """Entries of `TRACE_FIELDS` numbers, room for them made beforehand; length 0 when no trace is asked for."""
    accesses: Any
    """One byte a place number: how often the list was read since they were cleared, up to 255; may have length 0."""
    long_lists: Any
    """Vertices whose lists are shared among blocks; `progress` has how many there are."""


def copy_of(lists: DeviceLists, place: Any) -> Any:
    """Return the position of a list's copy on the device, -1 where there is none."""
    return lists.held[place] if CACHED else np.int64(-1)


def neighbour_at(lists: DeviceLists, held: Any, at: Any) -> Any:
    """Return the neighbour at a position of the copies, if the list is held, or of the edge arrays."""
    if CACHED and held:
        return lists.copied_neighbours[at]
    return lists.neighbours[at]


def stored_weight(lists: DeviceLists, held: Any, at: Any) -> Any:
    """Return the weight beside that neighbour."""
    if CACHED and held:
        return lists.copied_weights[at]
    return lists.weights[at]


def unit_weight(lists: DeviceLists, held: Any, at: Any) -> Any:  # noqa: ARG001  (the same signature as the other)
    """Every edge weighs 1."""
    return 1


def keep_read(reading: Reading, place: Any, start: Any, length: Any, arrays: Any, held: Any) -> None:
    """Count one list of which `length` elements were read from `arrays` arrays (ids, weights)."""
    if length <= 0:
        return
    tallies = reading.tallies
    base = (cuda.grid(1) // WARP) % STRIPES * TALLY_SIZE
    cuda.atomic.add(tallies, base + EDGES, length)
    cuda.atomic.add(tallies, base + LISTS, np.int64(1))
    if held:
        cuda.atomic.add(tallies, base + CACHED_EDGES, length)
        cuda.atomic.add(tallies, base + CACHED_LISTS, np.int64(1))
    else:
        _count_requests(tallies, base, start, length, np.int64(arrays))
    if reading.accesses.size > 0 and reading.accesses[place] < 255:
        reading.accesses[place] += 1  # a list is read by one warp at a time, and counted by one lane of it
    if reading.trace.size > 0:
        entry = cuda.atomic.add(reading.progress, TRACED, np.int64(1)) * TRACE_FIELDS
        reading.trace[entry] = reading.progress[ITERATION]
        reading.trace[entry + 1] = place
        reading.trace[entry + 2] = start
        reading.trace[entry + 3] = length
        reading.trace[entry + 4] = arrays


def _count_requests(tallies: Any, base: Any, start: Any, length: Any, arrays: Any) -> None:
    first = start >> 3  # a sector of 32 bytes holds 8 elements, a page of 4 KiB 1024
    last = (start + length - 1) >> 3
    pages = ((start + length - 1) >> 10) - (start >> 10) + 1
    cuda.atomic.add(tallies, base + PAGES, arrays * pages)
    if first >> 2 == last >> 2:
        cuda.atomic.add(tallies, base + REQUESTS + last - first, arrays)
        return
    cuda.atomic.add(tallies, base + REQUESTS + 3 - (first & 3), arrays)
    cuda.atomic.add(tallies, base + REQUESTS + (last & 3), arrays)
    between = (last >> 2) - (first >> 2) - 1
    if between > 0:
        cuda.atomic.add(tallies, base + REQUESTS + 3, arrays * between)


def counters_of(tallies: NDArray[np.int64]) -> Counters:
    """Add up all tallies, downloaded, and return what was read."""
    tally = tallies.reshape(STRIPES, TALLY_SIZE).sum(axis=0).tolist()
    read = Counters.of(tally[EDGES], tally[LISTS], tally[REQUESTS : REQUESTS + 4], tally[PAGES])
    return replace(read, cached_edges=tally[CACHED_EDGES], cached_lists=tally[CACHED_LISTS])


FUNCTIONS = (copy_of, neighbour_at, _count_requests, keep_read)
"""What kernels that read lists are bound to, see `backend.bind`."""
