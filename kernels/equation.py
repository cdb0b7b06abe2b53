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
INFINITE = float("inf")

(TOLERANCE, SCALED, RECENTRED, CHOOSINESS, TERMS, FACTOR) = range(6)
"""Places in the numbers of a bound, the same on every device. What is given: the tolerance; whether values are scaled
and residuals recentred, 1 or 0; how choosy a first round is; how many roundings a term of a sum goes through; how
far the values are off at most, over the residuals."""
(AMOUNT, PASSING, RESTING, COSTS, LARGEST) = range(6, 11)
"""What a batch left: p in sum, the base where something is passed on and elsewhere, all costs, the largest r."""
(OFF, DRIFT, SIZES, WORTH, THRESHOLD, ERROR, REPORTED_OFF, SCALE, STATUS) = range(11, 20)
"""What a round left: the offset; what rounding may have done to residuals; their sizes less the offset, and what these
count; who is worth more than the threshold times what it costs pushes next; the certified error; how values are
reported; why rounds stop."""
(PATIENCE, BEFORE, LEAST, BLIND, NUMBERS) = range(20, 25)
"""How choosy the next round is, what the last one left, what any left, and how many left no less than that."""
PUSHING, HOLDS, LOST, ROUNDED = range(4)
"""Why rounds stop: they do not; the error is within the tolerance; nothing is left of the base or on its scale, so that
all has to be computed from scratch; what is left is rounding, so that residuals have to be computed again."""


def begin_rounds(
    numbers: Any, amount: float, passing: float, resting: float, costs: float, largest: float
) -> None:
    """Take what a batch left, summed over all vertices."""
    numbers[AMOUNT] = amount
    numbers[PASSING] = passing
    numbers[RESTING] = resting
    numbers[COSTS] = costs
    numbers[LARGEST] = largest
    numbers[PATIENCE] = numbers[CHOOSINESS]
    numbers[BEFORE] = INFINITE
    numbers[LEAST] = INFINITE
    numbers[BLIND] = 0.0


def recentring_base(numbers: Any) -> Any:
    """Return by how much the base of those that pass something on grows with the offset; 0 where there is none."""
    return numbers[PASSING] * numbers[RECENTRED]


def take_sums(numbers: Any, off: float, total: float, sizes: float, worth: float, resting: float) -> None:
    """Take the sums of a round, and with them the bound, and who pushes next."""
    scaled = numbers[SCALED] > 0.0
    amount, factor = numbers[AMOUNT], numbers[FACTOR]
    base = numbers[PASSING] + numbers[RESTING]
    everything = amount + resting - off * numbers[RESTING]
    span = sizes + abs(off) * base + abs(amount) + abs(resting)
    rounded = numbers[DRIFT] + 4.0 * EPSILON * numbers[TERMS] * span + RATES * abs(amount)
    missing, even, reported = worth, 0.0, everything - rounded
    if scaled:
        missing += abs(total)
        if base > 0.0:
            even = total / base
    else:
        reported += total
    error = 0.0
    if missing + rounded > 0.0:
        error = factor * (missing + rounded) / reported if reported > 0.0 else INFINITE
    blind = 0.0 if worth < numbers[LEAST] else numbers[BLIND] + 1.0
    numbers[LEAST] = min(numbers[LEAST], worth)
    numbers[BLIND] = blind
    numbers[OFF] = off
    numbers[SIZES] = sizes
    numbers[WORTH] = worth
    numbers[ERROR] = error
    numbers[REPORTED_OFF] = off + even
    numbers[SCALE] = 1.0
    if scaled and everything > 0.0:
        numbers[SCALE] = 1.0 / everything
    elif off != 1.0:
        numbers[SCALE] = 1.0 / (1.0 - off)
    allowed = numbers[TOLERANCE] * reported / factor if factor > 0.0 else INFINITE
    numbers[STATUS] = PUSHING
    if error <= numbers[TOLERANCE]:
        numbers[STATUS] = HOLDS
    elif not base > 0.0 or (recentring_base(numbers) > 0.0 and not everything > 0.0):
        numbers[STATUS] = LOST
    elif missing <= allowed / 2.0 or blind >= MOST_BLIND:
        numbers[STATUS] = ROUNDED
    numbers[THRESHOLD] = 0.0
    if numbers[COSTS] > 0.0:
        numbers[THRESHOLD] = numbers[PATIENCE] * worth / numbers[COSTS]


def take_push(numbers: Any, amount: float, edges: float, additions: float) -> None:
    """Take what a round pushes in sum and reads, and decide how choosy the next is.

    `additions` counts what is added to residuals other than along edges.
    """
    largest = numbers[SIZES] + abs(numbers[OFF]) + numbers[LARGEST]
    span = (edges + additions) * largest + abs(numbers[AMOUNT]) + numbers[SIZES]
    numbers[DRIFT] += 4.0 * EPSILON * span
    numbers[LARGEST] += numbers[SIZES]
    numbers[AMOUNT] += amount
    if numbers[WORTH] > SLOW * numbers[BEFORE] or edges == 0:
        numbers[PATIENCE] /= 2.0
    numbers[BEFORE] = numbers[WORTH]


class Bound:
    """How wrong the values are at most, what has to be pushed next, and when that is enough.

    `numbers` is the bound's state: a list on the host, an array where kernels keep it.
    """

    def __init__(self, program: Accumulative, system: System, *, linked: bool) -> None:
        self.program = program
        self.keeping = system.repair is Repair.BOUNDED
        self.recentred = self.keeping and program.uniform and not len(program.fixed())
        bytes_count = system.objective is Objective.BYTES or (linked and system.objective is Objective.DEVICE)
        self.push_cost, choosiness = FEW_BYTES if bytes_count else LITTLE_TIME
        self.numbers = [0.0] * NUMBERS
        self.numbers[:4] = program.tolerance, float(program.scaled), float(self.recentred), choosiness
        self.numbers[SCALE] = 1.0

    @property
    def even(self) -> bool:
        """Whether every push counts alike: published systems have one threshold."""
        return not self.keeping

    @property
    def error(self) -> float:
        """What the values are off by in sum at most, as a part of their sum."""
        return self.numbers[ERROR]

    def weigh(self, rates: Reals, passed: Reals, degrees: NDArray[Any]) -> tuple[Any, Any]:
        """Return what a unit of each vertex's residual counts, and what a push costs over that."""
        counted = np.ones(len(rates)) if self.program.scaled else passed * (1 + 1e-6)  # rounded up
        costs = degrees + self.push_cost if self.keeping else np.ones(len(degrees))
        with np.errstate(divide="ignore"):
            return counted.astype(np.float32), np.where(rates > 0, costs / counted, np.inf).astype(np.float32)

    def factor(self, contraction: float) -> float:
        """Return how far values are off at most, over the residuals."""
        return (contraction if self.program.scaled else 1.0) / (1 - contraction)

    def terms(self, vertices: int, adders: int) -> float:
        """Return how many roundings a term of a sum over all vertices goes through, of which `adders` add up a part."""
        return BLOCK + vertices / BLOCK + 16 + adders

    def refuse(self) -> None:
        """Raise `InvalidArgument`: computing residuals again has not helped."""
        name, least = type(self.program).__name__, 4 * self.error
        raise InvalidArgument(
            f"tolerance={self.program.tolerance:g} of {name} must be at least {least:.1e} on this graph: "
            "below that, nobody could tell what rounding has done"
        )
