"""SNAP lists and CSV: pyarrow parses blocks on all cores while the next ones are decompressed.

The quick parser knows neither comments between rows nor several blanks between columns, and a wrong field
makes it fail without saying where. So a failure leads down a ladder: the same file tidied up, then with
weights as floating-point numbers, and at last read line by line to name what is wrong.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv

from grapin.files.diagnose import diagnose
from grapin.files.layout import Layout, tell_layout
from grapin.files.roles import check_columns
from grapin.files.rows import Request, Rows, changes
from grapin.files.text import Prefixes, Survey, line_of, open_rows, survey
from grapin.files.tidied import Tidied

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
            return _parse(request, attempt)
        except pa.ArrowInvalid as error:
            reason = str(error)
    return diagnose(request, layout, reason)


def rows_of_table(request: Request, layout: Layout, table: pa.Table) -> Rows:
    """Hand the columns of a table over by their roles."""
    locate = partial(line_of, request, layout.prefixes, header=layout.header)
    column: dict[str, pa.ChunkedArray] = dict(zip(table.column_names, table.columns, strict=True))
    removed = changes(request, column["change"], locate) if "change" in column else None
    weight, time = column.get("weight"), column.get("time")
    return Rows(column["source"], column["target"], weight, time, locate, removed)


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
    if len(layout.roles) == 3 and "time" in layout.roles and not layout.header:
        yield "The third column was taken as the time; columns='source,target,weight' makes it the weight."
