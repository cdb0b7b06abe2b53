"""`Accumulative`: values that add up what flows in over edges, and shrink on the way.

y = b + A y: over an edge u -> v of weight w flows w * share(u) * y(u). A subclass says in plain Python which share of
what it has a vertex passes on along an edge of weight 1. What keeps the sum finite, and an answer certain, is that no
vertex passes on as much as it has: `share` times the out-weight is below 1. That is checked for every vertex of the
graph, and again for those that a batch touches.
"""

from collections.abc import Iterable, Mapping
from inspect import signature
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from grapin.errors import InvalidArgument
from grapin.programs.program import Program, check_names
from grapin.validation import check_integer, is_number, refuse

LEAST_TOLERANCE = 1e-9
"""Below this, the rounding of 64-bit sums over a large hub's in-edges would be a part of the error."""

Base = int | Iterable[int] | Mapping[int, float] | NDArray[Any] | None
"""One vertex or several that have 1 of their own, a mapping from vertex to amount, an array with an amount for each
vertex of the graph, or None: every vertex has 1."""


class Accumulative(Program):
    """Sums over all paths; subclasses say what share of its value a vertex passes on.

    Values are off by at most `tolerance` of their sum, in sum over all vertices, after every batch.
    """

    weighted: ClassVar[bool] = False
    """True when an edge passes on in proportion to its weight; otherwise all count as 1, and weights are never read."""
    scaled: ClassVar[bool] = False
    """Whether values are scaled to sum 1; what vertices do not pass on then starts again from the base."""
    absorbing: ClassVar[bool] = False
    """Whether nothing flows into vertices with a base of their own: they keep what they have."""

    sourced: ClassVar[bool] = False
    """Whether only some vertices have a base of their own, which have to be given."""

    def __init__(self, base: Base = None, *, tolerance: float = 1e-3) -> None:
        check_rule(type(self))
        if self.sourced and base is None:
            raise InvalidArgument(
                f"{type(self).__name__} must have a source: a vertex, several, or {{vertex: amount}}"
            )
        self.tolerance = tolerance
        self.base: dict[int, float] | NDArray[np.float64] | None = _read_base(base)
        self.check_settings()

    @classmethod
    def has_sources(cls) -> bool:
        """Tell whether values start from some vertices only."""
        return cls.sourced

    def share(self, degree: Any, total: Any) -> Any:
        """Return what an edge of weight 1 passes on of each unit that a vertex has.

        `degree` counts its out-edges, `total` is their weight in sum, the same where weights are not read. Both may
        be arrays with an entry for each of many vertices; a rule that cannot be applied to arrays gets one number at
        a time.
        """
        raise NotImplementedError

    def shares(self, degrees: NDArray[np.int64], totals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return `share` for many vertices."""
        with np.errstate(all="ignore"):
            try:
                together = np.asarray(self.share(degrees, totals), np.float64)
                return np.broadcast_to(together, totals.shape)
            except (TypeError, ValueError):
                rows = zip(degrees.tolist(), totals.tolist(), strict=True)
                return np.array([self._one_share(*row) for row in rows], np.float64)

    def _one_share(self, degree: int, total: float) -> Any:
        where = f"{type(self).__name__}.share must return a number, but share({degree}, {total:g})"
        try:
            share = self.share(degree, total)
        except Exception as error:
            raise InvalidArgument(f"{where} raises {type(error).__name__}: {error}") from error
        if not isinstance(share, (int, float, np.integer, np.floating)):
            raise InvalidArgument(f"{where} is {share!r}")
        return share

    def check_settings(self) -> None:
        """Raise `InvalidArgument` unless settings are within their limits; a subclass adds those of its own."""
        check_part(
            "tolerance",
            getattr(self, "tolerance", None),
            LEAST_TOLERANCE,
            f"from {LEAST_TOLERANCE:g} to 1",
            1.0,
        )

    @property
    def sources(self) -> dict[int, float]:
        """The vertices that have a base of their own, where only some do."""
        return self.base if isinstance(self.base, dict) else {}

    @property
    def uniform(self) -> bool:
        """Whether every vertex has the same base."""
        return self.base is None

    def bases(self, vertices: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return what these vertices, if they exist, have of their own."""
        if self.base is None:
            return np.ones(len(vertices))
        if isinstance(self.base, dict):
            amounts = [self.base.get(vertex, 0.0) for vertex in vertices.tolist()]
            return np.array(amounts, np.float64)
        known = vertices < len(self.base)
        return np.where(known, self.base[np.where(known, vertices, 0)], 0.0)

    def fixed(self) -> NDArray[np.int32]:
        """Return the vertices into which nothing flows."""
        if not self.absorbing or self.base is None:
            return np.empty(0, np.int32)
        own = list(self.base) if isinstance(self.base, dict) else np.flatnonzero(self.base)
        return np.array(own, np.int32)

    def check_base(self, bound: int, alive: NDArray[np.bool_]) -> None:
        """Raise `InvalidArgument` unless the base is one of a graph with these vertices."""
        if isinstance(self.base, dict):
            for vertex in self.base:
                if vertex >= bound or not alive[vertex]:
                    raise InvalidArgument(f"source={vertex} must be a vertex of the graph")
        elif self.base is not None and len(self.base) != bound:
            raise InvalidArgument(
                f"base has {len(self.base)} amounts and must have {bound}: one for each vertex id of the graph"
            )

    def __repr__(self) -> str:
        own = {name: value for name, value in vars(self).items() if isinstance(value, int | float)}
        return f"{type(self).__name__}({', '.join(f'{name}={value:g}' for name, value in own.items())})"


def check_rule(kind: type[Accumulative]) -> None:
    """Raise `InvalidArgument` unless a class says all that an accumulative program must say, in words that exist."""
    check_names(kind, Accumulative)
    if not isinstance(getattr(kind, "name", None), str) or not kind.name:
        raise InvalidArgument(
            f"{kind.__name__}.name must be given: how reports call it, such as 'my-program'"
        )
    if kind.share is Accumulative.share:
        raise InvalidArgument(
            f"{kind.__name__}.share must be given: a method share(self, degree, total) that returns what an edge of "
            "weight 1 passes on of each unit that its source has"
        )
    given = set(signature(kind.__init__).parameters)
    for name in (name for cls in kind.__mro__ if issubclass(cls, Accumulative) for name in vars(cls)):
        if name in given or name in ("edge", "start"):
            how = "it is given when a program is made" if name in given else "nothing would ever execute it"
            raise InvalidArgument(
                f"{kind.__name__}.{name} must be left out: {how}; the rule is share(self, degree, total)"
            )
    for name in ("weighted", "scaled", "absorbing", "sourced"):
        if not isinstance(getattr(kind, name), bool):
            refuse(f"{kind.__name__}.{name}", getattr(kind, name), "be True or False")


def check_part(
    name: str, value: Any, least: float, described: str, most: float = np.nextafter(1.0, 0.0)
) -> float:
    """Return a number within limits, or refuse it by name."""
    if not is_number(value) or not least <= value <= most:
        refuse(name, value, f"be {described}")
    return float(value)


def _read_base(base: Any) -> dict[int, float] | NDArray[np.float64] | None:
    if base is None:
        return None
    if isinstance(base, np.ndarray) and base.dtype.kind == "f":
        amounts = base.astype(np.float64)
        wrong = ~(np.isfinite(amounts) & (amounts >= 0)) if amounts.ndim == 1 else np.array([True])
        if wrong.any():
            vertex = int(np.argmax(wrong))
            refuse(f"base[{vertex}]", base[vertex].item(), "be a number of at least 0, one for each vertex")
        return amounts
    named = base if isinstance(base, Mapping) else dict.fromkeys([base] if np.ndim(base) == 0 else base, 1.0)
    found = {
        check_integer("source", vertex, least=0, most=2**31 - 1): amount for vertex, amount in named.items()
    }
    for vertex, amount in found.items():
        if not is_number(amount) or not 0 < amount < np.inf:
            refuse(f"source[{vertex}]", amount, "be a number above 0")
    if not found:
        raise InvalidArgument("source must be at least one vertex")
    return found
