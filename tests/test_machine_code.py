"""Machine code is kept for the next process, and nothing that happens to it stops a computation."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

MODULE = """
import gc, warnings
from grapin.compiled import compilations, compiled, kernel


@kernel
def add(number, more):
    return number + more


@compiled
def total(numbers):
    return add(numbers[0], 1) + add(numbers[1], 2) + add(numbers[2], numbers[0])
"""
SCRIPT = """
import numpy as np
from kept import *
{first}
print(total(np.arange(3)), compilations())
{last}
"""
NOWHERE = {
    "HOME": "/dev/null",
    "XDG_CACHE_HOME": "/dev/null/cache",
    "NUMBA_CACHE_LOCATOR_CLASSES": "UserWideCacheLocator",
}
"""A process that can write neither beside the source nor into a folder of its user."""


def run(folder: Path, first: str = "", last: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
    (folder / "kept.py").write_text(MODULE)
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    path = f"{folder}{os.pathsep}{Path(__file__).parents[1]}"
    return subprocess.run(
        [sys.executable, "-c", SCRIPT.format(first=first, last=last)],
        env={**environment, "PYTHONPATH": path, **settings},
        capture_output=True,
        text=True,
        check=False,
    )


def kept(folder: Path) -> list[Path]:
    return sorted((folder / "__pycache__").glob("*.machinecode"))


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    assert run(tmp_path).stdout == "6 2\n"
    assert run(tmp_path).stdout == "6 0\n"
    assert len(kept(tmp_path)) == 1  # what only compiled code calls is part of what calls it


def test_constants_make_no_further_copies_and_python_may_call_what_compiled_code_called(
    tmp_path: Path,
) -> None:
    last = "print(len(add.signatures), add(2, 3), len(add.signatures), add(4, 5), compilations())"
    assert run(tmp_path, last=last).stdout == "6 2\n1 5 1 9 3\n"


@pytest.mark.parametrize("damage", ["emptied", "cut", "garbage", "one bit"])
def test_a_damaged_file_is_made_again(tmp_path: Path, damage: str) -> None:
    run(tmp_path)
    (path,) = kept(tmp_path)
    content = bytearray(path.read_bytes())
    if damage == "one bit":
        content[len(content) // 2] ^= 1
    damaged = {"emptied": b"", "cut": bytes(content[: len(content) // 2]), "garbage": b"\x80\x05" * 99}
    path.write_bytes(damaged.get(damage, bytes(content)))
    again = run(tmp_path)
    assert (again.returncode, again.stdout, again.stderr) == (0, "6 2\n", "")
    assert run(tmp_path).stdout == "6 0\n"


def test_without_a_folder_to_write_it_runs_and_says_once_which_variable_helps(tmp_path: Path) -> None:
    done = run(tmp_path, last="add(2, 3)", **NOWHERE)
    assert (done.returncode, done.stdout) == (0, "6 2\n"), done.stderr
    assert done.stderr.count("NUMBA_CACHE_DIR") == 1
    assert "Traceback" not in done.stderr
    assert not kept(tmp_path)


def test_what_lies_beside_the_source_serves_who_cannot_write_there(tmp_path: Path) -> None:
    run(tmp_path)
    done = run(tmp_path, **NOWHERE)
    assert (done.stdout, done.stderr) == ("6 0\n", "")


def test_a_full_disk_stops_nothing(tmp_path: Path) -> None:
    full = (
        "import pathlib\n"
        "def full(path, content): open(path, 'wb').close(); raise OSError(28, 'No space left on device')\n"
        "pathlib.Path.write_bytes = full"
    )
    done = run(tmp_path, full)
    assert (done.returncode, done.stdout) == (0, "6 2\n"), done.stderr
    assert not list((tmp_path / "__pycache__").glob("*.machinecode*"))


@pytest.mark.parametrize("collecting", [True, False])
def test_garbage_is_collected_as_before_also_after_what_does_not_compile(
    tmp_path: Path, collecting: bool
) -> None:
    first = "gc.enable()" if collecting else "gc.disable()"
    last = "try:\n    add('a', None)\nexcept Exception as error:\n    print(type(error).__name__, gc.isenabled())"
    assert run(tmp_path, first, last).stdout.splitlines()[1] == f"TypingError {collecting}"


def test_every_command_runs_where_nothing_can_be_written(tmp_path: Path) -> None:
    for command in (["doctor"], ["info", "path:10"]):
        done = subprocess.run(
            [sys.executable, "-m", "grapin", *command],
            env={**os.environ, "NUMBA_CACHE_DIR": "/dev/null/none", **NOWHERE},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
    assert done.stderr.count("NUMBA_CACHE_DIR") == 1
    assert len(done.stderr.splitlines()) == 1


def test_after_warming_up_nothing_is_compiled_and_nothing_said(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    grapin = [sys.executable, "-m", "grapin"]

    def out(*command: str) -> tuple[str, str]:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout, done.stderr

    warm = [*grapin, "warm", "--program", "bfs", "--system", "bounded", "--kind", "none"]
    said, _ = out(*warm)
    assert "functions compiled" in said
    assert str(tmp_path) in said
    assert "everything was compiled before" in out(*warm)[0]
    answer = (
        "import grapin; from grapin.compiled import compilations\n"
        "engine = grapin.Engine(grapin.Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3]), grapin.BFS(0), device='cpu')\n"
        "engine.apply(grapin.Batch(delete=[(2, 3)], insert=[(3, 0)]))\n"
        "print(engine.values.tolist(), compilations())"
    )
    assert out(sys.executable, "-c", answer) == ("[0, 1, 1, 2] 0\n", "")
