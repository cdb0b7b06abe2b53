"""`Source`: the bytes of a file, decompressed, and a clear error when they are damaged."""

import bz2
import gzip
import io
import lzma
import re
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import zstandard

from grapin.errors import InvalidFile
from grapin.progress import Advance

_LONGEST_WINDOW = 2**31
"""What `zstd --long=31` may ask for; memory is taken only as far as a file really uses it."""

_ZSTD_STEP = 2**14
"""Compressed bytes per step: small, because one step of a hostile file may expand 30,000-fold."""

_SIGNATURES = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "bzip2": re.compile(rb"BZh[1-9](?:1AY&SY|\x17\x72\x45\x38\x50\x90)"),
    "xz": re.compile(rb"\xfd7zXZ\x00"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd"),
}
SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
_DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError, zstandard.ZstdError)


def plain_name(path: Path) -> str:
    """Return the file's name in lower case without the suffix of its compression."""
    return (path.stem if path.suffix.lower() in SUFFIXES else path.name).lower()


def compression(path: Path, head: bytes) -> str | None:
    """Tell the compression from the first bytes; a name that promises another one is refused."""
    promised = SUFFIXES.get(path.suffix.lower())
    found = next((kind for kind, signature in _SIGNATURES.items() if signature.match(head)), None)
    if promised is not None and promised != found:
        raise InvalidFile(f"{path} must hold {promised} data, as its name says, but does not")
    return found


class Reader(Protocol):
    """The one method that is needed of a decompressor."""

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes; none at the end."""


class Source(io.RawIOBase):
    """Decompressed bytes, read forwards once; what was read to look ahead can be put back."""

    def __init__(self, path: Path, advance: Advance, content: Path | None = None) -> None:
        """Open the file that is called `path`; its bytes are in `content` if it is not a file itself."""
        super().__init__()
        self.path = path
        self._file = _CountedFile(content or path, advance)
        head = self._file.read(16)
        self._file.seek(0)
        self._kind = compression(path, head)
        self._reader = _reader(self._kind, self._file)
        self._returned = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def readable(self) -> bool:
        """Say yes; the base class says no."""
        return True

    def put_back(self, data: bytes) -> None:
        """Let the next `read` begin with `data`."""
        self._returned = data + self._returned

    def peek(self) -> bytes:
        """Return the next byte, or nothing at the end, without moving on."""
        byte = self.read(1)
        self.put_back(byte)
        return byte

    def read(self, size: int = -1) -> bytes:
        """Return exactly `size` bytes, fewer only at the end of the file; all that is left without a size."""
        parts: list[bytes] = []
        wanted = size if size >= 0 else None
        while wanted is None or wanted > 0:
            part = self._next(2**20 if wanted is None else wanted)
            if not part:
                break
            parts.append(part)
            if wanted is not None:
                wanted -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer`, as buffered readers ask for it."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the file underneath."""
        self._file.close()
        super().close()

    def _next(self, size: int) -> bytes:
        if self._returned:
            part, self._returned = self._returned[:size], self._returned[size:]
            return part
        try:
            return self._reader.read(size)
        except EOFError:
            raise InvalidFile(
                f"{self.path} must be complete, but its {self._kind} data are truncated"
            ) from None
        except _DAMAGE as error:
            what = f"{self._kind} data" if self._kind else "data"
            raise InvalidFile(f"{self.path} must hold readable {what}, but: {error}") from error


class _CountedFile(io.FileIO):
    """A file that reports how much of it has been read."""

    def __init__(self, path: Path, advance: Advance) -> None:
        super().__init__(path)
        self._advance = advance

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(-1 if size is None else size) or b""
        self._advance(len(data))
        return data


class _ZstdReader:
    """Zstandard frames one after the other; unlike the library's own reader it notices a missing end."""

    def __init__(self, file: io.FileIO) -> None:
        self._file = file
        self._context = zstandard.ZstdDecompressor(max_window_size=_LONGEST_WINDOW)
        self._frame = self._context.decompressobj()
        self._inside = False
        self._ready: list[bytes] = []
        self._size = 0

    def read(self, size: int, /) -> bytes:
        while self._size < size:
            step = self._file.read(_ZSTD_STEP)
            if not step:
                break
            self._feed(step)
        if not self._size and self._inside:
            raise EOFError
        data = b"".join(self._ready)
        part, rest = data[:size], data[size:]
        self._ready = [rest] if rest else []
        self._size = len(rest)
        return part

    def _feed(self, step: bytes) -> None:
        while step:
            data = self._frame.decompress(step)
            self._ready.append(data)
            self._size += len(data)
            self._inside = not self._frame.eof
            if self._inside:
                return
            step = self._frame.unused_data
            self._frame = self._context.decompressobj()


def _reader(kind: str | None, file: io.FileIO) -> Reader:
    if kind == "gzip":
        return gzip.GzipFile(fileobj=file)
    if kind == "bzip2":
        return bz2.BZ2File(file)
    if kind == "xz":
        return lzma.LZMAFile(file)
    return _ZstdReader(file) if kind == "zstd" else file
