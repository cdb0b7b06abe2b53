"""The lines of a text file: comments before the rows, a sample of the rows, rows with their line numbers."""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

from grapin.files.rows import Request
from grapin.files.source import Source

LONGEST_ROW = 2**16
"""The longest line that is taken for a row; also how many bytes of rows the layout is told from."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Prefixes = tuple[bytes, ...]
"""What a comment line may begin with."""


@dataclass(frozen=True)
class Survey:
    """The beginning of a text file."""

    comments: list[str]
    lines: list[bytes]
    """The first rows (a header among them, if there is one), without line ends and empty lines."""
    first: int
    """The number of the line where the rows begin."""


def survey(request: Request, prefixes: Prefixes) -> Survey:
    """Look at the comments and first rows of a file; refuse what is no text."""
    with request.open() as source:
        preamble = _skip_preamble(source, prefixes)
        sample = source.read(LONGEST_ROW)
    first = preamble.count(b"\n") + 1
    if b"\0" in sample:
        request.refuse(f"line {first}", "the file must hold text, but holds binary data")
    if len(sample) == LONGEST_ROW:
        sample, newline, _ = sample.rpartition(b"\n")
        if not newline:
            request.refuse(f"line {first}", f"a row must be shorter than {LONGEST_ROW} bytes")
    comments = [line.strip() for line in preamble.decode(errors="replace").splitlines()]
    lines = [line.removesuffix(b"\r") for line in sample.split(b"\n")]
    if any(b"\r" in line for line in lines):
        request.refuse(f"line {first}", "lines must end with a line feed, not with a carriage return alone")
    return Survey([line for line in comments if line], [line for line in lines if line.strip()], first)


def open_rows(request: Request, prefixes: Prefixes, *, header: bool) -> Source:
    """Open a text file at its first row, past comments and header."""
    source = request.open()
    _skip_preamble(source, prefixes)
    if header:
        _, _, rest = source.read(LONGEST_ROW).partition(b"\n")
        source.put_back(rest)
    return source


def numbered_rows(request: Request, prefixes: Prefixes, *, header: bool) -> Iterator[tuple[int, bytes]]:
    """Yield every row with its line number, slowly: for messages, once something is known to be wrong."""
    skip = header
    with request.open() as source, io.BufferedReader(source, 2**20) as lines:
        for number, line in enumerate(lines, 1):
            row = line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
            row = row.rstrip(b"\r\n")
            if not row.strip() or is_comment(row, prefixes):
                continue
            if skip:
                skip = False
                continue
            yield number, row


def line_of(request: Request, prefixes: Prefixes, row: int, *, header: bool) -> str:
    """Name the line of a row, counted from 0."""
    for index, (number, _) in enumerate(numbered_rows(request, prefixes, header=header)):
        if index == row:
            return f"line {number}"
    return "the last line"


def is_comment(line: bytes, prefixes: Prefixes) -> bool:
    """Tell whether a line is a comment."""
    return bool(prefixes) and line.lstrip(b" \t").startswith(prefixes)


def comment_pattern(prefixes: Prefixes) -> bytes:
    """Return a regular expression for one comment or empty line without its line end."""
    starts = b"|".join(re.escape(prefix) for prefix in prefixes)
    return rb"[ \t\r]*(?:(?:" + starts + rb")[^\n]*)?" if prefixes else rb"[ \t\r]*"


def _skip_preamble(source: Source, prefixes: Prefixes) -> bytes:
    """Read past comments and empty lines, and return them."""
    line = comment_pattern(prefixes)
    complete, last = re.compile(rb"(?:" + line + rb"\n)*"), re.compile(line + rb"\Z")
    skipped: list[bytes] = []
    source.put_back(source.read(len(_BYTE_ORDER_MARK)).removeprefix(_BYTE_ORDER_MARK))
    block = b""
    while more := source.read(LONGEST_ROW):
        block += more
        end = complete.match(block).end()  # type: ignore[union-attr]  # the pattern matches the empty string
        skipped.append(block[:end])
        block = block[end:]
        if b"\n" in block or (block and not last.match(block)):
            break
    if last.match(block) and not more:
        skipped.append(block)
    else:
        source.put_back(block)
    return b"".join(skipped)
