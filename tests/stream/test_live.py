"""Rows become batches as they come: by count or by time, with marks to go on from, and nothing read without limit."""

import io
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grapin import BFS, Batch, Engine, Graph, InvalidBatch
from grapin.errors import InvalidFile
from grapin.session import BatchFailed, Latencies, Session
from grapin.stream import Live, live

ROW = st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from([1, -1]))


def drained(origin: Live, batches: int) -> list[Any]:
    """Take so many batches and stop."""
    taken = []
    for one in origin:
        taken.append(one)
        if len(taken) == batches:
            origin.stop()
    ended()
    return taken


def ended() -> None:
    """Wait until every thread that reads has let go of its file."""
    for thread in threading.enumerate():
        if thread.name == "grapin-live":
            thread.join(10)


def graph_of(batches: list[Any]) -> Any:
    graph = Graph.empty(10)
    for one in batches:
        graph.apply(one)
    return sorted(zip(*(column.tolist() for column in graph.edge_arrays()[:2]), strict=True))


@settings(max_examples=settings().max_examples // 2, deadline=None)
@given(
    st.lists(ROW, min_size=1, max_size=40),
    st.integers(1, 9),
    st.sampled_from([",", "\t", " "]),
    st.booleans(),
)
def test_any_cut_of_a_text_leaves_the_same_graph_and_every_mark_is_a_place_to_go_on_from(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], size: int, delimiter: str, headed: bool
) -> None:
    path = tmp_path_factory.mktemp("live") / "rows.txt"
    lines = [delimiter.join(map(str, row)) for row in rows]
    head = [delimiter.join(("source", "target", "change"))] if headed else []
    path.write_text("\n".join([*head, *lines]) + "\n")
    options: dict[str, Any] = {"size": size, "seconds": 0.001, "weighted": False}
    expected = graph_of([Batch(**{("insert" if sign > 0 else "delete"): [(u, v)]}) for u, v, sign in rows])
    wanted = -(-len(rows) // size)
    taken = drained(Live(path, **options), wanted)
    assert taken[-1].mark == str(path.stat().st_size)
    assert graph_of([one.batch for one in taken]) == expected
    half = len(taken) // 2
    begin, left = int(taken[half].mark), wanted - half - 1
    rest = drained(Live(path, begin=begin, **options), left) if left else []
    assert graph_of([one.batch for one in [*taken[: half + 1], *rest]]) == expected


def test_a_batch_ends_with_its_time_where_rows_are_few(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("source,target\n0,1\n1,2\n")
    stream = Live(path, size=1000, seconds=0.02)
    batches = iter(stream)
    assert next(batches).batch == Batch(insert=[(0, 1), (1, 2)])
    with path.open("a") as file:
        file.write("2,3\n3,")
        file.flush()
        first = next(batches)
        assert first.batch == Batch(insert=[(2, 3)])
        file.write("4\n")
        file.flush()
    second = next(batches)
    assert (second.batch, second.mark) == (Batch(insert=[(3, 4)]), str(path.stat().st_size))
    assert (second.when or 0) > (first.when or 0) > 0
    stream.stop()
    assert next(batches, None) is None
    ended()


def test_tables_are_batches_as_they_come_and_end_with_their_reader() -> None:
    tables = (pa.table({"source": [0, number], "target": [1, 2]}) for number in range(3))
    taken = list(Live(tables, size=2))
    assert [one.mark for one in taken] == ["1", "2", "3"]
    assert taken[2].batch == Batch(insert=[(0, 1), (2, 2)])


def test_reading_stops_at_a_limit_until_batches_are_applied() -> None:
    given = []

    def endless() -> Any:
        for number in range(10_000):
            given.append(number)
            yield pa.table({"source": [0], "target": [1]})

    stream = Live(endless(), size=4, seconds=0.001)
    batches = iter(stream)
    next(batches)
    time.sleep(0.1)
    assert len(given) <= 4 + 4 * live.WAITING + 2
    stream.stop()


def test_a_bad_row_ends_the_stream_behind_the_rows_before_it_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("source,target,op\n0,1,insert\n1,2,ins\n")
    with pytest.raises(
        InvalidBatch, match=r"rows.csv, the rows that end at byte 36, row 2: op must be one of insert"
    ):
        list(Live(path))
    path.write_text("0,1\n1,2,3\n")
    with pytest.raises(InvalidFile, match=r"rows.csv, before byte 10: .*Expected 2 columns, got 3"):
        list(Live(path))
    with pytest.raises(InvalidFile, match=r"nowhere.csv: No such file"):
        Live(tmp_path / "nowhere.csv")


def test_a_file_that_becomes_shorter_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("0,1\n1,2\n")
    stream = Live(path, seconds=0.001)
    batches = iter(stream)
    next(batches)
    os.truncate(path, 2)
    with pytest.raises(InvalidFile, match=r"must only grow, and became shorter"):
        next(batches)


def test_a_session_on_a_live_stream_measures_latencies_and_keeps_the_last_reports() -> None:
    engine = Engine(Graph.empty(9), BFS(source=0), device="reference")
    tables = (pa.table({"source": [number], "target": [number + 1]}) for number in range(8))
    session = Session(engine, Live(tables, size=1), keep=3)
    assert [report.version for report in session.run()] == [6, 7, 8]
    assert (session.applied, len(session.edges), len(session.latencies)) == (8, 4, 8)
    assert 0 < session.latencies.percentile(50) <= session.latencies.largest
    bad = Session(engine, Live(iter([pa.table({"source": [0], "target": [99]})])))
    with pytest.raises(BatchFailed, match=r"^batch 1: .*99"):
        bad.run()


@given(st.lists(st.floats(2e-6, 100), min_size=1))
def test_a_latency_percentile_is_at_most_one_percent_above_the_exact_one(durations: list[float]) -> None:
    latencies = Latencies()
    for seconds in durations:
        latencies.add(seconds)
    for rank in (50, 99, 99.9):
        exact = np.percentile(durations, rank, method="inverted_cdf")
        assert exact * (1 - 1e-9) <= latencies.percentile(rank) <= exact * 1.0101
    assert Latencies().to_dict() == {}


def test_another_thread_reads_the_answer_before_a_batch_or_behind_it() -> None:
    # Every batch moves all vertices one step closer or back again: a mixture would have two different steps.
    count = 400
    path = Graph.from_edges(range(count), range(1, count + 1))
    engine = Engine(path, BFS(source=0), device="reference")
    seen: list[set[int]] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            values = engine.values
            seen.append(set((values[2:] - np.arange(2, count + 1)).tolist()))

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(20):
        engine.apply(Batch(insert=[(0, 2)]) if number % 2 == 0 else Batch(delete=[(0, 2)]))
    done.set()
    reader.join()
    assert seen
    assert all(steps in ({0}, {-1}) for steps in seen)


def test_standard_input_is_read_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(pipe)))
        batches = iter(Live("-", seconds=0.001))
        os.write(writing, b"0,1\n")
        assert next(batches).batch == Batch(insert=[(0, 1)])
        os.write(writing, b"1,2")
        os.close(writing)
        assert next(batches).batch == Batch(insert=[(1, 2)])
        assert next(batches, None) is None
