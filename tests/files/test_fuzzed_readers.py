"""Readers of files that are nearly right: a graph is written in every format, then the structure of its file is bent.

What is bent is what a format is made of (lines, fields, headers, arrays, columns, compressed blocks), so that most
files get past the first check. Each is either read, as edges that are in order, or refused in one sentence that names
it.
"""

import bz2
import gzip
import io
import lzma
import os
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from writing import ROWS, Row, as_dimacs, as_konect, as_matrix_market, as_text, loaded

from grapin.edges import MOST_VERTICES, EdgeList
from grapin.errors import GrapinError, InvalidFile
from grapin.files.ids import IDS
from grapin.files.weights import DUPLICATES, SELF_LOOPS, WEIGHTS

CASES = 100_000 if os.environ.get("GRAPIN_PROFILE") == "deep" else 150
Draw = Callable[[st.SearchStrategy[Any]], Any]
Bend = Callable[[Draw, bytes], bytes]

TEXTS: dict[str, tuple[str, Callable[[list[Row]], bytes]]] = {
    "snap": ("a.txt", as_text),
    "csv": ("a.csv", lambda rows: as_text(rows, ",", "source,target,weight\n")),
    "matrix market": ("a.mtx", as_matrix_market),
    "dimacs": ("a.gr", as_dimacs),
    "konect": ("out.a", as_konect),
}
WORDS = st.sampled_from(
    [
        "",
        "-1",
        "0",
        "-0",
        "+1",
        "1.5",
        "1e3",
        "1e309",
        "nan",
        "-inf",
        "0x1f",
        "1_0",
        "٣",
        "é",
        "x",
        '"',
        "'",
        '"a,b"',
    ]
    + [
        "%",
        "#",
        "\ufeff",
        "\x00",
        "\r",
        "\t",
        ";",
        "p",
        "a",
        "c",
        "source",
        "weight",
        "pattern",
        "symmetric",
        "null",
    ]
    + [str(edge) for bits in (31, 32, 53, 63, 64) for edge in (2**bits - 1, 2**bits, -(2**bits))]
    + ["9" * 400, "1" + "0" * 30 + ".5", "-" * 50]
)
_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: zstandard.ZstdCompressor().compress(data),
}


def _bend_field(draw: Draw, data: bytes) -> bytes:
    lines = data.split(b"\n")
    place = draw(st.integers(0, len(lines) - 1))
    fields = lines[place].split(b" ")
    fields[draw(st.integers(0, len(fields) - 1))] = draw(WORDS).encode()
    lines[place] = b" ".join(fields)
    return b"\n".join(lines)


def _bend_lines(draw: Draw, data: bytes) -> bytes:
    lines = data.split(b"\n")
    first, second = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    match draw(st.integers(0, 4)):
        case 0:
            del lines[first]
        case 1:
            lines.insert(first, lines[second])
        case 2:
            lines[first], lines[second] = lines[second], lines[first]
        case 3:
            lines[first] += b" " + lines[second]
        case _:
            lines.insert(first, draw(WORDS).encode())
    return b"\n".join(lines)


def _bend_separators(draw: Draw, data: bytes) -> bytes:
    before, after = (
        draw(st.sampled_from([b" ", b",", b"\t", b"\n", b"\r\n", b";", b"  "])) for _ in range(2)
    )
    return data.replace(before, after, draw(st.sampled_from([1, 3, -1])))


def _cut(draw: Draw, data: bytes) -> bytes:
    begin = draw(st.integers(0, len(data)))
    end = draw(st.integers(begin, len(data)))
    made: bytes = draw(
        st.sampled_from([data[:begin], data[begin:end], data[:begin] + data[end:], data + data[begin:end]])
    )
    return made


def _change_byte(draw: Draw, data: bytes) -> bytes:
    if not data:
        return data
    changed = bytearray(data)
    changed[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(changed)


BENDS: list[Bend] = [_bend_field, _bend_field, _bend_lines, _bend_separators, _cut, _change_byte]


@st.composite
def text_files(draw: Draw) -> tuple[str, bytes]:
    """A text format's file, bent at most four times, compressed and then bent once more now and then."""
    name, write = TEXTS[draw(st.sampled_from(sorted(TEXTS)))]
    data = write(draw(ROWS))
    for bend in draw(st.lists(st.sampled_from(BENDS), max_size=4)):
        data = bend(draw, data)
    if draw(st.integers(0, 4)) == 0:
        suffix = draw(st.sampled_from(sorted(_PACKERS)))
        name, data = name + suffix, _PACKERS[suffix](data)
        if draw(st.booleans()):
            data = draw(st.sampled_from([_cut, _change_byte]))(draw, data)
    return name, data


_TYPES = st.sampled_from(
    ["i1", "u1", "i4", "u4", "i8", "u8", "f4", "f8", "?", "U3", "S2", "M8[s]", "c16", "O"]
)


@st.composite
def archives(draw: Draw) -> tuple[str, bytes]:
    """An npz whose arrays have other names, types, shapes and values than they should, cut or changed now and then."""
    rows = np.array(draw(ROWS), np.int64)
    arrays = {"source": rows[:, 0], "target": rows[:, 1], "weight": rows[:, 2]}
    if draw(st.booleans()):
        arrays |= {"vertices": np.array(12), "directed": np.array(draw(st.booleans()))}
    for name in draw(st.lists(st.sampled_from([*arrays, "labels", "time", "change"]), max_size=3)):
        found = arrays.get(name, rows[:, 0])
        match draw(st.integers(0, 5)):
            case 0:
                arrays.pop(name, None)
            case 1 if found.dtype.kind in "biuf":
                arrays[name] = found.astype(draw(_TYPES))
            case 2:
                arrays[name] = found[: draw(st.integers(0, len(rows)))] if found.ndim else found
            case 3:
                arrays[name] = found.reshape(1, -1)
            case 4 if found.dtype.kind in "biuf":
                edge = draw(st.sampled_from([-1, 2**31, -(2**63), 2**63 - 1]))
                arrays[name] = np.where(np.arange(found.size) == 0, edge, found)
            case _:
                arrays[name] = np.array(draw(st.sampled_from([0, -1, 2**62, 1.5, np.nan, "x", None])))
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    data = file.getvalue()
    for bend in draw(st.lists(st.sampled_from([_cut, _change_byte]), max_size=1)):
        data = bend(draw, data)
    return "a.npz", data


_COLUMNS = st.sampled_from(
    [
        *(pa.int8(), pa.uint64(), pa.int32(), pa.float32(), pa.float64(), pa.bool_(), pa.decimal128(20, 2)),
        *(pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int8(), pa.string()), pa.null()),
        *(pa.date32(), pa.timestamp("ns"), pa.list_(pa.int32()), pa.struct([("a", pa.int32())])),
    ]
)


def _column(draw: Draw, kind: Any, size: int) -> Any:
    if pa.types.is_nested(kind) or pa.types.is_dictionary(kind) or draw(st.integers(0, 3)) == 0:
        return pa.nulls(size, kind)
    numbers = pa.array([draw(st.one_of(st.none(), st.integers(0, 100))) for _ in range(size)], pa.int32())
    try:
        return numbers.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(size, kind)


@st.composite
def tables(draw: Draw) -> tuple[str, bytes]:
    """A Parquet file with columns of any type and name, with nulls, cut or changed now and then."""
    rows = draw(ROWS)
    columns = dict(zip(("src", "dst", "weight"), map(list, zip(*rows, strict=True)), strict=True))
    made: dict[str, Any] = {name: pa.array(column) for name, column in columns.items()}
    for name in draw(st.lists(st.sampled_from([*columns, "time", "change", "source", "é"]), max_size=3)):
        made[name] = _column(draw, draw(_COLUMNS), len(rows))
    file = io.BytesIO()
    pa.parquet.write_table(pa.table(made), file)
    data = file.getvalue()
    for bend in draw(st.lists(st.sampled_from([_cut, _change_byte]), max_size=1)):
        data = bend(draw, data)
    return "a.parquet", data


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "ids": st.sampled_from(sorted(IDS)),
        "weights": st.sampled_from(sorted(WEIGHTS)),
        "self_loops": st.sampled_from(sorted(SELF_LOOPS)),
        "duplicates": st.sampled_from(sorted(DUPLICATES)),
        "directed": st.booleans(),
    },
)
FILES = {"text": text_files(), "npz": archives(), "parquet": tables()}


def outcome(name: str, data: bytes, options: dict[str, Any]) -> EdgeList | GrapinError:
    """Load a file or return why not; any other kind of error passes."""
    try:
        return loaded(name, data, **options)
    except GrapinError as error:
        return error


def check(name: str, found: EdgeList | GrapinError) -> None:
    """Hold what came of a file to what everything that comes of a file must be."""
    if isinstance(found, GrapinError):
        assert "\n" not in str(found)
        assert isinstance(found, InvalidFile) <= (name.partition(".")[0] in str(found))
        return
    assert 0 <= found.vertices <= MOST_VERTICES
    assert found.source.dtype == found.target.dtype == np.int32
    assert len(found.source) == len(found.target)
    for ends in (found.source, found.target):
        assert ends.min(initial=0) >= 0
        assert ends.max(initial=-1) < found.vertices
    if found.weight is not None:
        assert len(found.weight) == len(found.source)
        assert found.weight.dtype in (np.int32, np.float32)
        assert np.isfinite(found.weight).all()
        assert (found.weight >= 0).all()
    if found.labels is not None:
        assert len(set(found.labels.names.tolist())) == found.vertices


@pytest.mark.parametrize("kind", FILES)
def test_a_bent_file_is_read_in_order_or_refused_in_a_sentence(kind: str) -> None:
    ends: Counter[str] = Counter()

    @settings(max_examples=CASES)
    @given(FILES[kind], OPTIONS)
    def fuzz(file: tuple[str, bytes], options: dict[str, Any]) -> None:
        found = outcome(*file, options)
        check(file[0], found)
        ends["read" if isinstance(found, EdgeList) else "refused"] += 1

    fuzz()
    # A fuzzer whose files are all refused at the door, or all read, tries nothing behind it.
    assert min(ends["read"], ends["refused"]) >= 0.1 * sum(ends.values())


@pytest.mark.parametrize("kind", TEXTS)
@given(rows=ROWS)
def test_a_file_that_nobody_bent_is_read(kind: str, rows: list[Row]) -> None:
    name, write = TEXTS[kind]
    assert len(loaded(name, write(rows)).source) == len(rows)
