"""What an engine was saved with comes back: graph, names, programs, answers, and every batch since."""

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grapin
from grapin import (
    BFS,
    SSSP,
    Batch,
    ConnectedComponents,
    Engine,
    Graph,
    Labels,
    Monotone,
    NamedBatch,
    PageRank,
)
from grapin.engine.log import decode, encode
from grapin.engine.state import health, leftovers
from grapin.errors import AnswersLost, GrapinError, InvalidArgument, InvalidBatch, InvalidFile
from grapin.graph.archive import archive, restore
from grapin.testing.strategies import MutationStream, mutation_streams


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("states")


def places(graph: Graph) -> list[Any]:
    """Where every list lies, how long it is, and what is in it."""
    shown = graph.snapshot()
    parts = []
    for lists in (shown.out, shown.in_ or shown.out):
        ends = zip(lists.starts.tolist(), lists.degrees.tolist(), strict=True)
        parts.append([(start, lists.neighbours[start : start + degree].tolist()) for start, degree in ends])
    return [graph.version, graph.edges, graph.alive().tolist(), graph.free_vertices(3).tolist(), parts]


@given(mutation_streams())
def test_a_graph_comes_back_from_its_archive_list_by_list(stream: MutationStream) -> None:
    graph = Graph.from_edges(**stream.start)
    for batch in stream.batches:
        other = restore(archive(graph))
        other.check()
        assert places(other) == places(graph)
        assert repr(other.apply(batch)) == repr(graph.apply(batch))
        assert places(other) == places(graph)


@given(mutation_streams())
def test_a_batch_comes_back_from_the_log_as_it_was(stream: MutationStream) -> None:
    for batch in stream.batches:
        assert decode(encode(batch)) == batch


@settings(max_examples=settings().max_examples // 2)
@given(stream=mutation_streams(), closed=st.integers(0, 4), again=st.booleans())
def test_an_engine_that_is_opened_goes_on_as_if_it_had_never_been_closed(
    folders: Path, stream: MutationStream, closed: int, again: bool
) -> None:
    folder = folders / "state"
    shutil.rmtree(folder, ignore_errors=True)
    programs: list[Any] = [ConnectedComponents(), PageRank()]
    if stream.start["vertices"]:
        programs.append(SSSP(source=0) if stream.start.get("weight") is not None else BFS(source=0))
    stays, goes = (
        Engine(Graph.from_edges(**stream.start), programs, device="cpu", threads=1) for _ in range(2)
    )
    goes.save(folder, durability="none")  # what waits for the disk is tried elsewhere
    for number, batch in enumerate(stream.batches):
        if number == closed:
            if again:
                goes.save(folder)
            goes.close()
            goes = Engine.open(folder, device="cpu", threads=1, durability="none")
        one, other = stays.apply(batch), goes.apply(batch)
        assert (other.edges_read, other.changed, other.counters) == (
            one.edges_read,
            one.changed,
            one.counters,
        )
    goes.close()
    goes = Engine.open(folder, device="cpu", threads=1)
    goes.graph.check()
    assert places(goes.graph) == places(stays.graph)
    for mine, theirs in zip(goes.answers, stays.answers, strict=True):
        np.testing.assert_array_equal(mine.values, theirs.values)
        np.testing.assert_array_equal(mine.parents, theirs.parents)
    goes.close()


def saved(folder: Path, **options: Any) -> Engine:
    """An engine on a path of four vertices, saved, with three batches behind the snapshot."""
    engine = Engine(Graph.from_edges([0, 1, 2], [1, 2, 3]), BFS(source=0), device="cpu", threads=1)
    engine.save(folder, **options)
    for number, batch in enumerate([Batch(insert=[(0, 2)]), Batch(delete=[(0, 1)]), Batch(insert=[(0, 3)])]):
        engine.apply(batch, mark=f"row {number}")
    return engine


def test_names_come_back_and_go_on_growing(tmp_path: Path) -> None:
    engine = Engine(Graph.empty(labels=Labels()), ConnectedComponents(), device="cpu")
    engine.save(tmp_path / "state")
    engine.apply(NamedBatch(insert=[("ann", "bob"), ("cy", "dee")]))
    engine.save(tmp_path / "state")
    engine.apply(NamedBatch(insert=[("eve", "ann")], delete_vertices=["cy"]))
    engine.close()
    with Engine.open(tmp_path / "state") as again:
        again.apply(NamedBatch(insert=[("fay", "eve")]))
        assert again.value("fay") == again.value("bob")
        assert sorted(map(again.graph.name, np.flatnonzero(again.graph.alive()).tolist())) == [
            *("ann", "bob", "dee", "eve", "fay")
        ]


def test_a_name_that_a_file_cannot_hold_is_refused_before_anything_changes(tmp_path: Path) -> None:
    engine = Engine(Graph.empty(labels=Labels(exact=True)), ConnectedComponents(), device="cpu")
    engine.save(tmp_path / "state")
    with pytest.raises(InvalidBatch, match=r"name \(1, 2\) must be text or a number where batches are saved"):
        engine.apply(NamedBatch(insert=[((1, 2), (3, 4))]))
    assert engine.graph.version == 0


def test_a_mark_says_how_far_the_stream_was(tmp_path: Path) -> None:
    engine = saved(tmp_path / "state")
    engine.apply(Batch(insert=[(1, 3)]))  # says nothing
    assert engine.mark == "row 2"
    engine.close()
    with Engine.open(tmp_path / "state") as again:
        assert again.mark == "row 2"
        again.save(tmp_path / "state")
    with Engine.open(tmp_path / "state") as again:
        assert (again.mark, again.graph.version) == ("row 2", 4)


@pytest.mark.parametrize("durability", ["batch", "os", "none"])
def test_closing_writes_everything_however_durable_batches_are(tmp_path: Path, durability: str) -> None:
    saved(tmp_path / "state", durability=durability).close()
    with Engine.open(tmp_path / "state", durability=durability) as again:
        assert (again.graph.version, again.values.tolist()) == (
            3,
            [0, grapin.programs.starting.UNREACHED, 1, 1],
        )


def test_a_refused_batch_is_not_in_the_log(tmp_path: Path) -> None:
    engine = saved(tmp_path / "state")
    with pytest.raises(InvalidBatch):
        engine.apply(Batch(insert=[(0, 99)]))
    engine.apply(Batch(delete=[(0, 3)]))
    engine.close()
    with Engine.open(tmp_path / "state") as again:
        assert again.graph.version == 4


class Hops(Monotone):
    name = "hops"
    weighted = False

    @staticmethod
    def edge(value: Any, weight: Any) -> Any:
        return value + 2


def test_a_class_of_ones_own_has_to_be_given_and_be_the_same(tmp_path: Path) -> None:
    engine = Engine(Graph.from_edges([0, 1], [1, 2]), Hops(source=0), device="cpu")
    engine.save(tmp_path / "state")
    engine.close()
    with pytest.raises(InvalidArgument, match=r"must name 'hops', which is a class of your own"):
        Engine.open(tmp_path / "state")
    with pytest.raises(InvalidArgument, match=r"must be what was saved: hops with .*0"):
        Engine.open(tmp_path / "state", Hops(source=1))
    with Engine.open(tmp_path / "state", Hops(source=0)) as again:
        assert again.values.tolist() == [0, 2, 4]


def test_answers_are_computed_from_scratch_where_those_that_were_saved_are_of_another_device(
    tmp_path: Path,
) -> None:
    saved(tmp_path / "state").close()
    with Engine.open(tmp_path / "state", device="reference") as again:
        assert (again.values.tolist()[3], again.device) == (1, "reference")
    with Engine.open(tmp_path / "state", trace=True) as again:
        assert again.trace.phases["version"].tolist() == [0, 1, 2, 3]


def test_two_engines_cannot_write_to_one_directory(tmp_path: Path) -> None:
    engine = saved(tmp_path / "state")
    with pytest.raises(InvalidArgument, match="must be in use once: another engine has it open"):
        Engine.open(tmp_path / "state")
    with pytest.raises(InvalidArgument, match=r"where this engine is saved already"):
        engine.save(tmp_path / "other")
    engine.close()
    Engine.open(tmp_path / "state").close()


def test_a_directory_of_something_else_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    engine = Engine(Graph.from_edges([0], [1]), BFS(source=0), device="cpu")
    with pytest.raises(InvalidArgument, match=r"for the state alone, and has 'notes.txt' in it"):
        engine.save(tmp_path)
    with pytest.raises(InvalidArgument, match=r"no snapshot in it was completed"):
        Engine.open(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    saved(tmp_path / "state").close()
    with pytest.raises(InvalidArgument, match=r"has a state in it: Engine.open goes on from it"):
        engine.save(tmp_path / "state")
    assert health(tmp_path / "state").version == 3


def test_a_followed_program_is_part_of_what_is_saved(tmp_path: Path) -> None:
    engine = saved(tmp_path / "state")
    engine.follow(ConnectedComponents())
    engine.apply(Batch(insert=[(3, 1)]))
    engine.close()
    with Engine.open(tmp_path / "state") as again:
        assert [answer.program.name for answer in again.answers] == ["bfs", "cc"]
        assert again.answers[1].values.tolist() == [0, 0, 0, 0]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".sqlite-shm"}


@settings(max_examples=settings().max_examples // 2)
@given(data=st.data())
def test_a_damaged_file_is_one_sentence_and_nothing_is_changed(folders: Path, data: st.DataObject) -> None:
    folder = folders / "damaged"
    shutil.rmtree(folder, ignore_errors=True)
    saved(folder).close()
    victim = data.draw(st.sampled_from(["snapshot-0.npz", "log.sqlite"]))
    body = bytearray((folder / victim).read_bytes())
    place = data.draw(st.integers(0, len(body) - 1))
    if data.draw(st.booleans()):
        body[place] ^= data.draw(st.integers(1, 255))
    else:
        del body[place:]
    (folder / victim).write_bytes(body)
    before = contents(folder)
    said, found = None, None
    try:
        found = Engine.open(folder)
    except GrapinError as error:
        said = str(error)
    if said is not None:
        assert "\n" not in said
        assert contents(folder)["snapshot-0.npz"] == before["snapshot-0.npz"]
    if found is not None:  # a byte that nobody reads, or a snapshot's header
        assert found.graph.version == 3
        assert found.values.tolist()[2:] == [1, 1]
        found.close()


def test_health_names_what_is_damaged_and_what_is_left_over(tmp_path: Path) -> None:
    saved(tmp_path / "state").close()
    (tmp_path / "state" / "snapshot-9.npz.part").write_bytes(b"half")
    found = health(tmp_path / "state")
    assert (found.snapshot, found.version, found.mark, found.damage) == (0, 3, "row 2", None)
    assert found.leftovers == ("snapshot-9.npz.part (4 B)",)
    with sqlite3.connect(tmp_path / "state" / "log.sqlite") as database:
        database.execute("DELETE FROM batches WHERE version = 2")
    database.close()
    damage = health(tmp_path / "state").damage
    assert damage is not None
    assert damage.endswith("must have every batch: the one of version 2 is gone")
    with pytest.raises(InvalidFile, match="the one of version 2 is gone"):
        Engine.open(tmp_path / "state")
    assert (tmp_path / "state" / "snapshot-9.npz.part").exists()


def test_another_form_of_state_is_refused(tmp_path: Path) -> None:
    saved(tmp_path / "state").close()
    with sqlite3.connect(tmp_path / "state" / "log.sqlite") as database:
        database.execute("PRAGMA user_version=99")
    database.close()
    with pytest.raises(InvalidFile, match=r"has form 99 of a saved state and this Grapin reads form 1"):
        Engine.open(tmp_path / "state")


def test_a_batch_that_cannot_be_written_ends_the_engine_and_not_the_state(tmp_path: Path) -> None:
    engine = saved(tmp_path / "state")
    assert engine._state is not None
    engine._state._log._database.execute("PRAGMA max_page_count=1")  # a full disk
    batch = Batch(insert_vertices=engine.graph.free_vertices(10_000))
    with pytest.raises(GrapinError, match=r"log.sqlite cannot be used: .*full"):
        engine.apply(batch)
    with pytest.raises(AnswersLost, match="full"):
        engine.apply(Batch())
    version = engine.graph.version
    engine.close()
    with Engine.open(tmp_path / "state") as again:
        assert again.graph.version == version - 1


def test_a_snapshot_is_taken_when_replaying_would_cost_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grapin.engine.state.LEAST_REPLAY", 0.0)
    monkeypatch.setattr("grapin.engine.state.REPLAY_PER_SNAPSHOT", 0.0)
    engine = saved(tmp_path / "state")
    assert health(tmp_path / "state").snapshot == 3
    assert leftovers(tmp_path / "state", "snapshot-3.npz") == []
    engine.close()
