"""The kernels of the cache's upkeep: where copies are, moving them, mending them, counting what was read.

Each launch works on what changes and nothing else; how much that is comes from the host, which keeps the books
(`grapin.cache`). Loading needs no kernel of its own: it is a walk over lists that visits no edge and leaves copies
behind (`pass_by`).
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
from numba import cuda

from grapin.kernels.cuda.backend import Backend, bind, bind_functions
from grapin.kernels.cuda.walk import bind_walk
from grapin.kernels.cuda.warp import WARP, ballot, first_lane, lane_id, sync_warp


def hold(vertices: Any, words: Any, held: Any) -> None:
    """Write what the device holds of the lists of these vertices."""
    for entry in range(cuda.grid(1), vertices.size, cuda.gridsize(1)):
        held[vertices[entry]] = words[entry]


def entry_of(bounds: Any, element: Any) -> Any:
    """Return the stretch that an element of all stretches together lies in: the last that begins at or before it."""
    low, high = np.int64(0), np.int64(bounds.size - 1)
    while low + 1 < high:
        middle = (low + high) // 2
        if bounds[middle] <= element:
            low = middle
        else:
            high = middle
    return low


def copy_stretches(bounds: Any, sources: Any, targets: Any, source: Any, target: Any) -> None:
    """Copy stretches of one array to places of another, an element a thread: however long they are, all are busy.

    The stretches end to end have `bounds`; no two of them may meet in the target, nor a target in a source.
    """
    for element in range(cuda.grid(1), bounds[bounds.size - 1], cuda.gridsize(1)):
        entry = entry_of(bounds, element)
        within = element - bounds[entry]
        target[targets[entry] + within] = source[sources[entry] + within]


def mend(
    positions: Any,
    lengths: Any,
    bounds: Any,
    records: Any,
    record_weights: Any,
    neighbours: Any,
    weights: Any,
) -> None:
    """Bring copies up to date by the records of what they have missed (`grapin.cache.mutations`), a warp a copy.

    The warp looks for the neighbour of a record, a line at a time. One that left is overwritten by the last; one that
    is there gets another weight; one that is not is appended.
    """
    lane = lane_id()
    for entry in range(cuda.grid(1) // WARP, positions.size, cuda.gridsize(1) // WARP):
        begin = positions[entry]
        end = begin + lengths[entry]
        for record in range(bounds[entry], bounds[entry + 1]):
            leaves = records[record] < 0
            neighbour = ~records[record] if leaves else records[record]
            at, line = end, begin
            while line < end:
                found = ballot(line + lane < end and neighbours[min(line + lane, end - 1)] == neighbour)
                line += WARP
                if found != 0:
                    at = line - WARP + first_lane(found)
                    line = end
            if leaves:
                end -= 1
            if lane == 0:
                neighbours[at] = neighbours[end] if leaves else neighbour
                if weights.size > 0:
                    weights[at] = weights[end] if leaves else record_weights[record]
            if not leaves and at == end:
                end += 1
            sync_warp()


def take_counts(touched: Any, count: Any, accesses: Any, counts: Any) -> None:
    """Take the counts of the lists that were read, and clear them."""
    for entry in range(cuda.grid(1), count, cuda.gridsize(1)):
        counts[entry] = accesses[touched[entry]]
        accesses[touched[entry]] = 0


def nothing(lists: Any, vertex: Any) -> Any:  # noqa: ARG001  (`walk.py` says what is given)
    """Return what visits have in common: nothing."""
    return np.int64(0)


def pass_by(
    lists: Any,  # noqa: ARG001
    vertex: Any,  # noqa: ARG001
    value: Any,  # noqa: ARG001
    other: Any,  # noqa: ARG001
    weight: Any,  # noqa: ARG001
    inside: Any,  # noqa: ARG001
    found: Any,
) -> Any:
    """Do nothing with an edge."""
    return found


KERNELS = (hold, copy_stretches, mend, take_counts)


def bind_upkeep(backend: Backend, *, weights: bool, **sizes: Any) -> SimpleNamespace:
    """Return the kernels by name, and the walk that loads lists of one or two arrays; `sizes` are of `walk.py`."""
    names = bind_functions(backend, (nothing, pass_by))
    names = {"begin": names["nothing"], "visit": names["pass_by"]} | sizes
    kernels = bind(backend, "cache", functions=(entry_of,), kernels=KERNELS)
    kernels.load = bind_walk(backend, "load", weights=weights, cached=True, **names)
    return kernels
