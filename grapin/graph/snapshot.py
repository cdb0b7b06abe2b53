"""`Snapshot`: the graph as engines read it, the very arrays of the store, read-only and without a copy."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Lists:
    """The neighbour lists of one direction: list `v` is `neighbours[starts[v] : starts[v] + degrees[v]]`."""

    starts: NDArray[np.int64]
    """Where each list begins, in elements; a multiple of 32 (128 bytes) when the store is aligned."""
    degrees: NDArray[np.int32]
    neighbours: NDArray[np.int32]
    weights: NDArray[Any]
    """int32 or float32 beside `neighbours`; length 0 when the graph has no weights."""
    moved: NDArray[np.int64]
    """Rows of two vertices: between them, the second excluded, the last batch moved lists inside `neighbours`. A batch
    that needs more room, or less, moves all lists into other arrays."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """One version of a graph; valid until the next batch is applied to it."""

    version: int
    """How many batches had been applied when it was taken."""
    bound: int
    """Vertex ids are below this; freed ids have empty lists."""
    edges: int
    alive: NDArray[np.bool_]
    """For each id below `bound` whether it is a vertex."""
    out: Lists
    in_: Lists | None
    """None when the graph keeps no in-direction; the same object as `out` when it is undirected."""
