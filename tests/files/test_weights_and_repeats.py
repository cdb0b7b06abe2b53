"""Weights as graphs need them; self loops and repeated edges counted, dropped or merged as asked."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from writing import as_text, loaded, rows_of

from grapin.errors import InvalidArgument, InvalidFile

ROW = st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 9), st.integers(0, 5))
EVENTS = st.lists(ROW, min_size=1, max_size=30)
Event = tuple[int, int, int, int]
FOLDS: dict[str, Callable[[list[int]], int]] = {
    "first": lambda weights: weights[0],
    "last": lambda weights: weights[-1],
    "min": min,
    "max": max,
    "sum": sum,
}


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("rule", FOLDS)
@given(events=EVENTS)
def test_repeated_edges_are_merged_by_the_rule_in_order_of_time(
    rule: str, directed: bool, events: list[Event]
) -> None:
    expected: dict[Any, list[int]] = {}
    for u, v, weight, _ in sorted(events, key=lambda event: event[3]):
        expected.setdefault((u, v) if directed else frozenset((u, v)), []).append(weight)
    edges = loaded("a.txt", as_text(events), duplicates=rule, directed=directed, ids="keep")
    merged = {(u, v) if directed else frozenset((u, v)): weight for u, v, weight in rows_of(edges)}
    assert len(edges) == len(expected)
    assert merged == {edge: FOLDS[rule](weights) for edge, weights in expected.items()}


@given(EVENTS)
def test_self_loops_are_dropped_and_all_is_reported(events: list[Event]) -> None:
    loops = sum(u == v for u, v, _, _ in events)
    rest = [(u, v, weight) for u, v, weight, _ in events if u != v]
    repeated = len(rest) - len({(u, v) for u, v, _ in rest})
    edges = loaded("a.txt", as_text(events), self_loops="drop", ids="keep")
    assert rows_of(edges) == rest
    assert (f"Self loops dropped: {loops}." in edges.notes) == (loops > 0)
    assert (f"Rows that repeat an edge kept: {repeated}." in edges.notes) == (repeated > 0)


@pytest.mark.parametrize(
    ("option", "expected"), [("absolute", [3, 0, 5]), ("shift", [8, 5, 0]), ("ignore", None)]
)
def test_negative_weights_are_accepted_when_asked(option: str, expected: list[int] | None) -> None:
    edges = loaded("a.txt", b"0 1 3\n1 2 0\n2 0 -5\n", weights=option)
    assert (None if edges.weight is None else edges.weight.tolist()) == expected
    assert any("eights" in note for note in edges.notes)


@pytest.mark.parametrize("option", ["absolute", "shift"])
def test_the_widest_weights_neither_wrap_nor_are_rounded(option: str) -> None:
    largest = 2**63 if option == "absolute" else 2**64 - 1
    with pytest.raises(InvalidFile, match=rf"the weight {largest} must be at most 2147483647"):
        loaded("a.txt", f"0 1 {-(2**63)}\n1 2 {2**63 - 1}\n".encode(), weights=option)


def test_sums_that_leave_the_weights_type_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="duplicates='sum' must not lead beyond int32"):
        loaded("a.txt", b"0 1 2147483647\n0 1 1\n", duplicates="sum", columns=("source", "target", "weight"))


def test_weights_cannot_be_folded_where_rows_delete_edges() -> None:
    data = b"% asym dynamic\n1 2 1 1\n1 2 -1 2\n"
    with pytest.raises(InvalidArgument, match="duplicates='sum' must be first or last"):
        loaded("out.a", data, duplicates="sum")
    edges = loaded("out.a", data, duplicates="last")
    assert edges.removed is not None
    assert edges.removed.tolist() == [True]
