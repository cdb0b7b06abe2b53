"""The store's lists as kernels take them: always of the same types, so that each kernel is compiled once.

Numba compiles a function anew for arrays of another type or layout. Weights that nobody reads would count, and so would
the number of vertices: a column of the store is strided, but NumPy calls one of a single entry contiguous.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.graph.snapshot import Lists

LEAST_VERTICES = 2
"""Columns have so many entries at least; what is kept beside them for each vertex needs as many."""
NO_WEIGHTS = np.empty(0, np.int32)
"""In place of weights that are not read."""
NO_WEIGHTS.flags.writeable = False  # as the store's own arrays are


def arrays_of(lists: Lists, *, weights: bool) -> tuple[NDArray[Any], ...]:
    """Return starts, degrees, neighbours and, where they are read, weights."""
    columns = _strided(lists.starts), _strided(lists.degrees)
    return *columns, lists.neighbours, lists.weights if weights else NO_WEIGHTS


def _strided(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column that is seen to be one: a shorter one gets vertices without edges."""
    if len(column) >= LEAST_VERTICES:
        return column
    longer = np.zeros((LEAST_VERTICES, 2), column.dtype)[:, 0]
    longer[: len(column)] = column
    longer.flags.writeable = False
    return longer
