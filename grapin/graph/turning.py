"""Turning arcs round: from the order of one direction's lists to the order of the other's.

Arcs that come sorted by owner and neighbour leave sorted by neighbour and owner. They are dealt out by one digit of
the neighbour after another, the last digit first, each time keeping the order they had. This takes as many passes as
the largest vertex has digits, two for a million vertices, where comparing takes one for each doubling of the batch.
"""

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import inlined, kernel
from grapin.graph.packed import Column, Patterns, Positions, wide

_DIGIT_BITS = 11  # counts for one digit, 16 KiB, stay in the cache nearest to the processor
_DIGITS = 1 << _DIGIT_BITS


def turned(
    owner: Column, neighbour: Column, weights: Patterns, bound: int
) -> tuple[Column, Column, Patterns, Positions]:
    """Return the columns of arcs between vertices below `bound` turned round, and an array with room for positions."""
    count = len(owner)
    columns = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(len(weights), np.int32)
    keys, room = np.empty(count, np.int64), np.empty(count, np.int64)
    _turn((owner, neighbour, weights), columns, keys, room, np.empty(_DIGITS, np.int64), bound)
    return (*columns, room)


@kernel
def _turn(
    arcs: tuple[Column, Column, Patterns],
    columns: tuple[Column, Column, Patterns],
    keys: Positions,
    dealt: Positions,
    places: NDArray[np.int64],
    bound: int,
) -> None:
    owner, neighbour, weights = arcs
    for row in range(len(keys)):
        keys[row] = (wide(neighbour[row]) << 32) | row  # the row travels in the lower half
    shift = 32
    while (bound - 1) >> (shift - 32) > 0:
        _deal(keys, dealt, shift, places)
        keys, dealt = dealt, keys
        shift += _DIGIT_BITS
    for place in range(len(keys)):
        row = keys[place] & 0xFFFFFFFF
        columns[0][place] = neighbour[row]
        columns[1][place] = owner[row]
        if len(weights):
            columns[2][place] = weights[row]


@inlined
def _deal(keys: Positions, dealt: Positions, shift: int, places: NDArray[np.int64]) -> None:
    """Write keys in the order of one digit, keys of equal digits in the order they have."""
    places[:] = 0
    for key in keys:
        places[(key >> shift) & (_DIGITS - 1)] += 1
    before = 0
    for digit in range(_DIGITS):
        count = places[digit]
        places[digit] = before
        before += count
    for key in keys:
        digit = (key >> shift) & (_DIGITS - 1)
        dealt[places[digit]] = key
        places[digit] += 1
