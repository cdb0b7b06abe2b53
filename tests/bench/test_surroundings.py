"""A record names the commit that ran, and says when the code was not that commit's."""

import subprocess
from pathlib import Path

import pytest

from grapin.bench import records as machine
from grapin.bench.records import commit


@pytest.fixture
def checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    (tmp_path / "experiments" / "answers").mkdir(parents=True)
    for name in ("code.py", "experiments/answers/a.json", "experiments/README.md", "notes.txt"):
        (tmp_path / name).write_text("before")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    for command in (("init", "-q"), ("add", "."), (*identity, "commit", "-qm", "one")):
        subprocess.run(("git", "-C", str(tmp_path), *command), check=True)
    monkeypatch.setattr(machine, "_CHECKOUT", tmp_path)
    return tmp_path


def changed() -> bool:
    found = commit()
    assert found is not None
    return found.endswith("+changes")


def test_a_clean_checkout_is_its_commit(checkout: Path) -> None:
    assert not changed()
    assert len(commit() or "") == 12


@pytest.mark.parametrize("name", ["experiments/answers/a.json", "experiments/README.md"])
def test_what_runs_write_is_no_change_of_the_code(name: str, checkout: Path) -> None:
    (checkout / name).write_text("after")
    (checkout / "experiments" / "answers" / "b.json").write_text("new")
    (checkout / "records").mkdir()
    (checkout / "records" / "b.jsonl").write_text("new")
    assert not changed()


@pytest.mark.parametrize("name", ["code.py", "new.py", "notes.txt"])
def test_changed_files_and_new_code_are_a_change(name: str, checkout: Path) -> None:
    (checkout / name).write_text("after")
    assert changed()


def test_outside_a_checkout_there_is_no_commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "_CHECKOUT", tmp_path)
    assert commit() is None
