"""`Layout`: how the rows of a delimited file are written, told from a sample of them.

What each column of a delimited file or table means: source, target, weight, time.

Names in a header (or in the comment line before the first row) decide. Without names, two columns are source
and target, a third is a weight and a fourth a time, until their values tell otherwise (`grapin.files.times`).
"""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

from grapin.errors import InvalidArgument
from grapin.files.rows import ROLES, Prefixes, Request, Survey, is_comment

_SYNONYMS = {
    "source": "source src from fromnode fromnodeid fromid sourceid sourcenode u tail start node1 i",
    "target": "target tgt to tonode tonodeid toid targetid targetnode dst destination v head end node2 j",
    "weight": "weight weights w rating value cost distance length capacity score sign",
    "time": "time times timestamp timestamps t ts date datetime day year unixtime unixts unix epoch seconds",
    "change": "change",
}
_ROLES = {name: role for role, names in _SYNONYMS.items() for name in names.split()}
SAY = "say what they mean, such as columns='source,target,-,weight'"
"""What to do where a file does not tell."""


def roles_of_names(names: Sequence[str]) -> tuple[str, ...] | None:
    """Tell the columns' roles from their names; None when source or target are not among them."""
    roles: list[str] = []
    for name in names:
        role = _ROLES.get(re.sub(r"[^a-z0-9]", "", name.lower()), "-")
        roles.append("-" if role in roles else role)
    return tuple(roles) if {"source", "target"} <= set(roles) else None


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
