"""What README and docs point to exists, and what they list is all there is."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from grapin.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = [README, ROOT / "experiments" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_readme_lists_every_command() -> None:
    assert re.findall(r"^\| `grapin (\w+)", README.read_text(), re.MULTILINE) == list(COMMANDS)


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
