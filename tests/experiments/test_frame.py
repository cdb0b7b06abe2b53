"""What is declared is found, run, recorded, drawn and kept; quick runs are no answers; pages say what records say."""

import json
import pickle
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.lib import drawing, experiment, records
from experiments.lib.bars import Bar, bars_of, number
from experiments.lib.experiment import Experiment, summary
from grapin.cli import experiments as commands
from grapin.cli.main import main
from grapin.errors import MissingDependency

ROWS = (
    Bar("half of theirs", 1.0, "s", 2.0, published=2.0),
    Bar("twice theirs", 4.0, "s", 2.0, "a | b", 2.0),
    Bar("nothing beside it", float("nan"), "x"),
)


def rows(*, quick: bool) -> Iterator[Bar]:
    yield from ROWS[:1] if quick else ROWS


SMALL = Experiment(
    name="small", question="Is it small?", measure=rows, source="A paper, Table 1", difference="It is ours."
)


@pytest.fixture(autouse=True)
def _small_experiment_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module in (experiment, records):
        monkeypatch.setattr(module, "names", lambda: ["small"])
    monkeypatch.setattr(records, "find", lambda _name: SMALL)
    monkeypatch.setattr(sys.modules["experiments"], "small", None, raising=False)
    module = type(sys)("experiments.small")
    module.EXPERIMENT = SMALL  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "experiments.small", module)
    (tmp_path / "README.md").write_text(f"before\n{records.BEGIN}\nold\n{records.END}\nafter\n")
    monkeypatch.setattr(records, "ANSWERS", tmp_path / "answers")
    monkeypatch.setattr(records, "README", tmp_path / "README.md")
    monkeypatch.setattr(records, "RECORDS", tmp_path / "records")


def test_a_run_prints_ours_beside_the_published_and_the_ratio_and_says_why_they_differ(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["experiments", "run", "small"]) == 1  # one limit is missed
    printed = capsys.readouterr().out
    assert "2 published, ours 0.5 times" in printed
    assert "Answer: ours is 0.5 to 2 times the published, 1 in the mean of 2; 1 of 2 limits kept" in printed
    assert "Why they differ: It is ours." in printed


def test_every_run_adds_a_line_that_says_all_it_hangs_on(tmp_path: Path) -> None:
    for _ in range(2):
        assert main(["experiments", "run", "small", "--quick", "--out", str(tmp_path / "new" / "er")]) == 0
    lines = (tmp_path / "new" / "er" / "small.jsonl").read_text().splitlines()
    assert len(lines) == 2
    record = json.loads(lines[0])
    assert {"grapin", "commit", "machine", "device", "seed", "configuration", "quick", "when"} <= set(record)
    assert record["bars"][0]["ratio"] == 0.5


def test_a_quick_run_is_no_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiments", "run", "small", "--quick", "--keep"]) == 2
    assert "--keep needs a full run" in capsys.readouterr().err
    record = records.measured(SMALL, quick=True)
    with pytest.raises(ValueError, match="no answer"):
        records.keep(SMALL, record)
    assert not (tmp_path / "answers").exists()


def test_the_pages_hold_every_row_of_the_answers_and_leave_the_text_around_them(tmp_path: Path) -> None:
    assert main(["experiments", "readme"]) == 0
    assert "not yet run in full" in (tmp_path / "README.md").read_text()
    assert main(["experiments", "run", "small", "--keep"]) == 1
    assert main(["experiments", "readme"]) == 0
    readme = (tmp_path / "README.md").read_text()
    assert readme.startswith("before\n")
    assert readme.endswith("after\n")
    assert "Is it small?" in readme
    assert "1 of 2 limits kept" in readme
    page = (tmp_path / "answers" / "small.md").read_text()
    assert "| twice theirs | 4 | 2 | 2 | s | 2 | FAIL | a \\| b |" in page
    assert "A paper, Table 1" in page
    assert "It is ours." in page
    assert not records.rebuild()


def test_pages_and_the_list_tell_the_answer_of_today_not_that_of_the_day_it_was_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["experiments", "run", "small", "--keep"])
    newer = replace(SMALL, answer=lambda bars: f"best {min(bar.figure for bar in bars[:2]):g} s")
    monkeypatch.setattr(records, "find", lambda _name: newer)
    monkeypatch.setattr(sys.modules["experiments.small"], "EXPERIMENT", newer)
    capsys.readouterr()
    assert main(["experiments", "list"]) == 0
    assert "best 1 s" in capsys.readouterr().out
    main(["experiments", "readme"])
    assert "[best 1 s](answers/small.md)" in (tmp_path / "README.md").read_text()
    assert "Best 1 s." in (tmp_path / "answers" / "small.md").read_text()


def test_the_readme_command_draws_figures_again_and_pages_say_what_is_marked_in_them(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    main(["experiments", "run", "small", "--keep"])
    figure = tmp_path / "answers" / "small.svg"
    whole = figure.read_bytes()
    figure.write_text("old")
    assert main(["experiments", "readme"]) == 0
    assert figure.read_bytes() == whole
    page = (tmp_path / "answers" / "small.md").read_text()
    assert "![Figures of the table: ours beside published, with limits](small.svg)" in page


def test_without_the_library_that_draws_figures_are_left_as_they_are_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["experiments", "run", "small", "--keep"])
    (tmp_path / "answers" / "small.svg").write_text("old")
    for module in (drawing, records):
        monkeypatch.setattr(module, "can_draw", lambda: False)
    assert main(["experiments", "readme"]) == 0
    assert (tmp_path / "answers" / "small.svg").read_text() == "old"
    assert "Figures are left as they are" in capsys.readouterr().err


def test_what_stands_beside_ours_is_called_by_its_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = replace(SMALL, rival="moonstone")
    monkeypatch.setattr(records, "find", lambda _name: named)
    monkeypatch.setattr(sys.modules["experiments.small"], "EXPERIMENT", named)
    main(["experiments", "run", "small", "--keep"])
    assert "2 moonstone, ours 0.5 times" in capsys.readouterr().out
    main(["experiments", "readme"])
    page = (tmp_path / "answers" / "small.md").read_text()
    assert "| what | ours | moonstone |" in page
    assert "Moonstone: A paper, Table 1." in page


@pytest.mark.parametrize(("commit", "warned"), [("1a2b+changes", True), ("1a2b", False), (None, False)])
def test_keeping_an_answer_of_code_that_no_commit_has_is_warned_of(
    commit: str | None, warned: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(commands, "commit", lambda: commit)
    main(["experiments", "run", "small"])
    assert not capsys.readouterr().err
    main(["experiments", "run", "small", "--keep"])
    assert ("cannot be traced" in capsys.readouterr().err) == warned


def test_a_record_gives_its_rows_back() -> None:
    record = json.loads(json.dumps(records.measured(SMALL, quick=False), allow_nan=False))
    found = bars_of(record)
    assert found[:2] == list(ROWS[:2])
    assert isnan(found[2].figure)


def test_a_figure_is_the_same_bytes_from_the_same_record(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    drawn = []
    for _ in range(2):
        main(["experiments", "run", "small", "--out", str(tmp_path / "out")])
        drawn.append((tmp_path / "out" / "small.svg").read_bytes())
    assert drawn[0] == drawn[1]
    assert b"half of theirs" in drawn[0]
    assert b"published" in drawn[0]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "smal"], "did you mean 'small'?"),
        (["run"], "name at least one experiment"),
        (["run", "small", "--all"], "name at least one experiment"),
        (["run", "small", "--out", __file__], "is a file"),
        (["lst"], "No such command 'lst'"),
    ],
)
def test_a_mistake_is_answered_with_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["experiments", *arguments]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_an_output_that_cannot_be_written_is_refused_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(records, "measured", None)
    (tmp_path / "small.svg").mkdir()
    for folder in (tmp_path, Path(__file__) / "below"):
        assert main(["experiments", "run", "small", "--out", str(folder)]) == 2
        assert "must be a f" in capsys.readouterr().err


def test_a_damaged_answer_or_page_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "small.json").write_text("{")
    assert main(["experiments", "list"]) == 2
    assert "small.json must be a record" in capsys.readouterr().err
    (tmp_path / "answers" / "small.json").unlink()
    (tmp_path / "README.md").write_text("no table")
    assert main(["experiments", "readme"]) == 2
    assert "README.md must have the lines" in capsys.readouterr().err
    assert (tmp_path / "README.md").read_text() == "no table"


def test_without_a_checkout_one_sentence_says_where_experiments_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(commands, "_CHECKOUT", tmp_path)
    for arguments in (["list"], ["run", "small"], ["readme"]):
        assert main(["experiments", *arguments]) == 2
        assert "experiments come with a checkout" in capsys.readouterr().err


def test_what_lacks_a_library_is_named_and_passed_over_only_among_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lacking(*_: Any, **__: Any) -> Any:
        raise MissingDependency("experiment 'small' needs moonstone: pip install moonstone")

    monkeypatch.setattr(records, "measured", lacking)
    assert main(["experiments", "run", "small"]) == 2
    assert main(["experiments", "run", "--all"]) == 0
    assert capsys.readouterr().err.count("needs moonstone") == 2


def test_on_a_cluster_each_experiment_is_a_task_that_a_worker_can_find(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: dict[str, Any] = {}

    def map_tasks(function: Any, tasks: Any, *, cluster: str, advance: Any) -> list[Any]:
        asked.update(cluster=cluster, tasks=tasks)
        return [pickle.loads(pickle.dumps(function))(task) for task in tasks]

    monkeypatch.setattr(commands, "map_tasks", map_tasks)
    assert main(["experiments", "run", "small", "--quick", "--cluster", "tcp://host:8786"]) == 0
    assert asked == {"cluster": "tcp://host:8786", "tasks": [("small", True)]}
    assert "half of theirs" in capsys.readouterr().out


def test_ctrl_c_ends_a_run_and_writes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(*_: Any, **__: Any) -> Any:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(records, "measured", interrupted)
    assert main(["experiments", "run", "small", "--out", str(tmp_path / "out")]) == 130
    assert not (tmp_path / "out").exists()


@given(st.lists(st.floats(0.01, 100), max_size=5), st.lists(st.booleans(), max_size=5))
def test_a_summary_counts_limits_and_spans_the_ratios(ratios: list[float], kept: list[bool]) -> None:
    bars = [Bar("beside", ratio, published=1.0) for ratio in ratios]
    bars += [Bar("limited", 0.0 if good else 2.0, limit=1.0) for good in kept]
    said = summary(bars)
    assert (f"{sum(kept)} of {len(kept)} limit" in said) == bool(kept)
    assert (" times the published" in said) == bool(ratios)
    assert all(number(end(ratios)) in said for end in (min, max) if ratios)
