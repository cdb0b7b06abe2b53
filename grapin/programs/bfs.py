"""BFS: the number of edges on the shortest path from the nearest source."""

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
