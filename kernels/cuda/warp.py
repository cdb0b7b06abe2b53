"""What the lanes of a warp do together, and what Numba's simulator lacks; always all lanes of a warp, or none.

Kernels import these names; on a GPU they mean what is written here, and the simulator binds its own in their place
(`simulator.py`). There are no masks: a kernel whose lanes part ways brings them together before it calls one of these.
The names that Numba's simulator knows (`cuda.grid`, `cuda.atomic`, `cuda.popc`, ...) are used as they are.
"""

from typing import Any

import numpy as np
from numba import cuda

from grapin.kernels.cuda.compiled import device_function

WARP = 32
"""Lanes of a warp."""
LINE = WARP
"""Elements of a 128-byte line, which a warp reads at once; also where kernels run as another number of lanes."""
FULL = np.uint32(0xFFFFFFFF)


@device_function
def lane_id() -> Any:
    """Return the lane's place in its warp, in blocks of one dimension.

    Not Numba's `laneid`: the compiler takes that for a value that all lanes share. Where a loop around a warp operation
    asks for it, it writes one loop for lane 0 and another for the rest, which wait for each other at different places.
    """
    return cuda.threadIdx.x % WARP


@device_function
def ballot(predicate: Any) -> Any:
    """Return a mask of the lanes for which the predicate holds, without a sign.

    Numba takes it for a signed number; where that meets a longer one, lane 31 would stand for 33 lanes.
    """
    return np.uint32(cuda.ballot_sync(FULL, predicate))


@device_function
def any_lane(predicate: Any) -> Any:
    """Tell whether the predicate holds for at least one lane."""
    return cuda.any_sync(FULL, predicate)


@device_function
def broadcast(value: Any, lane: Any) -> Any:
    """Return the value that the given lane has."""
    return cuda.shfl_sync(FULL, value, lane)


@device_function
def sync_warp() -> None:
    """Let all lanes see what any of them wrote before."""
    cuda.syncwarp(FULL)


@device_function
def warp_minimum(word: Any) -> Any:
    """Return the smallest of all lanes' words, 64 bits without a sign."""
    for distance in (16, 8, 4, 2, 1):
        # Numba shuffles signed numbers only; the bits are the same.
        word = min(word, np.uint64(cuda.shfl_xor_sync(FULL, np.int64(word), distance)))
    return word


@device_function
def warp_sum(value: Any) -> Any:
    """Return the sum of all lanes' values."""
    for distance in (16, 8, 4, 2, 1):
        value += cuda.shfl_xor_sync(FULL, value, distance)
    return value


@device_function
def lanes_before(mask: Any, lane: Any) -> Any:
    """Return how many lanes of a mask come before a lane."""
    return cuda.popc(mask & ((np.uint32(1) << np.uint32(lane)) - np.uint32(1)))


@device_function
def first_lane(mask: Any) -> Any:
    """Return the first lane of a mask that is not empty."""
    return cuda.ffs(mask) - 1
