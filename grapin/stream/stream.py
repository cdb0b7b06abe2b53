"""`Stream`: batches in order, and the graph that the first of them changes.

Batches from anywhere: a generator function, a queue, a list; or record batches, which is how a consumer of Kafka, an
Arrow Flight reader or a table plugs in.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from grapin.batch import Batch
from grapin.edges import EdgeList
from grapin.errors import InvalidArgument, InvalidBatch
from grapin.named import NamedBatch
from grapin.tables import Mutations, read_mutations, record_batches
from grapin.validation import check_integer, refuse

if TYPE_CHECKING:
    from grapin.graph import Graph


class Stream:
    """Batches made when they are asked for; iterating again starts again.

    `len` works where the number of batches is known beforehand: everywhere but for an iterator.
    """

    def __init__(
        self,
        produce: Callable[[], Iterable[Batch]],
        *,
        length: int | None = None,
        start: EdgeList | None = None,
    ) -> None:
        self._produce = produce
        self._length = length
        self.start = start
        """The graph before the first batch; None when the batches change a graph that the caller has."""

    def __iter__(self) -> Iterator[Batch]:
        return iter(self._produce())

    def __len__(self) -> int:
        if self._length is None:
            raise TypeError("a stream from an iterator does not know how many batches will come")
        return self._length

    def first(self, count: int | None) -> "Stream":
        """Return the stream of so many batches from the first one on; of all if `count` is None."""
        if count is None:
            return self
        length = None if self._length is None else min(count, self._length)
        return Stream(lambda: islice(self, count), length=length, start=self.start)

    def graph(self, **options: Any) -> "Graph":
        """Build the graph before the first batch; `options` are those of `Graph.from_edges`."""
        if self.start is None:
            raise InvalidArgument("stream.graph() must be called on a stream that brings its own start")
        from grapin.graph import Graph

        edges = self.start
        given: dict[str, Any] = {
            "vertices": edges.vertices,
            "directed": edges.directed,
            "labels": edges.labels,
        }
        return Graph.from_edges(edges.source, edges.target, edges.weight, **(given | options))


def from_iterator(batches: Iterable[Any]) -> Stream:
    """Take batches as they come, one at a time.

    Each item is a `Batch` or a `NamedBatch`, a tuple of a Batch's arguments in their order (`(insert, delete)`), or a
    mapping of them (`{"insert": [(0, 1)], "insert_vertices": [1]}`). A list can be streamed again, an iterator only
    once.
    """
    length = len(batches) if isinstance(batches, Sized) else None
    return Stream(lambda: _checked(batches), length=length)


def _checked(batches: Iterable[Any]) -> Iterator[Batch]:
    for number, item in enumerate(batches):
        # What an engine or a graph applies, whichever of the two; streams of our own make batches by id.
        yield cast("Batch", item) if isinstance(item, (Batch, NamedBatch)) else _made(number, item)


def _made(number: int, item: Any) -> Batch:
    try:
        if isinstance(item, Mapping):
            return Batch(**item)
        if isinstance(item, tuple):
            return Batch(*item)
    except (InvalidBatch, TypeError) as error:
        raise InvalidBatch(f"batch {number} of the iterator: {error}") from error
    raise InvalidBatch(
        f"batch {number} of the iterator must be a Batch, a tuple or a mapping, not {item!r:.60}"
    )


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
        lambda: (
            batch_of_rows(rows, directed=directed, names=names) for rows in _cut(reader, time, window, size)
        )
    )


def batch_of_rows(rows: Mutations, *, directed: bool, names: bool) -> Any:
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
