"""Graph files written by the plainest means, so that the readers are held against something independent."""

import io
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from hypothesis import strategies as st

from grapin.edges import EdgeList
from grapin.files import load_edges

Row = tuple[int, int, int]
"""Source, target and weight."""

VERTICES = 12
ROWS = st.lists(
    st.tuples(st.integers(0, VERTICES - 1), st.integers(0, VERTICES - 1), st.integers(0, 2**31 - 1)),
    min_size=1,
    max_size=30,
)


def loaded(name: str, data: bytes, **options: Any) -> EdgeList:
    """Write `data` into a file of this name and load it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        return load_edges(path, **options)


def rows_of(edges: EdgeList) -> list[Any]:
    """Return the rows under the names they had in the file, with their weights."""
    names = range(edges.vertices) if edges.labels is None else edges.labels.names.tolist()
    ends = [(names[u], names[v]) for u, v in zip(edges.source.tolist(), edges.target.tolist(), strict=True)]
    if edges.weight is None:
        return ends
    return [(*end, weight) for end, weight in zip(ends, edges.weight.tolist(), strict=True)]


def as_text(rows: Sequence[Sequence[object]], delimiter: str = " ", head: str = "") -> bytes:
    """Write rows as lines."""
    return (head + "".join(delimiter.join(map(str, row)) + "\n" for row in rows)).encode()


def as_dimacs(rows: Sequence[Row]) -> bytes:
    """Write rows as a DIMACS graph, whose ids start at 1."""
    arcs = [("a", u + 1, v + 1, w) for u, v, w in rows]
    return as_text(arcs, head=f"c made for a test\np sp {VERTICES} {len(rows)}\n")


def as_konect(rows: Sequence[Row]) -> bytes:
    """Write rows as a KONECT graph, whose ids start at 1."""
    head = f"% asym posweighted\n% {len(rows)} {VERTICES} {VERTICES}\n"
    return as_text([(u + 1, v + 1, w) for u, v, w in rows], "\t", head)


def as_matrix_market(rows: Sequence[Row]) -> bytes:
    """Write rows as a general integer matrix, whose indices start at 1."""
    head = f"%%MatrixMarket matrix coordinate integer general\n{VERTICES} {VERTICES} {len(rows)}\n"
    return as_text([(u + 1, v + 1, w) for u, v, w in rows], head=head)


def as_parquet(rows: Sequence[Row]) -> bytes:
    """Write rows as a Parquet table with named columns."""
    file = io.BytesIO()
    columns = dict(zip(("src", "dst", "weight"), map(list, zip(*rows, strict=True)), strict=True))
    pa.parquet.write_table(pa.table(columns), file)
    return file.getvalue()


def as_npz(**arrays: Any) -> bytes:
    """Write arrays as an archive."""
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def columns_as_npz(rows: Sequence[Row]) -> bytes:
    """Write rows as an archive of columns."""
    source, target, weight = map(np.array, zip(*rows, strict=True))
    return as_npz(source=source, target=target, weight=weight)
