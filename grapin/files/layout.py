"""`Layout`: how the rows of a delimited file are written, told from a sample of them.

What each column of a delimited file or table means: source, target, weight, time.

Names in a header (or in the comment line before the first row) decide. Without names, two columns are source
and target, a third is a weight and a fourth a time, until their values tell otherwise.

**Times or weights?** What columns of numbers without names were taken for, told from all of their values.

Nothing in a row `1 2 978307260` says whether its last number is a weight or a moment. Times give themselves away: they
are moments since 1970, years, dates, or they grow from row to row though the sources do not. Whatever was decided is
said in a note, with the option that decides otherwise.
"""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from grapin.errors import InvalidArgument
from grapin.files.rows import ROLES, Prefixes, Request, Rows, Survey, is_comment
from grapin.files.source import plain_name
from grapin.tables import roles_of_names

GUESSED = "The third column was"
"""So begins every note about what columns were taken for."""
UNNAMED = "Vertices are numbered, not named:"
"""So begins every note about names that lie beside a file and do not fit it."""

_SINCE_1980 = 315_532_800
"""The first second of 1980, in seconds since 1970; in milliseconds and finer units, times are larger still."""
_LAST_MOMENT = 4.2e18
"""Nanoseconds since 1970 until 2103."""
_YEARS = (1800, 2100)
_LEAST_ROWS = 16
"""Of fewer rows and different values, order says nothing: one in so many weights may well be in order."""
_FEW_BACK = 1000
"""Of so many steps one may lead back: logs of several days or departments are put behind each other."""
_LEAST_SPAN = 1000
"""Over less than this, numbers that grow are ranks or classes by which rows were sorted."""


def tell_times(request: Request, rows: Rows, columns: int) -> Rows:
    """Return rows of which the third column, read as a weight so far, is what it seems to be, and a note that says so.

    Of two unnamed columns the first is the weight, and the second the time, unless they look the other way round.
    """
    if columns < 3 or rows.weight is None:
        return rows
    reason = why_times(plain_name(request.path), rows.weight, rows.source)
    if columns == 3:
        if reason is None:
            return _noted(rows, "weights; columns='source,target,time' takes it for times")
        rows = replace(rows, weight=None, time=rows.weight, columns=_renamed(rows, {"weight": "time"}))
        return _noted(rows, f"times, because {reason}; columns='source,target,weight' takes it for weights")
    if reason is None or rows.time is None or why_times("", rows.time, rows.source) is not None:
        other = "columns='source,target,time,weight' takes them the other way round"
        return _noted(rows, f"weights, and the fourth for times; {other}")
    swapped = _renamed(rows, {"weight": "time", "time": "weight"})
    rows = replace(rows, weight=rows.time, time=rows.weight, columns=swapped)
    other = "columns='source,target,weight,time' takes them the other way round"
    return _noted(rows, f"times, because {reason}, and the fourth for weights; {other}")


def _renamed(rows: Rows, roles: dict[str, str]) -> dict[str, str]:
    """Return what the file calls its columns by the roles that they really have."""
    return {roles.get(role, role): name for role, name in rows.columns.items()}


def guesses(notes: Sequence[str]) -> list[str]:
    """Return those of a file's notes that its user should see: what columns were taken for, names that do not fit."""
    return [note for note in notes if note.startswith((GUESSED, UNNAMED))]


def why_times(name: str, column: pa.ChunkedArray, source: pa.ChunkedArray) -> str | None:
    """Return why numbers in a file of this name are times, to go behind 'because'; None for weights."""
    if "temporal" in name or "timestamp" in name:
        return "the file's name says so"
    values: NDArray[Any] = column.to_numpy()
    if not len(values):
        return None
    least, most = values.min(), values.max()
    if not most <= _LAST_MOMENT:
        return None
    if least >= _SINCE_1980:
        return f"{least:.0f} and above are moments since 1970"
    if not (values == np.trunc(values)).all():
        return None
    if _YEARS[0] <= least < most <= _YEARS[1]:
        return f"{least:.0f} to {most:.0f} are years"
    if least >= _YEARS[0] * 10_000 and most < (_YEARS[1] + 1) * 10_000 and _are_dates(values):
        return f"{least:.0f} to {most:.0f} are dates"
    if least >= 0 and most - least >= _LEAST_SPAN and _grow(values) and not _are_sorted(source):
        return "they grow from row to row"
    return None


def _noted(rows: Rows, taken_for: str) -> Rows:
    return replace(rows, notes=(*rows.notes, f"{GUESSED} taken for {taken_for}."))


def _are_dates(values: NDArray[Any]) -> bool:
    """Tell whether numbers such as 20010911 all name a month and a day."""
    month, day = values // 100 % 100, values % 100
    return bool(((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())


def _grow(values: NDArray[Any]) -> bool:
    if len(values) < _LEAST_ROWS:
        return False
    steps = np.diff(values)
    return bool(
        np.count_nonzero(steps < 0) * _FEW_BACK <= len(steps) and np.count_nonzero(steps) >= _LEAST_ROWS - 1
    )


def _are_sorted(source: pa.ChunkedArray) -> bool:
    """Tell whether rows are in the order of their sources, which then explains another order; of names, assume it."""
    if not pa.types.is_integer(source.type):
        return True
    return bool((np.diff(source.to_numpy()) >= 0).all())


SAY = "say what they mean, such as columns='source,target,-,weight'"
"""What to do where a file does not tell."""


def roles_of_width(width: int) -> tuple[str, ...] | None:
    """Guess the columns' roles from their number; None when there are too few or too many."""
    return ("source", "target", "weight", "time")[:width] if 2 <= width <= 4 else None


def check_columns(columns: Sequence[str] | str | None) -> tuple[str, ...] | None:
    """Check the roles a user gave, in a sequence or between commas, or pass on None."""
    if columns is None:
        return None
    roles = tuple(part.strip() for part in columns.split(",")) if isinstance(columns, str) else tuple(columns)
    named = [role for role in roles if role != "-"]
    if not set(roles) <= set(ROLES) or len(set(named)) < len(named) or not {"source", "target"} <= set(named):
        raise InvalidArgument(
            f"columns={columns!r} must name each column of the file in order, source and target once each,"
            " weight, time and change at most once, and '-' for columns to ignore"
        )
    return roles


WHOLE = re.compile(rb"\s*[+-]?\d+\s*")
NUMBER = re.compile(
    rb"\s*[+-]?(?:\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?|nan|inf(?:inity)?)\s*", re.IGNORECASE
)
BLANKS = " \t"


@dataclass(frozen=True)
class Layout:
    """Everything a parser must know; a variant of it is tried when the parser fails."""

    delimiter: str
    roles: tuple[str, ...]
    """One a column, in the order of the file; `-` for what is ignored, `tag` for DIMACS's letter."""
    prefixes: Prefixes
    text_ids: bool
    whole: frozenset[str]
    """Which of weight and time are written as whole numbers."""
    quoted: bool = False
    header: bool = False
    names: tuple[str, ...] = ()
    """What a header calls the columns, in the order of the file."""
    guessed: bool = False
    """True when nothing but the number of columns tells what they mean."""
    untidy: bool = False
    """True when comments stand between rows or columns are parted by several blanks."""

    def split(self, line: bytes) -> list[bytes]:
        """Split one row, slowly and exactly; between numbers, tabs and blanks are alike."""
        loose = self.delimiter == "\t" and not self.text_ids
        return split(line, " " if loose else self.delimiter, quoted=self.quoted)


def split(line: bytes, delimiter: str, *, quoted: bool) -> list[bytes]:
    """Split a line at its delimiter; blanks and tabs part columns in any number, quotes protect commas."""
    if delimiter in BLANKS:
        return line.split() if delimiter == " " else line.strip(b" ").split(b"\t")
    if not quoted or b'"' not in line:
        return line.split(delimiter.encode())
    # A carriage return inside a line is an error to the csv module, whereas here it is a field's own.
    text = line.replace(b"\r", b" ").decode(errors="surrogateescape")
    return [field.encode(errors="surrogateescape") for field in next(csv.reader([text], delimiter=delimiter))]


def tell_layout(
    request: Request, sample: Survey, prefixes: Prefixes, *, quoted: bool, roles: Sequence[str] | None = None
) -> Layout:
    """Tell delimiter, header, roles and types from the first rows, or refuse them by line."""
    delimiter = request.delimiter or _delimiter(sample.lines[0], comma=quoted)
    if len(delimiter.encode()) != 1:
        raise InvalidArgument(f"delimiter={delimiter!r} must be one character")
    lines = [line for line in sample.lines if not is_comment(line, prefixes)]
    table = [split(line, delimiter, quoted=quoted) for line in lines]
    given = tuple(roles) if roles else None
    names = _header(table, names_below=request.text_ids)
    header = names is not None
    guessed = False
    if given is None:
        given, guessed = _roles(request, sample, table[header:], names)
    rows = [row for row in table[header:] if len(row) == len(given)]
    return Layout(
        delimiter=delimiter,
        roles=given,
        prefixes=prefixes,
        text_ids=request.text_ids or _begins_with_names(rows, given),
        whole=_whole(rows, given),
        quoted=quoted,
        header=header,
        names=tuple(names or ()),
        guessed=guessed,
        untidy=_is_untidy(sample.lines, delimiter, prefixes),
    )


def _delimiter(line: bytes, *, comma: bool) -> str:
    """Tell what parts the columns of the first row; names may hold blanks if tabs part them."""
    for candidate in ",;" if comma else "":
        if candidate.encode() in line:
            return candidate
    words = line.split()
    tabs = b"\t" in line and (line.split(b"\t") == words or not all(map(NUMBER.fullmatch, words)))
    return "\t" if tabs else " "


def _header(table: list[list[bytes]], *, names_below: bool) -> list[str] | None:
    """Return the names in the first row if it is a header: words only, known ones or with numbers below.

    Where ids are names, numbers may be names too and tell nothing.
    """
    words = [field.decode(errors="replace") for field in table[0]]
    if any(NUMBER.fullmatch(field) for field in table[0]):
        return None
    numbers_below = not names_below and len(table) > 1 and any(NUMBER.fullmatch(field) for field in table[1])
    return words if numbers_below or roles_of_names(words) else None


def _roles(
    request: Request, sample: Survey, rows: list[list[bytes]], names: list[str] | None
) -> tuple[tuple[str, ...], bool]:
    """Return the columns' roles, and whether they are a guess."""
    first = f"line {sample.first}"
    if names is not None:
        roles = roles_of_names(names)
        if roles is None:
            listed = ", ".join(names)
            request.refuse(
                first,
                f"a header must name source and target, not {listed:.60}; or {SAY}",
            )
        return roles, False
    width = len(rows[0])
    commented = (
        roles_of_names(re.split(r"[\s,]+", sample.comments[-1].lstrip("#% "))) if sample.comments else None
    )
    if commented is not None and len(commented) == width:
        return commented, False
    roles = roles_of_width(width)
    if roles is None:
        request.refuse(first, f"a row must have 2 to 4 columns, not {width}; or {SAY}")
    return roles, True


def _begins_with_names(rows: list[list[bytes]], roles: tuple[str, ...]) -> bool:
    ends = [row[roles.index(end)] for row in rows[:1] for end in ("source", "target")]
    return not all(map(NUMBER.fullmatch, ends))


def _whole(rows: list[list[bytes]], roles: tuple[str, ...]) -> frozenset[str]:
    places = {role: place for place, role in enumerate(roles) if role in {"weight", "time"}}
    return frozenset(
        role for role, place in places.items() if all(WHOLE.fullmatch(row[place]) for row in rows)
    )


def _is_untidy(lines: list[bytes], delimiter: str, prefixes: Prefixes) -> bool:
    if any(is_comment(line, prefixes) for line in lines):
        return True
    untidy = re.compile(rb"^[ \t]|[ \t]{2}|[ \t]$|\t" if delimiter == " " else rb"^[ \t]+$")
    return any(untidy.search(line) for line in lines)
