"""Edges as plain arrays: what files and generators hand out, and what graphs and streams are made from.

An `EdgeList` keeps the rows as they came (order, duplicates, self loops, times, deletions); a `Graph` is a set
of edges. Vertex ids are dense int32 here; `Labels` holds the names they have outside.
"""

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.errors import GrapinError, InvalidArgument, InvalidBatch
from grapin.validation import nearest

MOST_VERTICES = 2**31 - 1
"""Vertex ids are int32, and the largest one stays free to mean 'no vertex'."""

VertexArray = NDArray[np.int32]
WeightArray = NDArray[np.int32] | NDArray[np.float32]

_WHOLE = re.compile("-?(?:0|[1-9][0-9]{0,17})")
"""Text that is the name of a number: as Python writes it, in 64 bits."""
_FEW = 10_000
"""Among so many names the nearest one is looked for."""

COUNTED_BY_FLOATS = 2.0**53
"""From here on every 64-bit float is a whole number, and so none is one that somebody counted."""
_FLOAT32_DIGITS = 2**24
"""An odd number up to here is exact as a 32-bit float, and so are its doubles."""


def lost_in_float32(numbers: Any) -> NDArray[np.bool_]:
    """Tell which numbers of at least 0 are whole and would be others as 32-bit floats.

    Real numbers are rounded there as a matter of course; a count, an amount or an id is another one when it is.
    """
    given = np.atleast_1d(numbers)
    if given.dtype == np.float32 or not given.size:
        return np.zeros(given.shape, np.bool_)
    if given.dtype.kind == "f":
        counted = (given < COUNTED_BY_FLOATS) & (given == np.trunc(given))
        whole = np.where(counted, given, 0).astype(np.uint64)
    elif given.dtype == object:
        return np.array([int(np.float32(one)) != one for one in given.flat], np.bool_).reshape(given.shape)
    else:
        whole = given.astype(np.uint64)
    # Without the zeros that its binary form ends with, a number has the digits that a float must keep.
    lowest = np.maximum(whole & (~whole + np.uint64(1)), np.uint64(1))
    lost: NDArray[np.bool_] = whole // lowest >= _FLOAT32_DIGITS
    return lost


def check_exact(weights: NDArray[Any], where: str, error: type[GrapinError]) -> None:
    """Raise `error` naming the first weight that is whole and would be another one as a 32-bit float."""
    lost = lost_in_float32(weights)
    if lost.any():
        weight = weights[np.argmax(lost)]
        raise error(
            f"weight {weight} in {where} must be exact as a 32-bit float, and would become {int(np.float32(weight))}: "
            "give np.float32 weights to have them rounded"
        )


@dataclass(frozen=True, eq=False)
class Naming:
    """What a batch does to the names, checked and ready to be done."""

    vertices: VertexArray
    """Vertices that get a name, beside `names`."""
    names: list[Any]
    gone: list[int]
    """Vertices that are deleted, and their names with them."""


class Labels:
    """The names vertices have outside: `names[v]` belongs to vertex `v`; they come and go with the vertices.

    >>> labels = Labels(np.array(["ann", "bob"], object))
    >>> labels.vertex("bob"), labels.name(0)
    (1, 'ann')

    Where names are text, the number 5 is looked up as "5", and where they are numbers, "5" as 5; with `exact=True` a
    name is taken as it is, of whatever kind, as NetworkX does.
    """

    def __init__(self, names: NDArray[Any] | None = None, *, exact: bool = False) -> None:
        names = np.empty(0, object) if names is None else names
        # Text of fixed width would cut a longer name off that comes later.
        self._names = names.astype(object) if names.dtype.kind in "US" or exact else names
        self._count = len(names)
        self.exact = exact
        """Whether 5 and "5" are two names."""
        self._vertices: dict[Any, int] | None = None
        """The look-up table, built on first use."""
        self._gone: set[int] = set()
        """Vertices that were deleted: what they were called is no name any more."""
        self._shared = False
        """Whether a copy looks at the same array and table, so that neither may be changed in place."""

    @classmethod
    def of_ids(cls, bound: int) -> "Labels":
        """Return the names of vertices that are called by their ids, for others to come with names of their own."""
        return cls(np.arange(bound, dtype=np.int64))

    @property
    def names(self) -> NDArray[Any]:
        """int64 or object (mostly str) array, one name an id; a deleted vertex is listed with the name it had."""
        return self._names[: self._count]

    def __len__(self) -> int:
        return self._count

    def __contains__(self, name: object) -> bool:
        return self._found(name) is not None

    def name(self, vertex: int) -> Any:
        """Return the outside name of a vertex."""
        if not 0 <= vertex < self._count:
            raise InvalidArgument(f"vertex={vertex} must be below {self._count}: no other has a name")
        return self._names[vertex].item() if self._names.dtype != object else self._names[vertex]

    def vertex(self, name: Any) -> int:
        """Return the vertex with this outside name; the look-up table is built on first use."""
        found = self._found(name)
        if found is None:
            near = (
                nearest(name, map(str, self._table())) if isinstance(name, str) and len(self) < _FEW else ""
            )
            raise InvalidArgument(
                f"vertex={name!r} must be one of the {len(self) - len(self._gone)} names in the graph{near}"
            )
        return found

    def find(self, names: Sequence[Any] | NDArray[Any]) -> VertexArray:
        """Return the vertices with these names, -1 for names that none has."""
        listed = names.tolist() if isinstance(names, np.ndarray) else names
        found = list(map(self._table().get, listed))
        if None in found:
            found = [
                self._table().get(self.spelt(name), -1) if vertex is None else vertex
                for name, vertex in zip(listed, found, strict=True)
            ]
        return np.array(found, np.int32)

    def spelt(self, name: Any) -> Any:
        """Return a name as it is written here: text that is a number where names are numbers, and the reverse."""
        if self.exact:
            return name
        if self._names.dtype == object:
            return str(name) if type(name) is int and self._textual else name
        if type(name) is str and _WHOLE.fullmatch(name):
            return int(name)
        return name.item() if isinstance(name, np.generic) else name

    def copy(self) -> "Labels":
        """Return labels that change independently; nothing is copied until one of them does."""
        other = Labels(self._names, exact=self.exact)
        other._count, other._vertices, other._gone = self._count, self._vertices, self._gone.copy()
        self._shared = other._shared = True
        return other

    def change(
        self, asked: VertexArray, names: Sequence[Any], came: VertexArray, gone: VertexArray
    ) -> Naming:
        """Check what a batch does to the names, or raise `InvalidBatch`; nothing changes.

        Of the vertices `asked` for (with `names` beside them, or none), `came` are new and `gone` are deleted.
        """
        if not len(names):
            for vertex in came.tolist():
                if vertex >= self._count or vertex in self._gone:
                    raise InvalidBatch(
                        f"vertex {vertex} in insert_vertices must have a name, as the graph's other vertices have: "
                        "give names= beside insert_vertices, or use NamedBatch"
                    )
            return Naming(came, [self.name(vertex) for vertex in came.tolist()], gone.tolist())
        fresh, leaving = set(came.tolist()), set(gone.tolist())
        given = {}
        for vertex, name in zip(asked.tolist(), map(self.spelt, names), strict=True):
            holder = self._holder(vertex, name)
            if vertex not in fresh and holder != vertex:
                raise InvalidBatch(
                    f"vertex {vertex} exists as {self.name(vertex)!r} and must not be inserted as {name!r}"
                )
            if holder not in (None, vertex) and holder not in leaving:
                raise InvalidBatch(
                    f"name {name!r} of vertex {vertex} must be left to vertex {holder}, which has it"
                )
            if vertex in fresh:
                given[vertex] = name
        if self._names.dtype != object:
            _check_whole(given.values())
        return Naming(np.fromiter(given, np.int32, len(given)), list(given.values()), gone.tolist())

    def commit(self, naming: Naming) -> None:
        """Make a change that was checked."""
        if not len(naming.vertices) and not naming.gone:
            return
        bound = int(naming.vertices.max(initial=-1)) + 1
        self._own(max(bound, self._count))
        table = self._vertices
        for vertex in naming.gone:
            if vertex < self._count:
                if table is not None:
                    table.pop(self.name(vertex), None)
                self._gone.add(vertex)
        self._gone.update(range(self._count, bound))  # ids that are passed over have no name
        self._count = max(bound, self._count)
        for vertex, name in zip(naming.vertices.tolist(), naming.names, strict=True):
            self._names[vertex] = name
            self._gone.discard(vertex)
            if table is not None:
                table[name] = vertex

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_names": self.names, "_vertices": None, "_shared": False}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._names = np.require(self._names, requirements="W")  # from another process it may be read-only

    @cached_property
    def _textual(self) -> bool:
        """Whether all names are text; decided once, as every change keeps it so."""
        return all(type(name) is str for name in self.names)

    def _holder(self, vertex: int, name: Any) -> int | None:
        """Return which vertex has a name; without the table where it is the one that had it all along."""
        if vertex < self._count and vertex not in self._gone and self.name(vertex) == name:
            return vertex
        return self._table().get(name)

    def _found(self, name: Any) -> int | None:
        if not isinstance(name, Hashable):
            return None
        table = self._table()
        return table.get(name, table.get(self.spelt(name)))

    def _table(self) -> dict[Any, int]:
        if self._vertices is None:
            self._vertices = {
                name: vertex for vertex, name in enumerate(self.names.tolist()) if vertex not in self._gone
            }
        return self._vertices

    def _own(self, bound: int) -> None:
        """Make room for names below `bound`, in an array and a table that nobody else looks at."""
        if bound > len(self._names) or self._shared:
            room = max(bound, 2 * len(self._names) if bound > len(self._names) else bound)
            names = np.zeros(room, self._names.dtype)
            names[: self._count] = self.names
            self._names = names
        if self._shared and self._vertices is not None:
            self._vertices = self._vertices.copy()
        self._shared = False


def _check_whole(names: Iterable[Any]) -> None:
    for name in names:
        if type(name) is not int or not -(2**63) <= name < 2**63:
            raise InvalidBatch(
                f"name {name!r} must be a whole number of 64 bits, as the graph's other names are"
            )


@dataclass(frozen=True, eq=False)
class EdgeList:
    """Rows of source, target and what else the origin had; every array has one entry per row."""

    source: VertexArray
    target: VertexArray
    vertices: int
    """How many vertices there are; every id is below this."""
    weight: WeightArray | None = None
    time: NDArray[np.int64] | NDArray[np.float64] | None = None
    removed: NDArray[np.bool_] | None = None
    """True where the row deletes its edge (KONECT's -1 events); None when every row inserts."""
    directed: bool = True
    labels: Labels | None = None
    """None when the ids in the file were already dense and were kept."""
    origin: str = "arrays"
    """Where the rows came from: a path or a generator's specification."""
    notes: Sequence[str] = field(default=())
    """What was noticed or done on the way in, one sentence each: dropped self loops, merged duplicates ..."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """What the file calls its columns, by their role: {"source": "from", "weight": "km"}; empty where it does not."""

    def __len__(self) -> int:
        return len(self.source)
