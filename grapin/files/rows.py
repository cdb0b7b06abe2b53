"""`Request` and `Rows`: what a format's reader is asked for, and what it answers.

Rows are columns as the file had them: ids of any integer or string, numbers of any size. Their meaning (dense
vertices, checked weights) is settled afterwards, in the same way for every format.

The lines of a text file: comments before the rows, a sample of the rows, rows with their line numbers.
"""

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from grapin.errors import InvalidFile
from grapin.files.source import Source
from grapin.progress import Advance

ROLES = ("source", "target", "weight", "time", "change", "-")
"""What a column may mean; `change` is +1 for an insertion and -1 for a deletion, `-` is ignored."""


@dataclass(frozen=True)
class Request:
    """A file and how its user wants it read; None leaves the choice to the reader."""

    path: Path
    advance: Advance
    columns: Sequence[str] | str | None = None
    delimiter: str | None = None
    comment: str | None = None
    text_ids: bool = False
    content: Path | None = None
    """Where the bytes are, if not in the file of that name: a pipe is read from what was kept of it."""

    def open(self) -> Source:
        """Open the file from its beginning, decompressed."""
        return Source(self.path, self.advance, self.content)

    def refuse(self, place: str, problem: str) -> NoReturn:
        """Raise `InvalidFile` with the file, the place in it and what is wrong there."""
        raise InvalidFile(f"{self.path}, {place}: {problem}")


@dataclass(frozen=True, eq=False)
class Rows:
    """Columns as they stood in a file, and what the file says about itself."""

    source: pa.ChunkedArray
    """int64 or int32, or strings, perhaps encoded as a dictionary; so is `target`."""
    target: pa.ChunkedArray
    weight: pa.ChunkedArray | None
    """Integers or floats; so is `time`, of 64 bits."""
    time: pa.ChunkedArray | None
    locate: Callable[[int], str]
    """Names the place of a row for messages: `line 17`."""
    removed: NDArray[np.bool_] | None = None
    directed: bool | None = None
    """None when the file does not say."""
    first: int = 0
    """The smallest id the format knows."""
    declared: int | None = None
    """How many vertices the file says it has."""
    numbered: bool = False
    """True when the format itself promises ids from `first` on without names of their own."""
    notes: tuple[str, ...] = ()
    names: Sequence[str] = ()
    """What a file beside this one calls the vertices, from the first on; empty where there is none."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """What the file calls the columns that it names, by role."""


def count_of(word: str) -> int | None:
    """Read a number of vertices or edges that a file declares, or None if it is no such number."""
    return int(word) if re.fullmatch("[0-9]{1,18}", word) else None


def row_place(row: int) -> str:
    """Name a row of a format that has no lines, counted from 1."""
    return f"row {row + 1}"


def named_columns(roles: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Return what columns that have a role are called, by role."""
    return {role: name for role, name in zip(roles, names, strict=False) if role in ROLES and role != "-"}


def as_column(values: NDArray[Any]) -> pa.ChunkedArray:
    """Wrap an array without a copy."""
    return pa.chunked_array([pa.array(values)])


def first_row(column: pa.ChunkedArray, bad: Callable[[NDArray[Any]], NDArray[np.bool_]]) -> int | None:
    """Return the first row whose value is bad, looking at one block after the other."""
    offset = 0
    for chunk in column.chunks:
        wrong = bad(chunk.to_numpy(zero_copy_only=False))
        if wrong.any():
            return offset + int(np.argmax(wrong))
        offset += len(chunk)
    return None


def changes(request: Request, column: pa.ChunkedArray, locate: Callable[[int], str]) -> NDArray[np.bool_]:
    """Turn a column of +1 and -1 into True where a row deletes its edge."""
    row = first_row(column, lambda values: np.abs(values) != 1)
    if row is not None:
        request.refuse(locate(row), f"the change {column[row]} must be 1 (insertion) or -1 (deletion)")
    removed: NDArray[np.bool_] = column.to_numpy() < 0
    return removed


LONGEST_ROW = 2**16
"""The longest line that is taken for a row; also how many bytes of rows the layout is told from."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Prefixes = tuple[bytes, ...]
"""What a comment line may begin with."""


@dataclass(frozen=True)
class Survey:
    """The beginning of a text file."""

    comments: list[str]
    lines: list[bytes]
    """The first rows (a header among them, if there is one), without line ends and empty lines."""
    first: int
    """The number of the line where the rows begin."""


def survey(request: Request, prefixes: Prefixes) -> Survey:
    """Look at the comments and first rows of a file; refuse what is no text."""
    with request.open() as source:
        preamble = _skip_preamble(source, prefixes)
        sample = source.read(LONGEST_ROW)
    first = preamble.count(b"\n") + 1
    if b"\0" in sample:
        request.refuse(f"line {first}", "the file must hold text, but holds binary data")
    if len(sample) == LONGEST_ROW:
        sample, newline, _ = sample.rpartition(b"\n")
        if not newline:
            request.refuse(f"line {first}", f"a row must be shorter than {LONGEST_ROW} bytes")
    comments = [line.strip() for line in preamble.decode(errors="replace").splitlines()]
    lines = [line.removesuffix(b"\r") for line in sample.split(b"\n")]
    if any(b"\r" in line for line in lines):
        request.refuse(f"line {first}", "lines must end with a line feed, not with a carriage return alone")
    return Survey([line for line in comments if line], [line for line in lines if line.strip()], first)


def open_rows(request: Request, prefixes: Prefixes, *, header: bool) -> Source:
    """Open a text file at its first row, past comments and header."""
    source = request.open()
    _skip_preamble(source, prefixes)
    if header:
        _, _, rest = source.read(LONGEST_ROW).partition(b"\n")
        source.put_back(rest)
    return source


def numbered_rows(request: Request, prefixes: Prefixes, *, header: bool) -> Iterator[tuple[int, bytes]]:
    """Yield every row with its line number, slowly: for messages, once something is known to be wrong."""
    skip = header
    with request.open() as source, io.BufferedReader(source, 2**20) as lines:
        for number, line in enumerate(lines, 1):
            row = line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
            row = row.rstrip(b"\r\n")
            if not row.strip() or is_comment(row, prefixes):
                continue
            if skip:
                skip = False
                continue
            yield number, row


def line_of(request: Request, prefixes: Prefixes, row: int, *, header: bool) -> str:
    """Name the line of a row, counted from 0."""
    for index, (number, _) in enumerate(numbered_rows(request, prefixes, header=header)):
        if index == row:
            return f"line {number}"
    return "the last line"


def is_comment(line: bytes, prefixes: Prefixes) -> bool:
    """Tell whether a line is a comment."""
    return bool(prefixes) and line.lstrip(b" \t").startswith(prefixes)


def comment_pattern(prefixes: Prefixes) -> bytes:
    """Return a regular expression for one comment or empty line without its line end."""
    starts = b"|".join(re.escape(prefix) for prefix in prefixes)
    return rb"[ \t\r]*(?:(?:" + starts + rb")[^\n]*)?" if prefixes else rb"[ \t\r]*"


def _skip_preamble(source: Source, prefixes: Prefixes) -> bytes:
    """Read past comments and empty lines, and return them."""
    line = comment_pattern(prefixes)
    complete, last = re.compile(rb"(?:" + line + rb"\n)*"), re.compile(line + rb"\Z")
    skipped: list[bytes] = []
    source.put_back(source.read(len(_BYTE_ORDER_MARK)).removeprefix(_BYTE_ORDER_MARK))
    block = b""
    while more := source.read(LONGEST_ROW):
        block += more
        end = complete.match(block).end()  # type: ignore[union-attr]  # the pattern matches the empty string
        skipped.append(block[:end])
        block = block[end:]
        if b"\n" in block or (block and not last.match(block)):
            break
    if last.match(block) and not more:
        skipped.append(block)
    else:
        source.put_back(block)
    return b"".join(skipped)
