"""With its layout, pages in lists are those that the released faimGraph was counted to have, batch by batch.

The expected numbers are kept here: the release, executed from its compiled code with its own generator of batches.
"""

import ctypes

import numpy as np
import pytest

from grapin import Batch, Graph
from grapin.generators import generate
from grapin.graph.page_store import PageStore
from grapin.graph.paged import PagedGraph

GLIBC = getattr(ctypes.CDLL(None), "gnu_get_libc_version", None)
# u_rmat12_1000_uc, u_rmat12_10000_uc: edges and pages in lists after each batch of two rounds.
COUNTED = {
    1_000: [(54288, 6645), (53288, 6632), (54284, 6649), (53284, 6632)],
    10_000: [(63264, 6772), (53268, 6632), (63232, 6781), (53236, 6631)],
}


def batch_of_release(turn: int, vertices: int, size: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Return the pairs that the release draws in a round: glibc's `rand`, seeded by the round plus one."""
    library = ctypes.CDLL(None)
    library.srand(turn + 1)
    return np.array([library.rand() % vertices for _ in range(2 * size)]).reshape(size, 2)


@pytest.mark.skipif(GLIBC is None, reason="batches are drawn by glibc's rand")
@pytest.mark.parametrize("size", COUNTED)
def test_pages_in_lists_and_bytes_per_update_equal_those_of_the_release(size: int) -> None:
    start = generate("rmat:12:16", seed=0, weights=False)
    graph = Graph.from_edges(
        start.source,
        start.target,
        vertices=start.vertices,
        in_direction=False,
        store=PageStore(published=True, strategy="update-centric"),
    )
    assert isinstance(graph, PagedGraph)
    assert (graph.edges, graph.statistics()["pages in lists"]) == (53291, 6632)
    found = []
    for turn in range(2):
        pairs = batch_of_release(turn, start.vertices, size)
        for batch in (Batch(insert=pairs), Batch(delete=pairs)):
            sent, received = graph.host_to_device, graph.device_to_host
            graph.apply(batch)
            assert graph.host_to_device - sent == 8 * batch.size <= 8 * size
            assert graph.device_to_host - received <= 160
            found.append((graph.edges, graph.statistics()["pages in lists"]))
    assert found == COUNTED[size]
    graph.check()
