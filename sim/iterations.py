"""`Iterations`: the steps of a trace that wait for each other, and what each of them reads.

Reads of one iteration do not wait for each other; the next iteration waits for all of them. So an iteration is what
overlap is decided in, and its sums are all that a closed form needs.

The device's own part of a prediction: a bound, stated here, so that a prediction is a time.

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

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import compiled
from grapin.sim.machine import Machine
from grapin.trace import Trace
from grapin.units import ELEMENT, SECTOR

Numbers = NDArray[np.int64]

_COLUMNS = 10


@dataclass(frozen=True, eq=False)
class Iterations:
    """One entry an iteration, in the order in which they happened."""

    phase: Numbers
    begin: Numbers
    """The first row of the trace that belongs to it."""
    end: Numbers
    """The row after its last."""
    edges: Numbers
    lists: Numbers
    elements: Numbers
    """Elements of all arrays: an edge whose weight is read too is two."""
    held_edges: Numbers
    """Of the edges, those in lists that the device has a copy of, weights included where they are read."""
    held_lists: Numbers
    held_elements: Numbers
    pages: Numbers
    """4-KiB pages of host memory, counted once for each list and array that touches them."""

    def __len__(self) -> int:
        return len(self.phase)

    @classmethod
    def of(cls, trace: Trace, held: NDArray[np.uint8] | None = None) -> "Iterations":
        """Add up the iterations of a trace; `held` says how many of a row's arrays the device has a copy of."""
        reads = trace.reads
        table = np.zeros((_COLUMNS, _count(reads["phase"], reads["iteration"])), np.int64)
        phases, iterations = reads["phase"], reads["iteration"]
        starts, lengths, arrays = reads["start"], reads["length"], reads["arrays"]
        copies = np.zeros(0, np.uint8) if held is None else held
        _add_up(phases, iterations, starts, lengths, arrays, copies, table)
        return cls(*table)

    def rows(self) -> Iterator[slice]:
        """Yield which rows of the trace belong to each iteration."""
        for begin, end in zip(self.begin.tolist(), self.end.tolist(), strict=True):
            yield slice(begin, end)

    def by_phase(self, values: NDArray[Any], phases: int) -> NDArray[Any]:
        """Add up what the iterations of each phase have; `values` has a row an iteration."""
        sums = np.zeros((phases, *values.shape[1:]), values.dtype)
        np.add.at(sums, self.phase, values)
        return sums


@compiled
def _count(phases: Any, iterations: Any) -> int:
    count = 0
    for row in range(phases.size):
        if row == 0 or phases[row] != phases[row - 1] or iterations[row] != iterations[row - 1]:
            count += 1
    return count


@compiled
def _add_up(
    phases: Any, iterations: Any, starts: Any, lengths: Any, arrays: Any, held: Any, table: Any
) -> None:
    """Fill a table that has a row for each column of `Iterations`, in their order."""
    place = -1
    for row in range(phases.size):
        if row == 0 or phases[row] != phases[row - 1] or iterations[row] != iterations[row - 1]:
            place += 1
            table[0, place] = phases[row]
            table[1, place] = row
        table[2, place] = row + 1
        length = np.int64(lengths[row])
        if length == 0:
            continue
        asked = np.int64(arrays[row])
        found = np.int64(held[row]) if held.size else np.int64(0)
        table[3, place] += length
        table[4, place] += 1
        table[5, place] += length * asked
        if found == asked:
            table[6, place] += length
            table[7, place] += 1
        table[8, place] += length * found
        table[9, place] += (asked - found) * (((starts[row] + length - 1) >> 10) - (starts[row] >> 10) + 1)


_SECTORS_OF_A_LIST = 2


def device_seconds(
    iterations: Iterations, machine: Machine, *, resident: bool = False
) -> NDArray[np.float64]:
    """Return how long the device's memory is busy in each iteration; `resident` when it holds every list."""
    words = SECTOR * (iterations.edges + _SECTORS_OF_A_LIST * iterations.lists)
    own = ELEMENT * (iterations.elements if resident else iterations.held_elements)
    busy: NDArray[np.float64] = (words + own) / machine.gpu.bandwidth
    return busy
