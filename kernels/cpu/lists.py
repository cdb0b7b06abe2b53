"""What reading a neighbour list amounts to: counted always, written to the trace when one is asked for.

The tally counts edges, lists, requests of 32, 64, 96 and 128 bytes that a GPU warp reading the list 128 aligned bytes
at a time would send over the link, iterations, offers that do not fit into 32 bits to vertices that have nothing better
yet, and pages of 4 KiB.

The store's lists as kernels take them: always of the same types, so that each kernel is compiled once.

Numba compiles a function again for arrays of another type or layout. Weights that nobody reads would count, and so
would the number of vertices: a column of the store is strided, but NumPy calls one of a single entry contiguous.

Arrays that get longer inside compiled code.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import compiled, kernel
from grapin.graph.snapshot import Lists


@compiled
def grown(array: Any, needed: Any) -> Any:
    """Return an array with room for `needed` items that begins with the old ones."""
    larger = np.empty(max(np.int64(needed), 2 * array.size), array.dtype)
    for place in range(
        array.size
    ):  # a slice would have compiled what words its error, 37 functions of strings
        larger[place] = array[place]
    return larger


EDGES, LISTS, REQUESTS, ITERATIONS, OVERFLOWS, PAGES, TALLY_SIZE = 0, 1, 2, 6, 7, 8, 9
"""Places in a tally; `REQUESTS` is the first of four."""
TRACE_FIELDS = 5
"""Numbers a trace entry takes: iteration, twice the vertex plus one for in-lists, start, length, arrays read."""


@kernel
def count_list(tally: Any, start: Any, length: Any, arrays: int) -> None:
    """Count one list of `length` elements read from `arrays` parallel 4-byte arrays (ids, weights)."""
    tally[EDGES] += length
    if length == 0:
        return
    tally[LISTS] += 1
    first = start >> 3  # a sector of 32 bytes holds 8 elements, a page of 4 KiB 1024
    last = (start + length - 1) >> 3
    tally[PAGES] += arrays * (((start + length - 1) >> 10) - (start >> 10) + 1)
    if first >> 2 == last >> 2:
        tally[REQUESTS + last - first] += arrays
        return
    tally[REQUESTS + 3 - (first & 3)] += arrays
    tally[REQUESTS + 3] += arrays * ((last >> 2) - (first >> 2) - 1)
    tally[REQUESTS + (last & 3)] += arrays


@kernel
def write_trace(
    trace: Any, used: int, iteration: int, place: Any, start: Any, length: Any, arrays: int
) -> int:
    """Append one entry; the caller has made room. Return how much of the trace is used."""
    trace[used] = iteration
    trace[used + 1] = place
    trace[used + 2] = start
    trace[used + 3] = length
    trace[used + 4] = arrays
    return used + TRACE_FIELDS


@compiled
def keep_read(
    trace: Any, used: int, tally: Any, place: Any, start: Any, length: Any, arrays: int
) -> tuple[Any, int]:
    """Write down a list that was read, in the iteration that is being counted.

    Returns the trace, which may have grown, and how much of it is used. Callers ask first whether to trace: handing the
    trace over and back costs ten times what counting a list does.
    """
    if used + TRACE_FIELDS > trace.size:
        trace = grown(trace, used + TRACE_FIELDS)
    return trace, write_trace(trace, used, tally[ITERATIONS], place, start, length, arrays)


def new_tally() -> Any:
    """Return a tally with nothing counted."""
    return np.zeros(TALLY_SIZE, np.int64)


LEAST_VERTICES = 2
"""Columns have so many entries at least; what is kept beside them for each vertex needs as many."""
NO_WEIGHTS = np.empty(0, np.int32)
"""In place of weights that are not read."""
NO_WEIGHTS.flags.writeable = False  # as the store's own arrays are


def arrays_of(lists: Lists, *, weights: bool) -> tuple[NDArray[Any], ...]:
    """Return starts, degrees, neighbours and, where they are read, weights."""
    columns = _strided(lists.starts), _strided(lists.degrees)
    return *columns, lists.neighbours, lists.weights if weights else NO_WEIGHTS


def _strided(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column that is seen to be one: a shorter one gets vertices without edges."""
    if len(column) >= LEAST_VERTICES:
        return column
    longer = np.zeros((LEAST_VERTICES, 2), column.dtype)[:, 0]
    longer[: len(column)] = column
    longer.flags.writeable = False
    return longer
