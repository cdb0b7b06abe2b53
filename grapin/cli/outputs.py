"""Files that commands write: refused before the work begins if they cannot be, and written whole or not at all."""

import os
from collections.abc import Callable
from pathlib import Path

from grapin.errors import InvalidArgument

STANDARD_OUTPUT = "-"


def check_outputs(*files: str | None) -> None:
    """Refuse before anything is read what would be refused after minutes; None and `-` name no file."""
    for file in (Path(file) for file in files if file is not None and file != STANDARD_OUTPUT):
        if not file.absolute().parent.is_dir():
            raise InvalidArgument(f"file={str(file)!r} must be in a directory that exists")
        if file.is_dir() or not os.access(file.absolute().parent, os.W_OK):
            raise InvalidArgument(f"file={str(file)!r} must be a file that can be written")


def write_whole(file: str, write: Callable[[Path], object]) -> None:
    """Let `write` make the file beside its place, and put it there when it is complete."""
    path = Path(file)
    partial = path.with_name(f"{path.stem}.part{path.suffix}")
    try:
        write(partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
