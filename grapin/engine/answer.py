"""`Answer`: the values of one program as they are now, and where they came from."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grapin.device import Query
from grapin.display import new_figure
from grapin.errors import InvalidArgument
from grapin.graph import Graph
from grapin.programs import ConnectedComponents
from grapin.programs.program import Monotone, Program
from grapin.programs.starting import UNREACHED
from grapin.validation import check_integer, refuse

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NO_PARENT = -1
_BARS = 60
"""Up to so many different values each has a bar of its own; more share them."""
Vertex = int | str
"""A vertex by its id, or by its name as text."""


class Answer:
    """One program's values; arrays are made when asked for and stay as they are when the graph changes."""

    def __init__(
        self,
        program: Program,
        query: Query,
        check: Callable[[], None] = lambda: None,
        graph: Graph | None = None,
        lock: AbstractContextManager[Any] | None = None,
    ) -> None:
        self.program = program
        self._lock = nullcontext() if lock is None else lock
        """Held while a batch is applied, so that another thread reads what is there before it or behind it."""
        self._query = query
        self._check = check
        """Refuses to show values that a repair left behind half done, or that are of a graph that is gone."""
        self._graph = graph
        """The graph whose vertices may be asked for by name."""

    @property
    def values(self) -> NDArray[Any]:
        """The value of each vertex, by id; ids that are free have the value of an unreached vertex."""
        with self._lock:
            self._check()
            return self._query.values()

    @property
    def parents(self) -> NDArray[np.int32]:
        """The vertex each value came from, by id; -1 where it came from nowhere."""
        with self._lock:
            self._check()
            return self._query.parents()

    def value(self, vertex: Vertex) -> Any:
        """Return the value of one vertex, None if it is unreached; a component by name where the vertex was named.

        A vertex is named by text, and by its id otherwise: "17" is a name, also where all names are numbers. For the
        values of many vertices, `values` is quicker: this looks at all of them too.
        """
        with self._lock:
            place = self._place("vertex", vertex)
            if not self._query.reached(place):
                return None
            value = self.values[place].item()
            if isinstance(self.program, ConnectedComponents):
                return self._called([value], vertex)[0]
            return value

    def path(self, vertex: Vertex, to: Vertex | None = None) -> list[Any]:
        """Return the vertices along which the value of a vertex came, the root first; empty if unreached.

        `path("ann", to="bob")` is the end of the way to bob, from ann on, who must be on it. Vertices are listed as the
        last one was asked for: by id, or by name.
        """
        with self._lock:
            return self._path(vertex, to)

    def _path(self, vertex: Vertex, to: Vertex | None) -> list[Any]:
        last = vertex if to is None else to
        way = self._way(self._place("vertex" if to is None else "to", last))
        if to is not None and way:
            begin = self._place("vertex", vertex)
            if begin not in way:
                source = self._called(way[:1], last)[0]
                refuse(
                    "vertex", vertex, f"be on the way to {to!r}, which comes from {source!r} and not past it"
                )
            way = way[way.index(begin) :]
        return self._called(way, last)

    def _way(self, vertex: int) -> list[int]:
        parents = self.parents
        if not self._query.reached(vertex):
            return []
        path = [vertex]
        while parents[path[-1]] != NO_PARENT:
            path.append(int(parents[path[-1]]))
        return path[::-1]

    def _place(self, argument: str, vertex: Vertex) -> int:
        """Return the id of a vertex that is asked for by name or by id."""
        self._check()
        if isinstance(vertex, str):
            if self._graph is None:
                refuse(argument, vertex, "be an id: this answer knows no names")
            return self._graph.vertex(vertex)
        return check_integer(argument, vertex, least=0, most=len(self._query.parents()) - 1)

    def _called(self, vertices: Sequence[int], asked: Vertex) -> list[Any]:
        """Return vertices by name if one was asked for by name."""
        if not isinstance(asked, str) or self._graph is None:
            return list(vertices)
        return [self._graph.name(vertex) for vertex in vertices]

    def close(self) -> None:
        """Refuse to be read from now on, as one that nobody keeps fresh."""
        self._check = _unfollowed

    def __reduce_ex__(self, _protocol: Any) -> Any:
        raise InvalidArgument(
            "answer must be read where its engine is, and cannot be copied or pickled: answer.values and "
            "answer.parents are arrays, which can be"
        )

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table` of all vertices: `vertex` (by name where they have names), `value` and `parent`.

        A vertex that is not reached has no value and no parent. Any library with the Arrow interface takes it:
        `polars.DataFrame(answer.to_arrow())`.
        """
        with self._lock:
            return self._as_table()

    def _as_table(self) -> Any:
        import pyarrow as pa

        values, parents, graph = self.values, self.parents, self._graph
        alive = np.flatnonzero(graph.alive()) if graph is not None else np.arange(len(values))
        columns = {"vertex": alive.astype(np.int32), "value": values[alive], "parent": parents[alive]}
        missing = {"value": self._unreached(columns["value"]), "parent": columns["parent"] == NO_PARENT}
        if graph is not None and graph.labels is not None:
            names = graph.labels.names
            columns |= {"vertex": names[alive], "parent": names[np.maximum(columns["parent"], 0)]}
        return pa.table({name: pa.array(column, mask=missing.get(name)) for name, column in columns.items()})

    def _unreached(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        if not isinstance(self.program, Monotone):
            return np.zeros(len(values), np.bool_)
        nothing = 0 if self.program.better == "larger" else np.inf if values.dtype.kind == "f" else UNREACHED
        return np.asarray(values == nothing)

    def plot(self, axes: Any = None) -> "Figure":
        """Draw how many vertices have which value, into axes of matplotlib or a figure of its own; components by size.

        A component counts once, by how many vertices it has. Vertices that are not reached are told in the title.
        """
        values = self.values if self._graph is None else self.values[self._graph.alive()]
        reached = values[~self._unreached(values)]
        what, count = "value", "vertices"
        if isinstance(self.program, ConnectedComponents):
            reached = np.unique(reached, return_counts=True)[1]
            what, count = "vertices of a component", "components"
        if axes is None:
            axes = new_figure(6, 3.6).subplots()
        few = len(np.unique(reached)) <= _BARS and reached.dtype.kind in "iu"
        if few:
            axes.bar(*np.unique(reached, return_counts=True))
        else:
            axes.hist(reached, bins=_BARS)
        axes.set(
            xlabel=what, ylabel=count, title=f"{self.program.name}: {len(values):,} vertices", yscale="log"
        )
        if len(reached) < len(values) and count == "vertices":
            axes.set_title(f"{self.program.name}: {len(reached):,} of {len(values):,} vertices reached")
        figure: Figure = axes.figure
        return figure

    def memory(self) -> dict[str, int]:
        """Return the bytes of vertex state by part."""
        return self._query.memory()


def _unfollowed() -> None:
    raise InvalidArgument(
        "answer must be one that its engine still follows: engine.follow(program) makes another"
    )
