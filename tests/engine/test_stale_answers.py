"""What is read is of the graph as it is now, or is refused: answers, snapshots, on every device, however it changed."""

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grapin
from grapin.device import DEVICES
from grapin.device import device as find_device
from grapin.errors import InvalidArgument
from grapin.testing import MutationStream, mutation_streams, verify_answer

HERE = [name for name in DEVICES if find_device(name).unavailable() is None]
GONE = r"graph.version=\d+ must be \d+: the graph was changed elsewhere, and these are the answers of one that is gone"


def reads(engine: grapin.Engine) -> Iterator[Callable[[], Any]]:
    for answer in engine.answers:
        yield lambda answer=answer: answer.values  # type: ignore[misc]
        yield lambda answer=answer: answer.parents  # type: ignore[misc]
        yield lambda answer=answer: answer.path(0)  # type: ignore[misc]
        yield lambda answer=answer: answer.path(10**9)  # type: ignore[misc]
        yield lambda answer=answer: verify_answer(answer, engine.graph)  # type: ignore[misc]
    if len(engine.answers) == 1:
        yield from (lambda: engine.values, lambda: engine.parents, lambda: engine.path(0))
    yield lambda: engine.apply(grapin.Batch())


def refuses(engine: grapin.Engine) -> None:
    for read in reads(engine):
        with pytest.raises(InvalidArgument, match=GONE):
            read()


@pytest.mark.parametrize("device", HERE)
def test_of_two_engines_on_one_graph_the_other_refuses_on_every_device(device: str) -> None:
    graph = grapin.Graph.from_edges([0, 1, 2], [1, 2, 3], [2, 2, 2])
    first = grapin.Engine(graph, grapin.BFS(0), device=device)
    second = grapin.Engine(graph, [grapin.SSSP(0), grapin.PageRank()], device=device)
    values = second.answers[0].values
    first.apply(grapin.Batch(delete=[(0, 1)]))
    refuses(second)
    assert first.values.tolist() == [0] + 3 * [2**63 - 1]
    assert values.tolist() == [0, 2, 4, 6]  # an array that was taken stays as it was
    assert second.started.version == 0  # so do reports
    grapin.Engine(graph, grapin.SSSP(0), device=device).apply(grapin.Batch(insert=[(0, 3, 1)]))
    refuses(first)


@pytest.mark.parametrize("device", HERE)
def test_a_graph_that_was_changed_directly_ends_its_engines_on_every_device(device: str) -> None:
    graph = grapin.Graph.from_edges([0, 1], [1, 2])
    engine = grapin.Engine(graph, grapin.BFS(0), device=device)
    graph.apply(grapin.Batch())
    refuses(engine)
    assert engine.memory()


@given(stream=mutation_streams(), turns=st.lists(st.integers(0, 2), min_size=5, max_size=5))
def test_whoever_applies_a_batch_every_answer_that_can_be_read_is_right(
    stream: MutationStream, turns: list[int]
) -> None:
    graph = grapin.Graph.from_edges(**stream.start)
    programs: Any = [grapin.ConnectedComponents(), *([grapin.BFS(0)] if graph.vertices else [])]
    engines = [grapin.Engine(graph, programs, device="reference") for _ in range(2)]
    current = {0, 1}
    for batch, turn in zip(stream.batches, turns, strict=False):
        if turn in current:
            engines[turn].apply(batch)
            current = {turn}
        else:
            graph.apply(batch)
            current = set()
        for place, engine in enumerate(engines):
            if place in current:
                for answer in engine.answers:
                    verify_answer(answer, graph)
            else:
                refuses(engine)


def test_a_snapshot_refuses_to_show_another_graph_and_names_both() -> None:
    graph = grapin.Graph.from_edges([0, 1], [1, 2], [5, 6])
    snapshot, lists, again = graph.snapshot(), graph.snapshot().out, graph.snapshot()
    graph.apply(grapin.Batch(delete=[(0, 1)]))
    for read in (
        lambda: snapshot.out,
        lambda: snapshot.in_,
        lambda: snapshot.alive,
        lambda: again.out.degrees,
        lambda: lists.starts,
        lambda: lists.degrees,
        lambda: lists.neighbours,
        lambda: lists.weights,
        lambda: lists.moved,
    ):
        with pytest.raises(
            InvalidArgument, match=r"must be read before the graph changes: version 0 of the graph"
        ):
            read()
    assert repr(snapshot) == "Snapshot(version=0, bound=3, edges=2)"
    assert graph.snapshot().out.degrees.tolist() == [0, 1, 0]
    with pytest.raises(AttributeError, match="no attribute 'outs'"):
        _ = snapshot.outs  # type: ignore[attr-defined]


def test_a_refused_batch_leaves_snapshots_and_answers_as_they_are() -> None:
    graph = grapin.Graph.from_edges([0, 1], [1, 2])
    snapshot, engine = graph.snapshot(), grapin.Engine(graph, grapin.BFS(0), device="reference")
    with pytest.raises(grapin.InvalidBatch):
        graph.apply(grapin.Batch(insert=[(0, 99)]))
    with pytest.raises(grapin.InvalidBatch):
        graph.apply(grapin.Batch(delete=[(2, 0)], insert_vertices=[3]), strict=True)
    assert snapshot.out.degrees.tolist() == [1, 1, 0]
    assert engine.values.tolist() == [0, 1, 2]


@pytest.mark.parametrize("weights", [None, [5, 6, 7]])
def test_lists_that_were_taken_stay_as_they_were(weights: list[int] | None) -> None:
    graph = grapin.Graph.from_edges([0, 0, 1], [1, 2, 2], weights)
    taken: list[Any] = [graph.out_neighbours(0), graph.in_neighbours(2)]
    if weights is not None:
        taken += [graph.out_weights(0), graph.in_weights(2)]
    before = [array.tolist() for array in taken]
    more = (
        {"insert": [(0, 0), (2, 2)]}
        if weights is None
        else {"reweight": [(0, 1, 70), (0, 2, 71), (1, 2, 72)]}
    )
    graph.apply(grapin.Batch(delete=[(0, 1)] if weights is None else [], **more))
    assert [array.tolist() for array in taken] == before
    assert not any(array.flags.writeable for array in taken)


COPIES: list[Callable[[Any], Any]] = [lambda value: pickle.loads(pickle.dumps(value)), copy.deepcopy]


@pytest.mark.parametrize("device", HERE)
@pytest.mark.parametrize("way", [*COPIES, copy.copy])
def test_an_engine_and_its_answers_say_in_a_sentence_what_to_copy_instead(
    way: Callable[[Any], Any], device: str
) -> None:
    engine = grapin.Engine(grapin.load("path:4"), grapin.BFS(0), device=device)
    with pytest.raises(
        InvalidArgument, match=r"copy or pickle engine\.graph, make another Engine on it there"
    ):
        way(engine)
    with pytest.raises(InvalidArgument, match=r"answer\.values and answer\.parents are arrays"):
        way(engine.answers[0])
    another = grapin.Engine(way(engine.graph), way(engine.answers[0].program), device=device)
    another.apply(grapin.Batch(insert=[(0, 3, 1)]))
    assert another.values.tolist() == [0, 1, 2, 1]
    assert engine.values.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("way", COPIES)
def test_what_a_run_leaves_behind_can_be_copied(way: Callable[[Any], Any]) -> None:
    engine = grapin.Engine(grapin.load("path:4"), grapin.SSSP({0: 3}), device="cpu", trace=True)
    batch = grapin.Batch(insert=[(0, 3, 1)], delete=[(1, 2)], delete_vertices=[2])
    another = way(batch)
    assert another == batch
    assert not any(column.flags.writeable for column in (another.insert.source, another.insert.weight))
    report = engine.apply(another)
    assert way(report).to_dict() == report.to_dict()
    assert way(engine.trace).counters() == engine.trace.counters()
    assert repr(way(engine.trace)) == repr(engine.trace)
    assert np.array_equal(way(engine.values), engine.values)
    for program in (
        grapin.BFS([0, 2]),
        grapin.SSSP({1: 4}),
        grapin.ConnectedComponents(),
        grapin.PageRank(0.5),
    ):
        assert vars(way(program)) == vars(program)
    assert way(engine.system) == engine.system
