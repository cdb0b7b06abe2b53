"""What can be read only once: standard input and pipes, kept in a temporary file for as long as somebody reads it.

Readers look at the beginning of a file, then read it, and once more to name the line of an error; archives are read
from their end. A pipe allows neither.
"""

import os
import select
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from tempfile import NamedTemporaryFile, gettempdir
from typing import IO

from grapin.errors import InvalidFile
from grapin.progress import progress

STANDARD_INPUT = "-"
"""What names standard input where a file is read; a file of that name is `./-`."""

_SAME = (STANDARD_INPUT, "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
_BLOCK = 2**20
_STEP = 0.1
"""Seconds."""

Named = str | os.PathLike[str]
_kept: ContextVar[tuple[ExitStack, dict[str, Path]] | None] = ContextVar("kept", default=None)


def is_standard_input(path: Named) -> bool:
    """Tell whether a name stands for standard input; a path that is no text never does."""
    return isinstance(path, str) and path in _SAME


def shown_name(path: Named) -> str:
    """Return what a source is called in sentences."""
    return "standard input" if path == STANDARD_INPUT else str(path)


@contextmanager
def readable(path: Named) -> Iterator[Path]:
    """Yield a file with these bytes that can be opened again and again: itself, or what was kept of a pipe."""
    if not _flows(path):
        yield Path(path)
        return
    kept = _kept.get()
    with ExitStack() as block:
        stack, files = (block, {}) if kept is None else kept
        name = STANDARD_INPUT if is_standard_input(path) else str(path)
        if name not in files:
            files[name] = stack.enter_context(_spooled(path))
        yield files[name]


@contextmanager
def kept_spools() -> Iterator[None]:
    """Keep what was read of a pipe until the block ends, so that all of it can read the pipe as often as a file."""
    with ExitStack() as stack:
        before = _kept.set((stack, {}))
        try:
            yield
        finally:
            _kept.reset(before)


def _flows(path: Named) -> bool:
    if is_standard_input(path):
        return True
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - takes what Path refuses, such as a name with a zero in it
    except (OSError, ValueError):
        return False  # who opens it says why
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


@contextmanager
def _spooled(path: Named) -> Iterator[Path]:
    name = shown_name(path)
    with NamedTemporaryFile(prefix="grapin-") as file:
        with progress(f"Reading {name}"), _opened(path) as source:
            while block := _read(source, name):
                _write(file, block, name)
        yield Path(file.name)


def _opened(path: Named) -> AbstractContextManager[IO[bytes]]:
    if is_standard_input(path):
        if sys.stdin is None:  # the shell has closed it
            raise InvalidFile(f"{shown_name(path)} must be open to be read")
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise InvalidFile(f"{path} must be readable, but: {error}") from None


def _read(source: IO[bytes], name: str) -> bytes:
    read: Callable[[int], bytes] = getattr(source, "read1", source.read)  # what is there, not all that fits
    try:
        _wait(source)
        return read(_BLOCK)
    except (OSError, ValueError) as error:
        raise InvalidFile(f"{name} must be readable, but: {error}") from None


def _wait(source: IO[bytes]) -> None:
    """Wait for data in short steps: a signal that comes just before a read that blocks is heard only behind it."""
    try:
        descriptor = source.fileno()
    except (OSError, ValueError):
        return  # no file of the system's, or a closed one, of which the read says what is wrong
    while not select.select([descriptor], [], [], _STEP)[0]:
        pass


def _write(file: IO[bytes], block: bytes, name: str) -> None:
    try:
        file.write(block)
        file.flush()
    except OSError as error:
        raise InvalidFile(
            f"{name} must fit into {gettempdir()}, where it is kept while it is read, but: {error.strerror}; "
            "the variable TMPDIR names another folder"
        ) from None
