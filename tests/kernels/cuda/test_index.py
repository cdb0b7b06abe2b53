"""The device knows where every list is after any stream, though only what changed is sent."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grapin import Graph
from grapin.testing import MutationStream, mutation_streams

pytest.importorskip("numba.cuda", reason="the cudasim extra is not installed")

from grapin.kernels.cuda.index import ListIndex
from grapin.kernels.cuda.lists import DeviceLists
from grapin.kernels.cuda.simulator import Simulator
from grapin.system import Resident, Transfer, ZeroCopy

SIMULATOR = Simulator(warp=4)


def edges_of(lists: DeviceLists, bound: int) -> list[list[tuple[int, int]]]:
    found = []
    for vertex in range(bound):
        part = slice(lists.starts[vertex], lists.starts[vertex] + lists.degrees[vertex])
        found.append(sorted(zip(lists.neighbours[part].tolist(), lists.weights[part].tolist(), strict=True)))
    return found


@given(mutations=mutation_streams(weights="int32"), transfer=st.sampled_from([ZeroCopy(), Resident()]))
def test_after_any_stream_the_device_finds_every_list(mutations: MutationStream, transfer: Transfer) -> None:
    graph = Graph.from_edges(**mutations.start)
    index = ListIndex(SIMULATOR, transfer, weights=True)
    index.update(graph.snapshot(), None)
    for batch in mutations.batches:
        applied = graph.apply(batch)
        snapshot = graph.snapshot()
        index.update(snapshot, applied)
        for there, here in ((index.out, snapshot.out), (index.in_, snapshot.in_)):
            assert here is not None
            host = DeviceLists(here.starts, here.degrees, here.neighbours, here.weights, *there[4:])
            assert edges_of(there, snapshot.bound) == edges_of(host, snapshot.bound)


def test_a_version_that_was_missed_makes_it_send_everything() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], vertices=64)
    index = ListIndex(SIMULATOR, ZeroCopy(), weights=False)
    index.update(graph.snapshot(), None)
    from grapin import Batch

    graph.apply(Batch(insert=[(2, 3)]))
    applied = graph.apply(Batch(insert=[(4, 5)]))
    index.update(graph.snapshot(), applied)
    assert index.out.degrees[:6].tolist() == graph.snapshot().out.degrees[:6].tolist()
    assert np.array_equal(index.in_.starts[:64], graph.snapshot().in_.starts)  # type: ignore[union-attr]
