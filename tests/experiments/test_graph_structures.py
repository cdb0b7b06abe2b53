"""Every structure has room of its own for each list, and the CSR has no more than that."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.figure9 import SortedColumns, trace_of
from experiments.lib.layouts import LINE, Layout, chained, gapped, packed, slabs, stored
from grapin.batch import edge_keys
from grapin.edges import EdgeList
from grapin.generators import generate
from grapin.graph import Graph
from grapin.graph.snapshot import Lists
from grapin.stream import workload

LAYOUTS = {
    "packed": packed,
    "stored": lambda lists: stored("store", lists),
    "gapped": gapped,
    "slabs": slabs,
    "chained": chained,
}
LEAST = {"packed": 2, "stored": 2, "gapped": 4, "slabs": 2, "chained": 2}
"""Elements of 4 bytes that an edge takes, all arrays together."""


def lists_of(degrees: list[int]) -> Lists:
    source = np.repeat(np.arange(len(degrees)), degrees)
    target = np.arange(len(source)) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    edges = Graph.from_edges(source, target, target + 1, vertices=max(*degrees, len(degrees)))
    return edges.snapshot().out


@pytest.mark.parametrize("name", LAYOUTS)
@given(degrees=st.lists(st.integers(0, 100), min_size=1, max_size=40))
def test_lists_have_room_for_their_edges_and_share_none_of_it(name: str, degrees: list[int]) -> None:
    lists = lists_of([*degrees, 1])
    layout: Layout = LAYOUTS[name](lists)
    some = lists.degrees > 0
    starts, ends = layout.starts[some], (layout.starts + layout.lengths)[some]
    assert (layout.arrays * layout.lengths >= LEAST[name] * lists.degrees).all()
    assert (starts[1:] >= ends[:-1]).all()
    if name == "packed":
        assert ends[-1] == lists.degrees.sum()
    if layout.arrays == 1:
        assert not (starts % LINE).any()


def test_what_follows_in_a_sector_is_read_once_where_it_is_kept_and_never_across_rounds() -> None:
    lists = lists_of([4, 4, 4, 20])
    frontiers = [np.array([0, 1, 3]), np.array([0])]
    twice = trace_of(packed(lists), lists, frontiers, kept=False)
    once = trace_of(packed(lists), lists, frontiers, kept=True)
    assert twice.reads["length"].tolist() == [4, 4, 20, 4]
    assert once.reads["length"].tolist() == [4, 0, 20, 4]


def test_merged_columns_are_the_graph_after_every_batch() -> None:
    stream = workload(generate("rmat:8:8"), batches=4, size=60, seed=2)
    assert isinstance(stream.start, EdgeList)
    columns, graph = SortedColumns(stream.start), stream.graph()
    for batch in stream:
        columns.apply(batch)
        graph.apply(batch)
        source, target, weight = graph.edge_arrays()
        order = np.argsort(edge_keys(source, target))
        assert np.array_equal(columns.keys, edge_keys(source, target)[order])
        assert weight is not None
        assert np.array_equal(columns.weights, weight[order])
        assert np.array_equal(np.diff(columns.starts), graph.snapshot().out.degrees)
