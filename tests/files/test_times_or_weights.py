"""Times are not taken for weights, nor weights for times, and either way the file's reader says which it was."""

import io
import logging
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from writing import loaded

import grapin
from grapin.cli.main import main
from grapin.edges import EdgeList
from grapin.files import load_edges
from grapin.files.layout import guesses

ENDS = st.tuples(st.integers(0, 50), st.integers(0, 50))


def lines(*columns: Any) -> bytes:
    return "".join(" ".join(map(str, row)) + "\n" for row in zip(*columns, strict=True)).encode()


def taken(edges: EdgeList) -> str:
    """Return what the third column was taken for; the arrays, and the one note, must agree."""
    (note,) = guesses(edges.notes)
    role = "time" if edges.time is not None else "weight"
    assert note.startswith(f"The third column was taken for {role}s")
    assert (edges.weight is None) == (role == "time")
    other = {"time": "weight", "weight": "time"}[role]
    assert f"columns='source,target,{other}' takes it for {other}s." in note
    return role


@given(st.lists(st.tuples(ENDS, st.integers(0, 10)), min_size=1, max_size=60), st.booleans())
def test_ordinary_weights_stay_weights_in_any_order_with_a_note(
    rows: list[tuple[tuple[int, int], int]], ordered: bool
) -> None:
    rows = sorted(rows, key=lambda row: row[1]) if ordered else rows
    edges = loaded("graph.txt", lines(*zip(*[(*ends, weight) for ends, weight in rows], strict=True)))
    assert taken(edges) == "weight"
    assert edges.weight is not None
    assert edges.weight.tolist() == [weight for _, weight in rows]


@given(st.integers(0, 2**31), st.integers(17, 60), st.integers(0, 10**6))
def test_large_weights_out_of_order_stay_weights(seed: int, count: int, most: int) -> None:
    draws = np.random.default_rng(seed)
    weights = draws.integers(0, most + 1, count)
    weights[-1] = 0  # so that they do not grow, and are not all moments, years or dates
    weights[0] = most
    assert taken(loaded("graph.txt", lines(*draws.integers(0, 9, (2, count)), weights))) == "weight"


@given(
    st.integers(315_532_800, 2**31 - 1),
    st.lists(st.integers(0, 10**6), min_size=1, max_size=30),
    st.booleans(),
)
def test_moments_since_1970_are_times_in_any_order_and_before_2001_too(
    first: int, steps: list[int], real: bool
) -> None:
    moments = [first + step + (0.5 if real else 0) for step in steps]
    assert taken(loaded("graph.txt", lines(range(len(steps)), range(len(steps)), moments))) == "time"


@given(st.lists(st.integers(1800, 2100), min_size=2, max_size=30, unique=True))
def test_years_are_times(years: list[int]) -> None:
    assert taken(loaded("graph.txt", lines(range(len(years)), range(len(years)), years))) == "time"


@given(st.lists(st.dates(date(1800, 1, 1), date(2100, 12, 31)), min_size=1, max_size=9))
def test_dates_are_times(dates: list[date]) -> None:
    written = [day.strftime("%Y%m%d") for day in dates]
    assert taken(loaded("graph.txt", lines(range(len(written)), range(len(written)), written))) == "time"


@given(st.integers(0, 2**31), st.integers(17, 200))
def test_seconds_from_zero_are_times_because_they_grow_where_sources_do_not(seed: int, count: int) -> None:
    draws = np.random.default_rng(seed)
    times = np.cumsum(draws.integers(1, 200, count)) + 1000 * np.arange(count)
    sources = draws.integers(0, 50, count)
    sources[:2] = 9, 3
    assert taken(loaded("graph.txt", lines(sources, draws.integers(0, 50, count), times))) == "time"
    # In the order of sources, the sources may be why: a list by vertex with weights that grow with its number.
    assert taken(loaded("graph.txt", lines(np.sort(sources), sources, times))) == "weight"


@pytest.mark.parametrize(
    ("name", "data", "role", "note"),
    [
        ("a.txt", b"1 2 978307260\n", "time", "because 978307260 and above are moments since 1970"),
        ("a.txt", b"1 2 1999\n2 3 2004\n", "time", "because 1999 to 2004 are years"),
        ("a.txt", b"1 2 19991231\n2 3 20040101\n", "time", "because 19991231 to 20040101 are dates"),
        ("a.txt", b"1 2 19991231\n2 3 20044001\n", "weight", "taken for weights"),
        ("a.txt", b"1 2 2000\n2 3 2000\n", "weight", "taken for weights"),
        ("a.txt", b"1 2 315532799\n", "weight", "taken for weights"),
        ("a.txt", b"1 2 1999.5\n2 3 2004.5\n", "weight", "taken for weights"),
        ("a-temporal.txt", b"1 2 5\n", "time", "because the file's name says so"),
        ("a-timestamps.csv", b"1,2,5\n", "time", "because the file's name says so"),
    ],
)
def test_the_note_says_why(name: str, data: bytes, role: str, note: str) -> None:
    edges = loaded(name, data)
    assert taken(edges) == role
    assert note in guesses(edges.notes)[0]


def test_a_late_row_counts_as_much_as_the_first_ones() -> None:
    moments = b"1 2 1082040961\n" * 20_000
    assert taken(loaded("a.txt", moments)) == "time"
    assert taken(loaded("a.txt", moments + b"1 2 5\n")) == "weight"


@pytest.mark.parametrize(
    ("data", "first", "note"),
    [
        (
            b"1 2 5 1082040961\n",
            5,
            "taken for weights, and the fourth for times; columns='source,target,time,weight'",
        ),
        (
            b"1 2 1082040961 5\n",
            5,
            "because 1082040961 and above are moments since 1970, and the fourth for weights",
        ),
        (b"1 2 5 7\n", 5, "taken for weights, and the fourth for times"),
    ],
)
def test_of_four_columns_the_one_with_times_is_the_time(data: bytes, first: int, note: str) -> None:
    edges = loaded("a.txt", data)
    assert edges.weight is not None
    assert edges.weight.tolist() == [first]
    (said,) = guesses(edges.notes)
    assert note in said


@pytest.mark.parametrize("header", [b"source,target,year\n", b"from,to,Timestamps\n", b"src,dst,epoch\n"])
def test_a_header_that_names_a_time_needs_no_guess(header: bytes) -> None:
    edges = loaded("a.csv", header + b"1,2,5\n")
    assert edges.time is not None
    assert guesses(edges.notes) == []


def test_columns_that_the_user_names_are_as_named_without_a_note() -> None:
    edges = loaded("a.txt", b"1 2 1082040961\n", columns="source,target,weight")
    assert edges.weight is not None
    assert guesses(edges.notes) == []


@pytest.mark.parametrize(("value", "role"), [(5, "weight"), (1_082_040_961, "time")])
def test_unnamed_columns_of_a_parquet_file_are_told_and_noted_alike(value: int, role: str) -> None:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({"a": [1], "b": [2], "c": [value]}), file)
    assert taken(loaded("a.parquet", file.getvalue())) == role


@pytest.mark.parametrize(
    ("header", "row", "note"),
    [
        ("% asym dynamic", "1 2 1 11", ("taken for changes (1 for an edge that comes, -1 for one that goes), and the "
         "fourth for times, as the header says dynamic; columns='source,target,weight,time' takes it for weights.")),
        ("% asym positive", "1 2 3", ("taken for weights, as the header says positive; "
         "columns='source,target,change' takes it for changes.")),
        ("% asym", "1 2 3", ("taken for weights, as the header does not say; "
         "columns='source,target,change' takes it for changes.")),
        ("% asym unweighted", "1 2 1 9", ("ignored, and the fourth for times, as the header says unweighted; "
         "columns='source,target,weight,time' takes it for weights.")),
    ],
)  # fmt: skip
def test_konect_says_what_its_third_column_is(header: str, row: str, note: str) -> None:
    edges = loaded("out.a", f"{header}\n{row}\n".encode())
    assert [f"The third column was {note}"] == guesses(edges.notes)
    assert guesses(loaded("out.a", b"% asym positive\n1 2\n").notes) == []


def test_a_graph_that_is_loaded_from_a_guess_says_so_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("1 2 5\n")
    with caplog.at_level(logging.WARNING, "grapin"):
        grapin.load(file)
        grapin.load(file, columns="source,target,weight")
    (line,) = caplog.messages
    assert line.startswith(f"grapin: note: {file}: The third column was taken for weights;")


def test_info_says_it_once_and_other_commands_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("1 2 978307260\n")
    assert main(["info", str(file)]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.count("--columns source,target,weight takes it for weights") == 1


REAL = {
    "CollegeMsg.txt.gz": "time",
    "email-Eu-core-temporal.txt.gz": "time",
}


@pytest.mark.parametrize("name", REAL)
def test_times_of_real_files_are_told_from_their_values_alone(
    name: str, shared_data: Path, tmp_path: Path
) -> None:
    file = tmp_path / "renamed.txt.gz"
    file.symlink_to(shared_data / name)
    assert taken(load_edges(file)) == REAL[name]


def test_a_real_stream_of_changes_is_one(shared_data: Path) -> None:
    edges = load_edges(shared_data / "out.debian-deps.zst")
    assert edges.removed is not None
    (note,) = guesses(edges.notes)
    assert "taken for changes" in note


@pytest.mark.parametrize(
    "name", ["soc-sign-bitcoinotc.csv.zst", "wiki-Vote.txt.zst", "world-highways.gr.zst"]
)
def test_real_files_that_say_what_their_columns_are_need_no_guess(name: str, shared_data: Path) -> None:
    assert guesses(load_edges(shared_data / name, weights="absolute").notes) == []
