"""What an engine gives back: an `Answer`, and a `Report` of each batch.

`Answer`: the values of one program as they are now, and where they came from.

`Report`: what one batch did to the graph and to every answer, what was read for it, and how long it took.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.counters import REQUEST_SIZES, Counters
from grapin.device import Query, Work
from grapin.errors import InvalidArgument
from grapin.programs.program import Program
from grapin.validation import check_integer

NO_PARENT = -1


class Answer:
    """One program's values; arrays are made when asked for and stay as they are when the graph changes."""

    def __init__(self, program: Program, query: Query, check: Callable[[], None] = lambda: None) -> None:
        self.program = program
        self._query = query
        self._check = check
        """Refuses to show values that a repair left behind half done, or that are of a graph that is gone."""

    @property
    def values(self) -> NDArray[Any]:
        """The value of each vertex, by id; ids that are free have the value of an unreached vertex."""
        self._check()
        return self._query.values()

    @property
    def parents(self) -> NDArray[np.int32]:
        """The vertex each value came from, by id; -1 where it came from nowhere."""
        self._check()
        return self._query.parents()

    def path(self, vertex: int) -> list[int]:
        """Return the vertices along which the value of a vertex came, the root first; empty if unreached."""
        parents = self.parents
        vertex = check_integer("vertex", vertex, least=0, most=len(parents) - 1)
        if not self._query.reached(vertex):
            return []
        path = [vertex]
        while parents[path[-1]] != NO_PARENT:
            path.append(int(parents[path[-1]]))
        return path[::-1]

    def __reduce_ex__(self, _protocol: Any) -> Any:
        raise InvalidArgument(
            "answer must be read where its engine is, and cannot be copied or pickled: answer.values and "
            "answer.parents are arrays, which can be"
        )

    def memory(self) -> dict[str, int]:
        """Return the bytes of vertex state by part."""
        return self._query.memory()


@dataclass(frozen=True, eq=False)
class QueryReport:
    """What it took to bring one answer up to date."""

    program: str
    work: Work
    seconds: float


@dataclass(frozen=True, eq=False)
class Report:
    """One batch, or the start when `version` is that of the graph the engine was given."""

    version: int
    inserted: int
    deleted: int
    reweighted: int
    ignored: int
    update_seconds: float
    """Time to change the graph."""
    queries: tuple[QueryReport, ...]

    @property
    def compute_seconds(self) -> float:
        """Time to bring all answers up to date."""
        return sum(query.seconds for query in self.queries)

    @property
    def iterations(self) -> int:
        """Rounds in which lists were read, over all answers."""
        return sum(query.work.iterations for query in self.queries)

    @property
    def changed(self) -> int:
        """Vertices whose value is another now, over all answers."""
        return sum(query.work.changed for query in self.queries)

    @property
    def invalidated(self) -> int:
        """Vertices whose value had to be thrown away on the way, over all answers."""
        return sum(query.work.invalidated for query in self.queries)

    @property
    def affected_edges(self) -> int:
        """Out-edges of what changed and in-edges of what got worse, over all answers."""
        return sum(query.work.affected_edges for query in self.queries)

    @property
    def counters(self) -> Counters:
        """What was read, over all answers."""
        return sum((query.work.counters for query in self.queries), Counters())

    @property
    def edges_read(self) -> int:
        """Elements of neighbour lists that were read."""
        return self.counters.edges

    def record(self) -> dict[str, Any]:
        """Return the batch as plain numbers, for a JSON file."""
        counters = self.counters
        return {
            "inserted": self.inserted,
            "deleted": self.deleted,
            "reweighted": self.reweighted,
            "ignored": self.ignored,
            "update_seconds": self.update_seconds,
            "compute_seconds": self.compute_seconds,
            "iterations": self.iterations,
            "changed": self.changed,
            "invalidated": self.invalidated,
            "edges_read": counters.edges,
            "lists_read": counters.lists,
            "affected_edges": self.affected_edges,
            "requests": {str(size): counters.requests[size] for size in REQUEST_SIZES},
            "bytes": counters.bytes,
            "pages": counters.pages,
            "link_bytes": counters.link_bytes,
            "cached_edges": counters.cached_edges,
            "load_bytes": counters.load_bytes,
            "patch_bytes": counters.patch_bytes,
        }
