"""Where machine code is kept between processes: one file for each compiled function and signature, beside its source.

A file is named after everything its code depends on: the function, the types it was compiled for, all source files with
compiled code, the processor, the versions and options of Numba. It begins with a digest of the rest, so that a damaged
file is made again and never run. Nothing here may stop a computation: where nothing can be read or written, code is
compiled again.

Files are read from beside the source even where only a folder of the user's can be written: what `grapin warm` left
in an image serves whoever runs it.
"""

import glob
import hashlib
import pickle
import platform
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

_OPTIONS = (
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "DISABLE_INTEL_SVML",
    "EXTEND_VARIABLE_LIFETIMES",
    "LLVM_REFPRUNE_FLAGS",
    "LLVM_REFPRUNE_PASS",
    "LOOP_VECTORIZE",
    "NRT_STATS",
    "OPT",
    "SLP_VECTORIZE",
)
"""Settings of Numba that change the machine code."""
_SUFFIX = ".machinecode"
_DIGEST = hashlib.sha256().digest_size
_DIGITS = 16
"""How many of a digest's go into a name."""


class MachineCode:
    """The kept machine code of one function, asked for by Numba in place of a cache of its own."""

    def __init__(self, function: Any, sources: str) -> None:
        self.name: str = function.__qualname__
        code = function.__code__
        path = Path(code.co_filename)
        # What a closure holds differs between processes, and has no name to be found by.
        self._write: Path | None = None
        self._read: tuple[Path, ...] = ()
        if sources and not function.__closure__ and path.exists():
            self._write, self._read = _folders(function, path)
        name = f"{path.stem}.{self.name}-{code.co_firstlineno}"
        self._base = name.replace("<", "").replace(">", "")
        self._sources = sources[:_DIGITS]
        constants = [each for each in code.co_consts if not hasattr(each, "co_code")]
        self._function = (code.co_code, code.co_names, repr(constants))
        self.entry = True
        """Whether the next code to load or to save can be called from Python."""

    @property
    def cache_path(self) -> str | None:
        """The folder that is written; Numba's statistics show it."""
        return None if self._write is None else str(self._write)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return what was compiled for these types, None when that has to be done."""
        context.refresh()
        for folder in self._read:
            try:
                content = (folder / self._name(signature, context.codegen())).read_bytes()
                if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
                    continue
                found = CompileResult._rebuild(context, *pickle.loads(content[_DIGEST:]))  # noqa: S301, SLF001
            except Exception:  # noqa: BLE001, S112  # there is none, or none that can be read: make it again
                continue
            if found.signature.args == tuple(signature):
                return found
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep what was compiled, and remove what was compiled from other sources."""
        if not self.entry or self._write is None or compiled.lifted or compiled.library.has_dynamic_globals:
            return
        name = self._name(signature, compiled.codegen)
        payload = dumps(compiled._reduce())  # noqa: SLF001
        try:
            _write(self._write / name, payload)
            for old in self._write.glob(f"{glob.escape(self._base)}-*{_SUFFIX}"):
                if not old.name.startswith(f"{self._base}-{self._sources}-"):
                    old.unlink(missing_ok=True)
        except OSError:  # a full disk, say: the code runs, and the next process compiles it again
            self._write = None

    def _name(self, signature: Any, codegen: Any) -> str:
        settings = [(name, getattr(numba.config, name, None)) for name in _OPTIONS]
        versions = platform.python_version(), numba.__version__
        kinds = str(signature), self.entry
        key = repr((kinds, self._function, codegen.magic_tuple(), versions, settings))
        digest = hashlib.sha256(key.encode()).hexdigest()[:_DIGITS]
        return f"{self._base}-{self._sources}-{digest}{_SUFFIX}"


def kept_file(path: Path | None) -> bytes | None:
    """Return what was kept in a file; None when there is none, or it is damaged."""
    try:
        content = b"" if path is None else path.read_bytes()
    except OSError:
        return None
    kept = content[_DIGEST:]
    return kept if content and hashlib.sha256(kept).digest() == content[:_DIGEST] else None


def keep_file(path: Path | None, content: bytes) -> None:
    """Keep something in a file if that can be: whoever finds none makes it again."""
    if path is not None:
        with suppress(OSError):
            _write(path, content)


def _write(path: Path, content: bytes) -> None:
    """Write a file that is there whole or not at all, its digest first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    try:
        temporary.write_bytes(hashlib.sha256(content).digest() + content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def folder_of(function: Any) -> Path | None:
    """Return the folder where what is made for a function's file is kept; None where none can be written."""
    return _folders(function, Path(function.__code__.co_filename))[0]


def _folders(function: Any, path: Path) -> tuple[Path | None, tuple[Path, ...]]:
    """Return the folder to write for functions of a file, and those to read, nearest first."""
    if path not in _known:
        beside, write = path.parent / "__pycache__", None
        with suppress(RuntimeError, OSError):  # none can be written
            write = Path(CompileResultCacheImpl(function).locator.get_cache_path())
        read = () if write is None else (write,)
        # Who says where to keep it means there and nowhere else.
        _known[path] = (
            write,
            read if getattr(numba.config, "CACHE_DIR", "") or beside in read else (*read, beside),
        )
    return _known[path]


_known: dict[Path, tuple[Path | None, tuple[Path, ...]]] = {}
