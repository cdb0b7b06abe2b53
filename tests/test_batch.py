"""What a batch means on its own: the forms it accepts, what it makes of them, and what it refuses."""

import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grapin import Batch, Edges, InvalidBatch

vertices = st.integers(0, 9)
edges = st.lists(st.tuples(vertices, vertices), max_size=12)
weighted = st.dictionaries(st.tuples(vertices, vertices), st.integers(0, 9), max_size=12).map(
    lambda known: [(u, v, weight) for (u, v), weight in known.items()]
)
FORMS: dict[str, Callable[[list[Any]], Any]] = {
    "rows": lambda rows: rows,
    "rows as lists": lambda rows: [list(row) for row in rows],
    "an iterator": iter,
    "an array of rows": lambda rows: np.array(rows, dtype=np.int64),
    "a reshaped array": lambda rows: np.array(rows, dtype=np.uint32).ravel().reshape(np.shape(rows)),
    "columns": lambda rows: tuple(zip(*rows, strict=True)) or ((), ()),
    "columns of arrays": lambda rows: tuple(np.array(rows).T) or ((), ()),
    "edges": lambda rows: Batch(insert=rows).insert,
}


@given(edges | weighted, st.sampled_from(sorted(FORMS)))
def test_every_form_of_the_same_edges_makes_the_same_batch(rows: list[Any], form: str) -> None:
    assert Batch(insert=FORMS[form](rows)) == Batch(insert=rows)


@given(edges, edges.flatmap(st.permutations))
def test_edges_are_kept_sorted_and_once(rows: list[Any], extra: list[Any]) -> None:
    batch = Batch(delete=[*rows, *extra, *rows])
    assert batch.delete.rows() == sorted({*rows, *extra})
    assert batch.size == len({*rows, *extra})
    assert (np.diff(batch.delete.keys) > 0).all()


@given(weighted, st.randoms(use_true_random=False))
def test_weights_stay_with_their_edges(rows: list[Any], random: Any) -> None:
    shuffled = rows * 2
    random.shuffle(shuffled)
    assert Batch(insert=shuffled).insert.rows() == sorted(rows)


@given(st.lists(vertices, max_size=9))
def test_vertices_are_kept_sorted_and_once(named: list[int]) -> None:
    assert Batch(insert_vertices=named).insert_vertices.tolist() == sorted(set(named))
    assert Batch(delete_vertices=np.array(named, dtype=np.int64)).delete_vertices.dtype == np.int32


@given(edges, edges)
@example([(0, 1)], [(0, 1)])
@example([(1, 0)], [(0, 1)])
def test_an_edge_in_two_parts_is_refused_and_nothing_else(one: list[Any], other: list[Any]) -> None:
    heavy = [(u, v, 1) for u, v in other]
    shared = sorted(set(one) & set(other))
    cases = ({"insert": one, "delete": other}, {"delete": one, "reweight": heavy})
    for parts in (*cases, {"insert": [(u, v, 2) for u, v in one], "reweight": heavy}):
        if shared:
            names = " and ".join(parts)
            with pytest.raises(InvalidBatch) as refused:
                Batch(**parts)
            assert str(refused.value) == f"edge {shared[0]} must not stand in both {names}"
        else:
            assert Batch(**parts).size == len(set(one)) + len(set(other))


@given(edges, st.sets(vertices, min_size=1))
def test_edges_at_a_deleted_vertex_may_be_deleted_but_not_inserted_or_reweighted(
    rows: list[Any], going: set[int]
) -> None:
    doomed = sorted((u, v) for u, v in rows if u in going or v in going)
    gone: Any = sorted(going)
    assert Batch(delete=rows, delete_vertices=gone).size == len(set(rows)) + len(going)
    for part, given_rows in (("insert", rows), ("reweight", [(u, v, 1) for u, v in rows])):
        if doomed:
            with pytest.raises(InvalidBatch) as refused:
                Batch(**{part: given_rows}, delete_vertices=gone)
            expected = f"edge {doomed[0]} in {part} must not end at a vertex that the batch deletes"
            assert str(refused.value) == expected
        else:
            Batch(**{part: given_rows}, delete_vertices=gone)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"insert": [(0, 1, 2), (0, 1, 3)]}, r"edge \(0, 1\) in insert must have one weight, not 2 and 3"),
    ({"insert_vertices": [4], "delete_vertices": [4]}, "vertex 4 must not be both inserted and deleted"),
    ({"reweight": [(0, 1)]}, "reweight must give a weight for each edge"),
    ({"delete": [(0, 1, 2)]}, r"delete must hold \(source, target\) only"),
    ({"insert": [(0, -1)]}, "vertex -1 in insert must be at least 0"),
    ({"insert": [(2**31 - 1, 0)]}, "vertex 2147483647 in insert must be at least 0 and below 2147483647"),
    ({"delete": [(2**40, 0)]}, f"vertex {2**40} in delete"),
    ({"delete_vertices": [2**70]}, f"vertex {2**70} in delete_vertices"),
    ({"insert_vertices": [-(2**70)]}, f"vertex -{2**70} in insert_vertices"),
    ({"insert": [(0.0, 1.0)]}, "insert must hold whole numbers as vertices, not float64"),
    ({"insert": [(True, False)]}, "insert must hold whole numbers as vertices, not bool"),
    ({"insert": [("a", "b")]}, "insert must hold whole numbers as vertices, not <U1"),
    ({"insert": [(None, 1)]}, "insert must hold whole numbers as vertices, not object"),
    ({"insert": np.array([[0.5, 1, 2]])}, "insert must hold whole numbers as vertices"),
    ({"insert": np.array([[np.nan, 1, 2]])}, "insert must hold whole numbers as vertices"),
    ({"insert": np.array([[-1.0, 1, 2.5]])}, "vertex -1 in insert"),
    ({"insert": np.array([0, 1])}, r"insert must have shape \(n, 2\) or \(n, 3\), not \(2,\)"),
    ({"insert": [(0, 1), (0, 1, 2)]}, "insert must have rows"),
    ({"insert": [(0,)]}, "insert must have rows"),
    ({"insert": (0, 1)}, "insert must be a tuple of columns"),
    ({"insert": ((0, 1), (1, 2), (2, 3), (3, 4))}, "insert must be a tuple of columns .* or rows in a list"),
    ({"insert": ([0, 1], [1])}, "insert must have columns of one length, not 2, 1"),
    ({"insert": 7}, r"insert must be rows \(source, target\[, weight\]\), not 7"),
    ({"insert": [(0, 1, [2, 3])]}, "insert must have one number as weight"),
    ({"insert": [(0, 1, [2, 3]), (1, 2, 3)]}, "insert must hold one number in each place"),
    ({"insert": [(0, 1, -1)]}, "weight -1 in insert must be a finite number of at least 0"),
    ({"insert": [(0, 1, -0.5)]}, "weight -0.5 in insert"),
    ({"reweight": [(0, 1, float("nan"))]}, "weight nan in reweight"),
    ({"reweight": [(0, 1, float("inf"))]}, "weight inf in reweight"),
    ({"insert": [(0, 1, 2**31)]}, "weight 2147483648 in insert must fit into a 32-bit integer"),
    ({"insert": [(0, 1, 1e39)]}, r"weight 1e\+39 in insert must fit into a 32-bit float"),
    ({"insert": [(0, 1, "heavy")]}, "insert must have one number as weight of each edge, not .*heavy"),
    ({"insert_vertices": [[1, 2]]}, "insert_vertices must hold vertices in one dimension, not 2"),
    ({"insert_vertices": 3}, "insert_vertices must hold vertices in one dimension, not 0"),
]


@pytest.mark.parametrize(("arguments", "sentence"), REFUSED, ids=[sentence[:50] for _, sentence in REFUSED])
def test_what_cannot_be_meant_is_refused_in_one_sentence(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidBatch, match=f"^{sentence}"):
        Batch(**arguments)


def test_whole_weights_stay_whole_and_fractions_become_float32() -> None:
    whole, fractions = Batch(insert=[(0, 1, 2)]).insert.weight, Batch(insert=[(0, 1, 2.0)]).insert.weight
    assert whole is not None
    assert fractions is not None
    assert [whole.dtype.name, fractions.dtype.name] == ["int32", "float32"]


def test_ids_beside_float_weights_in_one_array_are_ids_all_the_same() -> None:
    assert Batch(insert=np.array([[3, 4, 0.5]])).insert.rows() == [(3, 4, 0.5)]


def test_minus_zero_becomes_zero() -> None:
    weight = Batch(insert=[(0, 1, -0.0)]).insert.weight
    assert weight is not None
    assert weight.view(np.int32).tolist() == [0]


def test_the_largest_values_are_accepted() -> None:
    assert Batch(insert=[(2**31 - 2, 0, 2**31 - 1)]).insert.rows() == [(2**31 - 2, 0, 2**31 - 1)]
    largest = float(np.finfo(np.float32).max)
    assert Batch(insert=[(0, 1, largest)]).insert.rows() == [(0, 1, largest)]


def test_an_empty_batch_holds_nothing() -> None:
    forms: list[Any] = [(), [], np.zeros((0, 2)), np.zeros(0), ([], []), iter(())]
    for empty in forms:
        assert Batch(insert=empty) == Batch()
    assert Batch().size == 0
    assert repr(Batch()) == "Batch()"


def test_a_batch_does_not_change_when_its_arrays_do() -> None:
    source, target = np.array([0, 1], np.int32), np.array([1, 2], np.int32)
    weight, gone = np.array([5, 6], np.int32), np.array([7, 8], np.int32)
    batch = Batch(insert=(source, target, weight), delete_vertices=gone)
    for array in (source, target, weight, gone):
        array[:] = 3
    assert batch == Batch(insert=[(0, 1, 5), (1, 2, 6)], delete_vertices=[7, 8])


def test_a_batch_cannot_be_changed() -> None:
    batch = Batch(insert=[(0, 1, 5)], insert_vertices=[1], delete_vertices=[2])
    assert batch.insert.weight is not None
    for array in (batch.insert.source, batch.insert.weight, batch.insert_vertices, batch.delete_vertices):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3
    with pytest.raises(FrozenInstanceError):
        batch.insert = batch.delete  # type: ignore[misc]


def test_batches_are_equal_when_they_say_the_same_in_the_same_types() -> None:
    assert Batch(insert=[(0, 1), (2, 3)]) == Batch(insert=[(2, 3), (0, 1), (0, 1)])
    different = [
        Batch(insert=[(0, 1)]),
        Batch(insert=[(0, 1, 1)]),
        Batch(insert=[(0, 1, 1.0)]),
        Batch(insert=[(0, 1, 2)]),
        Batch(insert=[(1, 0)]),
        Batch(delete=[(0, 1)]),
        Batch(reweight=[(0, 1, 1)]),
        Batch(insert_vertices=[1]),
        Batch(delete_vertices=[1]),
    ]
    for index, one in enumerate(different):
        assert [one == other for other in different] == [index == place for place in range(len(different))]
    assert Batch() != "batch"


@given(weighted, edges)
def test_a_small_batch_shows_itself_as_it_was_made(rows: list[Any], new: list[Any]) -> None:
    batch = Batch(reweight=rows, insert_vertices=[u for u, _ in new])
    assert eval(repr(batch), {"Batch": Batch}) == batch


def test_a_large_batch_shows_how_much_it_holds() -> None:
    batch = Batch(insert=(range(100), range(100)), delete_vertices=[100])
    assert repr(batch) == "Batch(insert: 100, delete_vertices: 1)"


def test_a_batch_survives_pickling() -> None:
    batch = Batch(insert=[(0, 1, 5)], delete=[(1, 2)], insert_vertices=[1])
    assert pickle.loads(pickle.dumps(batch)) == batch


def test_edges_say_their_length_and_rows() -> None:
    edges_alone = Edges(np.array([1], np.int32), np.array([2], np.int32))
    assert (len(edges_alone), edges_alone.rows(), edges_alone.keys.tolist()) == (1, [(1, 2)], [2**32 + 2])
