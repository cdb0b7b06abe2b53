"""Arcs turned round: the same arcs, in the order of the other direction's lists; and where an owner's begin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grapin.edges import MOST_VERTICES
from grapin.graph.change import turned
from grapin.graph.packed import rows_below

# Around the ends of one digit, two and three.
BOUNDS = st.sampled_from([1, 2, 2**11 - 1, 2**11, 2**11 + 1, 2**22, 2**22 + 1, MOST_VERTICES])


@given(st.data(), BOUNDS, st.booleans())
def test_arcs_turned_round_are_the_same_arcs_sorted_by_their_new_owner(
    data: st.DataObject, bound: int, weighted: bool
) -> None:
    vertex = st.sampled_from([0, bound - 1, bound // 2]) | st.integers(0, bound - 1)
    arcs = sorted(data.draw(st.sets(st.tuples(vertex, vertex), max_size=40)))
    columns = np.array(arcs, np.int32).reshape(-1, 2).T.copy()
    weights = np.arange(len(arcs) if weighted else 0, dtype=np.int32)
    for column in (*columns, weights):
        column.flags.writeable = False
    owner, neighbour, moved, positions = turned(columns[0], columns[1], weights, bound)
    order = sorted(range(len(arcs)), key=lambda row: arcs[row][::-1])
    assert list(zip(neighbour.tolist(), owner.tolist(), strict=True)) == [arcs[row] for row in order]
    assert moved.tolist() == (order if weighted else [])
    assert len(positions) == len(arcs)


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(0, 10))
def test_the_rows_below_a_vertex_are_those_whose_owners_are_smaller(owners: list[int], vertex: int) -> None:
    owner = np.array(sorted(owners), np.int32)
    owner.flags.writeable = False
    assert rows_below(owner, vertex) == sum(one < vertex for one in owners)
