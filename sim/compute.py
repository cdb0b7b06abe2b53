"""The device's own part of a prediction: a bound, stated here, so that a prediction is a time.

A graph kernel does next to no arithmetic; what it takes is what it reads of the device's memory. Each edge reads the
word of its far end, which lies anywhere: one sector of 32 bytes. Each list reads its owner's place in the store and its
word: two sectors. Elements that the device holds itself are read from there as well. This, divided by the memory's
bandwidth, is what a kernel that balances its work well comes near.

Each iteration of the trace pays one launch before anything is read, and that launch is one that is waited for. Our CUDA
kernels launch four or five times in a round, but behind each other, and the host looks after up to 32 rounds only. A
trace of the CPU device may have several times as many rounds as the kernels would take, because one core follows keys
in smaller steps: where launches are most of a prediction, it is too slow rather than too fast.

Within an iteration the link and the device work at the same time, as warps that wait leave room for warps that compute;
an iteration takes as long as the slower of the two.
"""

import numpy as np
from numpy.typing import NDArray

from grapin.sim.iterations import Iterations
from grapin.sim.machine import Machine

_SECTOR = 32
_SECTORS_OF_A_LIST = 2
_ELEMENT = 4


def device_seconds(
    iterations: Iterations, machine: Machine, *, resident: bool = False
) -> NDArray[np.float64]:
    """Return how long the device's memory is busy in each iteration; `resident` when it holds every list."""
    words = _SECTOR * (iterations.edges + _SECTORS_OF_A_LIST * iterations.lists)
    own = _ELEMENT * (iterations.elements if resident else iterations.held_elements)
    busy: NDArray[np.float64] = (words + own) / machine.gpu.bandwidth
    return busy
