"""Batches go into an engine one after the other; what was done stays readable however the loop ends."""

import signal
from typing import Any

import numpy as np
import pytest

import grapin
from grapin import BFS, SSSP, Batch, Engine, Graph
from grapin.errors import WrongAnswer
from grapin.interrupts import Interrupts
from grapin.programs.starting import UNREACHED
from grapin.session import BatchFailed, Session
from grapin.stream import from_iterator, workload


def engine(*programs: Any) -> Engine:
    return Engine(Graph.from_edges([0, 1, 2], [1, 2, 3]), programs or BFS(0), device="reference")


BATCHES = [Batch(insert=[(0, 2)]), Batch(delete=[(0, 1)]), Batch(insert=[(0, 3)])]


def test_a_session_reports_every_batch_and_the_edges_behind_it() -> None:
    session = Session(engine(), BATCHES)
    assert [report.version for report in session.run()] == [1, 2, 3]
    assert session.edges == [3, 4, 3, 4]
    assert len(session.processor_seconds) == 3
    assert session.engine.values.tolist() == [0, UNREACHED, 1, 1]
    session.verify()


def test_batches_can_be_applied_one_at_a_time() -> None:
    session = Session(engine(), BATCHES)
    for number, report in enumerate(session, 1):
        assert session.reports[-1] is report
        assert len(session.reports) == number


def test_a_signal_ends_the_loop_behind_its_batch_and_no_batch_is_lost() -> None:
    def batches() -> Any:
        yield BATCHES[0]
        signal.raise_signal(signal.SIGINT)
        yield from BATCHES[1:]

    session = Session(engine(), batches())
    with Interrupts() as interrupts:
        assert len(session.run(interrupts=interrupts)) == 2
    assert len(session.run()) == 3
    assert session.edges == [3, 4, 3, 4]


def test_a_batch_that_fails_is_named_and_those_before_it_stay_reported() -> None:
    session = Session(engine(), [BATCHES[0], Batch(insert=[(0, 9)]), BATCHES[2]])
    with pytest.raises(BatchFailed, match=r"^batch 2: .*9"):
        session.run()
    assert len(session.reports) == 1
    assert session.engine.graph.version == 1
    session.run()  # nothing of the bad one was applied
    session.verify()
    assert session.edges == [3, 4, 5]


def test_verifying_several_programs_names_the_one_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(engine(BFS(0), SSSP(0)), BATCHES)
    session.run()
    told: list[str] = []
    session.verify(told.append)
    assert told == ["bfs", "sssp"]
    query: Any = session.engine.answers[1]._query
    monkeypatch.setattr(type(query), "values", lambda _: np.zeros(4, np.int64))
    with pytest.raises(WrongAnswer, match=r"^bfs: "):
        session.verify()


def test_the_first_batches_of_a_stream_are_a_stream() -> None:
    stream = workload(grapin.generate("rmat:6"), batches=4, size=5)
    first = stream.first(2)
    assert [batch.size for batch in first] == [batch.size for batch in stream][:2]
    assert len(first) == 2
    assert first.start is stream.start
    assert len(stream.first(9)) == 4
    assert stream.first(None) is stream
    endless = from_iterator(iter(BATCHES)).first(2)
    assert [batch.size for batch in endless] == [1, 1]
    with pytest.raises(TypeError):
        len(endless)
