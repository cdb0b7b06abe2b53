"""Races in shared memory: two threads touch a byte, one of them writes, and no barrier lies between.

Who touched a byte last is kept with the block's count of barriers and the warp's count of `bar.warp.sync`: accesses on
both sides of a barrier are in order, as are those of one warp on both sides of its own. Two atomics never race.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import kernel
from grapin.kernels.cuda.vgpu.effects import LANES, Effect

WRITER, READER, OTHER_READER = 0, 5, 10
"""Where in a byte's marks each begins: thread + 1, barriers, meetings, effect, whether atomic."""
MARKS = 15


class Shadow(NamedTuple):
    """Who touched shared memory last."""

    marks: NDArray[np.int32]
    """Place of a block, byte, mark; no blocks when nothing is watched."""
    barriers: NDArray[np.int64]
    """How many barriers each place's block has passed, from 1."""
    meetings: NDArray[np.int64]
    """How often the lanes of each warp have met, from 1."""


@kernel
def _in_order(shadow: Shadow, mark: Any, block: Any, warp: Any, thread: Any) -> Any:
    """Tell whether what a mark stands for came before the present access of a thread."""
    if mark[0] == 0 or mark[0] - 1 == thread or mark[1] != shadow.barriers[block]:
        return True
    return (mark[0] - 1) // LANES == thread // LANES and mark[2] < shadow.meetings[warp]


@kernel
def check_race(
    shadow: Shadow, block: Any, offset: Any, size: Any, warp: Any, lane: Any, kind: Any, effect: Any
) -> Any:
    """Note an access; return the effect that it races with, -1 for none."""
    thread = warp * LANES + lane
    atomic = kind == Effect.ATOMIC
    for byte in range(offset, offset + size):
        marks = shadow.marks[block, byte]
        last = marks[WRITER : WRITER + 5]
        if not (_in_order(shadow, last, block, warp, thread) or (atomic and last[4])):
            return np.int64(last[3])
        if kind != Effect.LOAD:
            for begin in (READER, OTHER_READER):
                reader = marks[begin : begin + 5]
                if not _in_order(shadow, reader, block, warp, thread):
                    return np.int64(reader[3])
        begin = READER if kind == Effect.LOAD else WRITER
        if kind == Effect.LOAD and marks[READER] != thread + 1:
            for place in range(5):
                marks[OTHER_READER + place] = marks[READER + place]
        marks[begin] = thread + 1
        marks[begin + 1] = shadow.barriers[block]
        marks[begin + 2] = shadow.meetings[warp]
        marks[begin + 3] = effect
        marks[begin + 4] = atomic
    return np.int64(-1)
