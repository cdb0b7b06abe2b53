from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_model import arcs_of

from grapin import Graph, InvalidArgument
from grapin.graph.index import LONGEST_SCAN

MERGE: dict[str, Any] = {
    "last": lambda ws: ws[-1],
    "first": lambda ws: ws[0],
    "min": min,
    "max": max,
    "sum": sum,
}
ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 9)), max_size=40)


def columns(rows: list[tuple[int, int, int]], real: bool) -> tuple[Any, Any, Any]:
    source, target, weight = zip(*rows, strict=True) if rows else ((), (), ())
    return source, target, np.array(weight, np.float32 if real else np.int32)


@given(
    ROWS,
    st.sampled_from(sorted(MERGE)),
    st.sampled_from(["keep", "drop"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_repeated_edges_are_merged_by_the_rule(
    rows: list[tuple[int, int, int]], rule: str, loops: str, directed: bool, real: bool, aligned: bool
) -> None:
    graph = Graph.from_edges(
        *columns(rows, real), duplicates=rule, self_loops=loops, directed=directed, aligned=aligned
    )
    given_weights: dict[tuple[int, int], list[int]] = {}
    for source, target, weight in rows:
        if source == target and loops == "drop":
            continue
        given_weights.setdefault((source, target), []).append(weight)
        if source != target and not directed:
            given_weights.setdefault((target, source), []).append(weight)
    graph.check()
    assert arcs_of(graph) == {edge: MERGE[rule](weights) for edge, weights in given_weights.items()}


@given(ROWS, st.booleans())
def test_lists_hold_the_same_edges_in_both_directions(
    rows: list[tuple[int, int, int]], directed: bool
) -> None:
    graph = Graph.from_edges(*columns(rows, real=False), vertices=6, directed=directed)
    arcs = arcs_of(graph)
    for vertex in range(6):
        out = dict(
            zip(graph.out_neighbours(vertex).tolist(), graph.out_weights(vertex).tolist(), strict=True)
        )
        in_ = dict(zip(graph.in_neighbours(vertex).tolist(), graph.in_weights(vertex).tolist(), strict=True))
        assert out == {target: weight for (source, target), weight in arcs.items() if source == vertex}
        assert in_ == {source: weight for (source, target), weight in arcs.items() if target == vertex}
        assert (graph.out_degree(vertex), graph.in_degree(vertex)) == (len(out), len(in_))
    assert all(graph.has_edge(*arc) and graph.weight(*arc) == weight for arc, weight in arcs.items())


def test_hubs_are_indexed_from_the_start() -> None:
    count = LONGEST_SCAN + 1
    graph = Graph.from_edges(np.zeros(count, np.int32), np.arange(count))
    graph.check()
    assert graph.memory()["out.index"] > graph.memory()["in.index"]
    assert graph.has_edge(0, count - 1)
    assert not graph.has_edge(count - 1, 0)


def test_aligned_lists_start_on_128_byte_boundaries() -> None:
    graph = Graph.from_edges([0, 0, 1, 2, 2], [1, 2, 0, 0, 1], [1, 2, 3, 4, 5])
    lists = graph.snapshot().out
    assert (lists.starts % 32 == 0).all()
    assert lists.neighbours.ctypes.data % 128 == 0
    assert lists.weights.ctypes.data % 128 == 0


def test_without_alignment_lists_are_packed_by_element() -> None:
    graph = Graph.from_edges(np.arange(1000), np.zeros(1000, np.int32), aligned=False)
    assert (
        graph.memory()["out.neighbours"]
        < Graph.from_edges(np.arange(1000), [0] * 1000).memory()["out.neighbours"] / 8
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"source": [0, 1], "target": [1]}, "one length"),
        ({"source": [0.5], "target": [1]}, "whole numbers"),
        ({"source": [-1], "target": [1]}, "vertex -1 in source"),
        ({"source": [[0]], "target": [1]}, "one dimension"),
        ({"source": [2**31], "target": [1]}, "vertex 2147483648"),
        ({"source": [0], "target": [3], "vertices": 3}, "vertices=3 must be at least 4"),
        ({"source": [0], "target": [1], "weight": [-1]}, "weight -1"),
        ({"source": [0], "target": [1], "weight": [np.nan]}, "weight nan"),
        ({"source": [0], "target": [1], "weight": [2**31]}, "weight 2147483648"),
        ({"source": [0], "target": [1], "weight": [1, 2]}, "one number for each"),
        ({"source": [0], "target": [1], "weight": [1.5], "weights": "int32"}, "whole numbers"),
        ({"source": [0], "target": [1], "weight": [2**24 + 1], "weights": "float32"}, "weight 16777217"),
        ({"source": [0], "target": [1], "weights": "int64"}, "weights='int64'"),
        ({"source": [0], "target": [1], "weights": "int32"}, "weight must have one number"),
        ({"source": [0], "target": [1], "duplicates": "latest"}, "did you mean 'last'"),
        ({"source": [0, 0], "target": [1, 1], "duplicates": "refuse"}, r"edge \(0, 1\)"),
        ({"source": [2], "target": [2], "self_loops": "refuse"}, r"edge \(2, 2\)"),
        (
            {"source": [0, 0], "target": [1, 1], "weight": [2**31 - 1, 1], "duplicates": "sum"},
            r"edge \(0, 1\) must have a sum",
        ),
    ],
)
def test_edges_that_cannot_be_stored_are_refused_in_a_sentence(
    arguments: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidArgument, match=sentence):
        Graph.from_edges(**arguments)
