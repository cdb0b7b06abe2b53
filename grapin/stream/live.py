"""`Live`: batches of rows as they come, from a pipe, a file that grows, or a consumer's iterator of Arrow tables.

A thread reads and parses, so that rows are stamped when they arrive and not when somebody has time for them. A batch
ends with so many rows or so much time after its first, whichever comes first. Where rows come faster than batches are
applied, the thread stops reading at a limit, and whoever writes to the pipe waits.
"""

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from grapin.batch import Batch
from grapin.errors import InvalidFile
from grapin.named import NamedBatch
from grapin.spool import is_standard_input, shown_name
from grapin.stream.stream import batch_of_rows
from grapin.tables import Mutations, read_mutations, record_batches, roles_of_names
from grapin.validation import check_integer, refuse

CHUNK = 1 << 20
"""Bytes that are read at once, at most."""
POLL, LOOK = 0.002, 0.1
"""Seconds between two looks at a file that has not grown, and between two looks whether somebody said stop."""
WAITING = 16
"""So many full batches may wait before reading stops."""
_COLUMNS, _PLAIN = ("source", "target", "weight", "change"), ("source", "target", "change")
"""What the columns of a text are that begins with no line of names, with weights and without."""


class Arrived(NamedTuple):
    """A batch, when its first row arrived (`time.perf_counter`), and where it ends in what it came from."""

    batch: Batch | NamedBatch
    when: float | None
    mark: str | None


class _Part(NamedTuple):
    rows: Mutations
    when: float
    end: int


class Live:
    """Batches from what is still being written; it ends with its origin, or when `stop` is called.

    Args:
        origin: A file that grows, `-` for standard input, or an iterator of tables with the Arrow interface, which is
            how the consumer of a message queue plugs in.
        size: A batch has at most so many rows ...
        seconds: ... and waits for them at most so long after its first.
        begin: Where to begin in a file: the offset that the last batch's mark says.
        columns: What the columns of a text are, such as "source,target,op"; otherwise its first line names them, or
            they are source, target, weight if `weighted`, and change (1 or -1), as many as there are.
        weighted: Whether the graph has weights.
        directed: Whether (u, v) and (v, u) are two edges.
        names: Take ids as names, so that new ones become vertices of a graph with labels.
        until: Asked now and then; the stream ends behind the batch that is being applied when it says True.
    """

    def __init__(
        self,
        origin: Any,
        *,
        size: int = 1000,
        seconds: float = 0.01,
        begin: int = 0,
        columns: str | None = None,
        weighted: bool = True,
        directed: bool = True,
        names: bool = False,
        until: Callable[[], bool] = lambda: False,
    ) -> None:
        self.size = check_integer("size", size, least=1)
        if isinstance(seconds, bool) or not 0 < seconds < float("inf"):
            refuse("seconds", seconds, "be a positive number: how long a batch may wait for more rows")
        self.seconds = seconds
        self._making: dict[str, bool] = {"directed": directed, "names": names}
        self._until = until
        self._stop = False
        self._text = (
            _Text(str(origin), columns, self, weighted=weighted) if isinstance(origin, (str, Path)) else None
        )
        self._parts = self._tables(origin) if self._text is None else self._text.parts()
        self._queue: deque[_Part] = deque()
        self._waiting = 0
        self._ended = False
        self._failure: BaseException | None = None
        self._changed = threading.Condition()
        self.begin(begin)

    def stop(self) -> None:
        """End the stream behind the batch that is being applied; a signal's handler may call it too."""
        self._stop = True  # noticed within a moment: whoever waits looks again and again

    @property
    def stopped(self) -> bool:
        """Whether the stream was told to end."""
        return self._stop or self._until()

    def begin(self, offset: int) -> None:
        """Begin at a place in a file that a mark says, before anything was read."""
        if self._text is not None and offset:
            self._text.begin(offset)

    def __iter__(self) -> Iterator[Arrived]:
        """Yield batches as they fill, or as their time is up."""
        reader = threading.Thread(target=self._read, name="grapin-live", daemon=True)
        reader.start()
        try:
            while (taken := self._take()) is not None:
                rows, when, end = taken
                yield Arrived(batch_of_rows(rows, **self._making), when, str(end))
        finally:
            self.stop()  # whoever takes no more batches needs no reader either
        if self._failure is not None:
            raise self._failure

    def _tables(self, origin: Any) -> Iterator[_Part]:
        """Yield the tables of an iterator, numbered from 1: a mark says how many were applied to their last row."""
        for number, table in enumerate(record_batches("origin", origin), 1):
            yield _Part(read_mutations(f"table {number} of the stream", table), time.perf_counter(), number)

    def _read(self) -> None:
        try:
            for part in self._parts:
                with self._changed:
                    while self._waiting >= WAITING * self.size and not self.stopped:
                        self._changed.wait(POLL)
                    if self.stopped:
                        return
                    if len(part.rows):
                        self._queue.append(part)
                        self._waiting += len(part.rows)
                        self._changed.notify_all()
        except BaseException as error:  # noqa: BLE001 - it is raised where batches are taken
            self._failure = error
        finally:
            if self._text is not None:
                self._text.close()
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _take(self) -> _Part | None:
        """Return the rows of one batch, None where there will be no more."""
        with self._changed:
            while not self.stopped:
                left = self._queue[0].when + self.seconds - time.perf_counter() if self._queue else 0.0
                if self._queue and (left <= 0 or self._ended or self._waiting >= self.size):
                    return self._joined()
                if self._ended:
                    break
                self._changed.wait(left if self._queue else LOOK)
        return None

    def _joined(self) -> _Part:
        """Return the parts that wait, as many as fit into a batch."""
        rows, when, end = self._queue.popleft()
        while self._queue and len(rows) + len(self._queue[0].rows) <= self.size:
            more = self._queue.popleft()
            rows, end = rows.before(more.rows), more.end
        self._waiting -= len(rows)
        self._changed.notify_all()
        return _Part(rows, when, end)


class _Text:
    """Rows of text, separated by commas, semicolons, tabs or blanks, in a file that grows or a pipe."""

    def __init__(self, origin: str, columns: str | None, live: Live, *, weighted: bool) -> None:
        self._name = shown_name(origin)
        self._live = live
        self._names = None if columns is None else [name.strip() for name in columns.split(",")]
        self._weighted = weighted
        self._delimiter = ","
        self._pipe = is_standard_input(origin)
        try:
            # Without a buffer, which would read on behind the place that is gone on from. Closed when reading ends.
            self._file = sys.stdin.buffer if self._pipe else Path(origin).open("rb", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise InvalidFile(f"{origin}: {error.strerror}") from None
        self._offset = 0

    def begin(self, offset: int) -> None:
        """Go on behind rows that were read before; standard input has nothing else."""
        if not self._pipe:
            self._read_head(self._file.readline())
            self._offset = self._file.seek(offset)

    def close(self) -> None:
        """Let go of the file."""
        if not self._pipe:
            self._file.close()

    def parts(self) -> Iterator[_Part]:
        """Yield whole lines as they come, at most as many as a batch has in one part."""
        for block, when in self._blocks():
            lines = block.splitlines(keepends=True)
            if self._offset == 0:
                head = self._read_head(lines[0])
                self._offset += len(b"".join(lines[:head]))
                lines = lines[head:]
            for first in range(0, len(lines), self._live.size):
                piece = b"".join(lines[first : first + self._live.size])
                self._offset += len(piece)
                yield _Part(self._parsed(piece), when, self._offset)

    def _blocks(self) -> Iterator[tuple[bytes, float]]:
        """Yield what was written since the last look, up to the end of its last line, and when it was found."""
        begun, descriptor = b"", self._file.fileno()
        while not self._live.stopped:
            found = os.read(descriptor, CHUNK)
            when = time.perf_counter()
            if not found:
                if self._pipe:
                    break
                if os.fstat(descriptor).st_size < self._offset:
                    raise InvalidFile(
                        f"{self._name} must only grow, and became shorter than what was read of it"
                    )
                time.sleep(POLL)
                continue
            whole, newline, rest = (begun + found).rpartition(b"\n")
            begun = rest
            if newline:
                yield whole + newline, when
        if begun.strip() and self._pipe:
            yield begun, time.perf_counter()

    def _read_head(self, line: bytes) -> int:
        """Learn from the first line how columns are separated and called; return how many lines that took."""
        text = line.decode("utf-8", "replace").strip()
        self._delimiter = next((mark for mark in ",;\t" if mark in text), " ")
        words = [word.strip() for word in text.split(self._delimiter)]
        named = roles_of_names(words) is not None
        if self._names is None:
            known = _COLUMNS if self._weighted or len(words) > len(_PLAIN) else _PLAIN
            self._names = words if named else list(known[: len(words)])
        if len(self._names) != len(words):
            raise InvalidFile(
                f"{self._name} must have columns {', '.join(self._names)} in every row, not {text!r:.60}"
            )
        return int(named)

    def _parsed(self, piece: bytes) -> Mutations:
        import pyarrow as pa
        from pyarrow import csv

        try:
            table = csv.read_csv(
                pa.BufferReader(piece),
                csv.ReadOptions(column_names=self._names, use_threads=False),
                csv.ParseOptions(delimiter=self._delimiter),
            )
        except pa.ArrowException as error:
            raise InvalidFile(f"{self._name}, before byte {self._offset}: {error}") from None
        return read_mutations(f"{self._name}, the rows that end at byte {self._offset}", table)
