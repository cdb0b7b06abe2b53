from typing import Any

import numpy as np
import pytest
from store_model import arcs_of

from grapin import Batch, CorruptGraph, Graph, InvalidArgument, InvalidBatch


def small(**options: Any) -> Graph:
    """Vertices 0 to 3 of which 2 is freed, and edges (0, 1) and (1, 3)."""
    weight = None if options.get("weights") == "none" else [5, 6]
    graph = Graph.from_edges([0, 1], [1, 3], weight, **options)
    graph.apply(Batch(delete_vertices=[2]))
    return graph


@pytest.mark.parametrize(
    ("options", "batch", "sentence"),
    [
        ({}, {"insert": [(0, 7, 1)]}, "unknown vertex 7"),
        ({}, {"delete": [(2, 0)]}, "unknown vertex 2"),
        ({}, {"reweight": [(0, 2, 1)]}, "unknown vertex 2"),
        ({}, {"insert_vertices": [5]}, "vertex 5 in insert_vertices must come after 4"),
        ({}, {"insert": [(0, 3)]}, "must give a weight"),
        ({}, {"insert": [(0, 3, 0.5)]}, "whole numbers"),
        ({"weights": "none"}, {"insert": [(0, 3, 1)]}, "must not give weights"),
        ({"weights": "none"}, {"reweight": [(0, 1, 1)]}, "has no weights"),
        ({"weights": "float32"}, {"insert": [(0, 3, 2**24 + 1)]}, "weight 16777217"),
        ({"directed": False}, {"insert": [(0, 3, 1), (3, 0, 2)]}, "one weight in both directions"),
        ({"directed": False}, {"insert": [(0, 1, 1)], "delete": [(1, 0)]}, "in either direction"),
        ({"strict": True}, {"delete": [(0, 3)], "insert": [(3, 0, 1)]}, r"edge \(0, 3\) must exist"),
        ({"strict": True}, {"reweight": [(0, 3, 1)]}, r"edge \(0, 3\) must exist"),
        ({"strict": True}, {"insert_vertices": [1]}, "vertex 1"),
        ({"strict": True}, {"delete_vertices": [2, 3]}, "vertex 2"),
    ],
)
def test_a_batch_that_does_not_fit_is_refused_and_nothing_changes(
    options: dict[str, Any], batch: dict[str, Any], sentence: str
) -> None:
    graph = small(**options)
    before, version, bound = arcs_of(graph), graph.version, graph.bound
    with pytest.raises(InvalidBatch, match=sentence):
        graph.apply(Batch(**batch))
    graph.check()
    assert (arcs_of(graph), graph.version, graph.bound) == (before, version, bound)


def test_freed_vertices_are_used_again_smallest_first() -> None:
    graph = Graph.empty(6)
    graph.apply(Batch(delete_vertices=[4, 1, 3]))
    assert graph.free_vertices(5).tolist() == [1, 3, 4, 6, 7]
    graph.apply(Batch(insert_vertices=[3]))
    assert graph.free_vertices(3).tolist() == [1, 4, 6]
    graph.apply(Batch(delete_vertices=[3]))
    assert graph.free_vertices(3).tolist() == [1, 3, 4]
    graph.check()


def test_whole_numbers_become_float_weights_when_exact() -> None:
    graph = small(weights="float32")
    graph.apply(Batch(insert=[(3, 0, 7)]))
    assert graph.weight(3, 0) == 7.0


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (lambda graph: graph.out_degree(2), "vertex=2 must be a vertex"),
        (lambda graph: graph.in_neighbours(9), "vertex=9 must be a vertex"),
        (lambda graph: graph.weight(0, 3), r"edge \(0, 3\) must exist"),
        (lambda graph: graph.has_vertex(1.5), "vertex=1.5 must be a whole number"),
        (lambda graph: graph.free_vertices(-1), "count=-1 must be at least 0"),
    ],
)
def test_questions_without_an_answer_are_refused(question: Any, sentence: str) -> None:
    with pytest.raises(InvalidArgument, match=sentence):
        question(small())


def test_a_graph_without_in_direction_says_so() -> None:
    with pytest.raises(InvalidArgument, match="in_direction"):
        small(in_direction=False).in_degree(0)


def test_views_cannot_be_written_to() -> None:
    snapshot = small().snapshot()
    for array in (snapshot.out.starts, snapshot.out.degrees, snapshot.out.neighbours, snapshot.out.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def sabotaged(name: str, place: int, value: int) -> Graph:
    graph = Graph.from_edges(np.zeros(2000, np.int32), np.arange(2000), np.ones(2000, np.int32))
    array = getattr(graph._out.lists, name)
    array[place] = value
    return graph


@pytest.mark.parametrize(
    ("name", "place", "value", "sentence"),
    [
        ("starts", 2000, 7, "does not end in the array"),
        ("starts", 2000, 2**40, "does not end in the array"),
        ("starts", 0, 7, "does not start on a line"),
        ("starts", 1, 32, "runs into the next"),
        ("degrees", 0, 1999, "1999 arcs in the lists"),
        ("neighbours", 0, 2000, "no vertex"),
        ("neighbours", 0, 1, "twice"),
        ("weights", 0, 2, "two weights"),
        ("counters", 0, 1, "lines are used"),
        ("counters", 4, 1, "index blocks end"),
        ("indices", 0, -1, "index blocks end"),
        ("indices", 1, 9, "wrong size"),
    ],
)
def test_check_finds_what_is_broken(name: str, place: int, value: int, sentence: str) -> None:
    with pytest.raises(CorruptGraph, match=sentence):
        sabotaged(name, place, value).check()
