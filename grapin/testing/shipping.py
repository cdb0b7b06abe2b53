"""`Shipped`: a setup with the user's own files in it, for workers that cannot read them where they are."""

from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from grapin.testing.trying import Setup
from grapin.user_code import file_of, is_user_code

_NAMES = ("program", "device")
"""The parts of a setup that may be `FILE.py:NAME`."""


@dataclass(frozen=True)
class Shipped:
    """A setup, and the text of each file that it names, by the part that names it."""

    setup: Setup
    texts: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, setup: Setup) -> "Shipped":
        """Read the files."""
        given = ((name, getattr(setup, name)) for name in _NAMES)
        return cls(setup, tuple((name, file_of(one).read_text()) for name, one in given if is_user_code(one)))

    def unpacked(self) -> Setup:
        """Return the setup with copies of the files, on this computer, in place of the files."""
        names = {}
        for name, text in self.texts:
            given = getattr(self.setup, name)
            path = file_of(given)
            names[name] = f"{_written(path.name, text)}{given.removeprefix(str(path))}"
        return replace(self.setup, **names)


@lru_cache
def _folder() -> "TemporaryDirectory[str]":
    """One for as long as the process lives."""
    return TemporaryDirectory(prefix="grapin-")


@lru_cache
def _written(name: str, text: str) -> Path:
    """Write a file once in a process, so that it is also run and compiled once."""
    folder = Path(_folder().name) / sha256(text.encode()).hexdigest()
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return folder / name
