"""SSSP: the length of the shortest path from the nearest source, over weights of at least 0."""

from typing import Any

from grapin.programs.program import Monotone


class SSSP(Monotone):
    """Distance of each vertex from the sources, in the weights' own type.

    With float weights a distance is the sum in 32-bit floats along the path, rounded at each step.
    """

    name = "sssp"
    values = "weight"

    @staticmethod
    def edge(value: Any, weight: Any) -> Any:
        """The way so far and this edge."""
        return value + weight
