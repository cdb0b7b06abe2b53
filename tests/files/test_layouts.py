"""Delimited files in every usual style: spacing, comments, headers, columns."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from writing import loaded, rows_of

BLANKS = st.text(" \t", min_size=1, max_size=3)
MARGINS = st.text(" \t", max_size=2)
BETWEEN = st.sampled_from(["", "\n", "# a comment of words\n", "  % 1 2\n", " \t\n"])
PAIR = st.tuples(st.integers(0, 99), st.integers(0, 99))


@st.composite
def loosely_written(draw: st.DrawFn) -> tuple[list[tuple[int, int]], str]:
    rows = draw(st.lists(PAIR, min_size=1, max_size=20))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = "".join(f"{draw(BETWEEN)}{draw(MARGINS)}{u}{draw(BLANKS)}{v}{draw(MARGINS)}{end}" for u, v in rows)
    return rows, text.removesuffix(end) if draw(st.booleans()) else text


@given(loosely_written())
def test_blanks_comments_and_empty_lines_stand_anywhere(written: tuple[list[tuple[int, int]], str]) -> None:
    rows, text = written
    assert rows_of(loaded("a.txt", text.encode())) == rows


def test_comments_late_in_a_large_file_are_skipped() -> None:
    data = b"0\t1\n" * 400_000 + b"# a comment\n" + b"1  2\n" * 400_000
    edges = loaded("a.txt", data)
    assert len(edges) == 800_000
    assert edges.target[-1] == 2


def test_a_late_fraction_makes_all_weights_floats() -> None:
    edges = loaded("a.txt", b"0 1 3 1000\n" * 20_000 + b"1 2 0.5 1001\n")
    assert edges.weight is not None
    assert edges.time is not None
    assert edges.weight.dtype == np.float32
    assert edges.time.dtype == np.int64
    assert edges.weight[[0, -1]].tolist() == [3.0, 0.5]


HEADERS = {
    b"source,target\n": [(3, 4)],
    b"Target,Source\n": [(4, 3)],
    b"From Node Id,To_Node_Id\n": [(3, 4)],
    b"# from to\n": [(3, 4)],
    b"\xef\xbb\xbfu,v\r\n": [(3, 4)],
}


@pytest.mark.parametrize("header", HEADERS)
def test_headers_name_columns_in_any_order_and_spelling(header: bytes) -> None:
    assert rows_of(loaded("a.csv", header + b"3,4\n")) == HEADERS[header]


def test_columns_without_a_known_name_are_ignored_and_reported() -> None:
    edges = loaded("a.csv", b",src,dst,colour,w\n0,3,4,red,9\n1,4,3,blue,8\n")
    assert rows_of(edges) == [(3, 4, 9), (4, 3, 8)]
    assert "Columns ignored: 2 of 5." in edges.notes


def test_the_comment_before_the_rows_may_name_the_columns() -> None:
    edges = loaded("a.txt", b"# FromNodeId\tToNodeId\tTime\n0\t1\t5\n")
    assert edges.time is not None
    assert edges.weight is None


@pytest.mark.parametrize(
    ("name", "data", "role"),
    [
        ("a.txt", b"0 1 5\n", "weight"),
        ("a.txt", b"0 1 1082040961\n", "time"),
        ("a-temporal.txt", b"0 1 5\n", "time"),
        ("a.txt", b"0 1 1082040961\n1 2 5\n", "weight"),
    ],
)
def test_a_third_column_is_a_weight_unless_it_looks_like_a_time(name: str, data: bytes, role: str) -> None:
    other = {"weight": "time", "time": "weight"}[role]
    edges, turned = loaded(name, data), loaded(name, data, columns=("source", "target", other))
    assert getattr(edges, role) is not None
    assert getattr(edges, other) is None
    assert getattr(turned, role) is None
    assert getattr(turned, other) is not None


@pytest.mark.parametrize(
    ("data", "options", "rows"),
    [
        (b"9 3 8 4\n", {"columns": ("-", "source", "-", "target")}, [(3, 4)]),
        (b"foo,bar\n3,4\n", {"columns": ("target", "source")}, [(4, 3)]),
        (b"3|4\n", {"delimiter": "|"}, [(3, 4)]),
        (b"; a note\n3 4\n", {"comment": ";", "format": "snap"}, [(3, 4)]),
        (b"#a b\nb c\n", {"comment": ""}, [("#a", "b"), ("b", "c")]),
        (b'"a,b",c\nc,"d"\n', {"format": "csv"}, [("a,b", "c"), ("c", "d")]),
        (b"New York\tRome\nRome\tOslo\n", {}, [("New York", "Rome"), ("Rome", "Oslo")]),
        (b"3, 4\n", {}, [(3, 4)]),
        (b"+3 +4 +1.5e+1\n", {}, [(3, 4, 15.0)]),
        (b"+3,4, +1\n", {}, [(3, 4, 1)]),
    ],
)
def test_the_user_may_say_how_rows_are_written(data: bytes, options: dict[str, Any], rows: list[Any]) -> None:
    assert rows_of(loaded("a", data, **options)) == rows


@pytest.mark.parametrize("data", [b"# only\n# comments", b"u,v\n", b"% sym unweighted\n", b"p sp 0 0\n"])
def test_a_file_without_rows_is_an_empty_graph(data: bytes) -> None:
    edges = loaded("a", data)
    assert (len(edges), edges.vertices) == (0, 0)


def test_more_comments_than_fit_into_a_block_are_skipped() -> None:
    edges = loaded("a.txt", b"# a long preamble\n" * 10_000 + b"0 1\n")
    assert rows_of(edges) == [(0, 1)]
