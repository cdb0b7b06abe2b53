"""The monotone programs that come with the package.

BFS: the number of edges on the shortest path from the nearest source.

SSSP: the length of the shortest path from the nearest source, over weights of at least 0.

SSWP: the widest path, that is the path whose narrowest edge is as wide as can be.

Connected components: which vertices hang together when directions are ignored.
"""

from typing import Any

from grapin.programs.program import Monotone


class BFS(Monotone):
    """Depth of each vertex below the sources; `UNREACHED` where there is no path."""

    name = "bfs"
    weighted = False

    @staticmethod
    def edge(value: Any, weight: Any) -> Any:  # noqa: ARG004  (every rule has the same signature)
        """One step further."""
        return value + 1


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


class ConnectedComponents(Monotone):
    """Each vertex is labelled with the smallest vertex id of its weakly connected component."""

    name = "cc"
    weighted = False
    both_ways = True

    @staticmethod
    def start(vertex: int) -> int:
        """Alone, a vertex is its own component."""
        return vertex

    @staticmethod
    def edge(value: Any, weight: Any) -> Any:  # noqa: ARG004  (every rule has the same signature)
        """A label travels unchanged."""
        return value
