"""Parquet files: columns by name as in a CSV header, or the first two to four by position."""

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as arrow_parquet

from grapin.errors import InvalidFile
from grapin.files.layout import SAY, check_columns, roles_of_names, roles_of_width, tell_times
from grapin.files.rows import Request, Rows, changes, named_columns, row_place


def read_parquet(request: Request) -> Rows:
    """Read the columns of a Parquet file that have a role; times may be timestamps."""
    table = _table(request)
    roles, guessed = _roles(request, table.column_names)
    column = {
        role: _typed(request, role, table.column(place)) for place, role in enumerate(roles) if role != "-"
    }
    removed = changes(request, column["change"], row_place) if "change" in column else None
    rows = Rows(
        column["source"],
        column["target"],
        column.get("weight"),
        column.get("time"),
        row_place,
        removed,
        columns=named_columns(roles, table.column_names),
    )
    return tell_times(request, rows, len(roles)) if guessed else rows


def _table(request: Request) -> pa.Table:
    try:
        with request.open() as source:
            return arrow_parquet.ParquetFile(io.BytesIO(source.read())).read()
    except (pa.ArrowException, OSError) as error:
        raise InvalidFile(f"{request.path} must be a readable Parquet file, but: {error}") from None


def _roles(request: Request, names: list[str]) -> tuple[tuple[str, ...], bool]:
    """Return the columns' roles, and whether they are a guess."""
    given = check_columns(request.columns)
    if given is not None and len(given) != len(names):
        request.refuse("the schema", f"columns must name all {len(names)} columns: {', '.join(names)}")
    named = given or roles_of_names(names)
    roles = named or roles_of_width(len(names))
    if roles is None:
        request.refuse("the schema", f"columns must name source and target, not {', '.join(names)}; or {SAY}")
    return roles, named is None


def _typed(request: Request, role: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    if column.null_count:
        row = column.is_null().index(True).as_py()
        request.refuse(row_place(row), f"the {role} must not be missing")
    try:
        return column.cast(_type(role, column.type))
    except pa.ArrowException as error:
        raise InvalidFile(f"{request.path}, column {role}: {error}") from None


def _type(role: str, given: Any) -> Any:
    types = pa.types
    if role in {"source", "target"}:
        text = types.is_string(given) or types.is_large_string(given) or types.is_dictionary(given)
        return pa.string() if text else pa.int64()
    return pa.float64() if types.is_floating(given) else pa.int64()
