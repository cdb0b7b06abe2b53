from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from store_model import arcs_of

from grapin import Batch, Graph, InvalidArgument
from grapin.graph.packed import aligned_empty


def grown_by(graph: Graph, count: int) -> None:
    """Insert so many edges at vertex 0 that the arrays have to grow."""
    graph.apply(Batch(insert=(np.zeros(count, np.int32), np.arange(count), np.ones(count, np.int32))))


def test_edge_arrays_live_where_the_caller_puts_them(tmp_path: Path) -> None:
    files: list[Path] = []

    def allocate(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        files.append(tmp_path / f"{len(files)}.bin")
        return np.memmap(files[-1], dtype, "w+", shape=(count,))

    graph = Graph.empty(5000, weights="int32", allocate=allocate)
    assert len(files) == 4
    grown_by(graph, 5000)
    graph.check()
    assert len(files) > 4
    assert graph.edges == 5000


@pytest.mark.parametrize(
    ("allocate", "sentence"),
    [
        (lambda count, dtype: [0] * count, "a NumPy array, not list"),
        (lambda count, dtype: aligned_empty(count, np.dtype(np.int64)), "an array of int32, not of int64"),
        (lambda count, dtype: aligned_empty(count - 1, dtype), "at least"),
        (lambda count, dtype: aligned_empty(count + 1, dtype)[1:], "128-byte boundary"),
        (lambda count, dtype: aligned_empty(2 * count, dtype)[::2], "contiguous"),
        (lambda count, dtype: np.broadcast_to(np.zeros(1, dtype), count), "contiguous"),
        (lambda count, dtype: np.frombuffer(bytes(4 * count + 128), dtype), "written to"),
    ],
)
def test_memory_that_cannot_be_used_is_refused(allocate: Any, sentence: str) -> None:
    with pytest.raises(InvalidArgument, match=sentence):
        Graph.empty(3, allocate=allocate)


def test_a_graph_that_cannot_grow_stays_as_it_was() -> None:
    calls = 0

    def allocate(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        nonlocal calls
        calls += 1
        if calls > 6:
            raise MemoryError
        return aligned_empty(count, dtype)

    graph = Graph.from_edges([0, 1], [1, 2], [3, 4], vertices=50_000, allocate=allocate)
    with pytest.raises(MemoryError):
        grown_by(graph, 50_000)
    assert calls == 7  # both arrays of the out-direction grew, the in-direction could not
    graph.check()
    assert arcs_of(graph) == {(0, 1): 3, (1, 2): 4}
    assert graph.version == 0


def test_arrays_shrink_after_mass_deletion() -> None:
    graph = Graph.empty(5000, weights="int32")
    grown_by(graph, 5000)
    before = sum(graph.memory().values())
    graph.apply(Batch(delete=(np.zeros(4999, np.int32), np.arange(4999))))
    graph.check()
    assert graph.statistics()["shrinks"] > 0
    assert sum(graph.memory().values()) < before / 2
