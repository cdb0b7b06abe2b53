"""How a value travels over one edge: all that tells BFS, shortest, widest paths and components apart.

A rule is monotone (a better value never makes a worse offer) and extensive (an offer is never better than the
value it was made from). So the best value of a vertex is the best over all paths, whatever the order in which
edges are looked at, and going round a cycle never pays. Both hold for 32-bit float sums too, because rounding
keeps order: the distance is the smallest of the sums added up from the source onwards, each step rounded.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.errors import InvalidArgument
from grapin.reference.edge_source import Arcs

UNREACHED = int(np.iinfo(np.int64).max)
"""Depth, distance or label of a vertex that is not reached or does not exist; infinity with float weights."""

WIDEST = int(np.iinfo(np.int64).max)
"""Width of a source, as no edge narrows the empty path; infinity with float weights. Unreached is width 0."""

Values = NDArray[Any]


@dataclass(frozen=True)
class Rule:
    """What sources start with, what the unreached have, and what an arc offers to its target."""

    best: int | float
    """The value of a source."""
    worst: int | float
    """The value of a vertex that is not reached; no offer is ever made from it."""
    dtype: type[np.generic]
    offer: Callable[[Values, Values], Values]
    """From the values at the arcs' sources and the arcs' weights to the values offered to their targets."""
    choose: np.ufunc
    """`np.minimum` or `np.maximum`: the better of two values."""

    def offers(self, arcs: Arcs, values: Values) -> Values:
        """Return what each arc offers to its target, `worst` where its source has nothing to offer."""
        offered = np.full(len(arcs.source), self.worst, dtype=self.dtype)
        reached = values[arcs.source] != self.worst
        weight = np.ones(len(arcs.source), np.int64) if arcs.weight is None else arcs.weight
        try:
            with np.errstate(over="raise"):
                offered[reached] = self.offer(values[arcs.source[reached]], weight[reached])
        except FloatingPointError:
            raise InvalidArgument(
                "weights must be small enough that no distance overflows a 32-bit float"
            ) from None
        return offered


def steps() -> Rule:
    """BFS: one more than the depth at the source."""
    return Rule(0, UNREACHED, np.int64, lambda depth, _weight: depth + 1, np.minimum)


def distance(arcs: Arcs) -> Rule:
    """SSSP: the distance at the source plus the weight, exact in int64 or rounded to float32 at each step."""
    if _floats(arcs):
        return Rule(0.0, np.inf, np.float32, lambda far, weight: far + weight, np.minimum)
    return Rule(0, UNREACHED, np.int64, lambda far, weight: far + weight, np.minimum)


def width(arcs: Arcs) -> Rule:
    """SSWP: the smaller of the width at the source and the weight; a path of width 0 is no path."""
    if _floats(arcs):
        return Rule(np.inf, 0.0, np.float32, np.minimum, np.maximum)
    return Rule(WIDEST, 0, np.int64, np.minimum, np.maximum)


def smallest_label() -> Rule:
    """Components: the label at the source, unchanged."""
    return Rule(0, UNREACHED, np.int64, lambda label, _weight: label, np.minimum)


def _floats(arcs: Arcs) -> bool:
    return arcs.weight is not None and arcs.weight.dtype.kind == "f"
