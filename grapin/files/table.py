"""Parquet files, and tables in memory: columns by name as in a CSV header, or the first two to four by position."""

import io
from functools import partial
from typing import NoReturn

import pyarrow as pa
import pyarrow.parquet as arrow_parquet

from grapin.errors import InvalidFile
from grapin.files.layout import SAY, check_columns, roles_of_width, tell_times
from grapin.files.rows import Request, Rows, changes, named_columns, row_place
from grapin.tables import roles_of_names, typed_column


def read_parquet(request: Request) -> Rows:
    """Read the columns of a Parquet file that have a role."""
    try:
        with request.open() as source:
            table = arrow_parquet.ParquetFile(io.BytesIO(source.read())).read()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())  # some of Arrow's have several lines
        raise InvalidFile(f"{request.path} must be a readable Parquet file, but: {reason}") from None
    return read_table(request, table)


def read_table(request: Request, table: pa.Table) -> Rows:
    """Read the columns of a table that have a role; times may be timestamps."""
    roles, guessed = _roles(request, table.column_names)
    refuse = partial(_refuse, request)
    column = {
        role: typed_column(role, table.column(place), refuse, InvalidFile, str(request.path))
        for place, role in enumerate(roles)
        if role != "-"
    }
    source, target = column["source"], column["target"]
    if source.type != target.type and pa.types.is_integer(source.type) and pa.types.is_integer(target.type):
        source, target = source.cast(pa.int64()), target.cast(pa.int64())
    removed = changes(request, column["change"], row_place) if "change" in column else None
    rows = Rows(
        source,
        target,
        column.get("weight"),
        column.get("time"),
        row_place,
        removed,
        columns=named_columns(roles, table.column_names),
    )
    return tell_times(request, rows, len(roles)) if guessed else rows


def _refuse(request: Request, row: int, problem: str) -> NoReturn:
    request.refuse(row_place(row), problem)


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
