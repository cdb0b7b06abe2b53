"""Vertex ids: whatever integers or names a file uses become dense int32, and `Labels` leads back.

The vertices are those the file names, by its rows or by declaring how many there are:

- ids that are exactly 0 to n-1 (each used, or n declared) are kept as they stand; there are no labels;
- formats that number from 1 (DIMACS, Matrix Market, KONECT) are shifted by one; where KONECT's file of names lies
  beside the graph, its names are the vertices';
- anything else is numbered in ascending order of the ids or names.

Ids in text are names if those of the first row are, otherwise every one must be a whole number.
`ids="keep"` keeps non-negative ids even if some are unused, `"dense"` numbers only those that the rows use,
and `"text"` takes ids as names.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as arrow
from numpy.typing import NDArray

from grapin.edges import MOST_VERTICES, Labels, VertexArray
from grapin.errors import InvalidFile
from grapin.files.rows import Request, Rows, first_row

IDS = ("auto", "keep", "dense", "text")
_TABLE = 16
"""A direct table may have this many entries an id in the rows; beyond it a hash table is smaller."""


@dataclass(frozen=True, eq=False)
class Numbering:
    """The rows' ends as dense vertices."""

    source: VertexArray
    target: VertexArray
    vertices: int
    labels: Labels | None = None


def number_vertices(request: Request, rows: Rows, ids: str) -> Numbering:
    """Turn the ids of all rows into vertices by the rules above."""
    if rows.declared is not None and rows.declared > MOST_VERTICES:
        raise InvalidFile(f"{request.path} must have at most {MOST_VERTICES} vertices, not {rows.declared}")
    if (
        not pa.types.is_integer(rows.source.type)
        or not pa.types.is_integer(rows.target.type)
        or ids == "text"
    ):
        return _hashed(_as_text(request, rows))
    if not len(rows.source):
        declared = 0 if ids == "dense" else rows.declared or 0
        return _kept(rows, declared)
    low, high = _range(rows)
    if ids == "keep" or (rows.numbered and ids == "auto"):
        _check_range(request, rows, low, high)
        kept = _kept(rows, rows.declared or high - rows.first + 1)
        return _called(kept, rows.names) if ids == "auto" else kept
    if ids == "auto" and low >= 0 and high < (rows.declared or 0):
        return _kept(rows, rows.declared or 0)
    if high - low < _TABLE * len(rows.source) + 2**16:
        return _tabled(rows, low, high)
    return _hashed(rows)


def _range(rows: Rows) -> tuple[int, int]:
    ends = [arrow.min_max(column).as_py() for column in (rows.source, rows.target)]
    return min(end["min"] for end in ends), max(end["max"] for end in ends)


def _check_range(request: Request, rows: Rows, low: int, high: int) -> None:
    limit = MOST_VERTICES if rows.declared is None or not rows.numbered else rows.declared
    least, most = rows.first, rows.first + limit - 1
    if low >= least and high <= most:
        return
    for name, column in (("source", rows.source), ("target", rows.target)):
        row = first_row(column, lambda ids: (ids < least) | (ids > most))
        if row is not None:
            request.refuse(rows.locate(row), f"the {name} {column[row]} must be from {least} to {most}")


def _kept(rows: Rows, vertices: int) -> Numbering:
    source, target = (_filled(column, rows.first) for column in (rows.source, rows.target))
    vertices = max(vertices, *(int(ends.max(initial=-1)) + 1 for ends in (source, target)))
    names = np.arange(rows.first, rows.first + vertices, dtype=np.int64)
    return Numbering(source, target, vertices, Labels(names) if rows.first and vertices else None)


def _called(kept: Numbering, names: Sequence[str]) -> Numbering:
    """Give vertices the names that stand beside the file, if there are enough."""
    if len(names) < kept.vertices:
        return kept
    called = np.empty(kept.vertices, object)
    called[:] = names[: kept.vertices]
    return replace(kept, labels=Labels(called))


def _filled(column: pa.ChunkedArray, first: int) -> VertexArray:
    """Return a column as one int32 array, without a copy where it is one already."""
    if not first and column.num_chunks == 1 and pa.types.is_int32(column.type):
        shared: VertexArray = column.chunk(0).to_numpy()
        return shared
    vertices = np.empty(len(column), np.int32)
    offset = 0
    for chunk in column.chunks:
        part = vertices[offset : offset + len(chunk)]
        part[:] = _shifted(chunk, first)
        offset += len(chunk)
    return vertices


def _tabled(rows: Rows, low: int, high: int) -> Numbering:
    """Number ids of a narrow range by a table with an entry for each id in it."""
    used = np.zeros(high - low + 1, np.bool_)
    for chunk in (*rows.source.chunks, *rows.target.chunks):
        used[_shifted(chunk, low)] = True
    if low == 0 and used.all():
        return _kept(rows, high + 1)
    names = np.flatnonzero(used) + low
    rank = np.cumsum(used, dtype=np.int32) - np.int32(1)
    source, target = (_ranked(column, rank, low) for column in (rows.source, rows.target))
    return Numbering(source, target, len(names), Labels(names))


def _ranked(column: pa.ChunkedArray, rank: VertexArray, low: int) -> VertexArray:
    vertices = np.empty(len(column), np.int32)
    offset = 0
    for chunk in column.chunks:
        part = vertices[offset : offset + len(chunk)]
        # Every id lies inside the table; "clip" only spares NumPy's copy of the output.
        np.take(rank, _shifted(chunk, low), out=part, mode="clip")
        offset += len(chunk)
    return vertices


def _shifted(chunk: pa.Array, first: int) -> NDArray[np.int64]:
    ids: NDArray[np.int64] = chunk.to_numpy()
    return ids.astype(np.int64, copy=False) - first if first else ids


def _hashed(rows: Rows) -> Numbering:
    """Number ids of a wide range, or names, by a hash table."""
    both = pa.chunked_array([*rows.source.chunks, *rows.target.chunks], rows.source.type)
    if not pa.types.is_dictionary(both.type):
        both = both.dictionary_encode()
    both = both.unify_dictionaries()
    names = both.chunk(0).dictionary if both.num_chunks else pa.array([], rows.source.type)
    order = arrow.sort_indices(names)
    rank = np.empty(len(names), np.int32)
    rank[order.to_numpy()] = np.arange(len(names), dtype=np.int32)
    codes = [rank[chunk.indices.to_numpy()] for chunk in both.chunks]
    ends = np.concatenate(codes) if codes else np.empty(0, np.int32)
    source, target = ends[: len(rows.source)], ends[len(rows.source) :]
    return Numbering(source, target, len(names), Labels(_names(names.take(order))))


def _names(names: pa.Array) -> NDArray[np.int64] | NDArray[np.object_]:
    array: NDArray[np.int64] | NDArray[np.object_] = names.to_numpy(zero_copy_only=False)
    return array


def _as_text(request: Request, rows: Rows) -> Rows:
    columns = {}
    for name, column in (("source", rows.source), ("target", rows.target)):
        text = column if pa.types.is_dictionary(column.type) else column.cast(pa.string()).dictionary_encode()
        row = text.cast(pa.string()).index("").as_py()
        if row >= 0:
            request.refuse(rows.locate(row), f"the {name} must not be empty")
        columns[name] = text
    return replace(rows, **columns)
