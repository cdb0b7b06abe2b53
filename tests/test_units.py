"""Sizes, rates and durations as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grapin.errors import InvalidArgument
from grapin.units import format_rate, format_seconds, parse_bytes, parse_rate, parse_seconds


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("900G", 900e9),
        ("12.3 GB/s", 12.3e9),
        ("5e9", 5e9),
        ("7kb/s", 7e3),
        ("1.5TB/s", 1.5e12),
        ("12B/s", 12),
    ],
)
def test_a_rate_is_read_with_decimal_prefixes(text: str, value: float) -> None:
    assert parse_rate(text) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "value"), [("1.735us", 1.735e-6), ("20 ms", 0.02), ("100NS", 1e-7), ("2", 2.0), ("1e-6 s", 1e-6)]
)
def test_a_duration_is_read_with_its_unit(text: str, value: float) -> None:
    assert parse_seconds(text) == pytest.approx(value)


@given(st.floats(1e-9, 900))
def test_a_duration_that_is_written_is_read_again(seconds: float) -> None:
    assert parse_seconds(format_seconds(seconds)) == pytest.approx(seconds, rel=0.006)


@given(st.floats(1, 1e14))
def test_a_rate_that_is_written_is_read_again(rate: float) -> None:
    assert parse_rate(format_rate(rate)) == pytest.approx(rate, rel=0.006)


@pytest.mark.parametrize("read", [parse_bytes, parse_rate, parse_seconds])
@pytest.mark.parametrize("text", ["", "fast", "-3", "3 apples", "1.2.3", "nan", "inf"])
def test_what_is_no_quantity_is_refused_with_an_example(read: object, text: str) -> None:
    assert callable(read)
    with pytest.raises(InvalidArgument, match=r"must be a number .* such as"):
        read(text)


def test_long_times_are_written_without_an_exponent() -> None:
    assert [format_seconds(seconds) for seconds in (999.0, 1140.2, 86400.0)] == ["999 s", "1140 s", "86400 s"]
