"""Sums over all paths: Katz centrality, and penalised hitting probability."""

from typing import Any

from grapin.programs.accumulative import Accumulative, Base, check_part


class Katz(Accumulative):
    """Katz centrality: how many paths end in a vertex, one of length n counting `attenuation ** n`.

    Every vertex is the path of length 0 to itself. A vertex passes `attenuation` on along each edge, so that times
    its out-degree must be below 1 for every vertex. Weights are not read.
    """

    name = "katz"

    def __init__(self, attenuation: float = 1e-3, tolerance: float = 1e-3, *, base: Base = None) -> None:
        self.attenuation = attenuation
        super().__init__(base, tolerance=tolerance)

    def check_settings(self) -> None:
        """Raise `InvalidArgument` unless attenuation and tolerance are within their limits."""
        super().check_settings()
        check_part("attenuation", self.attenuation, 0.0, "at least 0 and below 1")

    def share(self, degree: Any, total: Any) -> Any:  # noqa: ARG002  (every rule has the same signature)
        """The same along every edge."""
        return self.attenuation + 0.0 * total


class HittingProbability(Accumulative):
    """Penalised hitting probability: how likely a walk from the sources gets to a vertex, each step counting `damping`.

    The walk takes edges as often as their weights say and ends where it began: a source has 1, and nothing flows into
    it (Zhang and others, Measuring Proximity on Graphs with Side Information, ICDM 2008 have the measure; here it
    follows edges from the sources, as systems for accumulative programs compute it).
    """

    name = "hitting-probability"
    sourced = True
    weighted = True
    absorbing = True

    def __init__(self, source: Base, damping: float = 0.8, tolerance: float = 1e-3) -> None:
        self.damping = damping
        super().__init__(source, tolerance=tolerance)

    def check_settings(self) -> None:
        """Raise `InvalidArgument` unless damping and tolerance are within their limits."""
        super().check_settings()
        check_part("damping", self.damping, 0.0, "at least 0 and below 1")

    def share(self, degree: Any, total: Any) -> Any:  # noqa: ARG002
        """An equal part of `damping` for each unit of weight."""
        return self.damping / total
