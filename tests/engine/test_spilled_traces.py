"""A trace that goes to its file on the way is the trace that is kept in memory, in no more memory than a part of it."""

import gc
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grapin
from grapin import Batch, Engine, Graph
from grapin import trace as tracing
from grapin.generators import generate
from grapin.sim import replay
from grapin.stream import workload
from grapin.trace import Trace


def same(one: Trace, other: Trace) -> bool:
    """Tell whether two traces say the same in the same types."""
    tables = ((one.reads, other.reads), (one.phases, other.phases), (one.changes, other.changes))
    return one.about == other.about and all(
        mine.keys() == theirs.keys()
        and all(mine[name].dtype == theirs[name].dtype for name in mine)
        and all(np.array_equal(mine[name], theirs[name]) for name in mine)
        for mine, theirs in tables
    )


@settings(max_examples=25)
@given(seed=st.integers(0, 2**20), part=st.sampled_from([1, 7, 64, 2**20]), programs=st.integers(1, 2))
def test_a_spilled_trace_is_the_one_in_memory(
    tmp_path_factory: pytest.TempPathFactory, seed: int, part: int, programs: int
) -> None:
    path = tmp_path_factory.mktemp("traces") / "run.npz"
    stream = workload(generate("er:60:300"), batches=6, size=20, seed=seed)
    wanted = [grapin.BFS(0), grapin.ConnectedComponents()][:programs]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracing, "PART_ROWS", part)
        kept = Engine(stream.graph(), wanted, device="cpu", trace=True)
        spilled = Engine(stream.graph(), wanted, device="cpu", trace=path)
        for batch in stream:
            kept.apply(batch)
            spilled.apply(batch)
            assert not path.exists()
        spilled.finish_trace()
    assert list(path.parent.iterdir()) == [path]
    assert same(Trace.load(path), kept.trace)
    kept.trace.save(path)
    assert same(Trace.load(path), kept.trace)


def test_memory_stays_bounded_over_a_thousand_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracing, "PART_ROWS", 10_000)

    def growth(*, to_file: bool) -> int:
        graph = Graph.from_edges(np.arange(999), np.arange(1, 1000))
        engine = Engine(graph, grapin.BFS(0), device="cpu", trace=tmp_path / "run.npz" if to_file else True)
        tracemalloc.start()
        for turn in range(1000):
            # The path is cut and mended in its middle, so that each batch reads hundreds of lists.
            edge = [(700, 701)]
            engine.apply(Batch(delete=edge) if turn % 2 == 0 else Batch(insert=edge))
            if turn == 499:
                before = tracemalloc.get_traced_memory()[1]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        if to_file:
            engine.finish_trace()
            assert len(set(Trace.load(tmp_path / "run.npz").phases["version"].tolist())) == 1001
        return peak - before

    in_memory, spilled = growth(to_file=False), growth(to_file=True)
    # What the second half of the batches adds to the peak of the first: all they read, or next to nothing.
    assert in_memory > 4 * 2**20
    assert spilled < in_memory / 16, f"{spilled} in parts, {in_memory} in memory"


def test_an_engine_that_is_given_up_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    path.write_text("what was there")
    engine = Engine(Graph.from_edges([0], [1]), grapin.BFS(0), device="cpu", trace=path)
    assert len(list(tmp_path.iterdir())) == 2
    del engine
    gc.collect()
    assert [file.read_text() for file in tmp_path.iterdir()] == ["what was there"]


def test_an_unfinished_file_is_no_trace(tmp_path: Path) -> None:
    engine = Engine(Graph.from_edges([0], [1]), grapin.BFS(0), device="cpu", trace=tmp_path / "run.npz")
    (partial,) = tmp_path.iterdir()
    assert engine.tracing
    with pytest.raises(grapin.InvalidFile, match="not a trace, or is damaged"):
        Trace.load(partial)


def test_a_part_that_is_missing_or_older_code_is_told(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    engine = Engine(Graph.from_edges([0], [1]), grapin.BFS(0), device="cpu", trace=True)
    engine.trace.save(path)
    with np.load(path) as file:
        columns = dict(file)
    about = bytes(columns["about"]).decode()
    columns["about"] = np.frombuffer(about.replace('"reads": 1', '"reads": 2').encode(), np.uint8)
    np.savez(path, **columns)
    with pytest.raises(grapin.InvalidFile, match="damaged"):
        Trace.load(path)


def test_a_disk_that_is_full_ends_the_trace_and_not_the_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine(Graph.from_edges([0], [1]), grapin.BFS(0), device="cpu", trace=tmp_path / "run.npz")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tracing, "PART_ROWS", 1)
    monkeypatch.setattr(tracing._PartsFile, "add", full)
    with pytest.raises(grapin.GrapinError, match="No space left"):
        engine.apply(Batch(insert=[(1, 0)]))
    assert not list(tmp_path.iterdir())
    assert not engine.tracing
    engine.apply(Batch(delete=[(0, 1)]))
    assert engine.answers[0].program.name == "bfs"
    assert not engine.graph.has_edge(0, 1)


@pytest.mark.parametrize("trace", [1, "", None, 3.5])
def test_what_is_no_file_is_refused(trace: object) -> None:
    with pytest.raises(grapin.InvalidArgument, match="trace="):
        Engine(Graph.from_edges([0], [1]), grapin.BFS(0), device="cpu", trace=trace)  # type: ignore[arg-type]


def test_a_trace_in_its_file_is_not_at_hand_and_one_in_memory_not_finished(tmp_path: Path) -> None:
    graph = Graph.from_edges([0], [1])
    with pytest.raises(grapin.InvalidArgument, match="finish_trace"):
        _ = Engine(graph, grapin.BFS(0), device="cpu", trace=tmp_path / "run.npz").trace
    with pytest.raises(grapin.InvalidArgument, match="must be a file"):
        Engine(graph, grapin.BFS(0), device="cpu", trace=True).finish_trace()
    with pytest.raises(grapin.InvalidArgument, match="can be written"):
        Engine(graph, grapin.BFS(0), device="cpu", trace=tmp_path / "absent" / "run.npz")


@pytest.mark.parametrize("to_file", [False, True])
def test_a_device_that_reads_no_lists_is_asked_for_no_trace(tmp_path: Path, *, to_file: bool) -> None:
    graph = Graph.from_edges([0], [1])
    path = tmp_path / "run.npz"
    with pytest.raises(grapin.InvalidArgument, match="device='reference' computes from all edges at once"):
        Engine(graph, grapin.BFS(0), device="reference", trace=path if to_file else True)
    assert list(tmp_path.iterdir()) == []


def test_a_trace_of_the_reference_predicts_nothing() -> None:
    graph = Graph.from_edges([0], [1])
    trace = Engine(graph, grapin.BFS(0), device="cpu", trace=True).trace
    trace.about["device"] = "reference"  # as older versions wrote it
    with pytest.raises(grapin.InvalidArgument, match="the reference read none"):
        replay(trace, "bounded", "a5000")
