import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import grapin
from grapin.errors import AnswersLost, InvalidArgument, InvalidBatch, InvalidFile, ValueOverflow
from grapin.system import RUNNABLE
from grapin.testing import MutationStream, mutation_streams

UNREACHED = 2**63 - 1


def chain(**options: object) -> grapin.Graph:
    """0 -> 1 -> 2 -> 3, each edge weighing 2."""
    return grapin.Graph.from_edges([0, 1, 2], [1, 2, 3], [2, 2, 2], **options)  # type: ignore[arg-type]


def test_several_programs_share_one_graph_and_one_batch() -> None:
    engine = grapin.Engine(chain(), [grapin.BFS(0), grapin.SSSP(0)])
    report = engine.apply(grapin.Batch(insert=[(0, 3, 3)]))
    assert engine.answers[0].values.tolist() == [0, 1, 2, 1]
    assert engine.answers[1].values.tolist() == [0, 2, 4, 3]
    assert report.changed == 2
    assert [query.program for query in report.queries] == ["bfs", "sssp"]
    with pytest.raises(InvalidArgument, match=r"engine.answers\[i\]"):
        _ = engine.values


def test_a_refused_batch_changes_neither_graph_nor_answer() -> None:
    graph = chain()
    engine = grapin.Engine(graph, grapin.SSSP(0))
    before = engine.values
    with pytest.raises(InvalidBatch):
        engine.apply(grapin.Batch(delete=[(0, 1)], insert=[(0, 99, 1)]))
    assert graph.has_edge(0, 1)
    assert engine.values.tolist() == before.tolist()
    engine.apply(grapin.Batch(delete=[(0, 1)]))
    assert engine.values.tolist() == [0, UNREACHED, UNREACHED, UNREACHED]


def test_a_graph_changed_behind_the_engine_is_noticed() -> None:
    graph = chain()
    engine = grapin.Engine(graph, grapin.BFS(0))
    graph.apply(grapin.Batch(delete=[(0, 1)]))
    with pytest.raises(InvalidArgument, match=r"graph.version=1 must be 0"):
        engine.apply(grapin.Batch())


def test_a_path_leads_from_the_source_over_edges_to_the_vertex() -> None:
    engine = grapin.Engine(chain(), grapin.SSSP(0))
    assert engine.path(3) == [0, 1, 2, 3]
    engine.apply(grapin.Batch(delete=[(1, 2)]))
    assert engine.path(3) == []
    assert engine.path(0) == [0]


def test_a_source_may_go_and_come_back() -> None:
    engine = grapin.Engine(chain(), grapin.BFS(0))
    engine.apply(grapin.Batch(delete_vertices=[0]))
    assert (engine.values == UNREACHED).all()
    engine.apply(grapin.Batch(insert_vertices=[0], insert=[(0, 2, 1)]))
    assert engine.values.tolist() == [0, UNREACHED, 1, 2]


def test_several_sources_may_start_with_values_of_their_own() -> None:
    engine = grapin.Engine(chain(), grapin.SSSP({0: 10, 2: 1}))
    assert engine.values.tolist() == [10, 12, 1, 3]
    engine.apply(grapin.Batch(insert=[(2, 0, 0)]))
    assert engine.values.tolist() == [1, 3, 1, 3]
    engine.apply(grapin.Batch(delete=[(2, 0)]))
    assert engine.values.tolist() == [10, 12, 1, 3]


def test_a_distance_that_does_not_fit_is_an_error_and_no_answer_is_shown_after_it() -> None:
    largest = 2**31 - 1
    graph = grapin.Graph.from_edges([0, 1, 2], [1, 2, 3], [largest, largest, largest])
    with pytest.raises(ValueOverflow, match="sssp"):
        grapin.Engine(graph, grapin.SSSP(0))
    graph = grapin.Graph.from_edges([0, 1], [1, 2], [largest, largest], vertices=4)
    engine = grapin.Engine(graph, grapin.SSSP(0))
    with pytest.raises(ValueOverflow, match="sssp"):
        engine.apply(grapin.Batch(insert=[(2, 3, largest)]))
    refuses_all(engine, r"lost at version 1 of the graph \(ValueOverflow: a value of sssp does not fit")


@pytest.mark.parametrize("error", [RuntimeError("cudaErrorInvalidValue"), KeyboardInterrupt()])
def test_a_repair_that_anything_ends_leaves_no_answer_to_read(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = grapin.Engine(chain(), [grapin.BFS(0), grapin.SSSP(0)], device="reference")
    query = type(engine._queries[1])  # what a driver does wrong it does in there

    def fail(*_arguments: object, **_options: object) -> None:
        raise error

    monkeypatch.setattr(query, "repair", fail)
    with pytest.raises(type(error)):
        engine.apply(grapin.Batch(delete=[(0, 1)]))
    monkeypatch.undo()
    for answer in engine.answers:
        with pytest.raises(AnswersLost, match=type(error).__name__):
            _ = answer.values
    another = grapin.Engine(engine.graph, grapin.BFS(0), device="reference")
    assert another.values[0] == 0


def refuses_all(engine: grapin.Engine, match: str) -> None:
    for use in (
        lambda: engine.apply(grapin.Batch()),
        lambda: engine.values,
        lambda: engine.parents,
        lambda: engine.path(0),
    ):
        with pytest.raises(AnswersLost, match=match):
            use()


@pytest.mark.parametrize("system", ["bounded", "grapin-zc", "grapin-recomp"])
@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_an_offer_that_does_not_fit_is_no_error_where_a_smaller_one_follows(device: str, system: str) -> None:
    largest = 2**31 - 1
    # Vertex 2 settles before 4, and what it offers to 3 does not fit.
    columns = [0, 1, 2, 1, 4], [1, 2, 3, 4, 3], [largest, largest - 100, largest, largest - 50, 1]
    engine = grapin.Engine(grapin.Graph.from_edges(*columns), grapin.SSSP(0), device=device, system=system)
    assert engine.values[3] == 2 * largest - 49
    engine.apply(grapin.Batch(reweight=[(0, 1, largest - 1)]))
    assert engine.values[3] == 2 * largest - 50
    engine.apply(grapin.Batch(delete=[(0, 1)]))
    engine.apply(grapin.Batch(insert=[(0, 1, largest)]))
    assert engine.values[3] == 2 * largest - 49


@pytest.mark.parametrize("system", ["bounded", "grapin-zc", "grapin-recomp"])
def test_a_vertex_that_is_left_with_offers_that_do_not_fit_is_an_error(system: str) -> None:
    largest = 2**31 - 1
    columns = [0, 1, 2, 0], [1, 2, 3, 3], [largest, largest - 100, largest, 5]
    engine = grapin.Engine(grapin.Graph.from_edges(*columns), grapin.SSSP(0), device="cpu", system=system)
    with pytest.raises(ValueOverflow, match="sssp"):
        engine.apply(grapin.Batch(delete=[(0, 3)]))


GUESSED: list[tuple[Callable[[Any], object], str]] = [
    (lambda graph: grapin.Engine(graph, "bfs"), "programs='bfs' must be programs, such as grapin.BFS"),  # type: ignore[arg-type]
    (lambda graph: grapin.Engine(graph, grapin.BFS), "programs=BFS must be programs, such as grapin.BFS"),  # type: ignore[arg-type]
    (lambda _graph: grapin.Engine("rmat:8", grapin.BFS(0)), "graph='rmat:8' must be a Graph: grapin.load"),  # type: ignore[arg-type]
    (lambda graph: grapin.Engine(graph, grapin.BFS(0)).apply([(0, 1)]), "must be a grapin.Batch, such as"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("make", "message"), GUESSED)
def test_a_wrong_guess_at_what_an_engine_takes_is_a_sentence(
    make: Callable[[Any], object], message: str
) -> None:
    with pytest.raises(InvalidArgument, match=re.escape(message)):
        make(chain())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda graph: grapin.Engine(graph, grapin.BFS(9)), "source=9 must be a vertex"),
        (lambda graph: grapin.Engine(graph, []), "at least one program"),
        (lambda graph: grapin.Engine(graph, grapin.BFS(0), system="bonded"), "did you mean 'bounded'"),
        (lambda graph: grapin.Engine(graph, grapin.BFS(0), device="gpu"), "device='gpu' must be one of"),
        (lambda graph: grapin.Engine(graph, grapin.BFS(0), threads=0), "threads=0 must be at least 1"),
        (lambda graph: grapin.Engine(graph, grapin.BFS(0)).trace, "trace=False must be True"),
        (lambda _graph: grapin.Engine(chain(in_direction=False), grapin.BFS(0)), "in_direction"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_remedy(make: object, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        make(chain())  # type: ignore[operator]


@given(mutation_streams(weights="int32"), st.sampled_from(sorted(RUNNABLE)), st.sampled_from([1, 2]))
def test_counters_of_a_run_are_those_of_its_trace(stream: MutationStream, system: str, threads: int) -> None:
    graph = grapin.Graph.from_edges(**stream.start)
    assume(graph.has_vertex(0))
    engine = grapin.Engine(graph, grapin.SSSP(0), system=system, trace=True, threads=threads)
    reports = [engine.started, *(engine.apply(batch) for batch in stream.batches)]
    trace = engine.trace
    for phase, report in enumerate(reports):
        assert trace.counters(phase) == report.counters
    assert trace.phases["version"].tolist() == list(range(len(reports)))


@given(mutation_streams(weights="int32", max_batches=2))
def test_a_trace_is_the_same_after_saving_and_loading(
    tmp_path_factory: pytest.TempPathFactory, stream: MutationStream
) -> None:
    graph = grapin.Graph.from_edges(**stream.start)
    assume(graph.has_vertex(0))
    engine = grapin.Engine(graph, grapin.SSSP(0), trace=True, threads=1)
    for batch in stream.batches:
        engine.apply(batch)
    file = tmp_path_factory.mktemp("traces") / "run.npz"
    engine.trace.save(file)
    loaded = grapin.Trace.load(file)
    assert loaded.about == engine.trace.about
    for table in ("reads", "phases"):
        for name, column in getattr(engine.trace, table).items():
            np.testing.assert_array_equal(getattr(loaded, table)[name], column, strict=True)


@given(mutation_streams(weights="int32"))
def test_the_same_stream_gives_the_same_trace(stream: MutationStream) -> None:
    traces = []
    for _ in range(2):
        graph = grapin.Graph.from_edges(**stream.start)
        assume(graph.has_vertex(0))
        engine = grapin.Engine(graph, grapin.SSSP(0), trace=True, threads=1)
        for batch in stream.batches:
            engine.apply(batch)
        traces.append(engine.trace)
    for name, column in traces[0].reads.items():
        np.testing.assert_array_equal(traces[1].reads[name], column)


@pytest.mark.parametrize("content", [b"", b"junk", b"PK\x03\x04junk"])
def test_a_file_that_is_no_trace_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "broken.npz"
    file.write_bytes(content)
    with pytest.raises(InvalidFile, match=r"broken.npz: is not a trace"):
        grapin.Trace.load(file)
    with pytest.raises(InvalidFile, match="there is no such file"):
        grapin.Trace.load(tmp_path / "absent.npz")


def test_memory_is_accounted_for_by_part() -> None:
    engine = grapin.Engine(chain(), grapin.BFS(0))
    parts = engine.memory()
    assert parts["answers[0].words"] >= 8 * 4
    assert {name.split(".")[0] for name in parts} == {"graph", "answers[0]"}


def test_a_program_may_join_and_leave_a_running_engine() -> None:
    engine = grapin.Engine(chain(), grapin.BFS(0))
    engine.apply(grapin.Batch(delete=[(2, 3)]))
    joined = engine.follow(grapin.BFS(3))
    assert joined.values.tolist() == grapin.Engine(engine.graph.copy(), grapin.BFS(3)).values.tolist()
    engine.apply(grapin.Batch(insert=[(3, 0, 1)]))
    assert joined.values.tolist() == grapin.Engine(engine.graph.copy(), grapin.BFS(3)).values.tolist()
    assert len(engine.apply(grapin.Batch(insert=[(2, 3, 1)])).queries) == 2
    first = engine.answers[0]
    engine.unfollow(first)
    assert engine.values.tolist() == joined.values.tolist()
    with pytest.raises(InvalidArgument, match="still follows"):
        first.values  # noqa: B018  # reading it is the test
    with pytest.raises(InvalidArgument, match="not the last one"):
        engine.unfollow(joined)


def test_what_cannot_join_leaves_the_engine_as_it_was() -> None:
    far = grapin.Graph.from_edges([0, 1, 2], [1, 2, 3], [2**31 - 1] * 3)
    engine = grapin.Engine(far, grapin.BFS(0))
    with pytest.raises(ValueOverflow):
        engine.follow(grapin.SSSP(0))
    assert engine.apply(grapin.Batch(insert=[(0, 2, 1)])).queries[0].program == "bfs"
    assert engine.values.tolist() == [0, 1, 1, 2]
    with pytest.raises(InvalidArgument, match="one with a trace or a cache takes no more"):
        grapin.Engine(far, grapin.BFS(0), trace=True).follow(grapin.BFS(1))


@given(mutation_streams())
def test_each_batch_counts_the_values_it_changed_however_often_they_changed_before(
    stream: MutationStream,
) -> None:
    graph = grapin.Graph.from_edges(**stream.start)
    assume(graph.has_vertex(0))
    engine = grapin.Engine(graph, grapin.BFS(0), device="cpu", threads=1)
    for batch in stream.batches:
        if 0 in batch.delete_vertices:
            break
        before = engine.values
        report = engine.apply(batch)
        after = engine.values
        known = min(len(before), len(after))
        changed = int((before[:known] != after[:known]).sum()) + int((after[known:] != UNREACHED).sum())
        assert report.changed == changed
