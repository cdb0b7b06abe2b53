"""Weights: which a graph may have, and strategies for them: easy ones whose sums are exact, and arbitrary ones."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from grapin.edges import WeightArray
from grapin.validation import refuse

_RANGE = re.compile(r"(\d+(?:\.\d+)?):(\d+(?:\.\d+)?)")


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

    def fit(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a row of an edge with a weight of this range in place of any other; a row without weight stays."""
        if len(row) < 3 or self.low <= row[2] <= self.high:
            return row
        span = self.high - self.low
        if self.kind == "int32":
            return (*row[:2], self.low + row[2] % (span + 1))
        return (*row[:2], float(np.float32(self.low + row[2] % span if span else self.low)))


@st.composite
def easy_weights(draw: st.DrawFn, kind: str, count: int, least: int = 0) -> WeightArray | None:
    """Draw `count` small weights; floats are multiples of a quarter, which float32 adds without rounding.

    A few drawn numbers are repeated, so that a thousand weights cost no more than ten.
    """
    if kind == "none":
        return None
    drawn = draw(st.lists(st.integers(least, 9), min_size=1, max_size=10))
    pattern = np.resize(drawn, count)
    return pattern.astype(np.int32) if kind == "int32" else (pattern / 4).astype(np.float32)


def arbitrary_weights(
    kind: str, least: int = 0, largest: int = 1000
) -> st.SearchStrategy[int | float | None]:
    """Draw one weight, mostly small; float sums of these round, so that the order of adding matters."""
    if kind == "none":
        return st.none()
    small = st.integers(least, 9)
    if kind == "int32":
        return small | st.integers(least, largest)
    return small.map(lambda n: n / 4) | st.floats(least, float(np.float32(largest)), width=32)
