"""Where edge arrays lie in managed memory, page by page: out ids, out weights, in ids, in weights.

Each array begins with a block of its own, as large managed allocations do; its last block may be a short one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grapin.sim.unified.parameters import Driver
from grapin.trace import Trace

ELEMENT = 4
"""Bytes of a neighbour's id, and of a weight."""


@dataclass(frozen=True)
class Layout:
    """First page and number of pages of each array; array `2 * inward + weight`."""

    first: NDArray[np.int64]
    pages: NDArray[np.int64]
    block_pages: NDArray[np.int32]
    """How many pages each block has."""
    weighted: bool

    @classmethod
    def of(cls, trace: Trace, driver: Driver) -> "Layout":
        """Lay the arrays of a trace out, as large as they ever get."""
        weighted = bool((trace.reads["arrays"] == 2).any())
        slots = [int(trace.phases[name].max(initial=0)) for name in ("out_slots", "in_slots")]
        per_block = driver.pages_per_block
        first, pages = np.zeros(4, np.int64), np.zeros(4, np.int64)
        sizes: list[int] = []
        for array in range(4):
            inward, weight = divmod(array, 2)
            if inward and not slots[1]:
                first[array], pages[array] = first[weight], 0  # the out-direction serves as both
                continue
            count = 0 if weight and not weighted else -(-slots[inward] * ELEMENT // driver.page)
            first[array], pages[array] = len(sizes) * per_block, count
            sizes += [per_block] * (count // per_block) + ([count % per_block] if count % per_block else [])
        return cls(first, pages, np.array(sizes, np.int32), weighted)

    @property
    def blocks(self) -> int:
        """How many blocks all arrays have."""
        return len(self.block_pages)
