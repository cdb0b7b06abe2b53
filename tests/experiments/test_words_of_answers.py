"""Answers read as people write: no exponents, one span for many figures, and nothing where nothing was measured."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.lib.bars import Bar, figures, kept, number, percents, sentence, span, told


@pytest.mark.parametrize(
    ("figure", "written"),
    [(0.0000114, "0.000011"), (0.5, "0.5"), (7.26, "7.3"), (99.6, "100"), (53978.2, "53,978"), (0.0, "0")],
)
def test_a_figure_is_written_with_two_digits_and_without_an_exponent(figure: float, written: str) -> None:
    assert number(figure) == written


@given(st.lists(st.floats(1e-9, 1e9), min_size=1))
def test_a_span_goes_from_the_least_to_the_most_and_says_one_of_both_where_they_are_the_same(
    some: list[float],
) -> None:
    ends = [number(min(some)), number(max(some))]
    assert span(some, "ms") == (f"{ends[0]} to {ends[1]} ms" if ends[0] != ends[1] else f"{ends[0]} ms")


def test_what_was_not_measured_is_left_out_of_an_answer() -> None:
    assert span([], "ms") == percents([float("nan")]) == ""
    assert told("takes {} of {}", "0.5", "") == ""
    assert sentence("", told("takes {}", "0.5 s"), "") == "takes 0.5 s"
    assert sentence("", "") == "nothing was measured"


def test_rows_are_found_by_how_their_names_begin_and_end() -> None:
    bars = [Bar("bfs: time", 1.0), Bar("sssp: time", 2.0), Bar("sssp: bytes", 3.0)]
    assert figures(bars, ": time") == [1.0, 2.0]
    assert figures(bars, ": time", "sssp") == [2.0]


def test_limits_are_counted_and_none_are_not_spoken_of() -> None:
    assert kept([Bar("a", 1.0, limit=2.0), Bar("b", 3.0, limit=2.0), Bar("c", 9.0)]) == "1 of 2 limits kept"
    assert kept([Bar("a", 1.0, limit=2.0)]) == "1 of 1 limit kept"
    assert kept([Bar("c", 9.0)]) == ""
