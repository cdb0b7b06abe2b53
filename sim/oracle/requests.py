"""How the lists of a trace become requests: what a warp asks for, step by step.

A warp reads a list 128 bytes a step and waits for what it asked for before it goes on. In a step it asks for the
32-byte sectors it needs of one 128-byte line in one request; where the weights are read too they are a second array,
which it asks for in the same step. What a request costs depends on how many sectors it is for and with which it begins,
so its code says both: `4 * first + sectors - 1`.

A list is one warp's, so its steps follow each other by a round trip. A long one would take forever that way: beyond
`alone` elements any warp that is free takes the next step of it.

This is how the event model makes requests; the fast replay makes the same ones in compiled code.
"""

from collections.abc import Iterator
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grapin.sim.stations import CAPACITY
from grapin.trace import Trace
from grapin.validation import check_integer


class Piece(NamedTuple):
    """A part of a list that one warp reads: elements from `start` to `end`, of so many arrays."""

    start: int
    end: int
    arrays: int


class Reading(NamedTuple):
    """One iteration."""

    last_row: int
    """The last row of the trace that belongs to it."""
    pieces: Iterator[Piece]
    """What its warps read, in the order in which they take it up; to be used up before the next iteration's."""


def steps(piece: Piece, *, aligned: bool) -> Iterator[list[int]]:
    """Yield the codes of each step of a warp.

    A step ends with a line; if warps are not `aligned`, it is 32 elements from the start on, mostly in two lines.
    """
    position = piece.start
    while position < piece.end:
        step_end = _step_end(position, piece.end, aligned=aligned)
        line_end = min(step_end, (position | 31) + 1)
        codes = [_code(position, line_end)]
        if line_end < step_end:
            codes.append(_code(line_end, step_end))
        yield codes * piece.arrays
        position = step_end


def readings(trace: Trace, held: NDArray[np.bool_], *, aligned: bool, alone: int) -> Iterator[Reading]:
    """Yield the iterations of a trace in turn; rows that are `held` are left out of what is read."""
    check_integer("alone", alone, least=0)
    phase, iteration = trace.reads["phase"], trace.reads["iteration"]
    begin = 0
    while begin < len(trace):
        end = begin + 1
        while end < len(trace) and iteration[end] == iteration[begin] and phase[end] == phase[begin]:
            end += 1
        yield Reading(end - 1, _pieces(trace.reads, held, begin, end, aligned, alone))
        begin = end


def _pieces(
    reads: dict[str, NDArray[Any]], held: NDArray[np.bool_], begin: int, end: int, aligned: bool, alone: int
) -> Iterator[Piece]:
    for first in range(begin, end, CAPACITY):
        rows = slice(first, min(end, first + CAPACITY))
        columns = (reads[name][rows].tolist() for name in ("start", "length", "arrays"))
        skipped = held[rows].tolist() if held.size else repeat(False)
        for start, length, arrays, here in zip(*columns, skipped, strict=False):
            if here or not length or not arrays:
                continue
            if length <= alone:
                yield Piece(start, start + length, arrays)
                continue
            position = start
            while position < start + length:
                step_end = _step_end(position, start + length, aligned=aligned)
                yield Piece(position, step_end, arrays)
                position = step_end


def _step_end(position: int, end: int, *, aligned: bool) -> int:
    return min(end, (position | 31) + 1 if aligned else position + 32)


def _code(first: int, end: int) -> int:
    """Return the code of a request for elements of one line; a sector holds eight of them."""
    sector = (first >> 3) & 3
    return 4 * sector + (((end - 1) >> 3) & 3) - sector
