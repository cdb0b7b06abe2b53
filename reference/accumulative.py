"""Accumulative programs from scratch, and how wrong given values are at most.

Every vertex passes on what it has, again and again, until the values stand still. PageRank solves y = 1 + damping *
P'y, where P splits a vertex's amount evenly over its out-edges and a vertex without out-edges passes nothing on, then
scales y to sum 1. That equals the usual definition in which such a vertex passes its rank on to all vertices evenly:
the even share only scales the constant term.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grapin.errors import WrongAnswer
from grapin.reference.graph import Arcs, EdgeSource
from grapin.validation import refuse

if TYPE_CHECKING:
    from grapin.programs.accumulative import Accumulative

STANDS_STILL = 1e-14
"""Values are done when a round moves less than this part of their sum, about what float64 can tell apart."""
MOST_STILL = 4
"""Rounds that may go by without less being moved than ever before: from then on it is rounding that moves."""

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sums:
    """y = base + A y, where A has `share` for each arc."""

    arcs: Arcs
    share: Values
    base: Values
    scaled: bool
    fixed: NDArray[np.int32]
    """Vertices into which nothing flows."""

    @classmethod
    def of(cls, program: "Accumulative", graph: EdgeSource) -> "Sums":
        """Ask a program's own rule, one vertex at a time."""
        arcs = Arcs.of(graph)
        weighted = program.weighted and arcs.weight is not None
        weight = arcs.weight.astype(np.float64) if weighted else np.ones(len(arcs.source))  # type: ignore[union-attr]
        degrees = np.bincount(arcs.source, minlength=arcs.bound)
        totals = np.bincount(arcs.source, weights=weight, minlength=arcs.bound)
        rates = np.zeros(arcs.bound)
        for vertex in np.flatnonzero(totals):
            rates[vertex] = program.share(int(degrees[vertex]), float(totals[vertex]))
        base = np.where(arcs.existing, program.bases(np.arange(arcs.bound, dtype=np.int32)), 0.0)
        fixed = program.fixed()
        return cls(arcs, weight * rates[arcs.source], base, program.scaled, fixed[fixed < arcs.bound])

    @property
    def contraction(self) -> float:
        """The largest part of what it has that a vertex passes on."""
        return float(np.bincount(self.arcs.source, weights=self.share, minlength=1).max())

    def passed_on(self, values: Values) -> Values:
        """Return what flows into each vertex."""
        inflow: Values = np.bincount(
            self.arcs.target, weights=self.share * values[self.arcs.source], minlength=self.arcs.bound
        ).astype(np.float64)
        inflow[self.fixed] = 0.0
        return inflow

    def step(self, values: Values) -> Values:
        """Return the values after one more round; scaled ones begin again from the base with what is not passed on."""
        inflow = self.passed_on(values)
        if not self.scaled:
            return self.base + inflow
        step: Values = inflow + (1.0 - inflow.sum()) * self.base / max(self.base.sum(), np.finfo(float).tiny)
        return step

    def solve(self) -> Values:
        """Go round until values stand still."""
        values, moved, still = self.base, np.inf, 0
        while True:
            following = self.base + self.passed_on(values)
            least, moved = moved, min(moved, float(np.abs(following - values).sum()))
            still = still + 1 if moved == least else 0
            if moved <= STANDS_STILL * following.sum() or still > MOST_STILL:
                return following / following.sum() if self.scaled and following.any() else following
            values = following

    def error(self, values: Values) -> float:
        """Return by how much values may be off in sum, as one more round tells.

        A round brings any x and the true y nearer by the factor c in sum: no vertex passes on more than that part. So
        |x - y| <= |x - Gx| + |Gx - Gy| <= |x - Gx| + c |x - y|, and |x - y| is at most |x - Gx| / (1 - c). What
        adding up may round, at most one unit in the last place a term, is on top.
        """
        if not self.base.any():
            return float(np.abs(values).sum())
        moved = np.abs(values - self.step(values)).sum()
        terms = np.bincount(self.arcs.target, minlength=1).max() + np.log2(self.arcs.bound + 1) + 8
        rounded = np.finfo(np.float64).eps * terms * np.abs(values).sum()
        return float((moved + rounded) / (1 - self.contraction))


def accumulate(graph: EdgeSource, program: "Accumulative") -> Values:
    """Return the value of each vertex under an accumulative program, 0 for those that do not exist."""
    return Sums.of(program, graph).solve()


def pagerank(graph: EdgeSource, damping: float = 0.85) -> Values:
    """Return each vertex's rank; the ranks of the existing vertices sum to 1, others have 0."""
    return _even(graph, damping).solve()


def verify_accumulative(graph: EdgeSource, program: "Accumulative", values: ArrayLike, error: float) -> None:
    """Raise `WrongAnswer` unless values are within `error`, a part of their sum, of the program's values in sum."""
    _verify(Sums.of(program, graph), values, error * max(float(np.sum(values)), 0.0), error, "values")


def verify_pagerank(
    graph: EdgeSource,
    ranks: ArrayLike,
    damping: float = 0.85,
    *,
    largest_error: float = 1e-6,
    total_error: float = 1e-5,
) -> None:
    """Raise `WrongAnswer` if a rank is off by more than `largest_error`, or all by `total_error` in sum.

    One step of the power iteration may prove both; where it does not, ranks are compared with the reference's.
    """
    _verify(_even(graph, damping), ranks, total_error, largest_error, "ranks")


def error_of_ranks(graph: EdgeSource, ranks: Values, damping: float) -> float:
    """Return by how much ranks may be off in sum, as one step of the power iteration tells."""
    return _even(graph, damping).error(ranks)


def _even(graph: EdgeSource, damping: float) -> Sums:
    if not 0.0 <= damping < 1.0:
        refuse("damping", damping, "be at least 0 and below 1")
    arcs = Arcs.of(graph)
    share = damping / np.bincount(arcs.source, minlength=arcs.bound)[arcs.source]
    return Sums(arcs, share, arcs.existing.astype(np.float64), True, np.empty(0, np.int32))


def _verify(sums: Sums, given: ArrayLike, total: float, largest: float, name: str) -> None:
    values = np.asarray(given, np.float64)
    if values.shape != (sums.arcs.bound,):
        raise WrongAnswer(f"{name} have shape {values.shape}, expected ({sums.arcs.bound},)")
    if sums.error(values) <= min(largest, total):
        return
    expected = sums.solve()
    errors = np.abs(values - expected)
    wrong = ~(errors <= max(largest, total) if name == "values" else errors <= largest)
    if wrong.any():
        vertex = int(np.argmax(wrong))
        raise WrongAnswer(
            f"vertex {vertex} has {values[vertex]}, expected {expected[vertex]} within {largest}"
        )
    if errors.sum() > total:
        raise WrongAnswer(f"{name} are off by {errors.sum()} in sum, expected at most {total}")
