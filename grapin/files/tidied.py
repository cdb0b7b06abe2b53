"""`Tidied`: rows without comments, empty lines and doubled blanks, for files written in a looser style."""

import re

from grapin.files.layout import Layout
from grapin.files.source import Source
from grapin.files.text import comment_pattern


class Tidied:
    """A source that hands out whole lines, cleaned block by block with no loop over lines."""

    def __init__(self, source: Source, layout: Layout) -> None:
        self._source = source
        self._layout = layout
        self._comments = re.compile(rb"(?m)^" + comment_pattern(layout.prefixes) + rb"(?:\n|\Z)")
        self._signs = re.compile(rb"(?m)(^|" + re.escape(layout.delimiter.encode()) + rb") *\+(?=[0-9.])")
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
        layout = self._layout
        blanks = layout.delimiter == " " or (layout.delimiter == "\t" and not layout.text_ids)
        if blanks:
            block = _single_blanks(block, layout.delimiter.encode())
        # The two expressions are slow, and most blocks need neither.
        if not blanks or any(prefix in block for prefix in layout.prefixes):
            block = self._comments.sub(b"", block)
        if not layout.text_ids and b"+" in block:
            block = self._signs.sub(rb"\1", block)
        return block


def _single_blanks(block: bytes, delimiter: bytes) -> bytes:
    block = block.translate(bytes.maketrans(b"\t\r", b"  "))
    while b"  " in block:
        block = block.replace(b"  ", b" ")
    return block.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ").replace(b" ", delimiter)
