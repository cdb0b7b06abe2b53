"""A round shared among threads: split into pieces, of which whoever is free takes the next.

More pieces than threads, so that one that is held up leaves its share to the others. The arrays of a round are
given one by one, since a parallel loop takes in arrays and tuples of arrays but no tuples of tuples.
"""

from typing import Any

import numba
import numpy as np

from grapin.kernels.cpu.monotone.atomics import atomic_add
from grapin.kernels.cpu.monotone.relax import pull, push


def share_push(
    threads: int,
    size: int,
    edges: int,
    best: int,
    words: Any,
    one: Any,
    other: Any,
    near: Any,
    offsets: Any,
    settled: Any,
    found: Any,
    old_keys: Any,
    counts: Any,
    tallies: Any,
) -> None:
    """Push the edges of a round; `one` and `other` are the lists of the two sides."""
    pieces = counts.size
    ticket = np.zeros(1, np.int64)
    for thread in numba.prange(threads):
        piece = atomic_add(ticket, 0, 1)
        while piece < pieces:
            counts[piece] = push(
                near,
                offsets,
                size,
                piece * edges // pieces,
                (piece + 1) * edges // pieces,
                best,
                words,
                (one, other),
                settled,
                found,
                old_keys,
                tallies[thread],
            )
            piece = atomic_add(ticket, 0, 1)


def share_pull(
    threads: int,
    bound: int,
    offered: int,
    words: Any,
    one: Any,
    other: Any,
    frontier: Any,
    found: Any,
    old_keys: Any,
    lengths: Any,
    counts: Any,
    tallies: Any,
) -> None:
    """Let the vertices pull; `one` and `other` are the lists of the two sides."""
    pieces = counts.size
    ticket = np.zeros(1, np.int64)
    for thread in numba.prange(threads):
        piece = atomic_add(ticket, 0, 1)
        while piece < pieces:
            counts[piece] = pull(
                offered,
                frontier,
                piece * bound // pieces,
                (piece + 1) * bound // pieces,
                words,
                (one, other),
                found,
                old_keys,
                lengths,
                tallies[thread],
            )
            piece = atomic_add(ticket, 0, 1)
