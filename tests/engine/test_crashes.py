"""After a kill, and after a loss of power, every acknowledged batch is there and answers are the reference's."""

import json
import os
import subprocess
import sys
from ctypes.util import find_library
from pathlib import Path

import pytest
from hypothesis import settings

DEEP = settings().max_examples > 500


def run(tmp_path: Path, what: str, count: int, seed: int) -> dict[str, int]:
    script = Path(__file__).with_name("crashes.py")
    ended = subprocess.run(
        [sys.executable, str(script), what, str(tmp_path), str(count), str(seed)],
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(script.parents[2])},
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    found: dict[str, int] = json.loads(ended.stdout)
    return found


def test_a_kill_at_any_moment_loses_no_acknowledged_batch(tmp_path: Path) -> None:
    found = run(tmp_path, "kills", 1000 if DEEP else 30, 7)
    assert found["kills"] == (1000 if DEEP else 30)
    assert found["unsaved"] < found["kills"] / 2  # most of them met a process that had something to lose
    if DEEP:
        assert found["while writing a snapshot"] > 20
        assert min(found["acknowledged"], found["ahead"]) > 0


@pytest.mark.skipif(
    find_library("sqlite3") is None,
    reason="SQLite's writes can be seen only where it is a library of its own",
)
def test_a_loss_of_power_that_drops_unsynced_writes_loses_no_acknowledged_batch(tmp_path: Path) -> None:
    found = run(tmp_path, "drops", 400 if DEEP else 50, 7)
    assert found["cases"] - found["before anything was acknowledged"] > found["cases"] / 2
