"""`grapin demo`, which `make run` calls."""

import importlib.util
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grapin.cli import demo
from grapin.cli.main import main
from grapin.counters import Counters
from grapin.engine import Report
from grapin.sim.machine import MACHINES

pytestmark = pytest.mark.usefixtures("compiled_already")

pytest.importorskip("plotly", reason="a report needs plotly")

SMALL = ["rmat:7", "--batches", "2", "--batch-size", "40"]


def _data(report: Path) -> dict[str, Any]:
    embedded = re.search(r'<script type="application/json" id="data">(.*?)</script>', report.read_text())
    assert embedded is not None
    found: dict[str, Any] = json.loads(embedded[1])
    return found


def test_the_demo_lays_the_systems_side_by_side_and_prints_the_reports_path_last(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.html"
    assert main(["demo", *SMALL, "--machine", "v100,h100", "--out", str(report)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("sssp, 40 mutations of ")
    assert lines[1].startswith("pagerank, 40 mutations of ")
    rows = [line.split()[:2] for line in lines]
    for program in ("sssp", "pagerank"):
        for system in ("bounded", "grapin"):
            assert [program, system] in rows
    assert sum(line.startswith("Verified:") for line in lines) == 3
    assert lines[-1] == f"Report: {report}"
    choices = _data(report)["choices"]
    assert list(choices["machines"]) == ["v100", "h100"]
    assert "v100|grapin|pagerank|10%" in choices["outcomes"]
    assert not list(tmp_path.glob("*.part*"))


def test_the_demo_works_on_an_undirected_graph_without_weights(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--undirected", "--weights", "ignore", "--insertions", "0.25", "--machine", "a5000"]
    assert main(["demo", *SMALL, *options, "--out", str(tmp_path / "report.html")]) == 0
    assert "Verified:" in capsys.readouterr().out


def test_of_a_large_graph_what_takes_minutes_is_left_out_and_the_gpu_holds_a_quarter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "_LARGE", 1)
    assert main(["demo", *SMALL, "--machine", "a5000", "--out", str(tmp_path / "report.html")]) == 0
    rows = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert ["sssp", "grapin-recomp"] in rows
    assert ["pagerank", "grapin-recomp"] not in rows
    page = (tmp_path / "report.html").read_text()
    assert "25% of the edges&#x27; bytes" in page
    assert "PageRank under grapin-recomp" in page
    assert not [key for key in _data(tmp_path / "report.html")["choices"]["outcomes"] if "imptm-um" in key]


def test_requests_that_the_model_does_not_predict_are_an_error_and_no_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = Report.counters.fget  # type: ignore[attr-defined]  # a property has one
    one_more = property(lambda report: counted(report) + Counters(requests_96=1))
    monkeypatch.setattr(Report, "counters", one_more)
    assert main(["demo", *SMALL, "--machine", "a5000", "--out", str(tmp_path / "report.html")]) == 2
    assert "requests predicted for bounded on a5000 differ" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_graph_of_a_few_edges_is_sampled_in_batches_that_it_has_edges_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "path:9", "--batches", "2", "--out", str(tmp_path / "report.html")]) == 0
    assert "2 batches of 1 mutations" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--batch-size", "x"], "Invalid value for '--batch-size'"),
        (["--batches", "0"], "--batches 0 must be at least 1"),
        (["star:3", "--batch-size", "9", "--batches", "1"], "at most 2 edges of the graph, not 9"),
        (["--machine", "a500"], "(did you mean 'a5000'?)"),
        (["--set", "gpu.memory"], "--set gpu.memory must be NUMBER=VALUE"),
        (["--device", "gpu"], "--device gpu must be one of"),
        (["--out", "nowhere/report.html"], "nowhere/report.html must be in a directory that exists"),
    ],
)
def test_a_bad_option_is_one_sentence_and_nothing_is_written(
    arguments: list[str], sentence: str, refuses: Callable[..., None]
) -> None:
    refuses("demo", *arguments, because=sentence)


def test_without_plotly_the_demo_says_what_to_install_before_it_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "grapin.report.page.find_spec", lambda name: None if name == "plotly" else found(name)
    )
    assert main(["demo"]) == 2
    assert capsys.readouterr().err == "grapin: a report needs plotly: pip install 'grapin[report]'\n"


def test_every_system_of_the_demo_is_predicted_from_a_run_of_its_repair() -> None:
    from grapin.system import SYSTEMS

    assert {SYSTEMS[name].repair for name in demo._PREDICTED} == set(demo._RUN.values())
    assert all(SYSTEMS[name].repair == repair for name, repair in demo._RUN.items())
    assert {"a5000", "gh200"} <= set(MACHINES)
