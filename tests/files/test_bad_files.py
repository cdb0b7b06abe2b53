"""Bad files: one sentence that names the file and the line, and never another kind of error."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from writing import as_npz, loaded

from grapin.edges import EdgeList
from grapin.errors import InvalidArgument, InvalidFile
from grapin.files import load_edges

GOOD = b"0 1\n" * 20_000

BAD_TEXT = {
    "ragged": (
        "a.txt",
        b"0 1\n1 2 3\n",
        "line 2: a row must have 2 columns, not 3",
    ),
    "short row": ("a.txt", b"# c\n\n0 1\n1\n", "line 4: a row must have 2 columns"),
    "late ragged": ("a.txt", GOOD + b"# c\n1 2 3\n", "line 20002: a row must have 2 columns"),
    "ragged csv": ("a.csv", b"u,v\n0,1\n1,2,3\n", "line 3: a row must have 2 columns"),
    "late name": (
        "a.txt",
        GOOD + b"1 x7\n",
        "line 20001: the target 'x7' must be a whole number; ids='text'",
    ),
    "late header": ("a.txt", b"0 1\nsource target\n", "line 2: the source 'source' must be a whole number"),
    "unknown header": (
        "a.csv",
        b"foo,bar\n0,1\n",
        "line 1: a header must name source and target, not foo, bar",
    ),
    "header in konect": ("out.a", b"% sym\nfoo bar\n1 2\n", "line 2: rows must begin with two whole numbers"),
    "beyond int64": (
        "a.txt",
        b"0 1\n0 9223372036854775808\n",
        "line 2: .*9223372036854775808' must fit into 64",
    ),
    "huge number": ("a.txt", b"0 " + b"9" * 5000 + b"\n", "line 1: .*must fit into 64 bits"),
    "fractional id": ("a.txt", b"0 1.5\n", "line 1: the target '1.5' must be a whole number"),
    "missing id": ("a.csv", b"0,1,2\n1,,3\n", "line 2: the target '' must be a whole number"),
    "missing name": ("a.csv", b"a,b\nc,\n", "line 2: the target must not be empty"),
    "NaN": ("a.txt", b"0 1 2.5\n1 2 nan\n", "line 2: the weight nan must be a finite number"),
    "infinite": ("a.txt", b"0 1 inf\n", "line 1: the weight inf must be a finite number"),
    "negative": (
        "a.txt",
        b"# c\n0 1 3\n\n1 2 -4\n",
        "line 4: the weight -4 must not be negative; weights='ignore'",
    ),
    "too large": ("a.txt", b"0 1 1e39\n", "line 1: the weight .* must fit into a 32-bit float"),
    "no number": ("a.txt", b"0 1 3\n1 2 many\n", "line 2: the weight 'many' must be a number"),
    "no time": ("a.csv", b"u,v,time\n0,1,3\n0,1,noon\n", "line 3: the time 'noon' must be a number"),
    "infinite time": (
        "a.csv",
        b"u,v,time\n0,1,3.5\n0,1,inf\n",
        "line 3: the time inf must be a finite number",
    ),
    "one column": ("a.txt", b"# c\n1\n", "line 2: a row must have 2 to 4 columns, not 1"),
    "five columns": ("a.txt", b"1 2 3 4 5\n", "line 1: a row must have 2 to 4 columns, not 5"),
    "binary": ("a.txt", b"\x00\x01\x02\xff", "line 1: the file must hold text, but holds binary data"),
    "late binary": ("a.txt", GOOD + b"\x00\xff 1\n", "line 20001: "),
    "no UTF-8": ("a.csv", b"a,b\nc,\xff\n", "line 2: the name .* must be UTF-8 text"),
    "carriage returns": ("a.txt", b"0 1\r1 2\r", "line 1: lines must end with a line feed"),
    "long first line": ("a.txt", b"x" * 10**5, "line 1: a row must be shorter"),
    "long line": ("a.txt", GOOD + b"x" * 5 * 10**6, "line 20001: a row must be shorter"),
    "no problem line": ("a.gr", b"a 1 2 5\n", "there must be one line 'p sp VERTICES ARCS'"),
    "wrong arc": ("a.gr", b"p sp 3 2\na 1 2 5\nb 2 3 7\n", "line 3: an arc must begin with 'a', not 'b'"),
    "arcs missing": ("a.gr", b"p sp 3 2\na 1 2 5\n", "2 arcs are promised, but there are 1"),
    "arc outside": ("a.gr", b"p sp 3 1\na 1 4 5\n", "line 2: the target 4 must be from 1 to 3"),
    "zero in konect": ("out.a", b"% asym\n0 2\n", "line 2: the source 0 must be from 1"),
    "right side from zero": ("out.a", b"% bip\n1 0\n", "line 2: the target 0 must be from 1"),
    "too many vertices": ("a.gr", b"p sp 99999999999 0\n", "must have at most 2147483647 vertices"),
    "no count": ("a.gr", b"p sp " + b"9" * 5000 + b" 0\n", "there must be one line 'p sp VERTICES ARCS'"),
    "quoted return": ("a.csv", b"0,1\n" * 20_000 + b'"0\r",1,2\n', "line 20001: "),
    "no change": ("out.a", b"% asym dynamic\n1 2 7 5\n", "line 2: the change 7 must be 1 .* or -1"),
}
_MATRIX = b"%%MatrixMarket matrix coordinate real general\n"
BAD_TABLES = {
    "matrix entry": ("a.mtx", _MATRIX + b"3 3 1\n1 x 1\n", "line 3: the target 'x' must be a whole number"),
    "matrix outside": ("a.mtx", _MATRIX + b"3 3 1\n1 4 1\n", "line 3: the target 4 must be from 1 to 3"),
    "matrix cut": ("a.mtx", _MATRIX + b"3 3 2\n1 2 1\n", "line 2: 2 entries are promised, but there are 1"),
    "matrix not square": (
        "a.mtx",
        _MATRIX + b"3 4 1\n1 2 1\n",
        "line 2: the size must be .* square matrix, not '3 4 1'",
    ),
    "matrix dense": (
        "a.mtx",
        b"%%MatrixMarket matrix array real general\n1 1\n2\n",
        "line 1: the header must be",
    ),
    "matrix negative": (
        "a.mtx",
        _MATRIX + b"3 3 1\n1 2 -1\n",
        "line 3: the weight -1.0 must not be negative",
    ),
    "no matrix": ("a.mtx", b"0 1\n", "must hold matrix-market data, as its name says"),
    "no archive": ("a.npz", b"0 1\n", "must hold npz data, as its name says"),
    "damaged archive": ("a.npz", b"PK\x03\x04junk", r"must be a readable \.npz archive"),
    "array missing": ("a.npz", as_npz(source=[0]), "source and target must be among"),
    "arrays uneven": ("a.npz", as_npz(source=[0], target=[1, 2]), "one dimension and one length"),
    "float ids": (
        "a.npz",
        as_npz(source=[0.5], target=[1]),
        "must hold 64-bit integers or text, not float64",
    ),
    "complex weights": ("a.npz", as_npz(source=[0], target=[1], weight=[1j]), "must hold real numbers"),
    "sparse not square": (
        "a.npz",
        as_npz(format="csr", shape=[2, 3], data=[1]),
        r"square matrix, not \[2, 3\]",
    ),
    "sparse without lists": (
        "a.npz",
        as_npz(format="csr", shape=[2, 2], data=[1]),
        "csr, csc or coo, not 'csr'",
    ),
    "sparse of another kind": (
        "a.npz",
        as_npz(format="dia", shape=[2, 2], data=[1]),
        "csr, csc or coo, not 'dia'",
    ),
    "lists running back": (
        "a.npz",
        as_npz(format="csr", shape=[2, 2], data=[1], indptr=[0, 1, 0], indices=[1]),
        "they must be a sparse matrix",
    ),
    "id outside": (
        "a.npz",
        as_npz(source=[0], target=[5], vertices=3),
        "row 1: the target 5 must be from 0 to 2",
    ),
    "no parquet": ("a.parquet", b"0 1\n", "must hold parquet data, as its name says"),
    "damaged parquet": ("a.parquet", b"PAR1junkPAR1", "must be a readable Parquet file"),
}
BAD = {**BAD_TEXT, **BAD_TABLES}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_refused_by_a_sentence_with_its_name(case: str) -> None:
    name, data, sentence = BAD[case]
    with pytest.raises(InvalidFile, match=sentence) as caught:
        loaded(name, data)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("case", BAD_TEXT)
def test_windows_line_ends_change_no_sentence(case: str) -> None:
    name, data, sentence = BAD_TEXT[case]
    if b"\r" not in data:
        with pytest.raises(InvalidFile, match=sentence):
            loaded(name, data.replace(b"\n", b"\r\n"))


def test_a_missing_file_a_directory_and_an_empty_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    for path, sentence in (
        (tmp_path / "absent.txt", "there is no such file"),
        (tmp_path, "must be a file, not a directory"),
        (tmp_path / "empty.txt", "is empty"),
        (tmp_path / ("x" * 5000), "must be readable"),
    ):
        with pytest.raises(InvalidFile, match=sentence):
            load_edges(path)


def test_pickled_arrays_are_refused_and_never_run(tmp_path: Path) -> None:
    trace = tmp_path / "run"

    class Payload:
        def __reduce__(self) -> tuple[Any, ...]:
            return (trace.write_text, ("executed",))

    array = np.empty(1, object)
    array[0] = Payload()
    with pytest.raises(InvalidFile, match="allow_pickle"):
        loaded("a.npz", as_npz(source=array, target=[1]))
    assert not trace.exists()
    pickle.loads(pickle.dumps(array[0]))
    assert trace.exists(), "the payload must be able to run, or this test proves nothing"


@pytest.mark.parametrize(
    "option",
    [
        {"format": "snapp"},
        {"ids": "sparse"},
        {"weights": "negative"},
        {"self_loops": "merge"},
        {"duplicates": "all"},
        {"delimiter": "ab"},
        {"columns": ("source", "source")},
        {"columns": ("source", "time")},
    ],
)
def test_unknown_options_are_refused_by_name(option: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(option))):
        loaded("a.txt", b"0 1\n", **option)


NAMES = (
    "a",
    "a.txt",
    "a.csv",
    "a.gr",
    "out.a",
    "a.mtx",
    "a.npz",
    "a.parquet",
    "a.gz",
    "a.zst",
    "a.xz",
    "a.bz2",
)
HEADS = (
    b"",
    b"PAR1",
    b"PK\x03\x04",
    b"%%MatrixMarket matrix ",
    b"% asym dynamic\n",
    b"p sp 3 1\n",
    b"u,v\n",
    _MATRIX,
)
TEXTISH = st.text('0123456789 \t\n,;#%-+.eanpcsuvw"\r', max_size=80).map(str.encode)


def loaded_or_refused(name: str, data: bytes) -> EdgeList | InvalidFile:
    try:
        return loaded(name, data)
    except InvalidFile as error:
        return error


@given(st.sampled_from(NAMES), st.sampled_from(HEADS), st.binary(max_size=200) | TEXTISH)
def test_random_bytes_raise_nothing_but_invalid_file(name: str, head: bytes, data: bytes) -> None:
    outcome = loaded_or_refused(name, head + data)
    if isinstance(outcome, InvalidFile):
        assert name in str(outcome)
    else:
        assert len(outcome.source) == len(outcome.target)
        assert outcome.source.max(initial=-1) < outcome.vertices


@given(st.sampled_from(sorted(BAD)), st.data())
def test_one_changed_byte_raises_nothing_but_invalid_file(case: str, data: st.DataObject) -> None:
    name, content, _ = BAD[case]
    changed = bytearray(content[-2000:] if content.startswith(GOOD) else content)
    changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    outcome = loaded_or_refused(name, bytes(changed))
    assert isinstance(outcome, EdgeList) or name in str(outcome)
