"""Names stay: they grow with inserted vertices, go with deleted ones, and answer wherever ids do."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grapin
from grapin import BFS, Batch, ConnectedComponents, Engine, Graph, Labels, NamedBatch
from grapin.errors import InvalidArgument, InvalidBatch
from grapin.files.write import write_edges

NAMES = ["ann", "bob", "cy", "dee", "eve", "fay"]
NAME = st.sampled_from(NAMES)
PAIRS = st.lists(st.tuples(NAME, NAME), max_size=4, unique=True)


class Model:
    """A set of names and a set of pairs of them: what a graph by names means."""

    def __init__(self) -> None:
        self.names: set[Any] = set()
        self.edges: set[tuple[Any, Any]] = set()

    def apply(self, insert: Any, delete: Any, coming: Any, going: Any) -> None:
        self.edges -= set(delete)
        self.names |= {end for edge in insert for end in edge} | set(coming)
        self.names -= set(going)
        self.edges = {edge for edge in self.edges | set(insert) if set(edge) <= self.names}


def named_edges(graph: Graph) -> set[tuple[Any, Any]]:
    source, target, _ = graph.edge_arrays()
    return {(graph.name(u), graph.name(v)) for u, v in zip(source.tolist(), target.tolist(), strict=True)}


@given(st.lists(st.tuples(PAIRS, PAIRS, st.lists(NAME, max_size=2), st.lists(NAME, max_size=1)), max_size=8))
def test_a_graph_changed_by_names_is_the_graph_of_those_names(batches: list[Any]) -> None:
    graph, model = Graph.empty(labels=Labels()), Model()
    for insert, delete, coming, going in batches:
        batch = NamedBatch(insert=insert, delete=delete, insert_vertices=coming, delete_vertices=going)
        before = pickle.loads(pickle.dumps(graph))
        try:
            graph.apply(batch)
        except InvalidBatch:  # it contradicts itself, as a batch by ids would
            assert set(insert) & set(delete) or {*sum(insert, ()), *coming} & set(going)
            assert named_edges(graph) == named_edges(before)
            continue
        model.apply(insert, delete, coming, going)
        assert named_edges(graph) == model.edges
        assert {graph.name(vertex) for vertex in np.flatnonzero(graph.alive()).tolist()} == model.names
        assert graph.labels is not None
        assert {name: name in graph.labels for name in NAMES} == {name: name in model.names for name in NAMES}
        assert all(graph.name(graph.vertex(name)) == name for name in model.names)


def test_a_batch_by_names_that_contradicts_itself_changes_nothing() -> None:
    graph = Graph.empty(labels=Labels())
    graph.apply(NamedBatch(insert=[("ann", "bob")]))
    with pytest.raises(InvalidBatch, match="must not stand in both insert and delete"):
        graph.apply(NamedBatch(insert=[("ann", "bob"), ("cy", "dee")], delete=[("ann", "bob")]))
    assert graph.labels is not None
    assert (graph.version, len(graph.labels), "cy" in graph.labels) == (1, 2, False)


def test_unknown_names_in_deletions_are_counted_as_ignored_or_refused_by_a_strict_graph() -> None:
    batch = NamedBatch(delete=[("ann", "zoe")], delete_vertices=["yan"])
    graph = Graph.empty(labels=Labels(np.array(["ann"], object)), vertices=1)
    assert graph.apply(batch).ignored == 2
    strict = Graph.empty(labels=Labels(np.array(["ann"], object)), vertices=1, strict=True)
    with pytest.raises(InvalidBatch, match=r"edge \('ann', 'zoe'\) in delete must be about vertices with"):
        strict.apply(batch)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"insert": ["ab"]}, r"insert must be rows \(source, target\[, weight\]\), not 'ab'"),
        ({"insert": [("ann", None)]}, "insert must hold names, such as text or whole numbers, not None"),
        ({"insert": [("ann", "")]}, "must hold names"),
        ({"insert": [("a", "b"), ("a", "b", 1)]}, "must have rows"),
        ({"insert": (["a"], ["b", "c"])}, "must have columns of one length"),
        ({"delete_vertices": "ann"}, "not the single text 'ann'"),
        ({"insert": [("ann", float("nan"))]}, "must hold names"),
    ],
)
def test_what_is_no_name_is_refused(arguments: Any, complaint: str) -> None:
    with pytest.raises(InvalidBatch, match=complaint):
        NamedBatch(**arguments)


def test_a_vertex_inserted_by_id_brings_its_name_along() -> None:
    graph = grapin.Graph.from_edges([0], [1], labels=Labels(np.array(["ann", "bob"], object)))
    graph.apply(Batch(insert_vertices=[3, 2], names=["dee", "cy"]))
    assert (graph.name(2), graph.name(3)) == ("cy", "dee")
    for names, complaint in (
        ([], "vertex 4 in insert_vertices must have a name"),
        (["ann"], "name 'ann' of vertex 4 must be left to vertex 0"),
    ):
        with pytest.raises(InvalidBatch, match=complaint):
            graph.apply(Batch(insert_vertices=[4], names=names))
    with pytest.raises(InvalidBatch, match="vertex 0 exists as 'ann' and must not be inserted as 'eve'"):
        graph.apply(Batch(insert_vertices=[0], names=["eve"]))
    with pytest.raises(InvalidBatch, match="names must be one for each of the 2 insert_vertices, not 1"):
        Batch(insert_vertices=[4, 5], names=["eve"])
    with pytest.raises(InvalidBatch, match="name 'eve' must be that of one vertex"):
        Batch(insert_vertices=[4, 5], names=["eve", "eve"])
    with pytest.raises(InvalidBatch, match="names must be left out: the graph's vertices have none"):
        Graph.empty().apply(Batch(insert_vertices=[0], names=["ann"]))


def test_the_name_of_a_deleted_vertex_is_free_again() -> None:
    graph = Graph.empty(labels=Labels())
    graph.apply(NamedBatch(insert=[("ann", "bob")]))
    graph.apply(NamedBatch(delete_vertices=["ann"]))
    with pytest.raises(InvalidArgument, match="vertex='ann' must be one of the 1 names in the graph"):
        graph.vertex("ann")
    graph.apply(NamedBatch(insert=[("cy", "ann")]))
    assert (graph.vertex("cy"), graph.vertex("ann")) == (0, 2)


def test_numbers_and_their_text_are_one_name_unless_names_are_exact() -> None:
    numbers = Labels(np.array([7, 10**12]))
    assert (numbers.vertex("7"), numbers.vertex(10**12)) == (0, 1)
    assert Labels(np.array(["7", "x"], object)).vertex(7) == 0
    exact = Labels(np.array([7, "7"], object), exact=True)
    assert (exact.vertex(7), exact.vertex("7")) == (0, 1)
    graph = Graph.empty(vertices=2, labels=numbers)
    with pytest.raises(InvalidBatch, match="name 'x' must be a whole number of 64 bits"):
        graph.apply(NamedBatch(insert_vertices=["x"]))
    graph.apply(NamedBatch(insert_vertices=["12"]))
    assert graph.name(2) == 12


def test_copies_keep_their_names_apart() -> None:
    labels = Labels(np.array(["ann"], object))
    graph = Graph.empty(vertices=1, labels=labels)
    other = copy.copy(graph)
    graph.apply(NamedBatch(insert_vertices=["bob"]))
    other.apply(NamedBatch(insert_vertices=["cy"]))
    assert labels.names.tolist() == ["ann"]
    assert (graph.name(1), other.name(1)) == ("bob", "cy")
    assert ("bob" in labels, "cy" in labels) == (False, False)


def test_a_longer_name_is_not_cut_off() -> None:
    graph = Graph.empty(vertices=1, labels=Labels(np.array(["a"])))
    graph.apply(NamedBatch(insert_vertices=["a much longer name"]))
    assert graph.name(1) == "a much longer name"


def test_answers_are_asked_for_and_given_by_name() -> None:
    graph = Graph.empty(labels=Labels())
    graph.apply(NamedBatch(insert=[("ann", "bob"), ("bob", "cy"), ("dee", "eve")]))
    engine = Engine(graph, [BFS(graph.vertex("ann")), ConnectedComponents()], device="reference")
    engine.apply(NamedBatch(insert=[("cy", "fay")]))
    depth, component = engine.answers
    assert (depth.value("fay"), depth.value("ann"), depth.value("dee")) == (3, 0, None)
    assert (component.value("eve"), component.value(4), component.value("fay")) == ("dee", 3, "ann")
    assert depth.path("fay") == ["ann", "bob", "cy", "fay"]
    assert depth.path("cy", to="fay") == ["cy", "fay"]
    assert depth.path(0, to=2) == [0, 1, 2]
    assert depth.path("ann", to="dee") == []
    with pytest.raises(InvalidArgument, match="vertex='eve' must be on the way to 'fay', which comes from"):
        depth.path("eve", to="fay")
    with pytest.raises(InvalidArgument, match="vertex='bib' must be one of the 6 names in the graph"):
        depth.value("bib")
    with pytest.raises(InvalidArgument, match="must be given by id: the graph's vertices have no names"):
        Engine(Graph.empty(1), BFS(0), device="reference").value("ann")


def test_a_stream_may_speak_of_names() -> None:
    graph = Graph.empty(labels=Labels())
    graph.apply(NamedBatch(insert_vertices=["ann"]))
    engine = Engine(graph, BFS(0), device="reference")
    for batch in grapin.stream.from_iterator([NamedBatch(insert=[("ann", "bob")]), {"delete_vertices": [1]}]):
        engine.apply(batch)
    assert graph.labels is not None
    assert "bob" not in graph.labels


KONECT = "% asym unweighted\n1 2\n2 3\n"


@pytest.mark.parametrize("names", ["ann\nbob\ncy\n", "1\tann\n2\tbob\n3\tcy\n4\tdee\n"])
def test_names_beside_a_konect_file_are_those_of_its_vertices(tmp_path: Path, names: str) -> None:
    (tmp_path / "out.friends").write_text(KONECT)
    (tmp_path / "ent.friends").write_text(names)
    assert grapin.load(tmp_path / "out.friends").vertex("cy") == 2
    assert grapin.load(tmp_path / "out.friends", ids="keep").labels.names.tolist() == [1, 2, 3]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (b"ann\nbob\n", "2 names lie beside the file, which has 3 vertices"),
        (b"ann\nbob\nann\n", "ent.friends has the name 'ann' 2 times"),
        (b"ann\n\ncy\n", "ent.friends has no name for vertex 2"),
        (b"ann\n\xff\ncy\n", "ent.friends is not UTF-8"),
    ],
)
def test_names_that_do_not_fit_are_left_out_with_a_note(tmp_path: Path, names: bytes, reason: str) -> None:
    (tmp_path / "out.friends").write_text(KONECT)
    (tmp_path / "ent.friends").write_bytes(names)
    edges = grapin.load_edges(tmp_path / "out.friends")
    assert edges.labels is not None
    assert edges.labels.names.tolist() == [1, 2, 3]
    assert f"Vertices are numbered, not named: {reason}." in edges.notes


def test_packages_have_their_names(shared_data: Path) -> None:
    graph = grapin.load(shared_data / "out.debian-deps.zst")
    assert graph.name(graph.vertex("dpkg")) == "dpkg"


def test_names_of_columns_survive_where_a_reader_knows_them(tmp_path: Path) -> None:
    (tmp_path / "roads.csv").write_text("From,To,distance,note\na,b,3,x\nb,c,4,y\n")
    edges = grapin.load_edges(tmp_path / "roads.csv")
    assert edges.columns == {"source": "From", "target": "To", "weight": "distance"}
    for name in ("again.csv", "again.parquet"):
        write_edges(edges, str(tmp_path / name))
        again = grapin.load_edges(tmp_path / name)
        assert again.columns == edges.columns
        assert again.weight is not None
        assert again.weight.tolist() == [3, 4]


def test_names_of_columns_that_no_reader_would_know_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "roads.csv").write_text("From,To,km\na,b,3\n")
    edges = grapin.load_edges(tmp_path / "roads.csv", columns="source,target,weight")
    write_edges(edges, str(tmp_path / "again.csv"))
    assert (tmp_path / "again.csv").read_text().splitlines()[0] == '"From","To","weight"'
