"""However a command is ended, what it says of its outputs is true, and nothing half-made stays behind."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import grapin
from grapin.cli.main import main
from grapin.trace import TraceWriter

pytestmark = pytest.mark.usefixtures("compiled_already")

ENDS = [
    pytest.param(signal.SIGINT, "interrupted", 130, id="Ctrl-C"),
    pytest.param(signal.SIGTERM, "terminated", 143, id="SIGTERM"),
]
TRACED = ["--device", "cpu", "--trace", "run.npz"]
SMALL = ["run", "rmat:6:4", "--batches", "5", "--batch-size", "8", "--device", "reference"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(("number", "word", "code"), ENDS)
def test_a_run_finishes_its_batch_and_keeps_its_report_and_its_trace(
    number: int,
    word: str,
    code: int,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    apply = grapin.Engine.apply

    def ended(engine: grapin.Engine, batch: grapin.Batch) -> Any:
        if engine.graph.version == 1 and engine.graph.vertices == 64:  # not what warms up
            signal.raise_signal(number)
        return apply(engine, batch)

    monkeypatch.setattr(grapin.Engine, "apply", ended)
    assert main([*SMALL, "--verify", "--json", "run.json", *TRACED]) == code
    found = json.loads((here / "run.json").read_text())
    assert (len(found["batches"]), found["verified"]) == (2, True)
    assert len(set(grapin.Trace.load("run.npz").phases["version"].tolist())) == 3
    assert capsys.readouterr().err == f"grapin: {word} after 2 of 5 batches\n"
    assert names(here) == ["run.json", "run.npz"]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize(("number", "word", "code"), ENDS)
def test_a_signal_while_outputs_are_written_is_told_when_they_are_complete(
    number: int,
    word: str,
    code: int,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    finish = TraceWriter.finish

    def ended(writer: TraceWriter) -> None:
        signal.raise_signal(number)
        finish(writer)

    monkeypatch.setattr(TraceWriter, "finish", ended)
    assert main([*SMALL, "--json", "run.json", *TRACED]) == code
    shown = capsys.readouterr()
    assert shown.err == (
        f"grapin: {word} when all 5 batches were applied; the report and every file are complete\n"
    )
    assert "edges read" in shown.out
    assert len(json.loads((here / "run.json").read_text())["batches"]) == 5
    assert len(grapin.Trace.load("run.npz").phases["version"]) == 6
    assert names(here) == ["run.json", "run.npz"]


@pytest.mark.parametrize(("number", "word", "code"), ENDS)
def test_a_second_signal_while_a_file_is_written_says_that_it_is_not_there(
    number: int,
    word: str,
    code: int,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def ended(_: TraceWriter) -> None:
        signal.raise_signal(number)
        signal.raise_signal(number)

    monkeypatch.setattr(TraceWriter, "finish", ended)
    assert main([*SMALL, "--json", "run.json", *TRACED]) == code
    shown = capsys.readouterr()
    assert shown.err == f"\ngrapin: {word} while run.npz was written, which is not there\n"
    assert (shown.out, names(here)) == ("", [])


@pytest.mark.parametrize(("number", "word", "code"), ENDS)
def test_a_signal_between_writing_a_file_and_putting_it_in_its_place_is_told_truly(
    number: int,
    word: str,
    code: int,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    replace = Path.replace

    def ended(path: Path, target: Any) -> Path:
        signal.raise_signal(number)
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", ended)
    assert main(["generate", "path:9", "graph.csv"]) == code
    assert capsys.readouterr().err == f"\ngrapin: {word} after graph.csv was written\n"
    assert len(grapin.load("graph.csv").alive()) == 9


def begun(script: str, here: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    """Start the command line with a program of the user's own, and return when that has begun."""
    (here / "slow.py").write_text("open('begun', 'w').close()\nimport time\n" + script)
    command = [sys.executable, "-m", "grapin", *arguments]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.PIPE)
    while not (here / "begun").exists():
        assert run.poll() is None
        time.sleep(0.02)
    return run


def test_a_termination_in_the_middle_is_one_word_and_143(here: Path) -> None:
    run = begun("time.sleep(60)\n", here, "run", "path:9", "--program", "slow.py:X")
    run.send_signal(signal.SIGTERM)
    assert run.communicate(timeout=30) == (b"", b"\ngrapin: terminated\n")
    assert run.returncode == 143


PAUSING = """
from grapin import SSSP as Base
class X(Base):
    name = "slow"
import grapin
apply = grapin.Engine.apply
def pausing(engine, batch):
    report = apply(engine, batch)
    if engine.graph.version == 2:
        open('paused', 'w').close()
        time.sleep(1)
    return report
grapin.Engine.apply = pausing
"""


def test_a_termination_of_a_process_keeps_the_report_of_the_batches_so_far(here: Path) -> None:
    arguments = [*SMALL, "--program", "slow.py:X", "--source", "0", "--json", "run.json"]
    run = begun(PAUSING, here, *arguments)
    while not (here / "paused").exists():
        assert run.poll() is None
        time.sleep(0.02)
    run.send_signal(signal.SIGTERM)
    out, errors = run.communicate(timeout=60)
    assert (run.returncode, errors) == (143, b"grapin: terminated after 2 of 5 batches\n")
    assert b"edges read" in out
    assert len(json.loads((here / "run.json").read_text())["batches"]) == 2
    assert not [name for name in names(here) if name.endswith(".part") or ".part." in name]
