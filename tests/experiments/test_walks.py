"""No walk through our files gets longer, and what compiled code calls is walked too."""

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.walks import LIMITS, WALKS, Walk, main
from grapin import SSSP, Batch, Graph

ROOT = Path(__file__).resolve().parents[2]


def place(member: type) -> str:
    """Return where something is defined, as walks name files."""
    return str(Path(inspect.getfile(member)).resolve().relative_to(ROOT))


@pytest.fixture(scope="module")
def walks() -> dict[str, dict[str, list[str]]]:
    """Return all walks, counted in a process of their own: here memory is poisoned, which is a walk too."""
    run = subprocess.run(
        [sys.executable, "-m", "experiments.walks", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not run.stderr
    found: dict[str, dict[str, list[str]]] = json.loads(run.stdout)
    return found


@pytest.mark.parametrize("name", WALKS)
def test_no_walk_passes_more_files_than_its_limit(name: str, walks: dict[str, dict[str, list[str]]]) -> None:
    assert len(walks[name]) <= LIMITS[name], "\n".join(walks[name])
    assert all((ROOT / file).is_file() for file in walks[name])


def test_what_only_compiled_code_calls_is_walked_too(walks: dict[str, dict[str, list[str]]]) -> None:
    assert "edge" in walks["SSSP repair"][place(SSSP)]


def test_files_come_in_the_order_of_their_first_call_and_what_does_not_run_is_absent() -> None:
    graph = Graph.from_edges([0, 1], [1, 2])
    files = [*Walk().follow(lambda: graph.apply(Batch(insert=[(2, 0)]))).files]
    assert [file for file in files if file in {place(Batch), place(Graph)}] == [place(Batch), place(Graph)]
    assert place(SSSP) not in files


def test_a_walk_beyond_its_limit_is_printed_and_ends_with_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.walks.WALKS", {"insertion": WALKS["insertion"]})
    monkeypatch.setitem(LIMITS, "insertion", 3)
    assert main([]) == 1
    assert "(at most 3)" in capsys.readouterr().out
