"""What is written is read back the same, and nothing half-written is left."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grapin.edges import EdgeList, Labels
from grapin.files import load_edges, write
from grapin.files.write import write_edges

NAMES = [".txt", ".txt.gz", ".csv", ".csv.bz2", ".csv.xz", ".txt.zst", ".npz", ".parquet"]


def rows(edges: EdgeList) -> list[tuple[Any, ...]]:
    """Rows as their outside names, with all that belongs to them."""
    names = np.arange(edges.vertices) if edges.labels is None else edges.labels.names
    columns = [names[edges.source].tolist(), names[edges.target].tolist()]
    columns += [column.tolist() for column in (edges.weight, edges.time, edges.removed) if column is not None]
    return list(zip(*columns, strict=True))


def graph(**columns: Any) -> EdgeList:
    given: dict[str, Any] = {
        "source": np.array([0, 2, 1, 0], np.int32),
        "target": np.array([1, 0, 2, 1], np.int32),
        "vertices": 3,
    }
    return EdgeList(**(given | columns))


GRAPHS = {
    "plain": graph(),
    "weighted": graph(weight=np.array([3, 1, 4, 1], np.int32)),
    "fractions": graph(weight=np.array([0.5, 0.25, 4, 1], np.float32)),
    "timed": graph(weight=np.array([3, 1, 4, 1], np.int32), time=np.array([7, 5, 3, 9], np.int64)),
    "deleting": graph(time=np.array([7, 5, 3, 9], np.int64), removed=np.array([False, False, False, True])),
    "numbered": graph(labels=Labels(np.array([10, 20, 10**12]))),
    "named": graph(labels=Labels(np.array(["ann", "bob", "cyd"], object))),
}


@pytest.mark.parametrize("suffix", NAMES)
@pytest.mark.parametrize("name", GRAPHS)
def test_a_written_graph_is_read_back_the_same(name: str, suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"graph{suffix}"
    write_edges(GRAPHS[name], str(file))
    assert rows(load_edges(file)) == rows(GRAPHS[name])


@pytest.mark.parametrize("suffix", [".txt", ".npz"])
def test_undirected_stays_undirected_and_lone_vertices_stay(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"graph{suffix}"
    write_edges(graph(directed=False, vertices=5), str(file))
    read = load_edges(file)
    assert not read.directed
    assert read.vertices == 5


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "graph.csv"
    file.write_text("old")

    def fail(_edges: EdgeList, sink: Any) -> None:
        sink.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(write._WRITERS, ".csv", fail)
    with pytest.raises(OSError, match="No space"):
        write_edges(graph(), str(file))
    assert [(left.name, left.read_text()) for left in tmp_path.iterdir()] == [("graph.csv", "old")]


def test_files_are_written_though_nobody_reads_what_is_printed(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    asked = [
        "run",
        "path:9",
        "--batches",
        "1",
        "--batch-size",
        "1",
        "--device",
        "reference",
        "--json",
        str(file),
    ]
    script = (
        "import os, sys\nreading, writing = os.pipe()\nos.close(reading)\nos.dup2(writing, 1)\n"
        f"from grapin.cli.main import main\nsys.exit(main({asked!r}))\n"
    )
    subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert json.loads(file.read_text())["program"] == "sssp"
