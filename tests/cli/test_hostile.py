"""Whatever a command is given, and whatever the system refuses it: one sentence, exit code 2, nothing half-written."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grapin.cli.main import main
from grapin.files import write

pytestmark = pytest.mark.usefixtures("compiled_already")

FILES = {
    "binary.txt": bytes(range(256)) * 8,
    "empty.txt": b"",
    "words.txt": b"one two three four five six\n",
    "broken.npz": b"PK\x03\x04broken",
    "broken.toml": b"[[[",
    "failing.py": b"import nothing_of_this_name\n",
    "unwritten.py": b"def (\n",
    "other.py": b"answer = 42\n",
    "leaving.py": b"import sys\nsys.exit(3)\n",
    "two.txt": b"1 2 3\n2 3 4\n",
}
TINY = "--batches 1 --batch-size 2 --device reference"
INTERRUPTED = "\ngrapin: interrupted{}\n"
"""On a line of its own: a terminal has just shown ^C."""
REFUSED = [
    ("--nonsense", "No such option '--nonsense'"),
    ("rnu path:9", "did you mean 'run'?"),
    ("run", "Missing argument 'GRAPH'"),
    ("run path:9 --batchs 3", "'--batches'"),
    ("run path:9 --batches 1.5", "'1.5' is not a valid integer"),
    ("run path:9 --program pagernk", "did you mean 'pagerank'?"),
    ("run path:9 --system bonded", "did you mean 'bounded'?"),
    ("run path:9 --device cup", "did you mean 'cpu'?"),
    ("run path:9 --program failing.py:X", "No module named 'nothing_of_this_name'"),
    ("run path:9 --program unwritten.py:X", "SyntaxError"),
    ("run path:9 --program other.py:answr", "the file has no 'answr'"),
    ("run path:9 --program other.py:answer", "must name a subclass"),
    ("run path:9 --program absent.py:X", "must name a file that exists"),
    ("run folder", "must be a file, not a directory"),
    ("run binary.txt", "holds binary data"),
    ("run empty.txt", "is empty"),
    ("run broken.npz", "must be a readable .npz archive"),
    ("run words.txt", "line 1: a row must have 2 to 4 columns, not 6"),
    ("run path:9 --updates folder", "must be a file, not a directory"),
    ("run path:9 --insertions nan", "must be a number from 0 to 1"),
    ("run path:9 --seed -1", "--seed -1 must be at least 0"),
    ("run path:9 --cache lots", "--cache lots must be"),
    ("run rmat:99", "SCALE=99 must be at most 30"),
    (f"run path:9 {TINY} --source nobody", "--source nobody must be a vertex"),
    ("run path:9 --trace folder", "folder must be a file that can be written"),
    ("run path:9 --trace /dev/null", "/dev/null must be a file that can be written"),
    (
        "run path:9 --trace -",
        "- must be the name of a file (./- if that is it): only --json writes to standard",
    ),
    ("whatif path:9 --plot -", "- must be the name of a file"),
    ("whatif path:9 --timeline -", "- must be the name of a file"),
    ("compare path:9 --calibrate -", "- must be the name of a file"),
    ("check --out -", "- must be the name of a file"),
    ("bench quick --out -", "- must be the name of a file"),
    ("demo --out -", "- must be the name of a file"),
    ("generate path:9 -", "- must end in .txt or .csv"),
    ("convert path:9 -", "- must end in .txt or .csv"),
    (
        "run - --updates -",
        "--updates - must be a file where GRAPH is standard input, which holds one of them",
    ),
    ("run - --updates /dev/stdin", "--updates /dev/stdin must be a file where GRAPH is standard input"),
    (
        f"run path:9 {TINY} --device cpu --trace /proc/trace.npz",
        "--trace /proc/trace.npz must be a file that can be written",
    ),
    ("whatif folder", "must be a file, not a directory"),
    ("whatif about.npz", "about.npz: is not a trace, or is damaged"),
    ("whatif rmat:99", "rmat:99 must have at most 2,147,483,647 vertices"),
    ("run path:9 --program cc --source 3", "--source 3 must be left out: cc starts at every vertex"),
    ("whatif rmat:99999999", "rmat:99999999 must have at most 2,147,483,647 vertices"),
    ("whatif rmat:30 --from rmat:6..99999999999", "must name at most 64 graphs"),
    ("run path:9 --cache 999999999999999999999G", "must be room that a device can have"),
    ("doctor --device reference --seed -1", "--seed -1 must be at least 0"),
    ("run two.txt --json two.txt", "two.txt must be another file than those that are read or written"),
    ("run path:9 --json x --trace ./x", "x must be another file than those that are read or written"),
    ("run path:9 --program leaving.py:X", "must run: SystemExit: 3"),
    ("run path:9 --system imptm-um", "grapin whatif predicts imptm-um"),
    ("run rmta:10", "did you mean a generator, such as rmat:18:16?"),
    ("run path:9 --program SSSP", "did you mean 'sssp'?"),
    ("whatif path:9 --machine h10", "did you mean 'h100'?"),
    ("whatif path:9 --machine broken.toml", "broken.toml: is not a machine written as TOML"),
    ("whatif path:9 --system hytgrap", "did you mean 'hytgraph'?"),
    ("whatif path:9 --system ,", "--system '' must be one of"),
    ("whatif path:9 --set link.generation=abc", "must be one of 3, 4, 5, 6"),
    ("whatif path:9 --processes 2 --cluster tcp://x:1", "--processes 2 must be left out"),
    ("whatif path:9 --timeline x --cluster tcp://x:1", "--timeline x must be asked for without a cluster"),
    ("whatif path:9 --plot folder", "folder must be a file that can be written"),
    ("whatif degrees:binary.txt", "binary.txt: must hold one degree a line"),
    ("generate path:9 folder", "File 'folder' is a directory"),
    ("generate path:9 absent/graph.csv", "must be in a directory that exists"),
    ("generate path:9 /proc/graph.csv", "/proc/graph.csv: "),
    ("generate path:x graph.csv", "path:x must be path:N"),
    ("convert binary.txt graph.csv", "holds binary data"),
    ("convert words.txt graph.csv --columns source", "must name each column"),
    ("info broken.npz", "must be a readable .npz archive"),
    ("doctor --device cup", "--device cup must be one of"),
    ("doctor extra", "unexpected extra argument"),
    ("demo folder", "must be a file, not a directory"),
    ("demo --machine h10", "did you mean 'h100'?"),
    ("demo --batches 0", "--batches 0 must be at least 1"),
    ("check --program pagernk", "did you mean 'pagerank'?"),
    ("check --weights 9:0", "--weights 9:0 must be"),
    ("check --seed -1", "--seed -1 must be at least 0"),
    ("bench qick", "qick must be one of default, quick"),
    ("bench broken.toml", "broken.toml: is not a suite written as TOML"),
    ("bench quick --peers scypi", "did you mean 'scipy'?"),
    ("bench quick folder", "must be a file, not a directory"),
    ("bench quick --out folder", "folder must be a file that can be written"),
    ("bench --against binary.txt", "binary.txt: cannot be read"),
    ("compare broken.npz", "must be a readable .npz archive"),
    ("compare path:9 --machine h10", "did you mean 'h100'?"),
    ("compare path:9 --calibrate folder", "folder must be a file that can be written"),
    ("generate paht:9 graph.csv", "did you mean 'path'?"),
    ("convert path:9 graph.csv --columns a,b", "--columns a,b must be left out"),
    ("check --out folder", "folder must be a file that can be written"),
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with all that can be wrong with a file."""
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    np.savez(tmp_path / "about.npz", about=np.frombuffer(b"{not json", np.uint8))
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.suffix != ".pyc"
    }


@pytest.mark.parametrize(("line", "sentence"), REFUSED, ids=[line for line, _ in REFUSED])
def test_what_cannot_be_done_is_one_sentence_and_nothing_is_written(
    line: str, sentence: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(here)
    assert main(line.split()) == 2
    shown = capsys.readouterr()
    assert sentence in shown.err
    assert shown.err.startswith("grapin: ")
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert contents(here) == before


@contextmanager
def full_disk() -> Iterator[None]:
    """No file may grow beyond a few bytes, as on a disk that is full; pytest's own report may be one."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(
    "line",
    [
        *(f"generate rmat:8 old{ending}" for ending in (".csv", ".txt.gz", ".csv.zst", ".npz", ".parquet")),
        "convert rmat:8 old.csv.xz",
        f"run path:9 {TINY} --json old.json",
        f"run path:9 {TINY} --device cpu --trace old.npz",
    ],
)
def test_a_full_disk_leaves_the_old_file_and_is_told_of_the_file_asked_for(
    line: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = line.rsplit(maxsplit=1)[-1]
    (here / file).write_bytes(b"old")
    before = contents(here)
    with full_disk():
        assert main(line.split()) == 2
    lost = "the trace could not be written and is lost: " if "--trace" in line else ""
    assert capsys.readouterr().err == f"grapin: {file}: {lost}File too large\n"
    assert contents(here) == before


def test_ctrl_c_while_a_file_is_written_leaves_the_old_one(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_edges: Any, sink: Any) -> None:
        sink.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setitem(write._WRITERS, ".csv", interrupted)
    (here / "graph.csv").write_bytes(b"old")
    before = contents(here)
    assert main(["generate", "path:9", "graph.csv"]) == 130
    assert capsys.readouterr().err == INTERRUPTED.format(
        " while graph.csv was written, which stays as it was"
    )
    assert contents(here) == before
    assert main(["generate", "path:9", "new.csv"]) == 130
    assert capsys.readouterr().err == INTERRUPTED.format(" while new.csv was written, which is not there")
    assert contents(here) == before


def test_ctrl_c_in_the_middle_is_one_word_and_130(here: Path) -> None:
    (here / "slow.py").write_text("open('begun', 'w').close()\nimport time\ntime.sleep(60)\n")
    command = [sys.executable, "-m", "grapin", "run", "path:9", "--program", "slow.py:X"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not (here / "begun").exists():
        assert run.poll() is None
        time.sleep(0.02)
    run.send_signal(signal.SIGINT)
    assert run.communicate(timeout=30) == (b"", INTERRUPTED.format("").encode())
    assert run.returncode == 130


@pytest.mark.parametrize(
    ("redirected", "code", "sentence"),
    [
        ("| true", 1, ""),
        (">/dev/full", 2, "grapin: No space left on device\n"),
        (">&-", 0, ""),
    ],
)
def test_output_that_nobody_takes_is_no_traceback(redirected: str, code: int, sentence: str) -> None:
    line = f'set -o pipefail; "{sys.executable}" -m grapin generate path:9 graph.csv {redirected}'
    run = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (code, "", sentence)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("protected", ["folder", "folder/graph.csv"])
def test_what_is_read_only_stays(protected: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "folder" / "graph.csv").write_bytes(b"old")
    mode = (here / protected).stat().st_mode
    (here / protected).chmod(mode & ~0o222)
    assert main(["generate", "path:9", "folder/graph.csv"]) == 2
    (here / protected).chmod(mode)
    assert "must be a file that can be written" in capsys.readouterr().err
    assert contents(here / "folder") == {"graph.csv": b"old"}
