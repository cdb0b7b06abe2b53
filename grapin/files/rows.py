"""`Request` and `Rows`: what a format's reader is asked for, and what it answers.

Rows are columns as the file had them: ids of any integer or string, numbers of any size. Their meaning (dense
vertices, checked weights) is settled afterwards, in the same way for every format.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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

    def open(self) -> Source:
        """Open the file from its beginning, decompressed."""
        return Source(self.path, self.advance)

    def refuse(self, place: str, problem: str) -> NoReturn:
        """Raise `InvalidFile` with the file, the place in it and what is wrong there."""
        raise InvalidFile(f"{self.path}, {place}: {problem}")


@dataclass(frozen=True, eq=False)
class Rows:
    """Columns as they stood in a file, and what the file says about itself."""

    source: pa.ChunkedArray
    """int64, or strings encoded as a dictionary; so is `target`."""
    target: pa.ChunkedArray
    weight: pa.ChunkedArray | None
    """int64 or float64; so is `time`."""
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


def count_of(word: str) -> int | None:
    """Read a number of vertices or edges that a file declares, or None if it is no such number."""
    return int(word) if re.fullmatch("[0-9]{1,18}", word) else None


def row_place(row: int) -> str:
    """Name a row of a format that has no lines, counted from 1."""
    return f"row {row + 1}"


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
