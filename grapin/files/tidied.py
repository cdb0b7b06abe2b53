"""`Tidied`: rows without comments, empty lines and doubled blanks, for files written in a looser style."""

import re

from grapin.files.layout import BLANKS, Layout
from grapin.files.source import Source
from grapin.files.text import comment_pattern


class Tidied:
    """A source that hands out whole lines, cleaned block by block with no loop over lines."""

    def __init__(self, source: Source, layout: Layout) -> None:
        self._source = source
        self._layout = layout
        self._comments = re.compile(rb"(?m)^" + comment_pattern(layout.prefixes) + rb"(?:\n|\Z)")
        self._carried = b""

    @property
    def closed(self) -> bool:
        """Whether the source underneath is closed."""
        return self._source.closed

    def close(self) -> None:
        """Close the source underneath."""
        self._source.close()

    def read(self, size: int) -> bytes:
        """Return cleaned lines, at most `size` bytes; nothing only at the end of the file."""
        while True:
            fresh = self._source.read(size - len(self._carried))
            block, newline, self._carried = (self._carried + fresh).rpartition(b"\n")
            if not newline:
                block, self._carried = self._carried, b""
            tidy = self._tidy(block + newline)
            if tidy or not fresh:
                return tidy

    def _tidy(self, block: bytes) -> bytes:
        if self._layout.delimiter in BLANKS:
            block = self._single_blanks(block)
        return self._comments.sub(b"", block)

    def _single_blanks(self, block: bytes) -> bytes:
        delimiter = self._layout.delimiter.encode()
        if not self._layout.text_ids or delimiter == b" ":
            block = block.translate(bytes.maketrans(b"\t\r", b"  "))
            while b"  " in block:
                block = block.replace(b"  ", b" ")
            block = block.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ").replace(b" ", delimiter)
        if not self._layout.text_ids:
            block = block.replace(delimiter + b"+", delimiter)
        return block
