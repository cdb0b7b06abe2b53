"""Every format gives back the rows that were written in it."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given
from writing import (
    ROWS,
    VERTICES,
    Row,
    as_dimacs,
    as_konect,
    as_matrix_market,
    as_npz,
    as_parquet,
    as_text,
    columns_as_npz,
    loaded,
    rows_of,
)

FORMATS: dict[str, Callable[[list[Row]], bytes]] = {
    "blanks.txt": lambda rows: as_text(rows, " "),
    "tabs.txt": lambda rows: as_text(rows, "\t", "# Directed graph\n# made for a test\n"),
    "plain.csv": lambda rows: as_text(rows, ","),
    "headed.csv": lambda rows: as_text(rows, ",", "From,To,Weight\n"),
    "semicolons.csv": lambda rows: as_text(rows, ";", "u;v;w\n"),
    "columns.parquet": as_parquet,
    "columns.npz": columns_as_npz,
}
NUMBERED: dict[str, Callable[[list[Row]], bytes]] = {
    "arcs.gr": as_dimacs,
    "out.graph": as_konect,
    "matrix.mtx": as_matrix_market,
}
THREE_COLUMNS: dict[str, Any] = {"columns": ("source", "target", "weight")}


@pytest.mark.parametrize("name", FORMATS)
@given(rows=ROWS)
def test_rows_come_back_in_order(name: str, rows: list[Row]) -> None:
    options = THREE_COLUMNS if "columns" not in name else {}
    assert rows_of(loaded(name, FORMATS[name](rows), **options)) == rows


@pytest.mark.parametrize("name", FORMATS)
@given(rows=ROWS)
def test_the_vertices_are_those_the_rows_name(name: str, rows: list[Row]) -> None:
    options = THREE_COLUMNS if "columns" not in name else {}
    edges = loaded(name, FORMATS[name](rows), **options)
    assert edges.vertices == len({end for u, v, _ in rows for end in (u, v)})
    assert max(edges.source.max(), edges.target.max()) < edges.vertices


@pytest.mark.parametrize("name", NUMBERED)
@given(rows=ROWS)
def test_formats_that_count_from_one_are_shifted_and_keep_their_size(name: str, rows: list[Row]) -> None:
    edges = loaded(name, NUMBERED[name](rows))
    assert rows_of(edges) == [(u + 1, v + 1, w) for u, v, w in rows]
    assert edges.source.tolist() == [u for u, _, _ in rows]
    assert edges.vertices == VERTICES


@pytest.mark.parametrize("name", [*FORMATS, *NUMBERED])
def test_the_content_tells_the_format_where_the_name_does_not(name: str) -> None:
    rows = [(0, 1, 5), (2, 1, 6), (1, 0, 7)]
    data = {**FORMATS, **NUMBERED}[name](rows)
    assert loaded("graph", data).source.tolist() == [0, 2, 1]


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@given(rows=ROWS)
def test_sparse_matrices_saved_by_scipy_are_graphs(kind: str, rows: list[Row]) -> None:
    source, target, _ = (np.array(column) for column in zip(*rows, strict=True))
    weight = np.arange(1, len(rows) + 1)
    matrix = scipy.sparse.coo_array((weight, (source, target)), shape=(VERTICES, VERTICES)).asformat(kind)
    file = io.BytesIO()
    scipy.sparse.save_npz(file, matrix)
    edges = loaded("matrix.npz", file.getvalue())
    read = scipy.sparse.coo_array((edges.weight, (edges.source, edges.target)), shape=(VERTICES, VERTICES))
    assert edges.vertices == VERTICES
    assert (read.toarray() == matrix.toarray()).all()


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
@pytest.mark.parametrize("field", ["integer", "real", "pattern"])
@given(rows=ROWS)
def test_matrices_written_by_scipy_are_graphs(field: str, symmetry: str, rows: list[Row]) -> None:
    dense = np.zeros((VERTICES, VERTICES), np.float64 if field == "real" else np.int64)
    for u, v, weight in rows:
        dense[u, v] = weight % 1000 + 1
    dense = np.maximum(dense, dense.T) if symmetry == "symmetric" else dense
    file = io.BytesIO()
    scipy.io.mmwrite(file, scipy.sparse.coo_array(dense), field=field, symmetry=symmetry)
    edges = loaded("matrix.mtx", file.getvalue())
    read = np.zeros_like(dense)
    read[edges.source, edges.target] = 1 if edges.weight is None else edges.weight
    read = read if edges.directed else np.maximum(read, read.T)
    assert edges.directed == (symmetry == "general")
    assert (edges.weight is None) == (field == "pattern")
    assert (read == (dense != 0 if field == "pattern" else dense)).all()


@given(rows=ROWS)
def test_a_symmetric_matrix_is_an_undirected_graph_with_each_edge_once(rows: list[Row]) -> None:
    lower = sorted({(max(u, v) + 1, min(u, v) + 1) for u, v, _ in rows})
    head = f"%%MatrixMarket matrix coordinate pattern symmetric\n{VERTICES} {VERTICES} {len(lower)}\n"
    edges = loaded("matrix.mtx", as_text(lower, head=head))
    assert not edges.directed
    assert edges.weight is None
    assert sorted(rows_of(edges)) == lower


def test_dynamic_konect_files_tell_insertions_from_deletions() -> None:
    edges = loaded("out.links", b"% asym dynamic\n1 2 +1 5\n2 3 1 6\n1 2 -1 7\n")
    assert edges.removed is not None
    assert edges.removed.tolist() == [False, False, True]
    assert edges.time is not None
    assert edges.time.tolist() == [5, 6, 7]
    assert edges.weight is None


def test_two_sided_konect_files_number_the_right_side_after_the_left() -> None:
    edges = loaded("out.ratings", b"% bip weighted\n% 2 3 4\n1 1 5 10\n2 4 3 11\n")
    assert edges.source.tolist() == [0, 1]
    assert edges.target.tolist() == [3, 6]
    assert edges.vertices == 7


def test_an_archive_may_declare_vertices_and_direction() -> None:
    data = as_npz(source=[0, 1], target=[1, 4], vertices=9, directed=False, removed=[True, False])
    edges = loaded("graph.npz", data)
    assert edges.vertices == 9
    assert not edges.directed
    assert edges.labels is None
    assert edges.removed is not None
    assert edges.removed.tolist() == [True, False]


@pytest.mark.parametrize(
    ("name", "data", "directed"),
    [
        ("a.txt", b"# Undirected graph: a\n0 1\n", False),
        ("a.txt", b"# Directed graph: a\n0 1\n", True),
        ("a.txt", b"0 1\n", True),
        ("out.a", b"% sym unweighted\n1 2\n", False),
        ("out.a", b"% asym unweighted\n1 2\n", True),
    ],
)
def test_files_say_whether_edges_run_one_way_and_the_user_has_the_last_word(
    name: str, data: bytes, directed: bool
) -> None:
    assert loaded(name, data).directed is directed
    assert loaded(name, data, directed=not directed).directed is not directed
