"""Matrix Market files: entry (i, j) is an edge from i to j, and a symmetric matrix is an undirected graph.

After `%%MatrixMarket matrix coordinate FIELD SYMMETRY` and a line `ROWS COLUMNS ENTRIES`, the entries are
delimited rows and are read as such: SciPy's own reader brings the process down on some damaged files.
"""

from dataclasses import replace

from grapin.files.delimited import empty_rows, read_table, rows_of_table
from grapin.files.layout import tell_layout
from grapin.files.rows import Request, Rows, Survey, count_of, survey

_PREFIXES = (b"%",)
_FIELDS = {"pattern", "integer", "unsigned-integer", "real", "double"}


def read_matrix_market(request: Request) -> Rows:
    """Read a square sparse matrix; its ids start at 1, and of a symmetric one each edge is stored once."""
    sample = survey(request, _PREFIXES)
    field, symmetry = _kind(request, sample)
    size, entries = _size(request, sample)
    sample = replace(sample, lines=sample.lines[1:])
    rows = _rows(request, sample, field) if sample.lines else empty_rows()
    if len(rows.source) != entries:
        found = f"{entries:,} entries are promised, but there are {len(rows.source):,}"
        request.refuse(f"line {sample.first}", found)
    return replace(rows, directed=symmetry == "general", first=1, declared=size, numbered=True)


def _rows(request: Request, sample: Survey, field: str) -> Rows:
    roles = ("source", "target") if field == "pattern" else ("source", "target", "weight")
    layout = tell_layout(request, sample, _PREFIXES, quoted=False, roles=roles)
    whole = layout.whole if field.endswith("integer") else frozenset[str]()
    # The size line stands where other files have a header: it is the one row to skip.
    layout = replace(layout, header=True, text_ids=False, whole=whole)
    return rows_of_table(request, layout, read_table(request, layout))


def _kind(request: Request, sample: Survey) -> tuple[str, str]:
    match sample.comments[0].lower().split() if sample.comments else []:
        case ["%%matrixmarket", "matrix", "coordinate", field, ("general" | "symmetric") as symmetry]:
            if field in _FIELDS:
                return field, symmetry
    wanted = "%%MatrixMarket matrix coordinate pattern|integer|real general|symmetric"
    return request.refuse("line 1", f"the header must be '{wanted}'")


def _size(request: Request, sample: Survey) -> tuple[int, int]:
    words = sample.lines[0].decode(errors="replace").split() if sample.lines else []
    match [count_of(word) for word in words]:
        case [int(rows), int(columns), int(entries)] if rows == columns:
            return rows, entries
    problem = f"the size must be 'ROWS COLUMNS ENTRIES' of a square matrix, not {' '.join(words)!r:.60}"
    return request.refuse(f"line {sample.first}", problem)
