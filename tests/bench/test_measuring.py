"""Nothing is timed before everything was checked; then each case has as many repetitions as were asked for."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from grapin.bench import peers
from grapin.bench.measure import check, measure, turns
from grapin.bench.suite import Suite
from grapin.edges import EdgeList
from grapin.engine import Engine
from grapin.errors import WrongAnswer
from grapin.generators import generate
from grapin.stream import Stream, workload

SUITE = Suite(
    "tiny",
    graphs=("rmat:5:4",),
    programs=("sssp", "cc"),
    systems=("bounded", "grapin-recomp"),
    devices=("reference",),
    batch_sizes=(3, 5),
    batches=2,
    repetitions=3,
    warmup=1,
    peers=("scipy",),
)


def prepare(graph: str, size: int) -> tuple[Stream, list[int]]:
    return workload(generate(graph), batches=SUITE.batches, size=size), [0]


def stop_after(turns_left: int) -> Callable[[], bool]:
    """Return what says stop once it was asked so many times."""
    asked = iter(range(turns_left))
    return lambda: next(asked, None) is None


class Steps:
    """A progress bar that counts."""

    def __init__(self) -> None:
        self.done = 0.0

    def __call__(self, amount: float, /) -> None:
        self.done += amount


def test_each_case_is_checked_once_then_timed_in_turns() -> None:
    pytest.importorskip("scipy")
    steps = Steps()
    assert check(SUITE, prepare, lambda: False, steps)
    found = [one for several in measure(SUITE, prepare, lambda: False, steps) for one in several]
    assert [one.case for one in found] == [case for two in SUITE.workloads() for case in SUITE.cases(*two)]
    assert steps.done == turns(SUITE)
    for one in found:
        assert len(one.start) == SUITE.repetitions
        assert min(one.start) > 0
        assert len(one.batch) == (SUITE.repetitions if one.case.system else 0)
        assert one.device_batch == []


def test_counters_are_those_of_one_repetition() -> None:
    suite = replace(
        SUITE, peers=(), batch_sizes=(5,), programs=("sssp",), systems=("grapin-recomp",), devices=("cpu",)
    )
    ((once,),) = measure(replace(suite, repetitions=1, warmup=0), prepare, lambda: False, Steps())
    ((often,),) = measure(suite, prepare, lambda: False, Steps())
    assert once.counters == often.counters
    assert once.counters.edges > 0


def test_a_wrong_answer_names_its_case_and_stops_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    apply = Engine.apply

    def corrupting(engine: Engine, batch: Any) -> Any:
        report = apply(engine, batch)
        if engine.system.name == "grapin-recomp" and engine.graph.version == 2:
            monkeypatch.setattr(type(engine.answers[0]), "values", property(lambda _answer: np.full(32, 7)))
        return report

    monkeypatch.setattr(Engine, "apply", corrupting)
    sentence = r"sssp, grapin-recomp on reference, rmat:5:4, batches of 3: .*; nothing was timed"
    with pytest.raises(WrongAnswer, match=sentence):
        check(SUITE, prepare, lambda: False, Steps())


def test_a_peer_that_answers_otherwise_stops_everything_too(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("scipy")
    monkeypatch.setattr(peers, "agree", lambda *_: False)
    with pytest.raises(WrongAnswer, match="scipy gives another answer than grapin; nothing was timed"):
        check(SUITE, prepare, lambda: False, Steps())


def test_stopped_while_checking_nothing_counts_as_checked() -> None:
    assert not check(SUITE, prepare, stop_after(1), Steps())


@pytest.mark.parametrize("asked", [0, 3, 7, 9, 13])
def test_stopped_while_measuring_what_was_measured_is_there(asked: int) -> None:
    suite = replace(SUITE, peers=())
    found = [one for several in measure(suite, prepare, stop_after(asked), Steps()) for one in several]
    cases = len(suite.cases("rmat:5:4", 3))
    first = found[:cases]
    assert sum(len(one.start) for one in first) == max(0, min(asked, cases * 4) - cases)
    assert all(one.start for one in found)


def test_peers_read_undirected_and_unweighted_graphs_as_we_do() -> None:
    pytest.importorskip("scipy")
    edges = generate("rmat:5:4")
    undirected = EdgeList(edges.source, edges.target, edges.vertices, None, directed=False)
    suite = replace(SUITE, programs=("bfs", "cc"), batch_sizes=(3,), systems=("bounded",))

    def prepared(_graph: str, size: int) -> tuple[Stream, list[int]]:
        return workload(undirected, batches=2, size=size), [0]

    assert check(suite, prepared, lambda: False, Steps())


def test_peers_agree_on_weights_that_are_not_whole() -> None:
    pytest.importorskip("scipy")
    edges = generate("rmat:5:4")
    assert edges.weight is not None
    real = replace(edges, weight=edges.weight.astype(np.float32) / np.float32(7))

    def prepared(_graph: str, size: int) -> tuple[Stream, list[int]]:
        return workload(real, batches=2, size=size), [0]

    assert check(replace(SUITE, programs=("sssp",), systems=("bounded",)), prepared, lambda: False, Steps())
