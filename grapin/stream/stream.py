"""`Stream`: batches in order, and the graph that the first of them changes."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from grapin.batch import Batch
from grapin.edges import EdgeList
from grapin.errors import InvalidArgument

if TYPE_CHECKING:
    from grapin.graph import Graph


class Stream:
    """Batches made when they are asked for; iterating anew starts anew.

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
