"""`SearchRecord`: which streams were tried and what came of it, so that a long search goes on where it was stopped.

One JSON object a line and a stretch of streams. A stretch counts only for the program text it was tried with: a search
after any change to Grapin, or to a program or device of the user's own, starts from its first stretch.
"""

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grapin
from grapin.errors import InvalidFile

STRETCH = 500
"""Streams in a stretch: a stopped search loses at most what it takes to try so many."""
_FOLDERS = ("", "kernels", "reference")
"""Where the text is that can change an answer, seen from the package; two are links, which no pattern follows."""


def stretches(examples: int, seed: int) -> Iterator[tuple[int, int]]:
    """Yield the seed of each stretch and how many streams it has."""
    for number, begin in enumerate(range(0, examples, STRETCH)):
        yield seed + number, min(STRETCH, examples - begin)


def digest_of_sources(*names: str) -> str:
    """Return what stands for Grapin's own text and that of the files in names such as `my_program.py:MyClass`."""
    package = Path(grapin.__file__).parent
    paths = {path for folder in _FOLDERS for path in (package / folder).glob("**/*.py")}
    own = {Path(name.rpartition(".py")[0] + ".py") for name in names if ".py" in name}
    digest = hashlib.sha256()
    for path in (*sorted(paths), *sorted(own)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class SearchRecord:
    """A file of stretches, read at first and appended to as they are tried."""

    def __init__(self, file: str) -> None:
        self._path = Path(file)
        self._known: dict[str, int] = {}
        for number, line in enumerate(self._lines(), 1):
            try:
                one = json.loads(line)
                stretch, unanswered, failure = one["stretch"], int(one["unanswered"]), one["failure"]
            except (ValueError, TypeError, KeyError) as error:
                raise InvalidFile(f"{file}, line {number}: must be a record of grapin check") from error
            if failure is None:
                self._known[_key(stretch)] = unanswered

    def unanswered(self, stretch: dict[str, Any]) -> int | None:
        """Return how many streams of a stretch have no answer, None if it is not known to be free of failures."""
        return self._known.get(_key(stretch))

    def add(self, stretch: dict[str, Any], unanswered: int, failure: str | None) -> None:
        """Write down what came of a stretch."""
        when = datetime.now(UTC).isoformat(timespec="seconds")
        line = {"stretch": stretch, "unanswered": unanswered, "failure": failure, "when": when}
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        if failure is None:
            self._known[_key(stretch)] = unanswered

    def _lines(self) -> list[str]:
        if not self._path.exists():
            return []
        text = self._path.read_text()
        if text and not text.endswith("\n"):  # stopped in the midst of a line: that stretch is tried again
            text = text[: text.rfind("\n") + 1]
            self._path.write_text(text)
        return text.splitlines()


def _key(stretch: dict[str, Any]) -> str:
    return json.dumps(stretch, sort_keys=True)
