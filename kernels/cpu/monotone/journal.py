"""What a batch does to vertices, written down sparsely: so that nothing has to be reset, copied or scanned after it.

The arrays are as long as there are vertices, but only the places a batch touches are ever written, and memory that
was never written is not backed by pages.
"""

from typing import Any, NamedTuple

import numpy as np

from grapin.compiled import compiled
from grapin.kernels.rules import SHIFT

LOGGED, LOST, PUSHES, GROUND = np.uint8(1), np.uint8(2), np.uint8(4), np.uint8(8)
"""Marks a vertex carries during one batch: its old key is written down; it lost its value; it must offer its new
value on; it is known to be supported to the end."""


class Journal(NamedTuple):
    """Which vertices a batch touched and the keys they had."""

    marks: Any
    """uint8 a vertex, all zero between batches."""
    vertices: Any
    keys: Any
    count: Any
    """One number: how many entries `vertices` and `keys` hold."""


class Losses(NamedTuple):
    """The vertices that lost their value, in the order of their old keys, and what is offered to them."""

    vertices: Any
    keys: Any
    """The best offer seen, whoever made it."""
    parents: Any
    sure_keys: Any
    """The best offer from a vertex that was decided when it was seen."""
    sure_parents: Any
    open_edges: Any
    """By vertex: in-edges from vertices that were undecided when seen and are not lost so far."""
    count: Any


def new_journal(bound: int) -> Journal:
    """Return an empty journal for vertices below `bound`."""
    return Journal(
        marks=np.zeros(bound, np.uint8),
        vertices=np.empty(bound, np.int32),
        keys=np.empty(bound, np.uint32),
        count=np.zeros(1, np.int64),
    )


def new_losses(bound: int) -> Losses:
    """Return room for losses among vertices below `bound`."""
    return Losses(
        vertices=np.empty(bound, np.int32),
        keys=np.empty(bound, np.uint32),
        parents=np.empty(bound, np.uint32),
        sure_keys=np.empty(bound, np.uint32),
        sure_parents=np.empty(bound, np.uint32),
        open_edges=np.empty(bound, np.int32),
        count=np.zeros(1, np.int64),
    )


@compiled
def word(key: Any, parent: Any) -> Any:
    """Pack key and parent."""
    return (np.uint64(key) << SHIFT) | np.uint64(parent)


@compiled
def log_once(journal: Journal, vertex: Any, key: Any) -> None:
    """Write down a vertex with the key it has before the batch touches it."""
    if not journal.marks[vertex] & LOGGED:
        journal.marks[vertex] |= LOGGED
        place = journal.count[0]
        journal.vertices[place] = vertex
        journal.keys[place] = key
        journal.count[0] = place + 1


@compiled
def log_all(journal: Journal, vertices: Any, keys: Any) -> None:
    """Write down vertices with the keys they had, but for those that are written down already."""
    for i in range(vertices.size):
        log_once(journal, vertices[i], keys[i])
