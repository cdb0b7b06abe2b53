"""The hash index of long lists: where neighbours collide so much that runs get long, and where it grows at once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import grapin
from grapin.graph.index import first_slot

VERTICES = 1 << 14
_SLOTS = {size: np.array([first_slot(v, size) for v in range(VERTICES)]) for size in (8, 9)}
"""For indices of 256 and 512 slots, where the search for each vertex begins."""


@given(st.sampled_from([8, 9]), st.integers(0, 255), st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_neighbours_that_share_their_first_slots_are_found_whatever_was_deleted(
    size: int, home: int, width: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    close = np.flatnonzero((_SLOTS[size] - home) % (1 << size) < width)
    crowd = rng.permutation(close)[: (1 << size) // 2 - 1]
    rest = rng.choice(VERTICES, 130, replace=False)
    neighbours = np.unique(np.concatenate((crowd, rest)))
    edges = np.zeros_like(neighbours), neighbours
    graph = grapin.Graph.from_edges(*edges, vertices=VERTICES, in_direction=False)
    while len(neighbours):
        gone = rng.permutation(neighbours)[: rng.integers(1, 40)]
        graph.apply(grapin.Batch(delete=(np.zeros_like(gone), gone)))
        neighbours = np.setdiff1d(neighbours, gone)
        graph.check()
        assert sorted(graph.out_neighbours(0)) == neighbours.tolist()


def test_an_index_made_for_a_deletion_has_room_for_what_the_same_batch_inserts() -> None:
    graph = grapin.Graph.from_edges([], [], vertices=1000)
    first, second = np.arange(1, 150), np.arange(150, 1000)
    graph.apply(grapin.Batch(insert=(first, np.zeros_like(first))))
    graph.apply(grapin.Batch(delete=[(1, 0)], insert=(second, np.zeros_like(second))))
    graph.check()
    assert sorted(graph.in_neighbours(0)) == list(range(2, 1000))
