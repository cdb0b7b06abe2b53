"""Weights: which a graph may have, and strategies for them.

A range is drawn from in three ways at once: small weights, of which many are equal or zero, weights near the largest,
and weights from all of it. Where any of these is missing, so are the bugs that need it.
"""

import re
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from hypothesis import strategies as st

from grapin.edges import WeightArray
from grapin.validation import refuse

_SMALL = 9
"""How many steps above the least a small weight is at most."""
_PARTS = 2**16 - 1
"""Into so many parts a wide range is divided to be drawn from evenly."""
_RANGE = re.compile(r"(\d+(?:\.\d+)?):(\d+(?:\.\d+)?)")


class WeightLimits(TypedDict, total=False):
    """Between which the weights of a batch lie."""

    least_weight: float
    largest_weight: float


@dataclass(frozen=True)
class Weights:
    """The kind of a graph's weights (`none`, `int32`, `float32`), and between which they lie."""

    kind: str
    low: float = 0
    high: float = 1000

    @classmethod
    def read(cls, given: str) -> "Weights":
        """Read `none`, whole numbers such as `0:9`, or reals such as `0.0:1.0`."""
        if given == "none":
            return cls("none")
        found = _RANGE.fullmatch(given)
        if found is None or float(found[1]) > float(found[2]):
            refuse(
                "weights",
                given,
                "be none, LOW:HIGH in whole numbers such as 0:9, or in reals such as 0.0:1.0",
            )
        whole = "." not in given
        low, high = (int(end) if whole else float(end) for end in found.groups())
        if high > 2**31 - 1:
            refuse("weights", given, "end below 2147483648")
        return cls("int32" if whole else "float32", low, high)

    @property
    def limits(self) -> WeightLimits:
        """The range as the strategies for batches take it."""
        return {"least_weight": self.low, "largest_weight": self.high}

    def fit(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a row of an edge with a weight of this range in place of any other; a row without weight stays."""
        if len(row) < 3 or self.low <= row[2] <= self.high:
            return row
        span = self.high - self.low
        if self.kind == "int32":
            return (*row[:2], self.low + row[2] % (span + 1))
        return (*row[:2], float(np.float32(self.low + row[2] % span if span else self.low)))


@st.composite
def weight_columns(
    draw: st.DrawFn, kind: str, count: int, *, least_weight: float = 0, largest_weight: float | None = None
) -> WeightArray | None:
    """Draw `count` weights: small ones only or, as often where the largest is given, some from all of the range.

    Small floats are the least and some quarters, which float32 adds without rounding. A few drawn numbers are repeated,
    so that a thousand weights cost no more than ten.
    """
    if kind == "none":
        return None
    one = _small(kind, least_weight, largest_weight)
    if (
        largest_weight is not None
        and not _are_few(kind, least_weight, largest_weight)
        and draw(st.booleans())
    ):
        one = weights_between(kind, least_weight, largest_weight)
    drawn = draw(st.lists(one, min_size=1, max_size=10))
    return np.resize(drawn, count).astype(kind)


def weights_between(kind: str, least: float = 0, largest: float = 1000) -> st.SearchStrategy[Any]:
    """Draw one weight: as often a small one as one near the largest, or one from all of the range.

    Small ones make ties and zeros; floats from all of the range round when added, so that the order of adding matters.
    """
    if kind == "none":
        return st.none()
    if kind == "int32":
        everywhere = _whole_numbers(int(least), int(largest))
        near_the_end = st.integers(int(max(least, largest - _SMALL)), int(largest))
        few = _are_few(kind, least, largest)
        return everywhere if few else _small(kind, least, largest) | near_the_end | everywhere
    low, high = _as_float32(least, largest)
    below = _quarters(low, high).map(lambda step: float(np.float32(high - step)))
    return _small(kind, low, high) | below | st.floats(low, high, width=32)


def _whole_numbers(least: int, largest: int) -> st.SearchStrategy[int]:
    """Draw from all of a range; of a wide one, Hypothesis by itself draws hardly anything but the beginning."""
    span = largest - least
    anywhere = st.integers(least, largest)
    if span < _PARTS:
        return anywhere
    return anywhere | st.integers(0, _PARTS).map(lambda part: least + span * part // _PARTS)


def _are_few(kind: str, least: float, largest: float) -> bool:
    """Tell whether every weight of a range is a small one."""
    return kind == "int32" and largest - least <= _SMALL


def _small(kind: str, least: float, largest: float | None) -> st.SearchStrategy[Any]:
    """Draw a weight among the ten smallest; of floats, those in steps of a quarter."""
    if kind == "int32":
        most = least + _SMALL if largest is None else min(least + _SMALL, largest)
        return st.integers(int(least), int(most))
    low, high = _as_float32(least, least + _SMALL if largest is None else largest)
    return _quarters(low, high).map(lambda step: float(np.float32(low + step)))


def _quarters(low: float, high: float) -> st.SearchStrategy[float]:
    """Draw a small step, in quarters, that leads from either end to no place outside."""
    return st.integers(0, min(_SMALL, int((high - low) * 4))).map(lambda number: number / 4)


def _as_float32(low: float, high: float) -> tuple[float, float]:
    """Return the smallest and the largest float32 of a range; where none lies in it, the nearest to it."""
    least, most = np.float32(low), np.float32(high)
    if least < low:
        least = np.nextafter(least, np.float32(np.inf))
    if most > high:
        most = np.nextafter(most, np.float32(0))
    return (float(least), float(most)) if least <= most else (float(np.float32(low)),) * 2
