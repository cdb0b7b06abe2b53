"""Is a rule of yours monotone? The papers leave it to a proof; here Hypothesis looks for a counterexample."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grapin.programs.checking import LARGEST, check_edge
from grapin.programs.program import Monotone


def check_monotone(
    program: Monotone,
    *,
    weights: st.SearchStrategy[Any] | None = None,
) -> None:
    """Raise `InvalidArgument`, with the smallest counterexample found, unless edges keep order and never improve.

    `weights` draws what the graph's weights may be; by default whole numbers below 2**31, or floats of at least 0 for a
    program whose values are floats.
    """
    real = program.values == "float"
    if weights is None:
        weights = _floats() if real else st.integers(0, 2**31 - 1)
    values = _floats() if real else st.integers(0, LARGEST)

    @given(st.tuples(values, values).map(sorted), weights)
    def hold(pair: list[Any], weight: Any) -> None:
        better, value = pair if program.better == "smaller" else pair[::-1]
        check_edge(program, value, better, np.float32(weight) if real else weight)

    hold()


def _floats() -> st.SearchStrategy[Any]:
    return st.floats(0, 2.0**64, width=32, allow_nan=False).map(np.float32)
