"""`grapin bench` prints what it measured, records it, compares it, and reports nothing on a red gate."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grapin import session
from grapin.bench.records import read_records, write_records
from grapin.bench.suite import Workload
from grapin.cli import bench
from grapin.cli.main import main
from grapin.errors import WrongAnswer

pytestmark = pytest.mark.usefixtures("compiled_already")

TINY = [
    "bench",
    "quick",
    "rmat:5:4",
    *("--device", "reference"),
    *("--batch-size", "3"),
    *("--program", "sssp,cc"),
    *("--batches", "2"),
    *("--repetitions", "3"),
]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "bench.jsonl"


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def slower(file: Path, factor: float, repetitions: int) -> Path:
    """Write what a machine that is so much slower would have recorded."""
    other = file.with_name("other.jsonl")
    found = read_records(str(file))
    for one in found.values():
        for figure in ("start", "batch"):
            middle = one[figure]["median"]
            one[figure]["seconds"] = [factor * middle * (1 + number / 1000) for number in range(repetitions)]
    write_records(found.values(), other)
    return other


def test_every_case_is_a_row_and_a_record(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("scipy")
    assert main([*TINY, "--peers", "scipy", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "medians of 3 repetitions of 2 batches" in shown
    assert "scipy, from scratch" in shown
    assert "Verified before timing: 4 cases at the start and after every batch." in shown
    found = lines(out)
    assert [(one["case"]["program"], one["case"]["system"] or one["device"]) for one in found] == [
        ("sssp", "bounded"),
        ("sssp", "grapin"),
        ("cc", "bounded"),
        ("cc", "grapin"),
        ("sssp", "scipy"),
        ("cc", "scipy"),
    ]
    for one in found:
        assert {
            "grapin",
            "commit",
            "machine",
            "device",
            "link",
            "seed",
            "configuration",
            "when",
        } <= one.keys()
        assert len(one["start"]["seconds"]) == one["repetitions"] == 3
    assert [file.name for file in out.parent.iterdir()] == [out.name]


def test_a_run_is_compared_with_an_earlier_one(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TINY, "--out", str(out)]) == 0
    assert main([*TINY, "--against", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "now / before" in shown
    assert "0 slower, 0 faster of 8" in shown
    assert "too few repetitions" in shown


@pytest.mark.parametrize(("factor", "counted"), [(2.0, "8 slower, 0 faster"), (0.5, "0 slower, 8 faster")])
def test_two_files_are_compared_without_measuring(
    factor: float, counted: str, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*TINY, "--out", str(out)]) == 0
    before = slower(out, 1.0, 10).rename(out.with_name("before.jsonl"))
    after = slower(out, factor, 10)
    capsys.readouterr()
    assert main(["bench", "--records", str(after), "--against", str(before)]) == 0
    assert f"{counted} of 8" in capsys.readouterr().out


def test_what_cannot_be_compared_is_refused_before_anything_is_measured(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*TINY, "--out", str(out)]) == 0
    monkeypatch.setattr(bench, "check", pytest.fail)
    capsys.readouterr()
    assert main([*TINY, "--against", str(out), "--seed", "1"]) == 2
    assert "seed must be the same in both records, not 0 and 1" in capsys.readouterr().err
    others = ["path:9" if one == "rmat:5:4" else one for one in TINY]
    assert main([*others, "--against", str(out)]) == 2
    assert "must have a case in common" in capsys.readouterr().err


def test_what_all_cases_share_is_in_the_title_and_not_in_every_row(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*TINY, "--system", "bounded"]) == 0
    title, rows = capsys.readouterr().out.split("medians", maxsplit=1)
    assert "graph rmat:5:4, batch 3, system bounded, device reference" in title
    assert "sssp" in rows
    assert "rmat" not in rows


def test_on_a_red_gate_nothing_is_reported(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def complain(answer: Any, graph: Any) -> None:
        if answer.program.name == "cc" and graph.version == 2:
            raise WrongAnswer("vertex 3 has 7, expected 5")

    monkeypatch.setattr(session, "verify_answer", complain)
    monkeypatch.setattr(bench, "measure", pytest.fail)
    assert main([*TINY, "--out", str(out)]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == (
        "grapin: cc, bounded on reference, rmat:5:4, batches of 3: vertex 3 has 7, expected 5; nothing was timed\n"
    )
    assert not out.exists()


@pytest.mark.parametrize(("turn", "measured"), [(2, 0), (4 + 4 + 3, 3)])
def test_ctrl_c_keeps_what_was_measured(
    turn: int, measured: int, out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four cases are checked, four turns warm up; the third turn that counts is the last."""
    begun = iter(range(1, 100))
    engine = Workload.engine

    def interrupted(*arguments: Any) -> Any:
        if next(begun) == turn:
            signal.raise_signal(signal.SIGINT)
        return engine(*arguments)

    monkeypatch.setattr(Workload, "engine", interrupted)
    before = signal.getsignal(signal.SIGINT)
    assert main([*TINY, "--out", str(out)]) == 130
    assert capsys.readouterr().err == f"grapin: interrupted with {measured} cases measured\n"
    assert [one["repetitions"] for one in lines(out)] == [1] * measured if measured else not out.exists()
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["qick"], "qick must be one of default, quick"),
        (["--program", "sssq"], "(did you mean 'sssp'?)"),
        (["--system", "boundet"], "(did you mean 'bounded'?)"),
        (["--device", "gpu"], "--device gpu must be one of"),
        ([","], "graphs=[] must name at least one"),
        (["nowhere.txt"], "nowhere.txt must exist"),
        (["--batch-size", "1k"], "--batch-size 1k must be whole numbers"),
        (["--repetitions", "0"], "--repetitions 0 must be at least 1"),
        (["--repetitions", "99"], "--repetitions 99 must be at most 50"),
        (["--peers", "boost"], "--peers boost must be one of"),
        (["--out", "nowhere/x.jsonl"], "must be in a directory that exists"),
        (["--against", "nowhere.jsonl"], "nowhere.jsonl: there is no such file"),
        (["--records", "nowhere.jsonl"], "--records must come with --against"),
    ],
)
def test_a_bad_flag_is_one_sentence_and_nothing_is_written(
    arguments: list[str], sentence: str, refuses: Callable[..., None]
) -> None:
    refuses("bench", *arguments, because=sentence)
