"""SNAP lists and CSV: pyarrow parses blocks on all cores while the next ones are decompressed.

The quick parser knows neither comments between rows nor several blanks between columns, and a wrong field
makes it fail without saying where. So a failure leads down a ladder: the same file tidied up, then with
weights as floating-point numbers, and at last read line by line to name what is wrong.

`Tidied`: rows without comments, empty lines and doubled blanks, for files written in a looser style.

Why a delimited file could not be parsed: every line is looked at until the first bad one is found.

It runs only after the quick parser has failed, so it may take its time.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from grapin.errors import InvalidFile
from grapin.files.layout import NUMBER, WHOLE, Layout, check_columns, tell_layout, tell_times
from grapin.files.rows import (
    LONGEST_ROW,
    Prefixes,
    Request,
    Rows,
    Survey,
    changes,
    comment_pattern,
    line_of,
    named_columns,
    numbered_rows,
    open_rows,
    survey,
)
from grapin.files.source import Source

_INT64 = range(-(2**63), 2**63)


def diagnose(request: Request, layout: Layout, reason: str) -> NoReturn:
    """Raise `InvalidFile` naming the first bad line, or the parser's `reason` if every line seems good."""
    for number, line in numbered_rows(request, layout.prefixes, header=layout.header):
        problem = problem_of(layout, line)
        if problem is not None:
            request.refuse(f"line {number}", problem)
    raise InvalidFile(f"{request.path} must be a readable table, but: {' '.join(reason.split())}")


def problem_of(layout: Layout, line: bytes) -> str | None:
    """Say what is wrong with a row, or None."""
    if len(line) > LONGEST_ROW:
        return f"a row must be shorter than {LONGEST_ROW} bytes"
    fields = layout.split(line)
    if len(fields) != len(layout.roles):
        return f"a row must have {len(layout.roles)} columns, not {len(fields)}"
    for role, field in zip(layout.roles, fields, strict=True):
        problem = None if role == "-" else _field_problem(layout, role, field)
        if problem is not None:
            return problem
    return None


def _field_problem(layout: Layout, role: str, field: bytes) -> str | None:
    shown = repr(field.decode(errors="backslashreplace")[:40])
    if role in {"source", "target"}:
        return _text_problem(field, shown) if layout.text_ids else _id_problem(role, field, shown)
    if role == "change":
        return None if WHOLE.fullmatch(field) else f"the change {shown} must be 1 or -1"
    if role in {"weight", "time"} and not NUMBER.fullmatch(field):
        return f"the {role} {shown} must be a number"
    return None


def _id_problem(role: str, field: bytes, shown: str) -> str | None:
    if not WHOLE.fullmatch(field):
        return f"the {role} {shown} must be a whole number; ids='text' reads names"
    return (
        None
        if len(field) < 40 and int(field) in _INT64
        else f"the {role} {shown} must fit into 64 bits; ids='text' reads names"
    )


def _text_problem(field: bytes, shown: str) -> str | None:
    try:
        field.decode()
    except UnicodeDecodeError:
        return f"the name {shown} must be UTF-8 text"
    return None


class Tidied:
    """A source that hands out whole lines, cleaned block by block with no loop over lines."""

    def __init__(self, source: Source, layout: Layout) -> None:
        self._source = source
        self._layout = layout
        self._comments = re.compile(rb"(?m)^" + comment_pattern(layout.prefixes) + rb"(?:\n|\Z)")
        self._signs = re.compile(rb"(?m)(^|" + re.escape(layout.delimiter.encode()) + rb") *\+(?=[0-9.])")
        self._carried = b""

    @property
    def closed(self) -> bool:
        """Whether the source underneath is closed."""
        return self._source.closed

    def close(self) -> None:
        """Close the source underneath."""
        self._source.close()

    def read(self, size: int) -> bytes:
        """Return cleaned lines, at most `size` bytes; nothing only at the end of the file."""
        while True:
            fresh = self._source.read(size - len(self._carried))
            block, newline, self._carried = (self._carried + fresh).rpartition(b"\n")
            if not newline:
                block, self._carried = self._carried, b""
            tidy = self._tidy(block + newline)
            if tidy or not fresh:
                return tidy

    def _tidy(self, block: bytes) -> bytes:
        layout = self._layout
        blanks = layout.delimiter == " " or (layout.delimiter == "\t" and not layout.text_ids)
        if blanks:
            block = _single_blanks(block, layout.delimiter.encode())
        # The two expressions are slow, and most blocks need neither.
        if not blanks or any(prefix in block for prefix in layout.prefixes):
            block = self._comments.sub(b"", block)
        if not layout.text_ids and b"+" in block:
            block = self._signs.sub(rb"\1", block)
        return block


def _single_blanks(block: bytes, delimiter: bytes) -> bytes:
    block = block.translate(bytes.maketrans(b"\t\r", b"  "))
    while b"  " in block:
        block = block.replace(b"  ", b" ")
    return block.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ").replace(b" ", delimiter)


_BLOCK = 2**22
"""Bytes parsed at a time: many enough to make a block's overhead small, few enough to share the work."""
_NODES = re.compile(r"nodes:\s*([0-9]{1,18})\b", re.IGNORECASE)
_EDGES = re.compile(r"edges:\s*([0-9]{1,18})\b", re.IGNORECASE)


def read_snap(request: Request) -> Rows:
    """Read an edge list parted by tabs or blanks."""
    return _read(request, quoted=False)


def read_csv(request: Request) -> Rows:
    """Read comma-separated values (or semicolons, or tabs), with or without a header."""
    return _read(request, quoted=True)


def _read(request: Request, *, quoted: bool) -> Rows:
    prefixes = comment_prefixes(request, (b"#", b"%"))
    sample = survey(request, prefixes)
    facts = _facts(sample)
    if not sample.lines:
        return empty_rows(**facts)
    layout = tell_layout(request, sample, prefixes, quoted=quoted, roles=check_columns(request.columns))
    rows = rows_of_table(request, layout, read_table(request, layout))
    if layout.guessed:
        rows = tell_times(request, rows, len(layout.roles))
    return replace(rows, **facts, notes=(*rows.notes, *_surprises(layout, sample, len(rows.source))))


def comment_prefixes(request: Request, usual: Prefixes) -> Prefixes:
    """Return what comment lines begin with: what the user says, or what is usual; nothing for ''."""
    if request.comment is None:
        return usual
    return (request.comment.encode(),) if request.comment else ()


def read_table(request: Request, layout: Layout) -> pa.Table:
    """Parse all rows into typed columns named by their roles, or name the first bad line."""
    for attempt in _ladder(layout):
        try:
            return _whole_checked(request, layout, _parse(request, attempt))
        except pa.ArrowInvalid as error:
            reason = str(error)
    return diagnose(request, layout, reason)


def _whole_checked(request: Request, layout: Layout, table: pa.Table) -> pa.Table:
    """Refuse weights that are whole numbers beyond 64 bits, which the parser knows as floats only."""
    if "weight" not in layout.whole or table.schema.field("weight").type != pa.float64():
        return table
    weights = table.column("weight").to_numpy()
    beyond = np.abs(weights) >= 2.0**63
    if beyond.any() and (weights == np.trunc(weights)).all():
        place = line_of(request, layout.prefixes, int(np.argmax(beyond)), header=layout.header)
        request.refuse(
            place, "the weight must be below 2**63 as a whole number; a decimal point makes it a real one"
        )
    return table


def rows_of_table(request: Request, layout: Layout, table: pa.Table) -> Rows:
    """Hand the columns of a table over by their roles."""
    locate = partial(line_of, request, layout.prefixes, header=layout.header)
    column: dict[str, pa.ChunkedArray] = dict(zip(table.column_names, table.columns, strict=True))
    removed = changes(request, column["change"], locate) if "change" in column else None
    weight, time = column.get("weight"), column.get("time")
    columns = named_columns(layout.roles, layout.names)
    return Rows(column["source"], column["target"], weight, time, locate, removed, columns=columns)


def empty_rows(**facts: Any) -> Rows:
    """Return no rows at all, for a file of comments only."""
    nothing = pa.chunked_array([], pa.int64())
    return Rows(nothing, nothing, None, None, str, **facts)


def _ladder(layout: Layout) -> Iterator[Layout]:
    if not layout.untidy:
        yield layout
    yield replace(layout, untidy=True)
    for whole in sorted({layout.whole & {"time"}, frozenset[str]()} - {layout.whole}, key=len, reverse=True):
        yield replace(layout, untidy=True, whole=whole)


def _parse(request: Request, layout: Layout) -> pa.Table:
    names = [role if role != "-" else f"-{place}" for place, role in enumerate(layout.roles)]
    types = {role: _type(layout, role) for role in layout.roles if role != "-"}
    with open_rows(request, layout.prefixes, header=layout.header) as source:
        if not source.peek():
            return pa.table({role: pa.array([], kind) for role, kind in types.items()})
        stream: Any = Tidied(source, layout) if layout.untidy else source
        return arrow_csv.read_csv(
            pa.PythonFile(stream, mode="r"),
            arrow_csv.ReadOptions(column_names=names, block_size=_BLOCK),
            arrow_csv.ParseOptions(delimiter=layout.delimiter, quote_char='"' if layout.quoted else False),
            arrow_csv.ConvertOptions(
                column_types=types, include_columns=list(types), null_values=[], strings_can_be_null=False
            ),
        )


def _type(layout: Layout, role: str) -> pa.DataType:
    if role == "tag" or (layout.text_ids and role in {"source", "target"}):
        return pa.dictionary(pa.int32(), pa.string())
    whole = role in {"source", "target", "change"} or role in layout.whole
    return pa.int64() if whole else pa.float64()


def _facts(sample: Survey) -> dict[str, Any]:
    """Read what SNAP's comments say: directed or not, and how many vertices."""
    text = "\n".join(sample.comments)
    nodes = _NODES.search(text)
    kind = re.search(r"\b(un)?directed\b", text, re.IGNORECASE)
    return {
        "declared": int(nodes[1]) if nodes else None,
        "directed": None if kind is None else not kind[1],
    }


def _surprises(layout: Layout, sample: Survey, count: int) -> Iterator[str]:
    edges = _EDGES.search("\n".join(sample.comments))
    if edges and int(edges[1]) != count:
        yield f"The comments promise {int(edges[1]):,} edges, but there are {count:,} rows."
    ignored = layout.roles.count("-")
    if ignored:
        yield f"Columns ignored: {ignored} of {len(layout.roles)}."
