"""What reading a neighbour list amounts to: counted always, written to the trace when one is asked for.

The tally holds, by index: edges, lists, then requests of 32, 64, 96 and 128 bytes that a GPU warp reading the list
128 aligned bytes at a time would send over the link, iterations, offers outside 32 bits, and pages of 4 KiB.
"""

from typing import Any

from grapin.compiled import compiled

EDGES, LISTS, REQUESTS, ITERATIONS, OVERFLOWS, PAGES, TALLY_SIZE = 0, 1, 2, 6, 7, 8, 9
TRACE_FIELDS = 4
"""Numbers a trace entry takes: iteration, twice the vertex plus one for in-lists, start, length."""


@compiled
def count_list(tally: Any, start: int, length: int, arrays: int) -> None:
    """Count one list of `length` elements read from `arrays` parallel 4-byte arrays (ids, weights)."""
    tally[0] += length
    if length == 0:
        return
    tally[1] += 1
    first = start >> 3  # 32-byte sectors hold 8 elements
    last = (start + length - 1) >> 3
    tally[8] += arrays * (((start + length - 1) >> 10) - (start >> 10) + 1)
    if first >> 2 == last >> 2:
        tally[2 + last - first] += arrays
        return
    tally[2 + 3 - (first & 3)] += arrays
    tally[2 + 3] += arrays * ((last >> 2) - (first >> 2) - 1)
    tally[2 + (last & 3)] += arrays


@compiled
def write_trace(trace: Any, used: int, iteration: int, place: int, start: int, length: int) -> int:
    """Append one entry; the caller has made room. Return how much of the trace is used."""
    trace[used] = iteration
    trace[used + 1] = place
    trace[used + 2] = start
    trace[used + 3] = length
    return used + 4
