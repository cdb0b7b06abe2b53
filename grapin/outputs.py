"""Files that commands write: refused before the work begins if they cannot be, and written whole or not at all."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from errno import EIO
from pathlib import Path

from grapin.errors import InvalidArgument
from grapin.interrupts import held_interrupts
from grapin.spool import STANDARD_INPUT

STANDARD_OUTPUT = "-"


def check_outputs(*files: str | None, printable: str | None = None, keep: Sequence[str | None] = ()) -> None:
    """Refuse before anything is read what would be refused after minutes; None names no file.

    Only what is `printable` may be `-`, for standard output. Files to `keep` are what the command reads: none of them
    may be written over, nor one output by another.
    """
    if STANDARD_OUTPUT in files:
        raise InvalidArgument(
            "file='-' must be the name of a file (./- if that is it): only --json writes to standard output"
        )
    named = [Path(file) for file in (*files, printable) if file is not None and file != STANDARD_OUTPUT]
    taken = {Path(file).resolve() for file in keep if file is not None and file != STANDARD_INPUT}
    for file in named:
        if file.resolve() in taken:
            raise InvalidArgument(
                f"file={str(file)!r} must be another file than those that are read or written"
            )
        taken.add(file.resolve())
        if not file.absolute().parent.is_dir():
            raise InvalidArgument(f"file={str(file)!r} must be in a directory that exists")
        # What is there is replaced, so it must be a file: neither a directory nor a device such as /dev/null.
        replaceable = not file.exists() or (file.is_file() and os.access(file, os.W_OK))
        if not replaceable or not os.access(file.absolute().parent, os.W_OK):
            raise InvalidArgument(f"file={str(file)!r} must be a file that can be written")


def write_whole(file: str, write: Callable[[Path], object]) -> None:
    """Let `write` make the file beside its place, and put it there when it is complete.

    A file of that name stays until then, and if anything fails; what the system refuses is told of the file asked for,
    and so is Ctrl-C.
    """
    path, written = Path(file), False
    # The process in the name keeps two runs apart, and files of the user's own; some writers go by the ending.
    partial = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        write(partial)
        with held_interrupts():  # so that what is said of it is true
            partial.replace(path)
            written = True
    except KeyboardInterrupt as error:
        left = "which stays as it was" if path.exists() else "which is not there"
        raise type(error)(
            f"after {file} was written" if written else f"while {file} was written, {left}"
        ) from error
    except OSError as error:
        raise OSError(error.errno or EIO, error.strerror or str(error), file) from error
    finally:
        with suppress(OSError):
            partial.unlink()
