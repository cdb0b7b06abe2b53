"""Machine code on disk is used again only while every source file with compiled code stays as it is."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
import grapin.compiled
grapin.compiled.SOURCES = {sources!r}
import caller
print(caller.answer(), sum(caller.answer.stats.cache_hits.values()))
"""


def run(folder: Path, sources: str) -> tuple[int, int]:
    script = SCRIPT.format(folder=str(folder), sources=sources)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    value, hits = done.stdout.split()
    return int(value), int(hits)


def test_an_edit_in_another_file_is_noticed(tmp_path: Path) -> None:
    callee, caller = tmp_path / "callee.py", tmp_path / "caller.py"
    lines = "from grapin.compiled import compiled\n\n\n@compiled\ndef number():\n    return {}\n"
    callee.write_text(lines.format(1))
    caller.write_text(
        "from callee import number\nfrom grapin.compiled import compiled\n\n\n"
        "@compiled\ndef answer():\n    return number()\n"
    )
    assert run(tmp_path, "one") == (1, 0)
    assert run(tmp_path, "one") == (1, 1)
    callee.write_text(lines.format(2))
    assert run(tmp_path, "two") == (2, 0)


def test_code_compiled_without_checks_of_bounds_does_not_run_where_they_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "reading.py").write_text(
        "import numpy\nfrom grapin.compiled import compiled\n\n\n"
        "@compiled\ndef outside(array):\n    return array[array.size]\n\n\n"
        "try:\n    outside(numpy.ones(8, numpy.int8))\n    print('read')\n"
        "except IndexError:\n    print('refused')\n"
    )

    def said(**settings: str) -> str:
        environment = {name: value for name, value in os.environ.items() if name != "NUMBA_BOUNDSCHECK"}
        command = [sys.executable, str(tmp_path / "reading.py")]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env={**environment, **settings}
        )
        return done.stdout.strip()

    assert said() == "read"
    assert said(NUMBA_BOUNDSCHECK="1") == "refused"
    assert said() == "read"
