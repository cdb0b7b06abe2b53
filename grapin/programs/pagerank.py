"""PageRank: how often a walker who follows edges at random, and now and then starts anew, is at each vertex."""

from typing import Any

from grapin.programs.program import Accumulative
from grapin.validation import refuse

LEAST_TOLERANCE = 1e-9
"""Below this, the rounding of 64-bit sums over a large hub's in-edges would be a part of the error."""


class PageRank(Accumulative):
    """Rank of each vertex; the ranks of existing vertices sum to 1, other ids have 0.

    With probability `damping` the walker follows an edge, all edges of a vertex being equally likely; otherwise,
    and where there is no edge to follow, the walk starts anew at any vertex. Weights are not read.

    Reported ranks differ from the exact ones by at most `tolerance` in sum over all vertices, after every batch.
    """

    name = "pagerank"

    def __init__(self, damping: float = 0.85, tolerance: float = 1e-3) -> None:
        if not _is_number(damping) or not 0.0 <= damping < 1.0:
            refuse("damping", damping, "be at least 0 and below 1")
        if not _is_number(tolerance) or not LEAST_TOLERANCE <= tolerance <= 1.0:
            refuse("tolerance", tolerance, f"be from {LEAST_TOLERANCE:g} to 1")
        self.damping = float(damping)
        self.tolerance = float(tolerance)

    def __repr__(self) -> str:
        return f"PageRank(damping={self.damping:g}, tolerance={self.tolerance:g})"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
