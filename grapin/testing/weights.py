"""Strategies for weights: easy ones whose sums are exact in any order, and arbitrary ones."""

import numpy as np
from hypothesis import strategies as st

from grapin.edges import WeightArray


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
