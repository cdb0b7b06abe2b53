"""The host's side: which pages applying a batch writes, in which order, and when an array moves as a whole."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.sim.unified.layout import ELEMENT, Layout
from grapin.sim.unified.parameters import Driver
from grapin.trace import Trace


def pages_written(trace: Trace, layout: Layout, driver: Driver, version: int) -> NDArray[np.int64]:
    """Return the pages of all lists that the batch leading to a version changed, list by list.

    A change reads its list and writes somewhere in it, in ids and weights. What the store moves beside that, when a
    list has no room left, is not in the trace.
    """
    mine = trace.changes["version"] == version
    start, length, inward = (
        trace.changes[name][mine].astype(np.int64) for name in ("start", "length", "inward")
    )
    first = start * ELEMENT // driver.page
    count = (start + np.maximum(length, 1)) * ELEMENT - 1
    count = count // driver.page - first + 1
    row = np.repeat(np.arange(len(count)), count)
    place = first[row] + np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    ids: NDArray[np.int64] = layout.first[2 * inward[row]] + place
    if not layout.weighted:
        return ids
    return np.stack([ids, layout.first[2 * inward[row] + 1] + place], axis=1).ravel()


def arrays_moved(phases: dict[str, NDArray[Any]], phase: int) -> Iterator[int]:
    """Yield the arrays that the store made anew, larger or smaller, since the phase before."""
    if phase == 0:
        return
    for inward, name in enumerate(("out_slots", "in_slots")):
        if phases[name][phase] != phases[name][phase - 1]:
            yield from (2 * inward, 2 * inward + 1)


def blocks_of(layout: Layout, array: int, driver: Driver) -> range:
    """Return the blocks of an array."""
    first = int(layout.first[array]) // driver.pages_per_block
    return range(first, first - -int(layout.pages[array]) // driver.pages_per_block)
