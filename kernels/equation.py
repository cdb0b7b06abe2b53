"""The equation of an accumulative program, what a batch does to it, and why the certified error is one.

y = b + A y, where an edge u -> v of weight w has A(v, u) = w * rate(u). Each vertex has a *pushed* amount p, on which
its neighbours count, and a *residual* r = b + A p - p. Column u of A sums to c(u) <= c < 1: that is checked, for
every vertex.

**What may be moved.** A vertex that passes nothing on (c(u) = 0) keeps p = 0 and holds all it has in r; let x be p
there plus that r, and rho = r on the others, 0 here, so that b + A x - x = rho. With (1 - off) b in place of b only
the scale of y changes, so where all vertices that pass something on have the same base, r - off is as good a residual
for every number `off`; the one for which rho sums to 0 is the *recentred* one. A total of residuals then needs no
push at all.

**Scaled to sum 1** (b >= 0 of sum B, s = sum of x): let G z = A z + (1 - sum(A z)) b / B, which keeps the sum of z at
1 and whose fixed point is y / sum(y). From b + A x - x = rho follows G(x/s) - x/s = (rho - sum(rho) b / B) / s, at
most (|rho| + |sum(rho)|) / s in sums of absolute values. Each column of the matrix of G is at least (1 - c) b / B, so
on vectors of sum 0, such as differences, G shrinks sums by the factor c. What is reported is G(x/s), so

    error <= c / (1 - c) * (|rho| + |sum(rho)|) / s.

**Not scaled**: reported is q = x + rho; y - q = A rho + A^2 rho + ... has |y - q| <= sum(c(u) |rho(u)|) / (1 - c),
and the error is that over sum(q).

**Rounding** does not break either. Each operation is wrong by at most `EPSILON` of its result. A push never makes the
sizes of rho larger in sum, so while a round reads e lists' elements no |r| exceeds |rho| + |off| + the largest r of
those that pass nothing on, and `drift` grows by 4 EPSILON ((e + n) times that + s); it stands for the distance of r
from b + A p - p and counts as a part of |rho|. When it hinders, residuals are computed again from the lists. Sums go
by blocks, so a sum of n terms is wrong by at most EPSILON (BLOCK + n / BLOCK) of their sizes.

**A batch** changes rate(u) for the sources it touches. The flow p(u) rate(u) is kept and p(u) gives way, r(u) taking
up the difference; only the ends of inserted, deleted and re-weighted edges gain or lose flow. So no list is read.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grapin.batch import Edges
from grapin.compiled import kernel
from grapin.errors import BrokenRule, InvalidArgument
from grapin.graph.change import Applied
from grapin.graph.snapshot import Lists, Snapshot
from grapin.programs.accumulative import Accumulative
from grapin.system import Objective, Repair, System

EPSILON = 2.0**-53
RATES = 2.0**-40
"""What rates may be off by, as a part of them: out-weights of floats are sums."""
BLOCK = 2048
"""Terms of a sum that are added up by themselves."""
LITTLE_TIME = 16.0, 1.0
FEW_BYTES = 4.0, 2.0
"""What a push costs besides its edges, in edges, and how many times the mean worth of all it takes to push in a first
round: in memory a push waits for one line, and a round goes through all vertices; over a link only what is read
counts."""
SLOW = 0.85
"""What a round leaves of the error when the next one had better be less choosy."""

Reals = NDArray[np.float64]


class Change(NamedTuple):
    """What a batch does to an equation."""

    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    gains: Reals
    """Beside them, how much weight each arc gains."""
    touched: NDArray[np.int32]
    """The sources, each once."""
    fresh: NDArray[np.bool_]
    """Whether the batch brought all arcs they have: then a rate of 0 was that of none."""
    rates: Reals
    """What they pass on from now on."""
    passed: Reals
    """c(u) of each, from now on."""
    come: NDArray[np.int32]
    bases: Reals
    gone: NDArray[np.int32]


class Equation:
    """Base, rates and contraction of one program on one graph."""

    def __init__(self, program: Accumulative, *, stored_weights: bool) -> None:
        self.program = program
        self.weighted = program.weighted and stored_weights
        self.contraction = 0.0
        """At least the largest c(u) there is."""

    def start(self, snapshot: Snapshot) -> tuple[Reals, Reals, Reals]:
        """Return base, rate and c(u) of each vertex of a graph."""
        vertices = np.arange(snapshot.bound, dtype=np.int32)
        self.contraction = 0.0
        base = np.where(snapshot.alive, self.program.bases(vertices), 0.0)
        return base, *self._rates(vertices, snapshot.out)

    def change(self, snapshot: Snapshot, applied: Applied) -> Change:
        """Return what a batch changes, and check that the rule still contracts."""
        parts = [applied.inserted, applied.deleted]
        gains = [self._weights(applied.inserted), -self._weights(applied.deleted)]
        if self.weighted:
            parts.append(applied.reweighted)
            gains.append(self._weights(applied.reweighted) - applied.old_weights)
        sources = np.concatenate([part.source for part in parts])
        ordered = np.sort(sources, kind="stable")
        touched = ordered[np.diff(ordered, prepend=np.int32(-1)) != 0]
        new = np.sort(applied.inserted.source, kind="stable")
        gained = np.searchsorted(new, touched, "right") - np.searchsorted(new, touched, "left")
        come = applied.inserted_vertices
        return Change(
            sources,
            np.concatenate([part.target for part in parts]),
            np.concatenate(gains),
            touched,
            gained == snapshot.out.degrees[touched],
            *self._rates(touched, snapshot.out),
            come,
            self.program.bases(come),
            applied.deleted_vertices,
        )

    def _weights(self, edges: Edges) -> Reals:
        if not self.weighted:
            return np.ones(len(edges))
        assert edges.weight is not None
        return edges.weight.astype(np.float64)

    def _rates(self, vertices: NDArray[np.int32], lists: Lists) -> tuple[Reals, Reals]:
        """Return rates and c(u) of these vertices, or name one for which the rule does not contract."""
        degrees = lists.degrees[vertices].astype(np.int64)
        totals = degrees.astype(np.float64)
        if self.weighted:
            _out_weights(vertices, lists.starts, lists.degrees, lists.weights, totals)
        rates = np.zeros(len(vertices))
        passing = np.flatnonzero(totals)
        rates[passing] = self.program.shares(degrees[passing], totals[passing])
        passed = rates * totals
        wrong = ~((rates >= 0) & (passed < 1 - RATES))
        if wrong.any():
            self._refuse(
                int(vertices[np.argmax(wrong)]),
                *(each[np.argmax(wrong)] for each in (degrees, totals, rates)),
            )
        self.contraction = max(self.contraction, float(passed.max(initial=0.0)) * (1 + RATES))
        return rates, passed

    def _refuse(self, vertex: int, degree: Any, total: Any, rate: Any) -> None:
        name = type(self.program).__name__
        what = f"vertex {vertex}, which has {degree} out-edges of weight {total:g} in sum,"
        if not rate >= 0 or rate == np.inf:
            raise BrokenRule(f"{name}.share must be a number of at least 0, but {what} has {rate}")
        raise BrokenRule(
            f"{name}.share must contract, but {what} passes on {rate * total:g} times what it has: "
            "that must be below 1 for every vertex"
        )


@kernel
def _out_weights(vertices: Any, starts: Any, degrees: Any, weights: Any, totals: Any) -> None:
    """Add up the weights of these vertices' out-edges on the host, in parts, so that long lists round little."""
    for i in range(vertices.size):
        start = np.int64(starts[vertices[i]])
        end = start + degrees[vertices[i]]
        total = 0.0
        for begin in range(start, end, BLOCK):
            part = 0.0
            for place in range(begin, min(begin + BLOCK, end)):
                part += weights[place]
            total += part
        totals[i] = total


MOST_BLIND = 64
"""Rounds without progress after which only rounding can be what is left."""
RENEWALS = 4
"""So often residuals are computed again before a tolerance is given up."""


class Bound:
    """How wrong the values are at most, what has to be pushed next, and when that is enough.

    Sums are given by whoever keeps the vertices: `begin` for each batch, `take` for each round.
    """

    def __init__(self, program: Accumulative, system: System, *, linked: bool) -> None:
        self.program = program
        self.keeping = system.repair is Repair.BOUNDED
        self.recentred = self.keeping and program.uniform and not len(program.fixed())
        bytes_count = system.objective is Objective.BYTES or (linked and system.objective is Objective.DEVICE)
        self.push_cost, self.choosiness = FEW_BYTES if bytes_count else LITTLE_TIME
        self.forget()

    @property
    def even(self) -> bool:
        """Whether every push counts alike: published systems have one threshold."""
        return not self.keeping

    def costs(self, degrees: NDArray[Any]) -> Any:
        """Return what a push of each vertex costs."""
        return degrees + self.push_cost if self.keeping else np.ones(len(degrees))

    def forget(self) -> None:
        """Begin with a new state."""
        self.off = self.drift = self.error = 0.0
        self.reported_off, self.scale = 0.0, 1.0

    def begin(
        self,
        vertices: int,
        c: float,
        amount: float,
        passing: float,
        resting: float,
        costs: float,
        largest: float,
    ) -> None:
        """Take what a batch left: p in sum, the base where something is passed on and elsewhere, costs, largest r."""
        self._vertices, self._amount, self._passing, self._resting = vertices, amount, passing, resting
        self._costs, self._largest = costs, largest
        self._factor = (c if self.program.scaled else 1.0) / (1 - c)
        self._terms = BLOCK + vertices / BLOCK + 16
        self._patience, self._renewals = self.choosiness, 0
        self._before = self._least = np.inf
        self._blind = 0

    @property
    def recentring_base(self) -> float:
        """By how much the base of those that pass something on grows with the offset; 0 where there is none."""
        return self._passing if self.recentred else 0.0

    def take(self, off: float, total: float, sizes: float, worth: float, resting: float) -> None:
        """Take the sums of a round, and with them the bound."""
        base = self._passing + self._resting
        self.off, self._sizes = off, sizes
        self._sum = self._amount + resting - off * self._resting
        span = sizes + abs(off) * base + abs(self._amount) + abs(resting)
        rounded = self.drift + 4 * EPSILON * self._terms * span + RATES * abs(self._amount)
        imbalance = abs(total) if self.program.scaled else 0.0
        reported = self._sum if self.program.scaled else self._sum + total
        reported -= rounded
        self._worth = worth
        self._allowed = self.program.tolerance * reported / self._factor if self._factor else np.inf
        self._rounded = rounded
        self.error = 0.0
        if worth + imbalance + rounded > 0.0:
            self.error = self._factor * (worth + imbalance + rounded) / reported if reported > 0 else np.inf
        self._missing = worth + imbalance
        even = total / base if base > 0 and self.program.scaled else 0.0
        self.reported_off = off + even
        self.scale = 1 / self._sum if self.program.scaled and self._sum > 0 else 1 / (1 - off)
        self._blind = 0 if worth < self._least else self._blind + 1
        self._least = min(self._least, worth)

    @property
    def holds(self) -> bool:
        """Whether the error is within the tolerance."""
        return self.error <= self.program.tolerance

    @property
    def lost(self) -> bool:
        """Whether nothing is left on the scale of the base, so that all has to be computed from scratch."""
        return self.recentred and self._passing > 0 and not self._sum > 0

    @property
    def threshold(self) -> float:
        """Who is worth more than this times what it costs pushes next."""
        return self._patience * self._worth / self._costs if self._costs > 0 else 0.0

    @property
    def hindered_by_rounding(self) -> bool:
        """Whether residuals have to be computed again; raises `InvalidArgument` when that has not helped."""
        if self._missing > self._allowed / 2 and self._blind < MOST_BLIND:
            return False
        if self._renewals == RENEWALS:
            name, least = type(self.program).__name__, 4 * self.error
            raise InvalidArgument(
                f"tolerance={self.program.tolerance:g} of {name} must be at least {least:.1e} on this graph: "
                "below that, nobody could tell what rounding has done"
            )
        return True

    def renewed(self, amount: float) -> None:
        """Take p in sum after residuals were computed again."""
        self._amount = amount
        self._renewals += 1
        self._blind, self._least = 0, np.inf

    def pushed(self, amount: float, edges: int, threads: int) -> None:
        """Take what a round pushed in sum and read, and decide how choosy the next is."""
        largest = self._sizes + abs(self.off) + self._largest
        self.drift += 4 * EPSILON * ((edges + threads * self._vertices) * largest + abs(self._sum))
        self._largest += self._sizes
        self._amount += amount
        if self._worth > SLOW * self._before or edges == 0:
            self._patience /= 2
        self._before = self._worth
