"""SSWP: the widest path, that is the path whose narrowest edge is as wide as can be."""

from typing import Any

from grapin.programs.program import Monotone


class SSWP(Monotone):
    """Width of the widest path from a source to each vertex; a source is infinitely wide, unreached is 0."""

    name = "sswp"
    values = "weight"
    better = "larger"
    source_value = float("inf")

    @staticmethod
    def edge(value: Any, weight: Any) -> Any:
        """A path is as wide as its narrowest edge."""
        return min(value, weight)
