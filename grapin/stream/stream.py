"""`Stream`: batches in order, and the graph that the first of them changes.

Batches from anywhere: a generator function, a queue, a list.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from grapin.batch import Batch
from grapin.edges import EdgeList
from grapin.errors import InvalidArgument, InvalidBatch
from grapin.named import NamedBatch

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
