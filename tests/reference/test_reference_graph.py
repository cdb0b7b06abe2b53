"""What a batch means, example by example: the reference judges all else, so its own tests are spelled out."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from grapin import Batch, InvalidArgument, InvalidBatch
from grapin.reference import Changes, ReferenceGraph
from grapin.testing import MutationStream, edge_lists, mutation_streams


def changes(version: int = 1, **parts: Any) -> Changes:
    nothing: dict[str, Any] = {
        "inserted": {},
        "deleted": {},
        "reweighted": {},
        "inserted_vertices": frozenset(),
        "deleted_vertices": frozenset(),
        "ignored": 0,
        "unchanged": 0,
    }
    return Changes(version=version, **(nothing | parts))


def path(**options: Any) -> ReferenceGraph:
    """Return 0 -> 1 -> 2 with weights 5 and 6."""
    return ReferenceGraph.from_edges([0, 1], [1, 2], [5, 6], **options)


def test_inserting_a_new_edge_adds_it() -> None:
    graph = path()
    assert graph.apply(Batch(insert=[(2, 0, 7)])) == changes(inserted={(2, 0): 7})
    assert graph.arcs == {(0, 1): 5, (1, 2): 6, (2, 0): 7}


def test_inserting_an_edge_that_exists_sets_its_weight() -> None:
    graph = path()
    assert graph.apply(Batch(insert=[(0, 1, 7)])) == changes(reweighted={(0, 1): (5, 7)})
    assert graph.arcs == {(0, 1): 7, (1, 2): 6}


def test_setting_the_weight_an_edge_has_changes_nothing() -> None:
    assert path().apply(Batch(insert=[(0, 1, 5)], reweight=[(1, 2, 6)])) == changes(unchanged=2)
    plain = ReferenceGraph.from_edges([0], [1])
    assert plain.apply(Batch(insert=[(0, 1)])) == changes(unchanged=1)


def test_reweighting_changes_only_what_is_there() -> None:
    graph = path()
    expected = changes(reweighted={(0, 1): (5, 9)}, ignored=1)
    assert graph.apply(Batch(reweight=[(0, 1, 9), (2, 1, 9)])) == expected
    assert graph.arcs == {(0, 1): 9, (1, 2): 6}


def test_deleting_removes_only_what_is_there() -> None:
    graph = path()
    assert graph.apply(Batch(delete=[(0, 1), (1, 0)])) == changes(deleted={(0, 1): 5}, ignored=1)
    assert graph.arcs == {(1, 2): 6}


def test_deleting_a_vertex_deletes_its_edges_and_frees_its_id() -> None:
    graph = path()
    gone = changes(deleted={(0, 1): 5, (1, 2): 6}, deleted_vertices=frozenset({1}))
    assert graph.apply(Batch(delete=[(0, 1)], delete_vertices=[1])) == gone
    assert (graph.vertices, graph.bound, graph.vertex_ids()) == (2, 3, [0, 2])
    assert graph.alive().tolist() == [True, False, True]
    assert graph.free_vertices(3).tolist() == [1, 3, 4]


def test_vertices_that_come_exist_for_the_edges_of_their_batch() -> None:
    graph = path()
    expected = changes(inserted={(3, 4): 1}, inserted_vertices=frozenset({3, 4}))
    assert graph.apply(Batch(insert=[(3, 4, 1)], insert_vertices=[3, 4])) == expected
    assert graph.bound == 5


def test_a_freed_id_is_used_again_without_its_old_edges() -> None:
    graph = path()
    graph.apply(Batch(delete_vertices=[1]))
    assert graph.apply(Batch(insert_vertices=[1])) == changes(2, inserted_vertices=frozenset({1}))
    assert (graph.arcs, graph.freed) == ({}, set())


def test_vertices_that_are_there_or_not_are_ignored_when_inserted_or_deleted() -> None:
    assert path().apply(Batch(insert_vertices=[0, 1], delete_vertices=[8])) == changes(ignored=3)


def test_an_undirected_edge_is_two_arcs_and_a_self_loop_one() -> None:
    graph = path(directed=False)
    assert graph.arcs == {(0, 1): 5, (1, 0): 5, (1, 2): 6, (2, 1): 6}
    batch = Batch(insert=[(2, 2, 1), (0, 2, 3)], delete=[(1, 0), (0, 1)], reweight=[(2, 1, 4)])
    assert graph.apply(batch) == changes(
        inserted={(2, 2): 1, (0, 2): 3, (2, 0): 3},
        deleted={(0, 1): 5, (1, 0): 5},
        reweighted={(1, 2): (6, 4), (2, 1): (6, 4)},
    )
    assert graph.apply(Batch(delete=[(0, 1), (1, 1)])) == changes(2, ignored=3)


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({}, {"insert": [(0, 7, 1)]}, "unknown vertex 7 in insert"),
    ({}, {"delete": [(7, 0)]}, "unknown vertex 7 in delete"),
    ({}, {"reweight": [(7, 0, 1)]}, "unknown vertex 7 in reweight"),
    ({}, {"insert_vertices": [4]}, "vertex 4 must not be inserted before vertex 3"),
    ({}, {"insert": [(0, 2)]}, "weight must be given for each edge: the graph has int32 weights"),
    ({}, {"insert": [(0, 2, 1.0)]}, "weight 1.0 must be a whole number"),
    (
        {"weights": "float32"},
        {"insert": [(0, 2, 2**24 + 1)]},
        "weight 16777217 must be exact as a 32-bit float",
    ),
    ({"directed": False}, {"insert": [(0, 2, 1), (2, 0, 2)]}, "must have one weight on an undirected graph"),
    ({"directed": False}, {"insert": [(0, 1, 1)], "delete": [(1, 0)]}, "must not stand in two parts"),
    ({"strict": True}, {"delete": [(2, 0)], "insert": [(0, 2, 1)]}, "1 of its mutations would be ignored"),
]


@pytest.mark.parametrize(
    ("options", "arguments", "sentence"), REFUSED, ids=[case[2][:40] for case in REFUSED]
)
def test_a_batch_that_contradicts_the_graph_is_refused_and_changes_nothing(
    options: dict[str, Any], arguments: dict[str, Any], sentence: str
) -> None:
    graph = path(**options)
    before = graph.copy().__dict__
    with pytest.raises(InvalidBatch, match=sentence):
        graph.apply(Batch(**arguments))
    assert graph.__dict__ == before


def test_weights_for_a_graph_without_are_refused() -> None:
    graph = ReferenceGraph.empty(2)
    for part in ("insert", "reweight"):
        with pytest.raises(InvalidBatch, match="the graph has no weights"):
            graph.apply(Batch(**{part: [(0, 1, 1)]}))


def test_whole_weights_become_floats_on_a_graph_of_floats() -> None:
    graph = path(weights="float32")
    graph.apply(Batch(insert=[(0, 2, 3)]))
    assert [type(weight) for weight in graph.arcs.values()] == [float] * 3


def test_strict_can_be_chosen_for_one_batch() -> None:
    ignorable = Batch(delete=[(2, 0)])
    assert path(strict=True).apply(ignorable, strict=False).ignored == 1
    with pytest.raises(InvalidBatch):
        path().apply(ignorable, strict=True)


@pytest.mark.parametrize(("rule", "kept"), [("last", 2), ("first", 4), ("min", 1), ("max", 4), ("sum", 7)])
@pytest.mark.parametrize("directed", [True, False])
def test_a_repeated_edge_keeps_the_weight_that_was_asked_for(rule: str, kept: int, directed: bool) -> None:
    targets = [1, 1, 1] if directed else [1, 0, 1]
    sources = [0, 0, 0] if directed else [0, 1, 0]
    graph = ReferenceGraph.from_edges(sources, targets, [4, 1, 2], duplicates=rule, directed=directed)
    assert graph.arcs == ({(0, 1): kept} if directed else {(0, 1): kept, (1, 0): kept})


def test_repetitions_and_self_loops_are_refused_or_dropped_as_asked() -> None:
    with pytest.raises(InvalidArgument, match=r"edge \(0, 1\) must not be repeated"):
        ReferenceGraph.from_edges([0, 0], [1, 1], duplicates="refuse")
    with pytest.raises(InvalidArgument, match=r"edge \(1, 1\) must not be a self loop"):
        ReferenceGraph.from_edges([1], [1], self_loops="refuse")
    assert ReferenceGraph.from_edges([1], [1], self_loops="drop").arcs == {}
    assert ReferenceGraph.from_edges([1], [1]).arcs == {(1, 1): None}


def test_rows_that_cannot_be_edges_are_refused() -> None:
    for source, weight in ((3, 1), (-1, 1), (0, -1), (0, float("nan"))):
        with pytest.raises(InvalidArgument):
            ReferenceGraph.from_edges([source], [0], [weight], vertices=3)


@given(edge_lists())
def test_edge_arrays_rebuild_the_graph(edges: Any) -> None:
    graph = ReferenceGraph.from_edges(edges.source, edges.target, edges.weight, vertices=edges.vertices)
    source, target, weight = graph.edge_arrays()
    assert ReferenceGraph.from_edges(source, target, weight, vertices=edges.vertices).arcs == graph.arcs
    assert (np.lexsort((target, source)) == np.arange(graph.edges)).all()


@given(mutation_streams())
def test_changes_are_the_difference_between_before_and_after(stream: MutationStream) -> None:
    graph = stream.reference()
    for batch in stream.batches:
        arcs, vertices = dict(graph.arcs), set(graph.vertex_ids())
        done = graph.apply(batch)
        for arc, weight in done.deleted.items():
            assert arcs.pop(arc) == weight
        for arc, (before, after) in done.reweighted.items():
            assert arcs[arc] == before != after
            arcs[arc] = after
        assert not arcs.keys() & done.inserted.keys()
        assert graph.arcs == arcs | done.inserted
        assert set(graph.vertex_ids()) == (vertices | done.inserted_vertices) - done.deleted_vertices


@given(mutation_streams(strict=True))
def test_a_batch_can_be_undone_by_the_batch_that_its_changes_spell(stream: MutationStream) -> None:
    graph = stream.reference()
    for batch in stream.batches:
        before = graph.copy()
        done = graph.apply(batch)
        lost: Any = [(*arc, *([] if weight is None else [weight])) for arc, weight in done.deleted.items()]
        heavier: Any = [(*arc, old) for arc, (old, _) in done.reweighted.items()]
        undo = Batch(
            insert=lost,
            delete=[arc for arc in done.inserted if not set(arc) & done.inserted_vertices],
            reweight=heavier,
            insert_vertices=sorted(done.deleted_vertices),
            delete_vertices=sorted(done.inserted_vertices),
        )
        twin = graph.copy()
        twin.apply(undo, strict=True)
        assert (twin.arcs, twin.vertex_ids()) == (before.arcs, before.vertex_ids())


def test_only_ids_below_the_bound_are_vertices() -> None:
    graph = ReferenceGraph.from_edges([0, 1], [1, 2])
    assert [graph.has_vertex(vertex) for vertex in (-1, 0, 2, 3)] == [False, True, True, False]


def test_a_choice_that_there_is_not_is_refused() -> None:
    for name in ("self_loops", "duplicates"):
        with pytest.raises(InvalidArgument, match=f"{name}='never'"):
            ReferenceGraph.from_edges([0], [0], **{name: "never"})  # type: ignore[arg-type]


def test_a_float_of_2_to_53_or_more_is_rounded_and_a_smaller_whole_one_is_refused() -> None:
    assert ReferenceGraph.from_edges([0], [1], [2.0**53 + 2], weights="float32").arcs == {(0, 1): 2.0**53}
    with pytest.raises(InvalidArgument, match="must be exact as a 32-bit float"):
        ReferenceGraph.from_edges([0], [1], [2.0**53 - 1], weights="float32")
