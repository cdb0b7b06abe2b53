"""The page about counters lists every kind, and what it shows runs."""

import re
import shlex
from pathlib import Path

import pytest

from grapin.cli.main import main
from grapin.measured import KINDS

PAGE = (Path(__file__).resolve().parents[2] / "docs/counters.md").read_text()


def test_the_page_lists_every_kind_in_the_order_of_the_table() -> None:
    rows = [line.split("|")[1].strip() for line in PAGE.splitlines() if line.startswith("| ")]
    assert rows == ["kind", *KINDS]


def test_its_commands_run_that_need_no_gpu_and_find_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines():
        assert main(shlex.split(line)[1:]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if "counters of the run" in line]
    assert len(rows) > 40
    assert all("none" in row for row in rows)


def test_its_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("scipy")
    for example in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(example, {})
    assert "link.round_trip" in capsys.readouterr().out
