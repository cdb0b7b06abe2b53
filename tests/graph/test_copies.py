"""A graph that was pickled or copied is the graph: its lists, its layout, its indexes, and all that it will do next."""

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from grapin import Batch, EdgeList, Graph, InvalidArgument, load
from grapin.graph.packed import aligned_empty
from grapin.graph.snapshot import Lists, Snapshot
from grapin.pool import lay_out, map_value
from grapin.testing import MutationStream, mutation_streams
from grapin.units import LINE

Copy = Callable[[Any], Any]


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def out_of_band(value: Any) -> Any:
    """Pickle as processes that share memory do; the arrays arrive read-only."""
    buffers: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(rest, buffers=[bytes(buffer.raw()) for buffer in buffers])


WAYS: list[Copy] = [pickled, out_of_band, copy.deepcopy, copy.copy, Graph.copy]


def lists_of(lists: Lists) -> list[Any]:
    rows = [
        (
            start,
            lists.neighbours[start : start + degree].tolist(),
            lists.weights[start : start + degree].tolist(),
        )
        for start, degree in zip(lists.starts.tolist(), lists.degrees.tolist(), strict=True)
    ]
    return [rows, lists.moved.tolist(), lists.neighbours.dtype, lists.weights.dtype, len(lists.neighbours)]


def described(graph: Graph) -> dict[str, Any]:
    """All that can be seen of a graph, the order and the places of its lists included."""
    snapshot = graph.snapshot()
    return {
        "graph": repr(graph),
        "bound": graph.bound,
        "alive": graph.alive().tolist(),
        "free": graph.free_vertices(5).tolist(),
        "out": lists_of(snapshot.out),
        "in": None if snapshot.in_ is None else lists_of(snapshot.in_),
        "one": snapshot.in_ is snapshot.out,
        "memory": graph.memory(),
        "statistics": graph.statistics(),
        "strict": graph.strict,
        "aligned": graph.aligned,
    }


@pytest.mark.parametrize("way", WAYS)
@given(stream=mutation_streams(), aligned=st.booleans(), in_direction=st.booleans(), stop=st.integers(0, 5))
def test_a_copy_is_the_graph_and_goes_on_like_it(
    way: Copy, stream: MutationStream, aligned: bool, in_direction: bool, stop: int
) -> None:
    options = stream.start | {"aligned": aligned}
    if options.get("directed", True):
        options["in_direction"] = in_direction
    graph = Graph.from_edges(**options)
    for batch in stream.batches[:stop]:
        graph.apply(batch)
    another = way(graph)
    another.check()
    assert described(another) == described(graph)
    for batch in stream.batches[stop:]:
        before = described(graph)
        other, mine = another.apply(batch), graph.apply(batch)
        assert repr(other) == repr(mine)
        assert described(another) == described(graph)
        once_more = way(graph)
        assert described(once_more) == described(graph) != before
    another.check()


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_shares_nothing_with_the_graph(way: Copy) -> None:
    graph = Graph.from_edges(np.zeros(300, int), np.arange(1, 301), np.arange(300))
    another = way(graph)
    before = described(another)
    graph.apply(Batch(delete=[(0, 7)], reweight=[(0, 5, 99)], insert=[(3, 4, 1)], delete_vertices=[9]))
    assert described(another) == before
    another.apply(Batch(delete_vertices=[0]))
    graph.check()
    assert graph.weight(0, 5) == 99


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_of_a_hub_keeps_its_index_and_its_alignment(way: Copy) -> None:
    graph = Graph.from_edges(np.zeros(5000, int), np.arange(1, 5001))
    another = way(graph)
    assert another.memory()["out.index"] == graph.memory()["out.index"] > 5000
    for lists in (another.snapshot().out, another.snapshot().in_):
        assert lists.neighbours.ctypes.data % LINE == 0
    another.apply(Batch(delete=[(0, 77)]))
    another.check()


def test_labels_go_with_the_graph(tmp_path: Path) -> None:
    file = tmp_path / "named.csv"
    file.write_text("source,target\na,b\nb,c\n")
    for way in WAYS:
        another = way(load(file))
        assert (another.labels.vertex("c"), another.labels.name(0)) == (2, "a")


def test_memory_that_was_never_written_is_not_in_a_pickle() -> None:
    graph = Graph.empty(10, weights="int32")
    room = sum(graph.memory().values())
    assert len(pickle.dumps(graph)) < room
    twice = [pickle.dumps(Graph.from_edges([0, 1], [1, 2])) for _ in range(2)]
    assert twice[0] == twice[1]


def placed(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    PLACED.append(count)
    return aligned_empty(count, dtype)


PLACED: list[int] = []


@pytest.mark.parametrize("way", WAYS)
def test_the_arrays_of_a_copy_are_placed_by_the_same_allocator(way: Copy) -> None:
    graph = Graph.from_edges([0, 1], [1, 2], allocate=placed)
    PLACED.clear()
    another = way(graph)
    assert len(PLACED) == 2
    another.apply(
        Batch(insert=(np.zeros(9000, int), np.arange(10, 9010)), insert_vertices=np.arange(3, 9010))
    )
    assert len(PLACED) > 2


def test_an_allocator_that_cannot_be_pickled_is_named() -> None:
    def allocate(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        return aligned_empty(count, dtype)

    graph = Graph.from_edges([0, 1], [1, 2], allocate=allocate)
    with pytest.raises(
        InvalidArgument, match=r"allocate=<function .* must be a function that can be pickled"
    ):
        pickle.dumps(graph)
    copy.deepcopy(graph).check()


def test_a_graph_can_be_laid_out_for_several_processes(tmp_path: Path) -> None:
    graph = Graph.from_edges([0, 1], [1, 2], [5, 6])
    lay_out(graph, tmp_path)
    another = map_value(tmp_path)
    another.apply(Batch(insert=[(2, 0, 7)]))
    another.check()
    assert another.edges == 3


IN_ANOTHER = """
import pickle, sys, grapin
graph = pickle.load(sys.stdin.buffer)
graph.check()
engine = grapin.Engine(graph, grapin.BFS(0), device="reference")
engine.apply(grapin.Batch(insert=[(2, 3)]))
print(graph.version, engine.values.tolist())
"""


def test_a_graph_goes_on_in_another_process() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], vertices=4)
    graph.apply(Batch(delete=[(1, 2)], insert=[(0, 2)]))
    ended = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER], input=pickle.dumps(graph), capture_output=True, check=True
    )
    assert ended.stdout == b"2 [0, 1, 1, 2]\n"


def test_a_snapshot_that_is_copied_lasts_and_the_one_of_the_store_does_not() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], [5, 6])
    snapshot = graph.snapshot()
    copies: list[Snapshot] = [pickled(snapshot), out_of_band(snapshot), copy.deepcopy(snapshot)]
    expected = lists_of(snapshot.out)
    assert copy.copy(snapshot) is snapshot
    graph.apply(Batch(delete=[(0, 1)], insert=[(2, 0, 1)]))
    for one in copies:
        assert lists_of(one.out) == expected
        assert (one.version, one.alive.tolist()) == (0, [True] * 3)
    for refused in (pickled, copy.deepcopy):
        with pytest.raises(InvalidArgument, match="must be read before the graph changes"):
            refused(snapshot)


def test_columns_of_edges_are_copied_with_their_labels(tmp_path: Path) -> None:
    edges = EdgeList(np.array([0, 1], np.int32), np.array([1, 2], np.int32), 3, origin="here")
    for another in (pickled(edges), copy.deepcopy(edges)):
        assert (another.source.tolist(), another.vertices, another.origin) == ([0, 1], 3, "here")
