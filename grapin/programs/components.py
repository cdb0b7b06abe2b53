"""Connected components: which vertices hang together when directions are ignored."""

from typing import Any

from grapin.programs.program import Monotone


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
