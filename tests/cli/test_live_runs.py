"""Runs that follow what is still written, and runs that go on from a state."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import Any

import pytest

from grapin.cli.main import main

GRID = ["run", "grid:8:8", "--device", "cpu", "--program", "bfs", "--source", "0"]


def ran(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--json", "-"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_followed_file_is_applied_as_it_is_and_latencies_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("source,target,weight,change\n0,9,5,1\n9,18,2,1\n0,1,,-1\n")
    found = ran(capsys, *GRID, "--follow", str(rows), "--batch-size", "2", "--batches", "2", "--verify")
    assert [(batch["inserted"], batch["deleted"]) for batch in found["batches"]] == [(2, 0), (0, 1)]
    assert found["verified"] is True
    assert set(found["latency"]) == {"p50", "p99", "p99.9", "max"}


def test_a_run_goes_on_from_its_state_and_ends_where_one_run_would_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "state")
    sampled = [*GRID, "--batch-size", "3", "--batches"]
    whole = ran(capsys, *sampled, "6", "--verify")
    assert len(ran(capsys, *sampled, "6", "--state", folder)["batches"]) == 6
    assert main(["state", folder]) == 0
    assert f"{folder}: version 6 of bfs" in capsys.readouterr().out
    again = ran(capsys, *sampled, "6", "--state", folder, "--verify")
    assert (again["batches"], again["graph"]) == ([], whole["graph"])
    assert main([*sampled, "6", "--seed", "1", "--state", folder]) == 2
    assert "--state" in (said := capsys.readouterr().err)
    assert "must be that of the same run" in said
    assert main([*sampled, "6", "--program", "cc", "--source", "auto", "--state", folder]) == 2


def test_a_state_that_is_damaged_is_said_to_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "state"
    ran(capsys, *GRID, "--batches", "2", "--state", str(folder))
    body = bytearray((folder / "snapshot-0.npz").read_bytes())
    body[len(body) // 2] ^= 1
    (folder / "snapshot-0.npz").write_bytes(body)
    assert main(["state", str(folder)]) == 1
    assert "snapshot-0.npz is damaged" in capsys.readouterr().err
    assert main(["state", str(tmp_path)]) == 2


@pytest.mark.parametrize("number", [SIGTERM, SIGKILL])
def test_a_followed_file_is_gone_on_with_behind_the_last_batch_however_the_run_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    rows, folder = tmp_path / "rows.csv", tmp_path / "state"
    rows.write_text("0,9,1\n9,18,1\n")  # weights, as the graph has some
    follow = [*GRID, "--follow", str(rows), "--batch-size", "2", "--state", str(folder)]
    process = subprocess.Popen(
        [sys.executable, "-m", "grapin", *follow],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not versions(folder, capsys):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    if number == SIGTERM:
        assert process.returncode == 143
        assert "terminated after 1 batches" in said
    with rows.open("a") as file:
        file.write("18,27,1\n")
    found = ran(capsys, *follow, "--batches", "1", "--verify")
    assert [batch["inserted"] for batch in found["batches"]] == [1]
    assert found["verified"] is True


def versions(folder: Path, capsys: pytest.CaptureFixture[str]) -> int:
    """Return the version of a state that another process writes to; 0 while there is none."""
    if main(["state", str(folder), "--json", "-"]) != 0:
        return 0
    return int(json.loads(capsys.readouterr().out)["version"])


def test_what_cannot_be_followed_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*GRID, "--follow", str(tmp_path / "none.csv")]) == 2
    assert "No such file" in capsys.readouterr().err
    assert main([*GRID, "--follow", os.devnull, "--batch-seconds", "0"]) == 2
    assert "positive number" in capsys.readouterr().err
