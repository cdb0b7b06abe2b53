"""Vertex ids of any kind become dense, and lead back to the names in the file."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from writing import as_npz, as_text, loaded, rows_of

from grapin.errors import InvalidFile

NARROW = st.integers(-20, 20)
WIDE = st.integers(-(2**63), 2**63 - 1)
NAMES = st.text("abcxyz0189-_.äß", min_size=1, max_size=4)


def ends(ids: st.SearchStrategy[int]) -> st.SearchStrategy[list[tuple[int, int]]]:
    return st.lists(st.tuples(ids, ids), min_size=1, max_size=30)


@given(ends(NARROW) | ends(WIDE))
def test_integers_are_numbered_in_ascending_order(rows: list[tuple[int, int]]) -> None:
    edges = loaded("a.txt", as_text(rows), ids="dense")
    names = sorted({end for row in rows for end in row})
    assert rows_of(edges) == rows
    assert edges.vertices == len(names)
    if edges.labels is None:
        assert names == list(range(len(names)))
    else:
        assert edges.labels.names.tolist() == names


@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=30))
def test_names_are_numbered_in_ascending_order(rows: list[tuple[str, str]]) -> None:
    edges = loaded("a.txt", as_text(rows), ids="text", columns=("source", "target"))
    assert edges.labels is not None
    assert rows_of(edges) == rows
    assert edges.labels.names.tolist() == sorted({end for row in rows for end in row})


@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=30))
def test_names_in_archives_are_numbered_alike(rows: list[tuple[str, str]]) -> None:
    source, target = (np.array(column) for column in zip(*rows, strict=True))
    assert rows_of(loaded("a.npz", as_npz(source=source, target=target))) == rows


@given(ends(st.integers(0, 8)))
def test_ids_are_kept_exactly_when_all_below_the_largest_are_used(rows: list[tuple[int, int]]) -> None:
    edges = loaded("a.txt", as_text(rows))
    used = {end for row in rows for end in row}
    assert (edges.labels is None) == (used == set(range(len(used))))
    assert edges.vertices == len(used)


@given(ends(st.integers(0, 50)))
def test_unused_ids_become_vertices_when_asked_to_keep_ids(rows: list[tuple[int, int]]) -> None:
    edges = loaded("a.txt", as_text(rows), ids="keep")
    assert edges.labels is None
    assert rows_of(edges) == rows
    assert edges.vertices == 1 + max(end for row in rows for end in row)


def test_a_declared_number_of_vertices_keeps_ids_below_it() -> None:
    edges = loaded("a.txt", b"# Nodes: 9 Edges: 1\n0 5\n")
    assert (edges.vertices, edges.labels) == (9, None)
    assert loaded("a.txt", b"# Nodes: 2 Edges: 1\n0 5\n").vertices == 2


def test_labels_find_vertices_by_their_names() -> None:
    edges = loaded("a.txt", b"alice bob\nbob carol\n")
    assert edges.labels is not None
    assert edges.labels.vertex("carol") == 2
    assert edges.labels.name(0) == "alice"


@pytest.mark.parametrize("row", [b"0 -5\n", b"0 2147483647\n"])
def test_ids_that_are_no_vertices_cannot_be_kept(row: bytes) -> None:
    with pytest.raises(InvalidFile, match=r"line 1: the target .* must be from 0 to 2147483646"):
        loaded("a.txt", row, ids="keep")
    assert loaded("a.txt", row).vertices == 2
