"""Queues of vertices: who is looked at in this round, in the next one, and later, near keys before far ones.

A vertex whose key is at most the threshold is queued for the next round, any other waits among the far ones. When no
near ones are left, the threshold moves beyond the best far key, and the far ones are sorted again. So good keys spread
first, and few vertices are looked at twice; in no order at all, a road network reads its lists sixteen times over. How
far the threshold moves adapts to how many vertices that brings: enough to keep the device busy, not many more.

The numbers that steer this stay on the device.

The state of a monotone program on the device: words, what a batch does to them, and the queues rounds work from.

Everything a batch writes besides words is found again through the journal and undone after it, so that a small batch
costs little however many vertices there are.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from grapin.kernels.cuda.backend import Backend
from grapin.kernels.cuda.lists import ITERATION, Reading
from grapin.kernels.cuda.warp import any_lane, ballot, broadcast, first_lane, lane_id, lanes_before
from grapin.kernels.rules import SHIFT, UNREACHED

NEAR, NEXT, FAR, OLD, LOST = 0, 2, 4, 6, 8
"""Places in `control` where a queue begins and, one further, ends: vertices of this round, of the next round, of later
ones, those of later ones that are being sorted again, and the vertices that this round lost."""
THRESHOLD, PASSED, BEST, DELTA, ROUND = 10, 11, 12, 13, 14
"""Further places: up to which key vertices are near; up to which they were before; the least key that may be far; by
how much the threshold moves beyond it; the number of this round."""
JOURNAL, INVALIDATED, CHANGED, AFFECTED, OVERFLOWS, CONTROL_SIZE = 15, 16, 17, 18, 19, 20
"""What is counted for each batch: vertices in the journal, vertices that lost their value, and what `close` counts."""

LOGGED, KNOWN, LOST_MARK, PUSHES, AHEAD, FAR_MARK, TOO_FAR, OPEN = (np.uint32(1 << bit) for bit in range(8))
"""Marks: the vertex is in the journal; its old key is final there; it lost its value; it must offer its new one to a
lost neighbour; it improved while it was corrected; it waits among the far ones; it was offered what does not fit into
32 bits; what it was offered was not all looked at."""


class State(NamedTuple):
    """Arrays on the device, by vertex unless they say otherwise."""

    words: Any
    marks: Any
    stamps: Any
    """The last round for which a vertex was queued, so that none is queued twice. Rounds are counted for as long as the
    engine lives, which 32 bits are too few for."""
    old_keys: Any
    """The key of a vertex before the batch, where it is in the journal; otherwise 0."""
    offers: Any
    """The best offer to a vertex that has lost its support, as a word; otherwise `UNREACHED`."""
    journal: Any
    """The vertices a batch touched."""
    near: Any
    """Two queues, each half of it: the vertices of this round and of the next one."""
    far: Any
    """Two queues, each half of it: vertices that wait, and room to write them to while they are sorted."""
    lost: Any
    """The vertices that lost their value, in the order of rounds."""
    control: Any
    """Numbers that steer rounds, so that the host need not look at each of them."""
    roots: Any
    """The program's sources, ascending."""
    root_keys: Any


def new_state(backend: Backend, room: int, control: Any, roots: Any, root_keys: Any) -> State:
    """Return the state of vertices below `room`, none of which is reached."""
    return State(
        words=backend.full(room, UNREACHED, np.uint64),
        marks=backend.full(room, 0, np.uint32),
        stamps=backend.full(room, 0, np.int64),
        old_keys=backend.full(room, 0, np.uint32),
        offers=backend.full(room, UNREACHED, np.uint64),
        journal=backend.empty(room, np.int32),
        near=backend.empty(2 * room, np.int32),
        far=backend.empty(2 * room, np.int32),
        lost=backend.empty(room, np.int32),
        control=control,
        roots=roots,
        root_keys=root_keys,
    )


WIDEST = 1 << 32
"""Beyond any key."""


def append(items: Any, control: Any, slot: Any, flag: Any, vertex: Any) -> None:
    """Append the vertices of the lanes whose flag is up, with one atomic step for the warp; all lanes come."""
    mask = ballot(flag)
    if mask != 0:
        leader = first_lane(mask)
        end = np.int64(0)
        if lane_id() == leader:
            end = cuda.atomic.add(control, slot, np.int64(cuda.popc(mask)))
        end = broadcast(end, leader)
        if flag:
            items[end + lanes_before(mask, lane_id())] = vertex


def log(state: State, flag: Any, vertex: Any, key: Any) -> None:
    """Write down the key that the vertices of flagged lanes had before the batch, once for each; all lanes come."""
    fresh = False
    if flag:
        fresh = cuda.atomic.or_(state.marks, vertex, LOGGED | KNOWN) & LOGGED == 0
        if fresh:
            state.old_keys[vertex] = np.uint32(key)
    append(state.journal, state.control, JOURNAL, fresh, vertex)


def enqueue(state: State, flag: Any, vertex: Any, key: Any) -> None:
    """Queue the vertices of flagged lanes for the next round or for later, none of them twice; all lanes come."""
    near, far = False, False
    if flag:
        if key <= state.control[THRESHOLD]:
            following = state.control[ROUND] + np.int64(1)
            near = cuda.atomic.max(state.stamps, vertex, following) < following
        else:
            far = cuda.atomic.or_(state.marks, vertex, FAR_MARK) & FAR_MARK == 0
            if key < state.control[BEST]:
                cuda.atomic.min(state.control, BEST, np.int64(key))
    append(state.near, state.control, NEXT + 1, near, vertex)
    append(state.far, state.control, FAR + 1, far, vertex)


def restart(state: State, threshold: Any) -> None:
    """Empty all queues; keys up to the threshold will be near."""
    control = state.control
    if cuda.grid(1) == 0:
        control[INVALIDATED] += control[LOST + 1]
        for slot in (NEAR, OLD, LOST):
            control[slot], control[slot + 1] = 0, 0
        control[NEXT], control[NEXT + 1] = state.words.size, state.words.size
        control[FAR], control[FAR + 1] = 0, 0
        control[THRESHOLD], control[PASSED], control[BEST] = threshold, threshold, WIDEST
        control[DELTA] = max(control[DELTA], 1)


def advance(state: State, reading: Reading, wanted: Any) -> None:
    """End a round: the next queue becomes the near one; when it is empty, the far ones are to be sorted."""
    if cuda.grid(1) != 0:
        return
    control, room = state.control, state.words.size
    taken = control[NEAR + 1] - control[NEAR]
    if taken > 0:
        reading.progress[ITERATION] += 1
    if control[OLD + 1] > control[OLD]:  # this round's vertices are those that the last threshold brought
        if taken < wanted:
            control[DELTA] = min(2 * control[DELTA], WIDEST)
        elif taken > 8 * wanted:
            control[DELTA] = max(control[DELTA] >> 1, 1)
    control[NEAR], control[NEAR + 1] = control[NEXT], control[NEXT + 1]
    control[NEXT] = room - control[NEAR]
    control[NEXT + 1] = control[NEXT]
    control[ROUND] += 1
    control[LOST] = control[LOST + 1]
    control[OLD], control[OLD + 1] = 0, 0
    if control[NEAR] == control[NEAR + 1] and control[FAR] < control[FAR + 1]:
        control[OLD], control[OLD + 1] = control[FAR], control[FAR + 1]
        control[FAR] = room - control[FAR]
        control[FAR + 1] = control[FAR]
        control[PASSED] = control[THRESHOLD]
        control[THRESHOLD] = control[BEST] + control[DELTA]
        control[BEST] = WIDEST


def split(state: State) -> None:
    """Sort far vertices by the new threshold: into this round, back among the far ones, or out, if they had a round."""
    control = state.control
    first, last = control[OLD], control[OLD + 1]
    place = first + cuda.grid(1)
    while any_lane(place < last):
        vertex, key = np.int32(0), np.int64(0)
        near, far = False, False
        if place < last:
            vertex = state.far[place]
            key = np.int64(state.words[vertex] >> SHIFT)
            far = key > control[THRESHOLD]
            if far:
                cuda.atomic.min(control, BEST, key)
            else:
                cuda.atomic.and_(state.marks, vertex, ~FAR_MARK)
                current = control[ROUND]
                near = key > control[PASSED] and cuda.atomic.max(state.stamps, vertex, current) < current
        append(state.near, control, NEAR + 1, near, vertex)
        append(state.far, control, FAR + 1, far, vertex)
        place += cuda.gridsize(1)


FUNCTIONS = (append, log, enqueue)
KERNELS = (restart, advance, split)
