"""What the page about testing shows to be put into tests are tests that pass."""

import re
import unittest
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(r"```python\n(.+?)```", (ROOT / "docs" / "testing.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_the_blocks_of_the_page_run_and_their_tests_pass(block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {"__name__": "page"}
    exec(block, names)
    for name in [name for name in names if name.lower().startswith("test")]:
        if isinstance(names[name], type):
            result = unittest.TestResult()
            names[name]("runTest").run(result)
            assert not result.errors + result.failures
            assert result.testsRun == 1
        else:
            names[name]()


def test_the_page_names_everything_there_is_to_import() -> None:
    import grapin.testing

    page = (ROOT / "docs" / "testing.md").read_text()
    steps = {"Counterexample", "Exploration", "Interleaved", "Weak", "atomic", "compare_and_swap", "fence"}
    steps |= {"minimum", "read", "write", "InvalidCase", "check_same_changes", "MutationStream"}
    assert {name for name in grapin.testing.__all__ if f"`{name}`" not in page} <= steps
