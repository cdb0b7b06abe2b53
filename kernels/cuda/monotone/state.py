"""The state of a monotone program on the device: words, what a batch does to them, and the queues rounds work from.

Everything a batch writes besides words is found again through the journal and undone after it, so that a small batch
costs little however many vertices there are.
"""

from typing import Any, NamedTuple

import numpy as np

from grapin.kernels.cuda.backend import Backend
from grapin.kernels.words import UNREACHED

NEAR, NEXT, FAR, OLD, LOST = 0, 2, 4, 6, 8
"""Places in `control` where a queue begins and, one further, ends: vertices of this round, of the next round, of later
ones, those of later ones that are being sorted anew, and the vertices that this round lost."""
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
    """The last round for which a vertex was queued, so that none is queued twice."""
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
        stamps=backend.full(room, 0, np.int32),
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
