"""Triangles: how many pairs of a vertex's neighbours are neighbours themselves, the count behind clustering."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.programs.program import Program

CORNERS = 3


class Triangles(Program):
    """The number of triangles that each vertex is a corner of; ids that are free have 0.

    Three vertices of which any two are neighbours are one triangle, whatever the direction of their edges and however
    many there are between two of them. Loops and weights are not looked at.
    """

    name = "triangles"

    @staticmethod
    def total(values: NDArray[Any]) -> int:
        """Return how many triangles there are, given how many each vertex is a corner of."""
        return int(np.sum(values, dtype=np.int64)) // CORNERS

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
