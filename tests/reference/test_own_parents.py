"""Parents of a program of the user's must explain its values, as those of ours must."""

from typing import Any

import numpy as np
import pytest

import grapin
from grapin.errors import WrongAnswer
from grapin.reference.device import ReferenceMonotone


class Tolls(grapin.Monotone):
    """Every edge costs its weight and one more."""

    name = "tolls"

    @staticmethod
    def edge(value: Any, weight: Any) -> Any:
        return value + weight + 1


GRAPH = grapin.Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3], [1, 4, 2, 0], vertices=5)
VALUES = [0, 2, 5, 5, 2**63 - 1]


@pytest.mark.parametrize(
    ("parents", "complaint"),
    [
        ([-1, 0, 0, 1, -1], None),
        ([-1, 0, 0, 2, -1], "vertex 3 has 5, expected what its parent 2 offers \\(6\\)"),
        ([-1, 0, 0, 0, -1], "vertex 3 has 5, expected what its parent 0 offers \\(nothing\\)"),
        ([-1, 0, -1, 1, -1], "vertex 2 has 5, expected what its parent -1 offers"),
        (
            [-1, 0, 0, 1, 3],
            "vertex 4 has 9223372036854775807, expected what its parent 3 offers \\(nothing\\)",
        ),
    ],
)
def test_a_parent_must_offer_the_value(parents: list[int], complaint: str | None) -> None:
    query = ReferenceMonotone(Tolls(0), real=False)
    query.start(GRAPH.snapshot(), tracing=False)
    assert query.values().tolist() == VALUES
    given = GRAPH.snapshot(), np.array(VALUES), np.array(parents, np.int32)
    if complaint is None:
        query.check_parents(*given)
        return
    with pytest.raises(WrongAnswer, match=complaint):
        query.check_parents(*given)
