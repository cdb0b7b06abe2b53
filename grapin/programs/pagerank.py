"""PageRank, plain, weighted and personalised: how often a walker who follows edges at random is at each vertex."""

from typing import Any

from grapin.programs.accumulative import Accumulative, Base, check_part


class PageRank(Accumulative):
    """Rank of each vertex; the ranks of existing vertices sum to 1, other ids have 0.

    With probability `damping` the walker follows an edge, all edges of a vertex being equally likely; otherwise,
    and where there is no edge to follow, the walk starts again at any vertex. Weights are not read.

    Reported ranks differ from the exact ones by at most `tolerance` in sum over all vertices, after every batch.
    """

    name = "pagerank"
    scaled = True

    def __init__(self, damping: float = 0.85, tolerance: float = 1e-3, *, base: Base = None) -> None:
        self.damping = damping
        super().__init__(base, tolerance=tolerance)

    def check_settings(self) -> None:
        """Raise `InvalidArgument` unless damping and tolerance are within their limits."""
        super().check_settings()
        check_part("damping", self.damping, 0.0, "at least 0 and below 1")

    def share(self, degree: Any, total: Any) -> Any:  # noqa: ARG002  (every rule has the same signature)
        """An equal part of `damping` for each edge, or for each unit of its weight."""
        return self.damping / total


class WeightedPageRank(PageRank):
    """PageRank of a walker who takes the edges of a vertex as often as their weights say."""

    name = "weighted-pagerank"
    weighted = True


class PersonalisedPageRank(PageRank):
    """PageRank of a walker who always starts again at the sources: how near each vertex is to them.

    `source` is one vertex, several, or a mapping from vertex to how often the walk starts there. Where there is no edge
    to follow, it starts again too. Several vectors at once are several programs of one engine.
    """

    name = "personalised-pagerank"
    sourced = True

    def __init__(self, source: Base, damping: float = 0.85, tolerance: float = 1e-3) -> None:
        super().__init__(damping, tolerance, base=source)
