"""Compare lays predictions beside what was measured, by runs here and by files, and fits a machine to the times."""

import json
import re
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import grapin
from grapin.cli import compare
from grapin.cli.main import main
from grapin.measured import Measured
from grapin.measured.measured import from_record
from grapin.sim import MACHINES, Machine, replay
from grapin.system import RUNNABLE

SMALL = ("rmat:8:8", "--batches", "3", "--batch-size", "40", "--threads", "1")
HERE = ("--device", "cpu")


@pytest.fixture
def compared(capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Compare and return the JSON object that was printed."""

    def compare(*arguments: str) -> dict[str, Any]:
        capsys.readouterr()
        assert main(["compare", *arguments, "--json", "-"]) == 0
        printed: dict[str, Any] = json.loads(capsys.readouterr().out)
        return printed

    return compare


def saved(folder: Path, system: str = "bounded", *options: str) -> tuple[str, Path]:
    """Run a small graph; return where its trace and its record are."""
    trace, record = folder / f"{system}.npz", folder / f"{system}.json"
    files = ["--trace", str(trace), "--json", str(record)]
    assert main(["run", *SMALL, *HERE, "--system", system, *options, *files]) == 0
    return str(trace), record


def timed_by(machine: Machine, trace: str, record: Path) -> str:
    """Make the record one of a GPU on which batches took as long as the model says for a machine."""
    content = json.loads(record.read_text())
    read = grapin.Trace.load(trace)
    phases = replay(read, read.about["system"], machine).phases
    content["device"] = "cuda"
    for batch, costs in zip(content["batches"], phases[1:], strict=True):
        batch["compute_seconds"] = costs.seconds.total
    record.write_text(json.dumps(content))
    return str(record)


@pytest.mark.parametrize("cache", [(), ("--cache", "20%")])
def test_on_the_cpu_everything_counted_is_what_the_model_predicts_for_every_system(
    cache: tuple[str, ...], compared: Callable[..., dict[str, Any]]
) -> None:
    found = compared(*SMALL, *HERE, "--system", "all", *cache)
    assert [run["system"] for run in found["runs"]] == list(RUNNABLE)
    for run in found["runs"]:
        kinds = {row["kind"]: row for row in run["kinds"]}
        assert {f"requests of {size} bytes" for size in (32, 64, 96, 128)} <= set(kinds)
        assert all(row["predicted"] == row["measured"] for row in kinds.values())
        assert kinds["edges"]["measured"] > 0
        assert "time of batches" not in kinds
    held = {run["system"] for run in found["runs"] if run["cache"] is not None}
    assert held == ({"bounded", "grapin"} if cache else set())


def test_a_named_policy_is_replayed_under_a_system_that_keeps_no_copies_of_its_own(
    compared: Callable[..., dict[str, Any]],
) -> None:
    options = ["--batches", "6", "--system", "grapin-recomp", "--cache", "published:30%"]
    (run,) = compared(*SMALL, *HERE, *options)["runs"]
    kinds = {row["kind"]: row for row in run["kinds"]}
    assert kinds["cache loads"]["measured"] > 0
    assert all(row["predicted"] == row["measured"] for row in kinds.values())


def test_a_trace_is_compared_with_the_record_of_its_run(
    tmp_path: Path, compared: Callable[..., dict[str, Any]]
) -> None:
    trace, record = saved(tmp_path, "grapin", "--cache", "20%")
    (run,) = compared(trace, "--measured", str(record))["runs"]
    assert len(run["kinds"]) == 10
    assert all(row["predicted"] == row["measured"] for row in run["kinds"])
    assert {row["source"] for row in run["kinds"]} == {"grapin.json"}


def test_a_profilers_numbers_come_through_to_the_table_beside_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], compared: Callable[..., dict[str, Any]]
) -> None:
    trace, _ = saved(tmp_path, "grapin-page")
    export = tmp_path / "nsys.sqlite"
    with closing(sqlite3.connect(export)) as made:
        made.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (bytes INT, copyKind INT)")
        made.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?)", [(123_456, 11), (5, 1)])
        made.commit()
    printed = tmp_path / "ncu.csv"
    printed.write_text(
        '"ID","Metric Name","Metric Unit","Metric Value"\n"0","pcie__read_bytes.sum","byte","70,001"\n'
    )
    (run,) = compared(trace, "--measured", str(export), "--measured", str(printed))["runs"]
    assert [(row["kind"], row["measured"], row["source"]) for row in run["kinds"]] == [
        ("received", 70_001, "ncu.csv"),
        ("migrated", 123_456, "nsys.sqlite"),
    ]
    prediction = replay(grapin.Trace.load(trace), "grapin-page", "a5000")
    assert run["kinds"][1]["predicted"] == prediction.total.migrated_bytes > 0
    assert main(["compare", trace, "--measured", str(export)]) == 0
    assert "121 KiB" in capsys.readouterr().out


def test_times_of_a_known_machine_calibrate_a_preset_to_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], compared: Callable[..., dict[str, Any]]
) -> None:
    pytest.importorskip("scipy")
    hidden = MACHINES["a5000"].with_settings({"link.round_trip": 2.6e-6})
    trace, record = saved(tmp_path)
    times = timed_by(hidden, trace, record)
    mine = tmp_path / "mine.toml"
    assert main(["compare", trace, "--measured", times, "--calibrate", str(mine)]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"link\.round_trip +1\.73 us +2\.6 us", shown)
    assert "These times do not tell link.efficiency, host.fault_batch" in shown
    assert Machine.load(mine).link.round_trip == pytest.approx(2.6e-6, rel=1e-3)
    (run,) = compared(trace, "--measured", times, "--machine", str(mine))["runs"]
    (time,) = (row for row in run["kinds"] if row["kind"] == "time of batches")
    assert time["error"] == pytest.approx(0, abs=1e-3)


def test_on_a_gpu_times_and_the_ports_counters_come_from_a_run_without_a_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace, record = saved(tmp_path)
    first = json.loads(Path(timed_by(MACHINES["p100"], trace, record)).read_text())
    second = json.loads(Path(timed_by(MACHINES["h100"], trace, record)).read_text())
    port = SimpleNamespace(measured=(Measured("NVML", {"received": 5}),))
    monkeypatch.setattr(compare, "count_port", lambda: nullcontext(port))
    measured, remark = compare._timed(from_record(first), lambda: second)
    assert remark is None
    assert [one.source for one in measured] == ["counters of the run", "clock of the run", "NVML"]
    assert "time of batches" not in measured[0].totals
    assert measured[1].seconds == tuple(batch["compute_seconds"] for batch in second["batches"])
    assert measured[1].totals == {"time of batches": sum(measured[1].seconds)}
    assert measured[2].totals == {"received": 5}


def test_without_nvml_the_rest_is_compared_and_it_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace, record = saved(tmp_path)
    content = json.loads(Path(timed_by(MACHINES["h100"], trace, record)).read_text())
    monkeypatch.setitem(sys.modules, "pynvml", None)
    measured, remark = compare._timed(from_record(content), lambda: content)
    assert [one.source for one in measured] == ["counters of the run", "clock of the run"]
    assert remark is not None
    assert "pip install nvidia-ml-py" in remark


def test_a_plot_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    trace, record = saved(tmp_path)
    figure = tmp_path / "figure.svg"
    assert main(["compare", trace, "--measured", str(record), "--plot", str(figure)]) == 0
    assert "<svg" in figure.read_text()
    assert not list(tmp_path.glob("*.part*"))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["{trace}"], "must come with --measured FILE"),
        (["{trace}", "--measured", "{record}", "--cache", "1K"], "which says what cache its run had"),
        (
            ["{trace}", "--measured", "{record}", "--system", "grapin"],
            "grapin run --system grapin --trace FILE",
        ),
        (["{trace}", "--measured", "{trace}"], "is neither a record of grapin run --json nor"),
        (["{trace}", "--measured", "none.csv"], "none.csv: there is no such file"),
        (
            ["{trace}", "--measured", "{record}", "--calibrate", "x.toml"],
            "must have the times of batches on a GPU",
        ),
        (["path:9", "--measured", "{record}"], "must come with the trace of the run"),
        (["path:9", "--system", "bouned"], "did you mean 'bounded'?"),
        (["path:9", "--machine", "a500"], "did you mean 'a5000'?"),
        (["path:9", "--cache", "lots"], "--cache lots must be"),
        (["path:9", "--plot", "figure.doc"], "--plot figure.doc must end in"),
        (["path:9", "--calibrate", "nowhere/x.toml"], "directory that exists"),
        (["path:9", "--calibrate", "mine"], "--calibrate mine must end in .toml"),
        (["path:9", "--calibrate", "mine.toml"], "must have the times of batches on a GPU"),
        (["no-such-file.txt"], "no-such-file.txt must exist"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence_and_nothing_is_written(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    trace, record = saved(tmp_path)
    before = set(tmp_path.iterdir())
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    given = [argument.format(trace=trace, record=record) for argument in arguments]
    assert main(["compare", *given, *(HERE if "path:9" in given else ())]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert sentence in shown.err
    assert set(tmp_path.iterdir()) == before


def test_a_record_of_something_else_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace, record = saved(tmp_path)
    record.write_text('{"batches": []}')
    capsys.readouterr()
    assert main(["compare", trace, "--measured", str(record)]) == 2
    assert "is not what grapin run --json writes" in capsys.readouterr().err
