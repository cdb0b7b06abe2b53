"""A trace that no run wrote is refused by a sentence, whatever is wrong with it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grapin.cli.main import main

Arrays = dict[str, np.ndarray]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "run.npz"
    asked = ["--batches", "2", "--batch-size", "1", "--device", "cpu"]
    assert main(["run", "path:9", *asked, "--trace", str(path)]) == 0
    return path


def _about(change: Callable[[dict[str, Any]], object]) -> Callable[[Arrays], None]:
    def apply(arrays: Arrays) -> None:
        about = json.loads(bytes(arrays["about"]))
        arrays["about"] = np.frombuffer(json.dumps(change(about) or about).encode(), np.uint8)

    return apply


def _column(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Arrays], None]:
    def apply(arrays: Arrays) -> None:
        arrays[name] = change(arrays[name])

    return apply


DAMAGE: dict[str, Callable[[Arrays], None]] = {
    "no list of what was run": _about(lambda _about: ["sssp"]),
    "no repair": _about(lambda about: about.pop("repair") and None),
    "reads of no phase": _column("reads.phase", lambda column: column + 99),
    "lists of no length": _column("reads.length", lambda column: column.astype(np.int64) - 2**40),
    "endless lists": _column("reads.length", lambda column: column.astype(np.int64) + 2**40),
    "columns of unequal length": _column("reads.start", lambda column: column[:-1]),
    "a column of reals": _column("reads.start", lambda column: column + 0.5),
    "a column of texts": _column("reads.start", lambda column: column.astype(str)),
    "less than no edges": _column("phases.edges", lambda column: column * 0 - 1),
    "a column gone": lambda arrays: arrays.__delitem__("changes.start"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_wrong_content_is_refused(saved: Path, damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    with np.load(saved) as file:
        arrays = dict(file)
    DAMAGE[damage](arrays)
    np.savez_compressed(saved, **arrays)
    _refused(saved, capsys)


@pytest.mark.parametrize("place", range(40, 4000, 397))
def test_a_bit_that_is_turned_is_noticed_or_changes_nothing_of_the_archive(
    saved: Path, place: int, capsys: pytest.CaptureFixture[str]
) -> None:
    data = bytearray(saved.read_bytes())
    data[place % len(data)] ^= 0x10
    saved.write_bytes(data)
    capsys.readouterr()
    assert main(["whatif", str(saved)]) in {0, 2}
    assert capsys.readouterr().err.count("\n") <= 1


def _refused(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["whatif", str(path)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"grapin: {path}: is not a trace, or is damaged")
    assert shown.err.count("\n") == 1
