"""How the lists of a trace become requests: a stream of codes in bounded memory, the same for every level of the model.

A warp asks for the 32-byte sectors it needs of one 128-byte line in one request. What a request costs depends on how
many sectors those are and with which it begins, so a code says both: `4 * first + sectors - 1`. `BARRIER` follows the
last request of an iteration: the next iteration's requests wait for all before it.

Where the weights are read too they are a second array: each line is asked for once of either.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import compiled
from grapin.errors import InvalidArgument
from grapin.trace import Trace

KINDS = 16
"""Codes of requests are below it; those of four sectors that begin in the middle do not occur."""
BARRIER = KINDS
CAPACITY = 1 << 16
"""So many codes are made at a time, whatever the trace's length."""

LINE = 128
SECTOR = 32


class Block(NamedTuple):
    """A stretch of the stream."""

    codes: NDArray[np.uint8]
    """Valid until the next block is asked for."""
    last_rows: NDArray[np.int64]
    """For each barrier among the codes, the last row of the trace that belongs to its iteration."""


def first_sector(code: int) -> int:
    """Return with which sector of its line a request begins."""
    return code >> 2


def request_bytes(code: int) -> int:
    """Return how many bytes a request asks for."""
    return SECTOR * ((code & 3) + 1)


def requests(
    trace: Trace, *, aligned: bool = True, held: NDArray[np.bool_] | None = None, capacity: int = CAPACITY
) -> Iterator[Block]:
    """Yield the requests of all lists read, iteration by iteration.

    `held` marks rows whose list the device has a copy of: they ask for nothing. `aligned=False` is a warp that starts
    at a list's first element rather than at the line it lies in (see `grapin.counters.count_reads`).
    """
    reads, rows = trace.reads, len(trace)
    if held is None:
        held = np.zeros(0, np.bool_)
    elif len(held) != rows:
        raise InvalidArgument(f"held has {len(held)} rows and must have one for each of the {rows} reads")
    codes = np.empty(capacity, np.uint8)
    ends = np.empty(capacity, np.int64)
    row = element = 0
    while row < rows:
        row, element, used, barriers = _expand(
            reads["phase"],
            reads["iteration"],
            reads["start"],
            reads["length"],
            reads["arrays"],
            held,
            aligned,
            row,
            element,
            codes,
            ends,
        )
        yield Block(codes[:used], ends[:barriers])


@compiled
def _expand(
    phases: Any,
    iterations: Any,
    starts: Any,
    lengths: Any,
    arrays: Any,
    held: Any,
    aligned: Any,
    row: Any,
    element: Any,
    codes: Any,
    ends: Any,
) -> tuple[int, int, int, int]:
    """Write codes from `element` of list `row` on until the block is full or the trace ends.

    Returns where to go on, how many codes there are, and how many of them are barriers.
    """
    used = 0
    barriers = 0
    rows = starts.size
    room = codes.size - 4  # a step of a warp is at most two requests of two arrays
    while row < rows and used <= room:
        start = np.int64(starts[row])
        end = start + lengths[row]
        position = start + element
        if held.size and held[row]:
            position = end
        while position < end and used <= room:
            # A warp's step ends with the line, or, where it does not align itself, 32 elements on.
            step = min(end, (position | 31) + 1 if aligned else position + 32)
            for _ in range(arrays[row]):
                line_end = min(step, (position | 31) + 1)
                codes[used] = _code(position, line_end)
                used += 1
                if line_end < step:
                    codes[used] = _code(line_end, step)
                    used += 1
            position = step
        element = position - start
        if position < end or used >= codes.size:
            break
        if row + 1 == rows or phases[row + 1] != phases[row] or iterations[row + 1] != iterations[row]:
            codes[used] = BARRIER
            ends[barriers] = row
            used += 1
            barriers += 1
        row += 1
        element = 0
    return row, element, used, barriers


@compiled
def _code(first: Any, end: Any) -> Any:
    """Return the code of a request for elements of one line; a sector holds eight of them."""
    sector = (first >> 3) & 3
    return 4 * sector + (((end - 1) >> 3) & 3) - sector
