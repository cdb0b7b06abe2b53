"""What README and docs show is what happens, and what they point to exists."""

import doctest
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from grapin.cli.main import COMMANDS, commands

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = [README, ROOT / "experiments" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", [README, ROOT / "docs" / "interleavings.md"], ids=lambda page: page.stem)
def test_the_examples_of_a_page_give_what_it_says(page: Path) -> None:
    failed, tried = doctest.testfile(
        str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE, verbose=False
    )
    assert tried > 5
    assert not failed


def test_the_readme_lists_every_command() -> None:
    assert set(re.findall(r"^grapin (\w+)", README.read_text(), re.MULTILINE)) == set(COMMANDS)


def test_every_option_of_a_run_that_the_pages_show_exists() -> None:
    run = commands.get_command(None, "run")  # type: ignore[arg-type]  # it is not looked at
    assert run is not None
    known = {option for parameter in run.params for option in parameter.opts}
    for page in PAGES:
        for line in re.findall(r"grapin run (?!GRAPH).*", page.read_text()):
            assert set(re.findall(r"--[a-z-]+", line)) <= known


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert target.startswith("http") or (page.parent / target).exists(), target


def test_the_documented_program_is_the_example_that_is_tested() -> None:
    example = (ROOT / "docs" / "examples" / "most_reliable_path.py").read_text()
    shown = (ROOT / "docs" / "programs.md").read_text()
    assert example[example.index("from grapin") :].strip() in shown


def test_the_figure_is_drawn_from_the_records_of_runs(tmp_path: Path) -> None:
    batches = [
        {"edges_read": read, "affected_edges": bound} for read, bound in ((30, 10), (0, 0), (200, 100))
    ]
    record = {"program": "sssp", "system": "bounded", "graph": {"edges": 1000}, "batches": batches}
    (tmp_path / "run.json").write_text(json.dumps(record))
    figure = tmp_path / "figure.svg"
    script = ROOT / "docs" / "figures" / "edges_read.py"
    subprocess.run([sys.executable, script, figure, tmp_path / "run.json"], check=True)
    drawn = figure.read_text()
    assert drawn.count("<polyline") == 2
    assert "bounded" in drawn
    assert "affected" in drawn
