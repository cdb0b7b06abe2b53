"""A graph that comes through a pipe is the graph of the file, whatever its format and compression; nothing stays."""

import io
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

import grapin
from grapin import EdgeList, InvalidFile
from grapin.cli.main import main
from grapin.files.write import write_edges
from grapin.spool import kept_spools, readable

ENDINGS = [".txt", ".csv", ".csv.gz", ".txt.bz2", ".csv.xz", ".txt.zst", ".npz", ".parquet"]
MARKET = b"%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 2 5\n2 3 6\n"
DIMACS = b"c a comment\np sp 3 2\na 1 2 5\na 2 3 6\n"


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where pipes are kept while they are read; empty afterwards, whatever the test did."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    assert not list(folder.iterdir())


@contextmanager
def fifo(folder: Path, data: bytes, name: str = "pipe") -> Iterator[Path]:
    """Yield a named pipe into which somebody writes."""
    path = folder / name
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(data,))
    writer.start()
    try:
        yield path
    finally:
        writer.join(10)
        assert not writer.is_alive()


def standard_input(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def sample() -> EdgeList:
    return grapin.generate("rmat:7:6")


def same(one: EdgeList, other: EdgeList) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("source", "target", "weight")
    )


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_pipe_reads_as_the_file_does(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / f"graph{ending}"
    write_edges(sample(), str(file))
    expected = grapin.load_edges(file)
    with fifo(tmp_path, file.read_bytes()) as pipe:
        found = grapin.load_edges(pipe)
    assert same(found, expected)
    assert found.origin == str(pipe)
    standard_input(file.read_bytes(), monkeypatch)
    found = grapin.load_edges("-")
    assert same(found, expected)
    assert (found.origin, found.vertices) == ("standard input", expected.vertices)
    standard_input(file.read_bytes(), monkeypatch)
    assert grapin.load("-").edges == grapin.load(file).edges


@pytest.mark.parametrize("data", [MARKET, DIMACS])
def test_formats_that_say_what_they_are_need_no_name(data: bytes, tmp_path: Path) -> None:
    with fifo(tmp_path, data) as pipe:
        assert grapin.load(pipe).edge_arrays()[2].tolist() == [5, 6]  # type: ignore[union-attr]


def test_the_name_of_a_pipe_counts_as_that_of_a_file(tmp_path: Path) -> None:
    with fifo(tmp_path, b"a;b\n1;2\n", "graph.csv.gz") as pipe, pytest.raises(InvalidFile, match="gzip data"):
        grapin.load(pipe)


def test_a_file_may_be_called_like_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-").write_text("0 1\n")
    standard_input(b"0 1\n1 2\n", monkeypatch)
    assert grapin.load("./-").edges == grapin.load(Path("-")).edges == 1
    assert grapin.load("-").edges == 2


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "standard input must hold a graph, but is empty"),
        (b"1 2\n2 three\n", "standard input, line 2: "),
        (b"\x1f\x8bnothing", "standard input must be complete, but its gzip data are truncated"),
    ],
)
def test_what_is_wrong_with_standard_input_is_told_by_its_name(
    data: bytes, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    standard_input(data, monkeypatch)
    with pytest.raises(InvalidFile, match=sentence):
        grapin.load_edges("-", ids="keep")


def test_standard_input_that_is_closed_or_cannot_be_read_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InvalidFile, match="standard input must be open to be read"):
        grapin.load("-")
    standard_input(b"1 2\n", monkeypatch)
    sys.stdin.buffer.close()
    with pytest.raises(InvalidFile, match="standard input must be readable, but: "):
        grapin.load("-")


def test_a_pipe_that_does_not_fit_names_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        name = str(tmp_path / "full")

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None: ...

        def write(self, _data: bytes) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("grapin.spool.NamedTemporaryFile", lambda **_: Full())
    standard_input(b"1 2\n", monkeypatch)
    with pytest.raises(
        InvalidFile, match="No space left on device; the variable TMPDIR names another folder"
    ):
        grapin.load("-")


def test_a_pipe_is_read_once_and_kept_for_as_long_as_a_command_runs(tmp_path: Path, temporary: Path) -> None:
    with fifo(tmp_path, b"1 2\n") as pipe, kept_spools():
        for _ in range(2):
            with readable(pipe) as content:
                assert content.read_bytes() == b"1 2\n"
                assert content.parent == temporary
        assert content.exists()
    assert not content.exists()


def test_what_is_kept_goes_when_reading_it_ends_in_an_error(tmp_path: Path) -> None:
    with fifo(tmp_path, b"1 2 3 4 5 6 7\n") as pipe, pytest.raises(InvalidFile):
        grapin.load(pipe)


ROWS = b"0 1 3\n1 2 4\n2 3 5\n3 0 6\n0 2 9\n1 3 1\n2 0 2\n3 1 8\n"
SHORT = "--batches 1 --batch-size 2"


@pytest.mark.parametrize("pipe", ["-", "/dev/stdin", "pipe"])
@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("info {}", "rows"),
        ("convert {} out.csv", "4 vertices, 8 rows"),
        (f"run {{}} --device reference {SHORT}", "edges read"),
        ("run empty --updates {} --device reference", "edges read"),
        (f"whatif {{}} --system bounded {SHORT}", "a5000"),
        (f"compare {{}} {SHORT}", "predicted"),
        ("check --graph {} --program bfs --device reference --examples 2 --processes 1", "Every answer"),
    ],
)
def test_every_command_takes_a_pipe_for_a_graph(
    line: str,
    says: str,
    pipe: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graph.txt").write_bytes(ROWS)
    if pipe == "pipe":
        with fifo(tmp_path, ROWS):
            assert main(line.format(pipe).split()) == 0
    else:
        standard_input(ROWS, monkeypatch)
        assert main(line.format(pipe).split()) == 0
    assert says in capsys.readouterr().out


def test_a_trace_and_degrees_may_come_through_a_pipe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(f"run rmat:6:4 --device cpu {SHORT} --trace run.npz".split()) == 0
    data = (tmp_path / "run.npz").read_bytes()
    outputs = []
    for name in ("run.npz", "-", "pipe"):
        capsys.readouterr()
        if name == "pipe":
            with fifo(tmp_path, data):
                assert main(["whatif", name, "--json", "-"]) == 0
        else:
            standard_input(data, monkeypatch)
            assert main(["whatif", name, "--json", "-"]) == 0
        outputs.append(
            capsys.readouterr().out.replace('"standard input"', '"run.npz"').replace('"pipe"', '"run.npz"')
        )
    assert outputs[0] == outputs[1] == outputs[2]
    standard_input(data[:-40], monkeypatch)
    assert main(["whatif", "-"]) == 2
    with fifo(tmp_path, b"3\n2\n1\n", "degrees"):
        from grapin.sim.families import read_degrees

        assert read_degrees("degrees").tolist() == [1, 2, 3]


def test_the_shells_own_ways_work(tmp_path: Path, temporary: Path) -> None:
    file = tmp_path / "graph.txt"
    file.write_bytes(ROWS)
    grapin_info = f'"{sys.executable}" -m grapin info'
    lines = [
        f"gzip -c {file} | {grapin_info} - --json",
        f"{grapin_info} <(cat {file}) --json",
        f"{grapin_info} - --json < {file}",
        f"cat {file} | {grapin_info} /dev/stdin --json",
    ]
    script = "set -e -o pipefail\n" + "\n".join(lines)
    run = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.count('"rows": 8') == len(lines)
    closed = subprocess.run(
        ["bash", "-c", f"{grapin_info} - <&-"], capture_output=True, text=True, check=False
    )
    assert (closed.returncode, closed.stderr) == (2, "grapin: standard input must be open to be read\n")


def test_a_termination_leaves_nothing_of_a_pipe(tmp_path: Path, temporary: Path) -> None:
    command = [sys.executable, "-m", "grapin", "info", "-"]
    run: Any = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    run.stdin.write(ROWS)
    run.stdin.flush()
    # Python first writes and removes a file of its own, to see whether it can, and nothing of ours yet.
    while not list(temporary.glob("grapin-*")):
        assert run.poll() is None
    run.terminate()
    try:
        assert run.wait(30) == 143
    finally:
        run.communicate()
