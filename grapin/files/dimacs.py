"""DIMACS road files (`.gr`): comments `c`, one line `p sp VERTICES ARCS`, arcs `a SOURCE TARGET WEIGHT`."""

from dataclasses import replace

import pyarrow as pa

from grapin.files.delimited import empty_rows, read_table, rows_of_table
from grapin.files.layout import tell_layout
from grapin.files.rows import Request, Rows, Survey, count_of, survey

_PREFIXES = (b"c", b"p")
"""The problem line is read with the comments before the rows, so that rows have one shape."""
_ROLES = ("tag", "source", "target", "weight")


def read_dimacs(request: Request) -> Rows:
    """Read a DIMACS graph; its ids start at 1, and it says how many vertices and arcs it has."""
    sample = survey(request, _PREFIXES)
    vertices, arcs = _problem(request, sample)
    rows = _rows(request, sample) if sample.lines else empty_rows()
    if len(rows.source) != arcs:
        request.refuse("the problem line", f"{arcs:,} arcs are promised, but there are {len(rows.source):,}")
    return replace(rows, directed=True, first=1, declared=vertices, numbered=True)


def _rows(request: Request, sample: Survey) -> Rows:
    layout = tell_layout(request, sample, _PREFIXES, quoted=False, roles=_ROLES)
    layout = replace(layout, text_ids=False, header=False)
    table = read_table(request, layout)
    rows = rows_of_table(request, layout, table)
    _check_tags(request, rows, table.column("tag"))
    return rows


def _problem(request: Request, sample: Survey) -> tuple[int, int]:
    lines = [line.split() for line in sample.comments if line.startswith("p")]
    counts = [count_of(word) for word in lines[0][2:]] if lines else []
    match counts:
        case [int(vertices), int(arcs)] if len(lines) == 1:
            return vertices, arcs
    return request.refuse("the lines before the arcs", "there must be one line 'p sp VERTICES ARCS'")


def _check_tags(request: Request, rows: Rows, tags: pa.ChunkedArray) -> None:
    if all(chunk.dictionary.to_pylist() in ([], ["a"]) for chunk in tags.chunks):
        return
    row = next(row for row, tag in enumerate(tags.to_pylist()) if tag != "a")
    request.refuse(rows.locate(row), f"an arc must begin with 'a', not {tags[row].as_py()!r}")
