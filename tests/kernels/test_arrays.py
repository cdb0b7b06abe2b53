"""Whatever a graph looks like, kernels get arrays of the same types: each is compiled once."""

from typing import Any

import numpy as np
import pytest

from grapin import Batch, ConnectedComponents, Graph, PageRank
from grapin.graph.lists import commit
from grapin.kernels.cpu.accumulative import push
from grapin.kernels.cpu.accumulative.query import AccumulativeQuery
from grapin.kernels.cpu.lists import arrays_of
from grapin.kernels.cpu.monotone.query import MonotoneQuery
from grapin.system import SYSTEMS


def follow(graph: Graph) -> list[Any]:
    """Keep two programs fresh over two batches; return the versions there are of what was executed."""
    bounded = SYSTEMS["bounded"]
    dtype, directed = graph.weight_dtype, graph.directed
    labels = MonotoneQuery(ConnectedComponents(), bounded, weight_dtype=dtype, directed=directed, threads=1)
    queries = (labels, AccumulativeQuery(PageRank(), bounded, weight_dtype=dtype, threads=1))
    for query in queries:
        query.start(graph.snapshot(), tracing=False)
    for batch in (Batch(insert_vertices=[graph.bound]), Batch(delete_vertices=[graph.bound])):
        applied = graph.apply(batch)
        for query in queries:
            query.repair(graph.snapshot(), applied, tracing=False)
    compiled: tuple[Any, ...] = (
        *vars(labels._kernels).values(),
        commit,
        push.push_round,
        push.renew,
        push.change,
    )
    return [list(each.signatures) for each in compiled]


def test_graphs_of_one_vertex_and_of_none_run_what_is_compiled_for_larger_ones() -> None:
    first = follow(Graph.from_edges([0, 1], [1, 2]))
    assert [follow(Graph.from_edges([], [], vertices=vertices)) for vertices in (2, 1, 0)] == [first] * 3


def test_weights_that_nobody_reads_are_compiled_for_once() -> None:
    first = follow(Graph.from_edges([0, 1], [1, 2]))
    assert follow(Graph.from_edges([0, 1], [1, 2], np.array([1, 2], np.int32))) == first
    assert follow(Graph.from_edges([0, 1], [1, 2], np.array([1, 2], np.float32))) == first


@pytest.mark.parametrize("vertices", [0, 1, 2, 3])
def test_what_is_added_to_columns_are_vertices_without_edges(vertices: int) -> None:
    graph = Graph.from_edges([0] * bool(vertices), [0] * bool(vertices), vertices=vertices)
    lists = graph.snapshot().out
    starts, degrees, neighbours, _ = arrays_of(lists, weights=False)
    assert starts[:vertices].tolist() == lists.starts.tolist()
    assert degrees.tolist() == [*lists.degrees.tolist(), *[0] * (2 - vertices)]
    assert neighbours is lists.neighbours
