"""Reading the lists of many vertices at once: by one lane, by a warp, or by blocks, as long as each list is.

A warp takes a group of vertices, and each of its lanes looks one of them up. Lists of one sector are read by that lane.
Longer ones are read by the whole warp, one after the other: the lane that looked a list up broadcasts where it lies and
what the device holds of it, and the warp reads 128 aligned bytes at a time, lanes before its start and behind its end
idle. What goes beyond `LONG` elements is left to `walk_long`, in which blocks take turns over each list.

What is done with an edge is up to the names `begin`, `visit`, `finish`, `enough` and `done`, bound for each use.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from numba import cuda

from grapin.kernels.cuda.backend import Backend, bind, bind_functions
from grapin.kernels.cuda.lists import FUNCTIONS as LIST_FUNCTIONS
from grapin.kernels.cuda.lists import (
    LONG_LISTS,
    NOT_HELD,
    DeviceLists,
    Reading,
    held_word,
    keep_read,
    lined_up_with,
    neighbour_at,
    stored_weight,
    unit_weight,
)
from grapin.kernels.cuda.warp import (
    LINE,
    WARP,
    any_lane,
    ballot,
    broadcast,
    first_lane,
    lane_id,
    warp_minimum,
)
from grapin.kernels.rules import UNREACHED

SHORT: int = 8
"""Up to so many elements a list is read by one lane: they lie in one 32-byte sector, one request whoever reads it."""
LONG: int = 2048
"""Beyond so many elements blocks take over: one warp would wait for request after request."""
ARRAYS: int = 1
"""How many arrays are read: neighbours, and weights where they are looked at."""
REDUCES: bool = False
"""Whether lanes find words of which the smallest is wanted by `finish`."""
STOPS: bool = False
"""Whether a list is read only until there is `enough`, as far as one warp reads it."""


def begin(state: Any, vertex: Any) -> Any:
    """Return what visits of one list have in common, such as the key of its vertex."""
    raise NotImplementedError


def visit(state: Any, vertex: Any, value: Any, other: Any, weight: Any, inside: Any, found: Any) -> Any:
    """Look at one neighbour; all lanes of a warp come at once, those that are not `inside` without a neighbour.

    Returns what this lane has found in the list so far.
    """
    raise NotImplementedError


def enough(value: Any, found: Any) -> Any:
    """Tell whether a list need not be read any further."""
    raise NotImplementedError


def done(state: Any, vertex: Any) -> Any:
    """Tell whether another list of the vertex brought enough."""
    raise NotImplementedError


def finish(state: Any, vertex: Any, found: Any) -> None:
    """Take the smallest word found in a list or in a part of it; one lane comes."""
    raise NotImplementedError


def weight_at(lists: DeviceLists, start: Any, held: Any, index: Any) -> Any:
    """Return one weight of a list."""
    raise NotImplementedError


def leave_to_blocks(reading: Reading, vertex: Any) -> None:
    """Let `walk_long` read what is left of a vertex's list."""
    reading.long_lists[cuda.atomic.add(reading.progress, LONG_LISTS, np.int64(1))] = vertex


def walk(
    state: Any, reading: Reading, lists: DeviceLists, inward: Any, items: Any, bounds: Any, slot: Any
) -> None:
    """Visit the lists of the vertices `items[bounds[slot] : bounds[slot + 1]]`, of which there are no two alike."""
    lane = lane_id()
    warps = cuda.gridsize(1) // WARP
    first, last = bounds[slot], bounds[slot + 1]
    # With few vertices, each warp takes one: the more warps read, the more requests are under way.
    width = min(np.int64(WARP), (last - first + warps - 1) // warps)
    place = first + cuda.grid(1) // WARP * width
    while place < last:
        mine = lane < width and place + lane < last
        vertex = np.int32(0)
        start, degree, held = np.int64(0), np.int64(0), np.int64(NOT_HELD)
        if mine:
            vertex = items[place + lane]
            start, degree = lists.starts[vertex], np.int64(lists.degrees[vertex])
            held = held_word(lists, vertex)
            if STOPS and done(state, vertex):
                degree = np.int64(0)
        value = begin(state, vertex)
        _walk_alone(state, reading, lists, inward, vertex, value, start, degree, held)
        _walk_together(state, reading, lists, inward, vertex, value, start, degree, held)
        if not STOPS and degree > LONG:
            leave_to_blocks(reading, vertex)
        place += warps * width


def _walk_alone(
    state: Any,
    reading: Reading,
    lists: DeviceLists,
    inward: Any,
    vertex: Any,
    value: Any,
    start: Any,
    degree: Any,
    held: Any,
) -> None:
    """Let each lane read the list of its own vertex, if it is short."""
    alone = 0 < degree <= SHORT
    found = UNREACHED
    step = np.int64(0)
    stopped = False
    while any_lane(alone and step < degree and not stopped):
        inside = alone and step < degree and not stopped
        other, weight = np.int32(0), 0
        if inside:
            other = neighbour_at(lists, start, held, step)
            weight = weight_at(lists, start, held, step)
            step += 1
        found = visit(state, vertex, value, other, weight, inside, found)
        if STOPS:
            stopped = stopped or (inside and enough(value, found))
    if alone:
        if REDUCES:
            finish(state, vertex, found)
        keep_read(reading, 2 * np.int64(vertex) + inward, start, step, ARRAYS, held)


def _walk_together(
    state: Any,
    reading: Reading,
    lists: DeviceLists,
    inward: Any,
    vertex: Any,
    value: Any,
    start: Any,
    degree: Any,
    held: Any,
) -> None:
    """Let the warp read the lists that its lanes looked up, one after the other, as far as a warp reads."""
    lane = lane_id()
    waiting = ballot(degree > SHORT and (STOPS or degree <= LONG))
    while waiting != 0:
        leader = first_lane(waiting)
        waiting &= waiting - np.uint32(1)
        of, common = broadcast(vertex, leader), broadcast(value, leader)
        origin, copied = broadcast(start, leader), broadcast(held, leader)
        whole = broadcast(degree, leader)
        length = min(whole, np.int64(LONG))
        begins = -(lined_up_with(origin, copied, ARRAYS) % LINE)
        line = begins
        if LINE > WARP:  # lanes that are fewer than a line's begin where the list does
            line += -begins // WARP * WARP
        found = UNREACHED
        going, satisfied = True, False
        while going:
            at = line + lane
            inside = 0 <= at < length
            other, weight = np.int32(0), 0
            if inside:
                other = neighbour_at(lists, origin, copied, at)
                weight = weight_at(lists, origin, copied, at)
            found = visit(state, of, common, other, weight, inside, found)
            line += WARP
            going = line < length
            # A line that is begun is read to its end, also by fewer lanes than it has elements.
            if STOPS and (LINE <= WARP or not going or (line - begins) % LINE == 0):
                satisfied = any_lane(enough(common, found))
                going = going and not satisfied
        if REDUCES:
            found = warp_minimum(found)
        if lane == leader:
            if REDUCES:
                finish(state, of, found)
            if STOPS and whole > LONG and not satisfied:
                leave_to_blocks(reading, of)
            keep_read(reading, 2 * np.int64(of) + inward, origin, min(line, length), ARRAYS, copied)


def walk_long(state: Any, reading: Reading, lists: DeviceLists, inward: Any) -> None:
    """Visit the long lists that `walk` left: piece by piece, a piece being one line for each warp of a block."""
    lane, warps = lane_id(), cuda.blockDim.x // WARP
    for index in range(reading.progress[LONG_LISTS]):
        vertex = reading.long_lists[index]
        start, degree, held = lists.starts[vertex], np.int64(lists.degrees[vertex]), held_word(lists, vertex)
        value = begin(state, vertex)
        skipped = np.int64(LONG if STOPS else 0)
        line = skipped - (lined_up_with(start, held, ARRAYS) + skipped) % WARP
        # Another block begins each list, so that the first pieces of many lists are not all left to the same one.
        piece = (cuda.blockIdx.x + index) % cuda.gridDim.x
        line += (np.int64(piece) * warps + cuda.threadIdx.x // WARP) * WARP
        found = UNREACHED
        while line < degree:
            at = line + lane
            inside = skipped <= at < degree
            other, weight = np.int32(0), 0
            if inside:
                other = neighbour_at(lists, start, held, at)
                weight = weight_at(lists, start, held, at)
            found = visit(state, vertex, value, other, weight, inside, found)
            line += cuda.gridDim.x * warps * WARP
        if REDUCES:
            found = warp_minimum(found)
            if lane == 0 and found != UNREACHED:
                finish(state, vertex, found)
        if cuda.grid(1) == 0:
            place = 2 * np.int64(vertex) + inward
            keep_read(reading, place, start + skipped, degree - skipped, ARRAYS, held)


def walk_at_once(
    state: Any, reading: Reading, lists: DeviceLists, inward: Any, items: Any, bounds: Any, slot: Any
) -> None:
    """Do both in one launch, where whoever chose the vertices has told long lists apart."""
    walk(state, reading, lists, inward, items, bounds, slot)
    walk_long(state, reading, lists, inward)


def leave_nothing(reading: Reading, vertex: Any) -> None:
    """Stand in for `leave_to_blocks` where long lists are known beforehand."""


FUNCTIONS = (leave_to_blocks, _walk_alone, _walk_together)
"""What `walk` is bound to besides the names above and those of `lists.py`."""
KERNELS = (walk, walk_long, walk_at_once)


def bind_walk(
    backend: Backend,
    variant: str,
    *,
    weights: bool,
    cached: bool,
    STOPS: bool = False,
    make_walk: Callable[..., Any] | None = None,
    **names: Any,
) -> SimpleNamespace:
    """Return the two kernels, how many arrays they read (`arrays`), and whether they may stop early (`peeks`).

    `make_walk` makes another first kernel, which leaves no list to the second.
    """
    names |= {"LEAVES": not STOPS, "STOPS": STOPS}
    bound = _bind_lists(backend, weights=weights, cached=cached, **names)
    kernels = bind(backend, variant, functions=FUNCTIONS, kernels=(walk, walk_long), **bound)
    first = kernels.walk if make_walk is None else make_walk(backend, variant, **bound)
    return SimpleNamespace(walk=first, walk_long=kernels.walk_long, arrays=bound["ARRAYS"], peeks=STOPS)


def bind_walk_at_once(backend: Backend, variant: str, *, weights: bool, cached: bool, **names: Any) -> Any:
    """Return the kernel for vertices whose long lists are known beforehand."""
    bound = _bind_lists(backend, weights=weights, cached=cached, **names)
    bound = bind_functions(backend, (leave_nothing, _walk_alone, _walk_together), **bound)
    bound["leave_to_blocks"] = bound["leave_nothing"]
    return bind(backend, variant, functions=(walk, walk_long), kernels=(walk_at_once,), **bound).walk_at_once


def _bind_lists(backend: Backend, *, weights: bool, cached: bool, **names: Any) -> dict[str, Any]:
    weight = stored_weight if weights else unit_weight
    names |= {"CACHED": cached, "ARRAYS": 2 if weights else 1}
    bound = bind_functions(backend, (*LIST_FUNCTIONS, weight), **names)
    bound["weight_at"] = bound[weight.__name__]
    return bound
