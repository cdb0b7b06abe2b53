"""What building the store costs: time beside SciPy's conversion, and peak memory in a process of its own.

    python -m experiments.lib.building FOLDER

measures the memory of building from the columns saved in that folder, and prints one JSON object.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import thread_time

import numpy as np
from scipy.sparse import coo_array

from experiments.lib.bars import Bar
from grapin.edges import EdgeList, VertexArray, WeightArray
from grapin.graph import Graph
from grapin.random import Draws

ROUNDS = 3
EDGE_ARRAYS = ("out.neighbours", "out.weights", "in.neighbours", "in.weights")
Columns = tuple[VertexArray, VertexArray, WeightArray]


def build_bars(edges: EdgeList) -> list[Bar]:
    """Measure time and memory of building both directions with weights."""
    bars = [_time_bar(edges, _columns(edges), "in file order", limit=2.0)]
    order = Draws(0, "shuffle").permutation(len(edges))
    shuffled = tuple(column[order] for column in _columns(edges))
    bars.append(_time_bar(edges, shuffled, "rows shuffled", limit=2.0))  # type: ignore[arg-type]  # three columns
    return [*bars, *_memory_bars(edges)]


def _columns(edges: EdgeList) -> Columns:
    assert edges.weight is not None
    return edges.source, edges.target, edges.weight


def _time_bar(edges: EdgeList, columns: Columns, order: str, limit: float) -> Bar:
    ours, theirs = [], []
    for _ in range(ROUNDS):
        theirs.append(_seconds(lambda: _convert(columns, edges.vertices)))
        ours.append(_seconds(lambda: Graph.from_edges(*columns, vertices=edges.vertices)))
    remark = f"{median(ours):.2f} s beside {median(theirs):.2f} s"
    return Bar(
        f"build, {order}, over SciPy COO to CSR and CSC", median(ours) / median(theirs), "x", limit, remark
    )


def _convert(columns: Columns, vertices: int) -> object:
    source, target, weight = columns
    matrix = coo_array((weight, (source, target)), shape=(vertices, vertices))
    return matrix.tocsr(), matrix.tocsc()


def _seconds(work: Callable[[], object]) -> float:
    begin = thread_time()
    kept = work()
    seconds = thread_time() - begin
    del kept
    return seconds


def _memory_bars(edges: EdgeList) -> list[Bar]:
    with tempfile.TemporaryDirectory() as folder:
        for name, column in zip(("source", "target", "weight"), _columns(edges), strict=True):
            np.save(Path(folder) / f"{name}.npy", column)
        command = [sys.executable, "-m", "experiments.lib.building", folder]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603
    finished = found["edge arrays"]
    remark = (
        f"{found['building'] / 2**20:.0f} MiB over {finished / 2**20:.0f} MiB of edge arrays with their gaps"
    )
    with_input = (found["building"] + found["input"]) / finished
    return [
        Bar(
            "peak memory of building, without the input, over the edge arrays",
            found["building"] / finished,
            "x",
            2.5,
            remark,
        ),
        Bar(
            "peak memory of building, with the input",
            with_input,
            "x",
            None,
            "the same, plus the columns given",
        ),
        Bar(
            "all memory of the store over its edge arrays",
            found["store"] / finished,
            "x",
            None,
            "indices, starts",
        ),
    ]


def _peak() -> int:
    # Not getrusage: its peak survives exec, so a child would report the memory of who started it.
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def measure_memory(folder: Path) -> dict[str, int]:
    """Build from saved columns and return bytes: the input, the peak above it, and what is left."""
    Graph.from_edges([0, 1], [1, 0], np.array([1, 2], np.int32))
    columns = [np.load(folder / f"{name}.npy") for name in ("source", "target", "weight")]
    before = _peak()
    graph = Graph.from_edges(*columns)
    memory = graph.memory()
    return {
        "input": sum(column.nbytes for column in columns),
        "building": _peak() - before,
        "edge arrays": sum(memory[part] for part in EDGE_ARRAYS),
        "store": sum(memory.values()),
    }


if __name__ == "__main__":
    print(json.dumps(measure_memory(Path(sys.argv[1]))))
