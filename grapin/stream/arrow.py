"""Batches from record batches: how a consumer of Kafka, an Arrow Flight reader or a table plugs in."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from grapin.batch import Batch
from grapin.errors import InvalidArgument, InvalidBatch
from grapin.named import NamedBatch
from grapin.stream.stream import Stream
from grapin.tables import Mutations, read_mutations, record_batches
from grapin.validation import check_integer, refuse

Made = Batch | NamedBatch


def from_arrow(
    reader: Any,
    *,
    time: str | None = None,
    window: float | None = None,
    size: int | None = None,
    directed: bool = True,
    names: bool = False,
) -> Stream:
    """Make batches of the rows of a table, or of record batches as they come, without waiting for those behind them.

    A row is an insertion, or what its column `op` (insert, delete, reweight) or `change` (1, -1) says. Order has a
    meaning: of several rows on one edge in one batch, the last one counts.

    Args:
        reader: Anything with the Arrow interface (see `grapin.tables`), or an iterator of such. A table can be streamed
            again, a reader only once.
        time: The column of times, in which rows have to be in order. Rows of one time make a batch.
        window: So much time makes a batch, counted from the first row, in the unit of the column; it needs `time`.
        size: So many rows make a batch. Without `time` and `size`, a record batch makes a batch.
        directed: Whether (u, v) and (v, u) are two edges.
        names: Take ids as names, so that new ones become vertices of a graph with labels; text is always a name.
    """
    if window is not None:
        if time is None:
            raise InvalidArgument(
                f"window={window!r} must be left out, or time= must name the column of times"
            )
        if isinstance(window, bool) or not 0 < window < float("inf"):
            refuse("window", window, "be a positive number in the unit of the column of times")
    if size is not None:
        check_integer("size", size, least=1)
        if time is not None:
            raise InvalidArgument("from_arrow must be given one of size= (rows) and time= (a column)")
    return Stream(
        lambda: (_made(rows, directed=directed, names=names) for rows in _cut(reader, time, window, size))
    )


def _made(rows: Mutations, *, directed: bool, names: bool) -> Any:
    """Return the batch of some rows."""
    parts = rows.last_of_each(directed=directed).parts()
    return NamedBatch(**parts) if names or rows.named else Batch(**parts)


def _cut(reader: Any, time: str | None, window: float | None, size: int | None) -> Iterator[Mutations]:
    waiting: Mutations | None = None
    first: Any = None
    for number, part in enumerate(record_batches("reader", reader)):
        rows = read_mutations(f"record batch {number} of the reader", part, time=time)
        if time is None and size is None:
            if len(rows):
                yield rows
            continue
        waiting = rows if waiting is None else waiting.before(rows)
        if not len(waiting):
            continue
        if size is not None:
            ends = range(size, len(waiting) + 1, size)
        else:
            first = _times(waiting, number)[0] if first is None else first
            ends = _ends(_times(waiting, number), first, window)
        begin = 0
        for end in ends:
            yield waiting.rows(slice(begin, end))
            begin = end
        waiting = waiting.rows(slice(begin, None))
    if waiting is not None and len(waiting):
        yield waiting


def _times(rows: Mutations, number: int) -> Any:
    assert rows.time is not None
    if not np.isfinite(rows.time).all():
        raise InvalidBatch(f"record batch {number} of the reader: times must be finite numbers")
    if (rows.time[1:] < rows.time[:-1]).any():
        row = int(np.argmax(rows.time[1:] < rows.time[:-1]))
        raise InvalidBatch(
            f"record batch {number} of the reader: times must be in order, and {rows.time[row + 1]} comes after "
            f"{rows.time[row]}"
        )
    return rows.time


def _ends(times: Any, first: Any, window: float | None) -> Any:
    """Return where batches end that nothing can be added to."""
    steps = times if window is None else np.floor_divide(times - first, window)
    return (np.flatnonzero(steps[1:] != steps[:-1]) + 1).tolist()
