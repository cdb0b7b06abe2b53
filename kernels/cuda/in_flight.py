"""Many lists in flight on the one lane of `onelane`: they take turns, as the warps of a GPU do.

Values are updated in place, so what a list's vertex pushes depends on what other lists pushed before: one list after
the other reads half to all of what a GPU reads, whose warps are all under way. So the lane stands for one warp after
the other. Blocks enter in the order of their vertices' ids, as many as are in flight at once; a turn of a warp looks up
the next list or goes on with the one at hand, and visits as many elements as a warp has lanes. Which instructions of a
turn come first on a GPU is chance, and so is the rest.
"""

from typing import Any

import numpy as np

from grapin.kernels.cuda.backend import Backend, bind
from grapin.kernels.cuda.lists import (
    DeviceLists,
    Reading,
    held_word,
    keep_read,
    neighbour_at,
    trace_read,
)
from grapin.kernels.cuda.walk import ARRAYS, begin, visit, weight_at
from grapin.kernels.cuda.warp import LINE
from grapin.kernels.rules import UNREACHED

BLOCKS: int = 1
WARPS: int = 1
LISTS: int = 1
AHEAD: bool = False
"""Whether a warp looks at the keys of all its vertices before it reads the first list."""
ABANDONS: bool = False
"""Whether a list is left when its vertex has got another key."""
EARLY: bool = False
"""Whether a list without elements is traced: a warp that loads from the line a list begins in loads those before it."""
REREADS: bool = False
"""Whether a warp looks at the key of its vertex again with every line."""
NEXT, STOP, AT, FIELDS = 0, 1, 2, 3
"""What is known of a warp: which of the queue it reads next, and where it stops; how far it is in its list, or -1."""


def take_turn(
    state: Any,
    reading: Reading,
    lists: DeviceLists,
    inward: Any,
    items: Any,
    warp: Any,
    keys: Any,
    index: Any,
) -> Any:
    """Let a warp look at one more line of its list, or of the next one; tell whether it has more to read."""
    while warp[NEXT] < warp[STOP]:
        vertex = items[warp[NEXT]]
        start, degree = lists.starts[vertex], np.int64(lists.degrees[vertex])
        held = held_word(lists, vertex)
        slot = index * LISTS + warp[NEXT] % LISTS
        if warp[AT] < 0:
            if not AHEAD:
                keys[slot] = begin(state, vertex)
            warp[AT] = 0
        if warp[AT] >= degree or (ABANDONS and begin(state, vertex) != keys[slot]):
            place = 2 * np.int64(vertex) + inward
            keep_read(reading, place, start, warp[AT], ARRAYS, held)
            if EARLY and warp[AT] == 0:
                trace_read(reading, place, start, warp[AT], ARRAYS)
            warp[NEXT] += 1
            warp[AT] = -1
            continue
        if REREADS:
            keys[slot] = begin(state, vertex)
        end = min(degree, warp[AT] + LINE - (start + warp[AT]) % LINE)
        for at in range(warp[AT], end):
            other = neighbour_at(lists, start, held, at)
            weight = weight_at(lists, start, held, at)
            visit(state, vertex, keys[slot], other, weight, True, UNREACHED)
        warp[AT] = end
        return True
    return False


def walk_in_flight(
    warps: Any,
    keys: Any,
    resident: Any,
    state: Any,
    reading: Reading,
    lists: DeviceLists,
    inward: Any,
    items: Any,
    bounds: Any,
    slot: Any,
) -> None:
    """Visit the lists of the ascending vertices `items[bounds[slot] : bounds[slot + 1]]`, many at once.

    The first three arrays are room for what is known of the warps in flight, and of which blocks they are.
    """
    place, last = bounds[slot], bounds[slot + 1]
    for block in range(BLOCKS):
        resident[block] = block
    count = turn = 0
    while count > 0 or place < last:
        while count < BLOCKS and place < last:
            first = resident[count] * WARPS
            block = items[place] // (WARPS * LISTS)
            for index in range(first, first + WARPS):
                warps[index, NEXT], warps[index, AT] = place, -1
                most = (block * WARPS + index - first + 1) * LISTS
                while place < last and items[place] < most:
                    if AHEAD:
                        keys[index * LISTS + place % LISTS] = begin(state, items[place])
                    place += 1
                warps[index, STOP] = place
            count += 1
        if turn >= count:
            turn = 0
        first = resident[turn] * WARPS
        going = False
        for index in range(first, first + WARPS):
            more = take_turn(state, reading, lists, inward, items, warps[index], keys, index)
            going = going or more
        if going:
            turn += 1
        else:  # its place goes to the next block, behind those that are there
            count -= 1
            for other in range(turn, count):
                resident[other] = resident[other + 1]
            resident[count] = first // WARPS


def bind_in_flight(
    backend: Backend, variant: str, *, BLOCKS: int, WARPS: int, LISTS: int, **names: Any
) -> Any:
    """Return what is launched in the place of `walk`, with these names bound."""
    names |= {"BLOCKS": BLOCKS, "WARPS": WARPS, "LISTS": LISTS}
    bound = bind(backend, variant, functions=(take_turn,), kernels=(walk_in_flight,), **names)
    room = (
        np.empty((BLOCKS * WARPS, FIELDS), np.int64),
        np.empty(BLOCKS * WARPS * LISTS, np.int64),
        np.empty(BLOCKS, np.int64),
    )

    def launched(
        state: Any, reading: Reading, lists: DeviceLists, inward: Any, items: Any, bounds: Any, slot: Any
    ) -> None:
        items[bounds[slot] : bounds[slot + 1]].sort()
        bound.walk_in_flight(*room, state, reading, lists, inward, items, bounds, slot)

    return launched
