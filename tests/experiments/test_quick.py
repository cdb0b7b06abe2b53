"""Every experiment runs: on tiny graphs, in this process, with its record kept out of the checkout's."""

import json
import sys
from importlib import import_module
from pathlib import Path

import pytest

from experiments import bars
from experiments.bars import Bar

EXPERIMENTS = ("reads", "latency", "initial", "pagerank", "growth", "tracing", "first_answer")


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(bars, "RECORDS", tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", [*EXPERIMENTS, "request_sizes", "extrapolation", "planted_bugs"])
def test_an_experiment_runs_quickly_and_records_what_it_prints(
    name: str, records: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("scipy")
    pytest.importorskip("networkit")
    monkeypatch.setattr(sys, "argv", [name, "--quick"])
    assert import_module(f"experiments.{name}").main() == 0
    record = json.loads((records / f"{name}.jsonl").read_text())
    printed = capsys.readouterr().out
    assert record["bars"]
    assert all(bar["name"] in printed for bar in record["bars"])


def test_all_bars_of_the_engine_come_from_the_experiments() -> None:
    engine = import_module("experiments.engine")
    modules = {measure.__module__ for measure in engine.PARTS.values()}
    assert modules == {f"experiments.{name}" for name in EXPERIMENTS}


def test_a_figure_passes_up_to_its_limit_and_has_no_verdict_without_one() -> None:
    verdicts = [Bar("time", figure, "s", limit).verdict for figure, limit in ((1, 1), (2, 1), (3, None))]
    assert verdicts == ["pass", "FAIL", ""]
