"""`Answer`: the values of one program as they are now, and where they came from."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.programs.program import Program
from grapin.validation import check_integer
from grapin.work import Query

NO_PARENT = -1


class Answer:
    """One program's values; arrays are made when asked for and stay as they are when the graph changes."""

    def __init__(self, program: Program, query: Query, check: Callable[[], None] = lambda: None) -> None:
        self.program = program
        self._query = query
        self._check = check
        """Refuses to show values that a repair left behind half done."""

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

    def memory(self) -> dict[str, int]:
        """Return the bytes of vertex state by part."""
        return self._query.memory()
