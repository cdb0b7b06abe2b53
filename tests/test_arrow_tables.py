"""Tables of any library with the Arrow interface are graphs, batches, streams and answers, or refused."""

from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grapin
from grapin.errors import GrapinError, InvalidArgument, InvalidBatch
from grapin.testing import mutation_streams

Make = Callable[[dict[str, list[Any]]], Any]


def _duckdb(columns: dict[str, list[Any]]) -> Any:
    table = pa.table(columns)
    return duckdb.connect().from_arrow(table)


LIBRARIES: dict[str, Make] = {
    "polars": pl.DataFrame,
    "pandas": pd.DataFrame,
    "pyarrow": pa.table,
    "record batch": pa.RecordBatch.from_pydict,
    "duckdb": _duckdb,
}
libraries = pytest.mark.parametrize("make", LIBRARIES.values(), ids=LIBRARIES)


@libraries
def test_a_table_is_a_graph(make: Make) -> None:
    graph = grapin.load(make({"u": [0, 1, 2], "v": [1, 2, 0], "weight": [3, 4, 5]}))
    assert [column.tolist() for column in graph.edge_arrays() if column is not None] == [
        [0, 1, 2],
        [1, 2, 0],
        [3, 4, 5],
    ]
    assert graph.labels is None


@libraries
def test_names_are_names_and_come_back_with_the_answer(make: Make) -> None:
    graph = grapin.load(make({"source": ["ann", "bob"], "target": ["bob", "cy"]}))
    engine = grapin.Engine(graph, grapin.BFS(source=graph.vertex("bob")))
    assert engine.answers[0].to_arrow().to_pydict() == {
        "vertex": ["ann", "bob", "cy"],
        "value": [None, 0, 1],
        "parent": [None, None, "bob"],
    }
    engine.apply(grapin.NamedBatch.from_arrow(make({"source": ["cy"], "target": ["dan"]})))
    engine.apply(grapin.NamedBatch.from_arrow(delete=make({"source": ["bob"], "target": ["cy"]})))
    assert pl.DataFrame(engine.answers[0].to_arrow())["value"].to_list() == [None, 0, None, None]


@libraries
def test_a_table_is_a_batch(make: Make) -> None:
    batch = grapin.Batch(insert=[(0, 1, 2), (3, 4, 5)], delete=[(5, 6)], reweight=[(7, 8, 9)])
    operations = ["insert", "delete", "insert", "reweight"]
    whole: dict[str, list[Any]] = {
        "op": operations,
        "source": [0, 5, 3, 7],
        "target": [1, 6, 4, 8],
        "weight": [2, 0, 5, 9],
    }
    assert grapin.Batch.from_arrow(make(whole)) == batch
    parts = {
        operation: make(
            {name: [column[row] for row in rows] for name, column in whole.items() if name != "op"}
        )
        for operation in sorted(set(operations))
        if (rows := [row for row, one in enumerate(operations) if one == operation])
    }
    assert grapin.Batch.from_arrow(**parts) == batch


@given(mutation_streams())
def test_a_batch_comes_back_from_its_table(stream: Any) -> None:
    for batch in stream.batches:
        rows: list[tuple[Any, ...]] = []
        for operation in ("insert", "delete", "reweight"):
            edges = getattr(batch, operation)
            weights = [None] * len(edges) if edges.weight is None else edges.weight.tolist()
            rows += zip(
                [operation] * len(edges), edges.source.tolist(), edges.target.tolist(), weights, strict=True
            )
        if not rows:
            continue
        columns = dict(
            zip(("op", "source", "target", "weight"), map(list, zip(*rows, strict=True)), strict=True)
        )
        if all(weight is None for weight in columns["weight"]):
            del columns["weight"]
        made = grapin.Batch.from_arrow(pa.table(columns))
        for operation in ("insert", "delete", "reweight"):
            ours, theirs = getattr(made, operation), getattr(batch, operation)
            assert ours.keys.tolist() == theirs.keys.tolist()
            if theirs.weight is not None:
                assert ours.weight.tolist() == theirs.weight.tolist()


def test_whole_numbers_of_32_bits_are_shared_with_the_table() -> None:
    source, target = (np.arange(9, dtype=np.int32), np.roll(np.arange(9, dtype=np.int32), 1))
    edges = grapin.load_edges(pa.table({"source": source, "target": target, "weight": source}))
    assert edges.weight is not None
    for ours, theirs in ((edges.source, source), (edges.target, target), (edges.weight, source)):
        assert np.shares_memory(ours, theirs)


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64, np.uint64])
def test_ids_of_any_whole_number_are_ids(kind: Any) -> None:
    table = pa.table({"source": np.array([0, 1], kind), "target": np.array([1, 2], np.int32)})
    assert grapin.load(table).edge_arrays()[1].tolist() == [1, 2]


def test_what_databases_have_is_read() -> None:
    found = duckdb.sql(
        "select 1 as u, 2 as v, 1.5 as weight, timestamp '2020-01-01' as t "
        "union all select 2, 1, 2.25, timestamp '2021-01-01'"
    )
    edges = grapin.load_edges(found)
    assert edges.weight is not None
    assert edges.time is not None
    assert sorted(edges.weight.tolist()) == [1.5, 2.25]
    assert np.diff(np.sort(edges.time)).tolist() == [366 * 86400 * 10**6]
    frame = pl.DataFrame({"u": pl.Series(["x", "y"], dtype=pl.Categorical), "v": pl.Series(["y", "z"])})
    assert grapin.load(frame).labels.names.tolist() == ["x", "y", "z"]  # type: ignore[union-attr]  # it has some


BAD = {
    "no columns that mean something": ({"a": [1]}, "columns must name source and target, not a"),
    "float ids": ({"u": [0.5], "v": [1]}, "column source: it must hold whole numbers or text, not double"),
    "a null": ({"u": [1, None], "v": [1, 2]}, "row 2: the source must not be missing"),
    "no weight": ({"u": [1], "v": [2], "w": [None]}, "the weight must not be missing"),
    "NaN": (
        {"u": [0, 1], "v": [1, 2], "w": [1.0, float("nan")]},
        "row 2: the weight nan must be a finite number",
    ),
    "a negative weight": ({"u": [0], "v": [1], "w": [-1]}, "row 1: the weight -1 must"),
    "text weights": ({"u": [0], "v": [1], "w": ["x"]}, "column weight: it must hold numbers, not"),
    "a list": ({"u": [[0]], "v": [1]}, "column source: it must hold whole numbers or text, not"),
    "huge ids": (
        {"u": pa.array([2**63], pa.uint64()), "v": [1]},
        "column source: Integer value 9223372036854775808",
    ),
}


@pytest.mark.parametrize(("columns", "sentence"), BAD.values(), ids=BAD)
def test_a_bad_table_is_refused_in_one_sentence(columns: Any, sentence: str) -> None:
    table = pa.table(columns)
    with pytest.raises(InvalidArgument) as caught:
        grapin.load(table)
    assert str(caught.value).startswith("table, ")
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    if "negative" not in str(caught.value) and "finite" not in str(caught.value) and "name" not in sentence:
        with pytest.raises(InvalidBatch, match="table, "):
            grapin.Batch.from_arrow(table)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: grapin.load([1, 2]), "path"),
        (lambda: grapin.load(pa.table({"u": [1], "v": [2]}), format="csv"), "must be left out"),
        (lambda: grapin.Batch.from_arrow([1]), "must be a table with the Arrow interface"),
        (
            grapin.Batch.from_arrow,
            "one table with a column op, or some of insert, delete, reweight",
        ),
        (lambda: grapin.Batch.from_arrow(pa.table({"u": ["a"], "v": ["b"]})), "NamedBatch.from_arrow"),
        (lambda: grapin.Batch.from_arrow(pa.table({"u": [1]})), "source and target, not u"),
        (lambda: grapin.Batch.from_arrow(pa.table({"u": [1], "v": [2], "op": ["upsert"]})), "not 'upsert'"),
        (lambda: grapin.Batch.from_arrow(pa.table({"u": [1], "v": [2], "change": [3]})), "change must be 1"),
        (
            lambda: grapin.Batch.from_arrow(insert=pa.table({"u": [1], "v": [2], "op": ["delete"]})),
            "insert must be a table of one kind",
        ),
        (lambda: grapin.stream.from_arrow(pa.table({}), window=2), "time= must name"),
        (lambda: grapin.stream.from_arrow(pa.table({}), window=-2, time="t"), "window=-2 must be a positive"),
        (lambda: grapin.stream.from_arrow(pa.table({}), size=2, time="t"), "one of size="),
        (
            lambda: list(grapin.stream.from_arrow(pa.table({"u": [1], "v": [2]}), time="t")),
            "time='t' must be a column",
        ),
        (
            lambda: list(
                grapin.stream.from_arrow(pa.table({"u": [1, 1], "v": [2, 3], "t": [5, 4]}), time="t")
            ),
            "4 comes after 5",
        ),
    ],
)
def test_a_wrong_use_is_refused_with_a_remedy(make: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(GrapinError, match=r".") as caught:
        make()
    assert sentence in str(caught.value)


EVENTS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([1, -1]), st.integers(0, 2)), min_size=1
)


def chunked(rows: list[Any], sizes: list[int]) -> pa.RecordBatchReader:
    table = pa.table(dict(zip(("u", "v", "change", "t"), map(list, zip(*rows, strict=True)), strict=True)))

    def parts() -> Iterator[pa.RecordBatch]:
        begin = 0
        for size in [*sizes, len(rows)]:
            yield from table.slice(begin, size).to_batches()
            begin += size

    return pa.RecordBatchReader.from_batches(table.schema, parts())


@given(EVENTS, st.lists(st.integers(1, 3), max_size=5), st.one_of(st.none(), st.integers(1, 4)))
def test_how_rows_come_makes_no_difference_to_the_batches(
    events: list[Any], sizes: list[int], window: int | None
) -> None:
    time, rows = 0, []
    for source, target, change, step in events:
        time += step
        rows.append((source, target, change, time))
    whole = list(grapin.stream.from_arrow(chunked(rows, []), time="t", window=window))
    assert list(grapin.stream.from_arrow(chunked(rows, sizes), time="t", window=window)) == whole
    edges = grapin.EdgeList(
        source=np.array([row[0] for row in rows], np.int32),
        target=np.array([row[1] for row in rows], np.int32),
        vertices=5,
        time=np.array([row[3] for row in rows]),
        removed=np.array([row[2] < 0 for row in rows]),
    )
    theirs = grapin.stream.temporal(edges, window=window or 1, vertices="all")
    assert [(one.insert.rows(), one.delete.rows()) for one in whole] == [
        (one.insert.rows(), one.delete.rows()) for one in theirs
    ]


@given(EVENTS, st.lists(st.integers(1, 3), max_size=5), st.integers(1, 4))
def test_so_many_rows_make_a_batch(events: list[Any], sizes: list[int], size: int) -> None:
    batches = list(grapin.stream.from_arrow(chunked(events, sizes), size=size))
    assert len(batches) == -(-len(events) // size)
    last = {(row[0], row[1]): row[2] for row in events[:size]}
    assert {edge for edge, change in last.items() if change > 0} == set(batches[0].insert.rows())


def test_each_record_batch_is_handed_on_before_the_next_one_is_asked_for() -> None:
    asked = []

    def consumer() -> Iterator[Any]:
        for number in range(3):
            asked.append(number)
            yield pl.DataFrame({"source": [number], "target": [number + 1]})

    for number, batch in enumerate(grapin.stream.from_arrow(consumer())):
        assert asked == list(range(number + 1))
        assert batch.insert.rows() == [(number, number + 1)]


def test_new_names_become_vertices_on_the_way() -> None:
    graph = grapin.Graph.empty(labels=grapin.Labels())
    table = pl.DataFrame({"source": [10, 20, 10], "target": [20, 30, 20], "change": [1, 1, -1]})
    for batch in grapin.stream.from_arrow(table, size=2, names=True):
        graph.apply(batch)
    assert graph.vertices == 3
    assert graph.edges == 1
