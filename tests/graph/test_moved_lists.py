"""What a batch moved is said, so that a device updates its index of lists there and nowhere else."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grapin import Batch, Graph


@given(
    vertices=st.integers(1, 200),
    edges=st.integers(0, 300),
    batches=st.integers(1, 4),
    size=st.integers(1, 120),
    seed=st.integers(0, 2**16),
)
def test_lists_outside_the_moved_windows_stay_where_they_were(
    vertices: int, edges: int, batches: int, size: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    # A few favourites, whose lists outgrow their room again and again.
    favourites = random.integers(0, vertices, 3)
    graph = Graph.from_edges(*random.integers(0, vertices, (2, edges)), vertices=vertices)
    for _ in range(batches):
        before = graph.snapshot()
        old = [
            (lists.neighbours, lists.starts.copy()) for lists in (before.out, before.in_) if lists is not None
        ]
        pairs = np.unique(
            np.column_stack((random.choice(favourites, size), random.integers(0, vertices, size))), axis=0
        )
        graph.apply(Batch(insert=(pairs[:, 0], pairs[:, 1])))
        after = graph.snapshot()
        for (neighbours, starts), now in zip(old, (after.out, after.in_), strict=True):
            assert now is not None
            if now.neighbours.ctypes.data != neighbours.ctypes.data:
                continue  # all lists are in other arrays
            may_differ = np.zeros(vertices, np.bool_)
            for low, high in now.moved:
                may_differ[low:high] = True
            assert np.array_equal(now.starts[~may_differ], starts[~may_differ])


def test_a_list_that_outgrows_its_room_is_named() -> None:
    graph = Graph.from_edges(np.arange(64), (np.arange(64) + 1) % 64, vertices=64)
    before = graph.snapshot().out.starts.copy()
    graph.apply(Batch(insert=(np.full(40, 20), np.arange(22, 62))))
    lists = graph.snapshot().out
    assert not np.array_equal(lists.starts, before)
    assert any(low <= 20 < high for low, high in lists.moved)


def test_a_batch_that_moves_nothing_says_so() -> None:
    graph = Graph.from_edges(np.arange(64), (np.arange(64) + 1) % 64, vertices=64)
    graph.apply(Batch(insert=(np.full(40, 20), np.arange(22, 62))))
    graph.apply(Batch(delete=[(20, 22)]))
    assert graph.snapshot().out.moved.size == 0
