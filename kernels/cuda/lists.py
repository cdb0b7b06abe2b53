"""Neighbour lists as kernels see them: where each begins, the edges behind it, and what reading them is counted as.

Places (`starts`, `degrees`) are on the device, edges wherever the system says. A list may have a slot on the device for
a copy; one word per list says where, and how many of its arrays are there and up to date. Those are read from the copy.
The others are read from the host, and left behind in the slot by a read that goes through the whole list: so a copy is
filled by the first read of its list. A list is named by its place number, twice the vertex plus one for in-lists.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from grapin.counters import Counters
from grapin.kernels.cuda.backend import Backend
from grapin.kernels.cuda.warp import WARP

EDGES, LISTS, REQUESTS, PAGES, CACHED_EDGES, CACHED_LISTS, TALLY_SIZE = 0, 1, 2, 6, 7, 8, 9
"""Places in a tally; `REQUESTS` is the first of four, by size: 32, 64, 96 and 128 bytes."""
STRIPES = 64
"""Tallies that warps share: so many that they seldom meet in one."""
TRACE_FIELDS = 5
"""Numbers a trace entry takes: iteration, place number, start, length, arrays read."""
ITERATION, TRACED, LONG_LISTS, TOUCHED, PROGRESS_SIZE = 0, 1, 2, 3, 4
"""Places in `Reading.progress`."""
CACHED: bool = False
"""Bound to True where lists may have copies on the device."""
LEAVES: bool = True
"""Whether a read goes through whole lists, and so may leave copies behind."""
MOST = 255
"""What a byte can count."""
NOT_HELD = -1
"""The word of a list without a slot."""
ARRAY_BITS, ARRAY_MASK = 2, 3
"""In the word of a list with a slot: the last two bits count the arrays that are up to date, before them is where."""


class DeviceLists(NamedTuple):
    """The lists of one direction."""

    starts: Any
    degrees: Any
    neighbours: Any
    weights: Any
    """Beside `neighbours`; length 0 where weights are not read."""
    held: Any
    """By vertex, int64: where a list's slot is and how many arrays of the list are there, `NOT_HELD` without one."""
    copied_neighbours: Any
    copied_weights: Any


class Reading(NamedTuple):
    """What is kept of every list read."""

    tallies: Any
    """`STRIPES` tallies, one behind the other."""
    progress: Any
    """int64: the iteration that reads belong to, how many trace entries, long lists and touched lists there are."""
    trace: Any
    """Entries of `TRACE_FIELDS` numbers, room for them made beforehand; length 0 when no trace is asked for."""
    accesses: Any
    """One byte a place number: how often the list was read since they were cleared, up to 255; may have length 0."""
    touched: Any
    """The place numbers whose byte is not 0, each once, so that nobody has to search; `progress` has how many."""
    long_lists: Any
    """Vertices whose lists are shared among blocks; `progress` has how many there are."""


def held_word(lists: DeviceLists, vertex: Any) -> Any:
    """Return what the device holds of a vertex's list."""
    return lists.held[vertex] if CACHED else np.int64(NOT_HELD)


def arrays_held(held: Any) -> Any:
    """Return how many arrays of a list are on the device and up to date."""
    return held & ARRAY_MASK if CACHED and held >= 0 else np.int64(0)


def lined_up_with(start: Any, held: Any, arrays: Any) -> Any:
    """Return where a list begins in the memory whose lines a warp reads it by: the host's, if that is read at all."""
    return held >> ARRAY_BITS if arrays_held(held) >= arrays else start


def neighbour_at(lists: DeviceLists, start: Any, held: Any, index: Any) -> Any:
    """Return one neighbour of a list, from its copy or from the host; in the latter case leave it in the slot."""
    if CACHED and held >= 0:
        at = (held >> ARRAY_BITS) + index
        if held & ARRAY_MASK >= 1:
            return lists.copied_neighbours[at]
        neighbour = lists.neighbours[start + index]
        if LEAVES:
            lists.copied_neighbours[at] = neighbour
        return neighbour
    return lists.neighbours[start + index]


def stored_weight(lists: DeviceLists, start: Any, held: Any, index: Any) -> Any:
    """Return the weight beside that neighbour, in the same way."""
    if CACHED and held >= 0:
        at = (held >> ARRAY_BITS) + index
        if held & ARRAY_MASK >= 2:
            return lists.copied_weights[at]
        weight = lists.weights[start + index]
        if LEAVES:
            lists.copied_weights[at] = weight
        return weight
    return lists.weights[start + index]


def unit_weight(lists: DeviceLists, start: Any, held: Any, index: Any) -> Any:  # noqa: ARG001  (one signature)
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
    missing = np.int64(arrays) - arrays_held(held)
    if missing <= 0:
        cuda.atomic.add(tallies, base + CACHED_EDGES, length)
        cuda.atomic.add(tallies, base + CACHED_LISTS, np.int64(1))
    else:
        _count_requests(tallies, base, start, length, missing)
    if reading.accesses.size > 0:  # a list is read by one warp at a time, and counted by one lane of it
        times = reading.accesses[place]
        if times == 0:
            reading.touched[cuda.atomic.add(reading.progress, TOUCHED, np.int64(1))] = place
        if times < MOST:
            reading.accesses[place] = times + 1
    trace_read(reading, place, start, length, arrays)


def trace_read(reading: Reading, place: Any, start: Any, length: Any, arrays: Any) -> None:
    """Write a read down, if a trace is asked for."""
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


def new_reading(backend: Backend, long_lists: Any) -> Reading:
    """Return what keeps nothing of reads but their tallies."""
    nothing = backend.empty(0, np.int64)
    return Reading(
        tallies=backend.full(STRIPES * TALLY_SIZE, 0, np.int64),
        progress=backend.full(PROGRESS_SIZE, 0, np.int64),
        trace=nothing,
        accesses=backend.empty(0, np.uint8),
        touched=backend.empty(0, np.uint32),
        long_lists=long_lists,
    )


def counters_of(tallies: NDArray[np.int64]) -> Counters:
    """Add up all tallies, downloaded, and return what was read."""
    tally = tallies.reshape(STRIPES, TALLY_SIZE).sum(axis=0).tolist()
    read = Counters.of(tally[EDGES], tally[LISTS], tally[REQUESTS : REQUESTS + 4], tally[PAGES])
    return replace(read, cached_edges=tally[CACHED_EDGES], cached_lists=tally[CACHED_LISTS])


FUNCTIONS = (held_word, arrays_held, lined_up_with, neighbour_at, _count_requests, trace_read, keep_read)
"""What kernels that read lists are bound to, see `backend.bind`."""
