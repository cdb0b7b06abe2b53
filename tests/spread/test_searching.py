"""`grapin check` finds the same failure and shrinks it to the same script wherever streams are tried."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from grapin.cli.main import main
from grapin.errors import WorkersLost
from grapin.testing import Case, Failure, Setup, Weights, find_failure
from grapin.testing import failures as searcher

pytest_plugins = ("running_cluster",)
if TYPE_CHECKING:  # pytest wants to be the first to load its plugins
    from running_cluster import Cluster

HASTY = """
from grapin.reference import device as reference
from grapin.device import Work

name = "hasty"
unavailable = reference.unavailable

def query(program, system, **options):
    return Hasty(reference.query(program, system, **options))

class Hasty:
    def __init__(self, query):
        self._query = query

    def __getattr__(self, attribute):
        return getattr(self._query, attribute)

    def repair(self, snapshot, applied, *, tracing):
        if len(applied.deleted) > 2:
            return Work()
        return self._query.repair(snapshot, applied, tracing=tracing)
"""
LENGTHENING = """
import grapin

class Lengthening(grapin.Monotone):
    name = "lengthening"

    @staticmethod
    def edge(value, weight):
        return value + weight + 1
"""
HIDDEN = Setup("mine.py:Lengthening", "hasty.py")
"""A program and a device that are found in one folder only, where no worker looks."""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the user's files are; and no case is tried in this process when others may do it."""
    (tmp_path / "mine.py").write_text(LENGTHENING)
    (tmp_path / "hasty.py").write_text(HASTY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(searcher, "HEAD_START", 0)


def search(**where: object) -> Failure | None:
    return find_failure(HIDDEN, weights=[Weights("int32", 0, 9)], hubs=False, examples=100, **where)


def test_two_processes_and_a_cluster_whose_worker_is_killed_find_what_one_process_finds(
    two_workers: "Cluster",
) -> None:
    arrived: list[float] = []

    def kill_at_the_first(amount: float) -> None:
        if not arrived:
            two_workers.kill_worker()
        arrived.append(amount)

    alone = search()
    assert alone is not None
    assert alone.examples > searcher.TOGETHER
    assert search(processes=2) == alone
    assert search(cluster=two_workers.address, advance=kill_at_the_first) == alone
    assert arrived


def test_where_no_bug_is_every_stream_is_tried_also_when_a_worker_is_killed(two_workers: "Cluster") -> None:
    arrived: list[float] = []

    def kill_in_the_middle(amount: float) -> None:
        arrived.append(amount)
        if len(arrived) == 2:
            two_workers.kill_worker()

    right = Setup("mine.py:Lengthening", "reference")
    found = find_failure(
        right,
        weights=[Weights("int32", 0, 9)],
        hubs=False,
        examples=60,
        cluster=two_workers.address,
        advance=kill_in_the_middle,
    )
    assert found is None
    assert sum(arrived) == pytest.approx(60)


def test_a_failure_is_found_before_all_streams_are_drawn_and_is_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[Case] = []
    case_of = Case.of

    def noting(*stream: Any, **options: Any) -> Case:
        drawn.append(case_of(*stream, **options))
        return drawn[-1]

    monkeypatch.setattr(Case, "of", noting)
    monkeypatch.setattr(searcher, "ROUND", 0)
    found = search(processes=2)
    assert found is not None
    assert len(drawn) < 100
    assert found == search()


@pytest.mark.parametrize("seconds", [0, 60])
def test_workers_that_are_lost_are_told_of_once(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def lose(*_arguments: object, **_options: object) -> None:
        asked.append(None)
        raise WorkersLost("gone")

    monkeypatch.setattr(searcher, "ROUND", seconds)
    monkeypatch.setattr(searcher, "map_tasks", lose)
    with pytest.raises(WorkersLost, match="gone"):
        search(processes=2)
    assert len(asked) == 1


def test_a_search_that_is_soon_over_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searcher, "HEAD_START", 60)
    monkeypatch.setattr(searcher, "map_tasks", None)
    assert search(processes=2) is not None


def test_the_command_prints_the_same_and_names_the_users_files(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["check", "--program", HIDDEN.program, "--device", HIDDEN.device, "--weights", "0:9", "--no-hubs"]
    shown = []
    for processes in ("1", "2"):
        assert main([*asked, "--examples", "100", "--processes", processes]) == 1
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert 'find_program("mine.py:Lengthening")' in shown[0]
    assert 'device="hasty.py"' in shown[0]
