"""PageRank: how often a walker who follows edges at random, and now and then starts again, is at each vertex."""

from typing import Any

from grapin.errors import InvalidArgument
from grapin.programs.program import Program
from grapin.validation import refuse

LEAST_TOLERANCE = 1e-9
"""Below this, the rounding of 64-bit sums over a large hub's in-edges would be a part of the error."""


class PageRank(Program):
    """Rank of each vertex; the ranks of existing vertices sum to 1, other ids have 0.

    With probability `damping` the walker follows an edge, all edges of a vertex being equally likely; otherwise,
    and where there is no edge to follow, the walk starts again at any vertex. Weights are not read.

    Reported ranks differ from the exact ones by at most `tolerance` in sum over all vertices, after every batch.

    The rule is the engine's own: a subclass may have another name and other defaults, but no rule of its own.
    """

    name = "pagerank"

    def __init__(self, damping: float = 0.85, tolerance: float = 1e-3) -> None:
        check_subclass(type(self))
        _check_settings(damping, tolerance)
        self.damping = float(damping)
        self.tolerance = float(tolerance)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(damping={self.damping:g}, tolerance={self.tolerance:g})"


def check_subclass(kind: type[PageRank]) -> None:
    """Raise `InvalidArgument` if a subclass says more than a name and defaults: nothing would ever execute it."""
    own = [cls for cls in kind.__mro__ if issubclass(cls, PageRank) and cls is not PageRank]
    for name in (name for cls in own for name in vars(cls) if name != "name" and not name.startswith("__")):
        raise InvalidArgument(
            f"{kind.__name__}.{name} must be left out: {kind.__name__} would be computed as PageRank is, whatever it "
            "says; a rule of your own is a grapin.Monotone program"
        )


def check_pagerank(program: PageRank) -> None:
    """Raise `InvalidArgument` unless a program is PageRank by class and settings, also where it set them by itself."""
    check_subclass(type(program))
    _check_settings(getattr(program, "damping", None), getattr(program, "tolerance", None))


def _check_settings(damping: Any, tolerance: Any) -> None:
    if not _is_number(damping) or not 0.0 <= damping < 1.0:
        refuse("damping", damping, "be at least 0 and below 1")
    if not _is_number(tolerance) or not LEAST_TOLERANCE <= tolerance <= 1.0:
        refuse("tolerance", tolerance, f"be from {LEAST_TOLERANCE:g} to 1")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
