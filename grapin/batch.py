"""`Batch`: one set of mutations, checked whole before anything changes, applied whole or not at all.

What a batch means:

- inserting an edge that exists sets its weight; re-weighting or deleting one that does not exist is counted
  as ignored, or refused by a graph in strict mode;
- the same edge may be named twice only to say the same thing twice: inserting and deleting it, inserting and
  re-weighting it, or giving it two weights is refused;
- deleting a vertex deletes its edges; its index is free for a later `insert_vertices`; a batch that deletes a
  vertex may not insert or re-weight an edge at it, nor insert it again;
- vertices inserted by a batch exist for the edges of that batch;
- order inside a batch has no meaning: edges are kept sorted by source and target;
- in a graph with names, an inserted vertex brings its own (`names`); `NamedBatch` speaks of names alone.

Only what the batch says about itself is checked here; `Graph.apply` checks it against the graph.

Columns of edges: the one form that batches keep, and the several forms that people write.

Whatever the form, ids become int32, weights int32 or float32, rows are sorted, exact repetitions dropped, and
arrays read-only; what cannot be an edge of any graph is refused with `InvalidBatch`.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grapin.edges import MOST_VERTICES, VertexArray, WeightArray, check_exact
from grapin.errors import InvalidBatch
from grapin.tables import arrow_parts

Column = TypeVar("Column", bound=NDArray[Any])
Part = Union["Edges", VertexArray, tuple[Any, ...]]


@dataclass(frozen=True, eq=False)
class Edges:
    """Columns of distinct edges, sorted by source, then target."""

    source: VertexArray
    target: VertexArray
    weight: WeightArray | None = None

    def __len__(self) -> int:
        return len(self.source)

    @property
    def keys(self) -> NDArray[np.int64]:
        """Source and target of each edge in one number, ascending."""
        return edge_keys(self.source, self.target)

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the edges as Python tuples, for messages and tests."""
        columns = [self.source.tolist(), self.target.tolist()]
        if self.weight is not None:
            columns.append(self.weight.tolist())
        return list(zip(*columns, strict=True))


EdgeInput = ArrayLike | Iterable[ArrayLike] | Edges
"""Rows `[(u, v), ...]` or `[(u, v, w), ...]`, an array of such rows, `Edges`, or columns in a tuple.

A tuple always holds columns, `(sources, targets)` or `(sources, targets, weights)`; rows come in a list or
any other iterable.
"""


def edge_keys(source: VertexArray, target: VertexArray) -> NDArray[np.int64]:
    """Pack each edge into one number that sorts by source, then target."""
    return (source.astype(np.int64) << 32) | target


def edge_name(key: Any) -> str:
    """Write a packed edge as people do: `(source, target)`."""
    return f"({int(key) >> 32}, {int(key) & 0xFFFFFFFF})"


def edges_of(name: str, given: EdgeInput, weights: str = "optional") -> Edges:
    """Normalise any accepted form of edges: typed columns, sorted, exact repetitions dropped."""
    source, target, weight = _columns(name, given)
    if weights == "required" and weight is None and len(source):
        raise InvalidBatch(f"{name} must give a weight for each edge: (source, target, weight)")
    if weights == "refused" and weight is not None:
        raise InvalidBatch(f"{name} must hold (source, target) only: an edge is deleted whatever its weight")
    keys = edge_keys(source, target)
    if not (keys[1:] > keys[:-1]).all():
        keys, weight = _sorted_distinct(name, keys, weight)
        source, target = (keys >> 32).astype(np.int32), keys.astype(np.int32)
    return Edges(_frozen(source), _frozen(target), None if weight is None else _frozen(weight))


def _sorted_distinct(
    name: str, keys: NDArray[np.int64], weight: WeightArray | None
) -> tuple[NDArray[np.int64], WeightArray | None]:
    if weight is None:
        keys = np.sort(keys)
        return keys[_first_of_each(keys)], None
    order = np.argsort(keys)
    keys, weight = keys[order], weight[order]
    same = keys[1:] == keys[:-1]
    differs = same & (weight[1:] != weight[:-1])
    if differs.any():
        row = int(np.argmax(differs))
        edge, one, other = edge_name(keys[row]), weight[row], weight[row + 1]
        raise InvalidBatch(f"edge {edge} in {name} must have one weight, not {one} and {other}")
    kept = _first_of_each(keys)
    return keys[kept], weight[kept]


def _first_of_each(ascending: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark where a new value begins; on sorted numbers this is several times as fast as `np.unique`."""
    return np.concatenate(([True], ascending[1:] != ascending[:-1]))


def _columns(name: str, given: EdgeInput) -> tuple[VertexArray, VertexArray, WeightArray | None]:
    if isinstance(given, Edges):
        columns: list[Any] = [given.source, given.target]
        if given.weight is not None:
            columns.append(given.weight)
    elif isinstance(given, tuple) and given:
        columns = _columns_of_tuple(name, given)
    else:
        columns = _columns_of_rows(name, given)
    if len({len(column) for column in columns}) > 1:
        lengths = ", ".join(str(len(column)) for column in columns)
        raise InvalidBatch(f"{name} must have columns of one length, not {lengths}")
    source, target = _vertices(name, columns[0]), _vertices(name, columns[1])
    return source, target, _weights(name, columns[2]) if len(columns) == 3 else None


def _columns_of_tuple(name: str, given: tuple[Any, ...]) -> list[Any]:
    columns = [_array(name, column) for column in given]
    if len(columns) not in {2, 3} or any(column.ndim != 1 for column in columns):
        raise InvalidBatch(
            f"{name} must be a tuple of columns (sources, targets[, weights]), or rows in a list"
        )
    return columns


def _columns_of_rows(name: str, given: Any) -> list[Any]:
    if isinstance(given, np.ndarray):
        return _columns_of_array(name, given)
    try:
        rows = [tuple(row) for row in given]
    except TypeError:
        raise InvalidBatch(f"{name} must be rows (source, target[, weight]), not {given!r:.60}") from None
    if not rows:
        return [[], []]
    if {len(row) for row in rows} not in ({2}, {3}):
        raise InvalidBatch(f"{name} must have rows (source, target) or (source, target, weight), all alike")
    return list(zip(*rows, strict=True))


def _columns_of_array(name: str, given: NDArray[Any]) -> list[Any]:
    if given.ndim == 2 and given.shape[1] in {2, 3}:
        return [*(_whole(given[:, end]) for end in (0, 1)), *given.T[2:]]
    if given.size == 0:
        return [[], []]
    raise InvalidBatch(f"{name} must have shape (n, 2) or (n, 3), not {given.shape}")


def _whole(column: NDArray[Any]) -> NDArray[Any]:
    """Return ids as integers where float weights beside them in one array made them floats."""
    if column.dtype.kind == "f" and (np.abs(column) <= MOST_VERTICES).all() and (column % 1 == 0).all():
        return column.astype(np.int64)
    return column


def distinct_vertices(name: str, given: ArrayLike) -> VertexArray:
    """Return vertices ascending, each once, or refuse what no graph can have."""
    vertices = np.sort(_vertices(name, given))
    return _frozen(vertices[_first_of_each(vertices)] if len(vertices) else vertices)


def _vertices(name: str, given: Any) -> VertexArray:
    array = _array(name, given)
    if array.ndim != 1:
        raise InvalidBatch(f"{name} must hold vertices in one dimension, not {array.ndim}")
    if array.size == 0:
        return np.empty(0, np.int32)
    if array.dtype.kind not in "iu" and not _are_huge(array):
        raise InvalidBatch(f"{name} must hold whole numbers as vertices, not {array.dtype}")
    least, most = array.min(), array.max()
    if least < 0 or most >= MOST_VERTICES:
        culprit = least if least < 0 else most
        raise InvalidBatch(f"vertex {culprit} in {name} must be at least 0 and below {MOST_VERTICES}")
    return array.astype(np.int32)


def _weights(name: str, given: Any) -> WeightArray:
    array = _array(name, given)
    if array.size == 0:
        return np.empty(0, np.float32) if array.dtype.kind == "f" else np.empty(0, np.int32)
    if array.ndim == 1 and _are_huge(array):
        raise InvalidBatch(f"weight {array.max()} in {name} must fit into a 32-bit integer")
    if array.dtype.kind not in "iuf" or array.ndim != 1:
        raise InvalidBatch(f"{name} must have one number as weight of each edge, not {array[0]!r}")
    real = array.dtype.kind == "f"
    bad = ~(np.isfinite(array) & (array >= 0)) if real else array < 0
    if bad.any():
        raise InvalidBatch(f"weight {array[bad][0]} in {name} must be a finite number of at least 0")
    limit = np.finfo(np.float32).max if real else np.iinfo(np.int32).max
    if array.max() > limit:
        raise InvalidBatch(
            f"weight {array.max()} in {name} must fit into a 32-bit {'float' if real else 'integer'}"
        )
    if not real:
        return array.astype(np.int32)
    check_exact(array, name, InvalidBatch)
    # Adding zero makes 0.0 of -0.0, whose bit pattern would order before every other weight.
    return array.astype(np.float32) + np.float32(0)


def _are_huge(array: NDArray[Any]) -> bool:
    """Tell whether these are whole numbers beyond 64 bits: an object array, that can be compared all the same."""
    return array.dtype == object and all(type(one) is int for one in array)


def _array(name: str, given: Any) -> NDArray[Any]:
    try:
        return np.asarray(given)
    except ValueError:
        raise InvalidBatch(f"{name} must hold one number in each place, not sequences of them") from None


def _frozen(column: Column) -> Column:
    column.flags.writeable = False
    return column


__all__ = ["Batch", "EdgeInput", "Edges", "edge_keys"]

LONGEST_REPR = 40
"""A batch of at most this many mutations shows them; a larger one shows how many there are of each kind."""


@dataclass(frozen=True, init=False, eq=False, repr=False, slots=True)
class Batch:
    """Edges to insert, delete and re-weight, vertices to insert and delete; immutable once made.

    >>> batch = Batch(insert=[(0, 1), (1, 2)], delete=[(2, 0)])
    >>> batch.size
    3
    >>> Batch(insert=[(0, 1)], delete=[(0, 1)])
    Traceback (most recent call last):
    grapin.errors.InvalidBatch: edge (0, 1) must not stand in both insert and delete
    """

    insert: Edges
    delete: Edges
    reweight: Edges
    insert_vertices: VertexArray
    delete_vertices: VertexArray
    names: tuple[Any, ...]
    """What `insert_vertices` are called, one name each; none where the graph has no names, or has them already."""

    def __init__(
        self,
        insert: EdgeInput = (),
        delete: EdgeInput = (),
        reweight: EdgeInput = (),
        insert_vertices: ArrayLike = (),
        delete_vertices: ArrayLike = (),
        names: Iterable[Any] = (),
    ) -> None:
        arriving, named = _named_vertices(insert_vertices, names)
        parts = {
            "insert": edges_of("insert", insert),
            "delete": edges_of("delete", delete, weights="refused"),
            "reweight": edges_of("reweight", reweight, weights="required"),
            "insert_vertices": arriving,
            "delete_vertices": distinct_vertices("delete_vertices", delete_vertices),
            "names": named,
        }
        for name, part in parts.items():
            object.__setattr__(self, name, part)
        self._check_edge_conflicts()
        self._check_vertex_conflicts()

    @classmethod
    def from_arrow(
        cls,
        table: Any = None,
        *,
        insert: Any = None,
        delete: Any = None,
        reweight: Any = None,
    ) -> "Batch":
        """Make a batch of tables with the Arrow interface: Polars, pandas, DuckDB, PyArrow ... (see `grapin.tables`).

        Either one `table` with a column `op` (insert, delete, reweight) or `change` (1, -1), without which all its rows
        are insertions, or a table for each kind. Vertices are ids; names make a `NamedBatch.from_arrow`.
        """
        return cls(
            **arrow_parts(table, {"insert": insert, "delete": delete, "reweight": reweight}, named=False)
        )

    @property
    def size(self) -> int:
        """How many mutations this batch holds."""
        return sum(len(part) for name, part in self._parts().items() if name != "names")

    def __repr__(self) -> str:
        parts = {name: part for name, part in self._parts().items() if len(part)}
        if self.size > LONGEST_REPR:
            return f"Batch({', '.join(f'{name}: {len(part)}' for name, part in parts.items())})"
        return f"Batch({', '.join(f'{name}={_listed(part)}' for name, part in parts.items())})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Batch):
            return NotImplemented
        ours, theirs = self._parts().values(), other._parts().values()
        return all(_same(one, two) for one, two in zip(ours, theirs, strict=True))

    __hash__ = None  # type: ignore[assignment]  # equality compares arrays; a batch is no dictionary key

    def __reduce__(self) -> tuple[type["Batch"], tuple[Any, ...]]:
        # Made again from its parts, so that a copy is checked and read-only as well.
        return type(self), tuple(self._parts().values())

    def _parts(self) -> dict[str, Part]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def _check_edge_conflicts(self) -> None:
        for one, other in (("insert", "delete"), ("insert", "reweight"), ("delete", "reweight")):
            ours, theirs = getattr(self, one), getattr(self, other)
            if len(ours) and len(theirs):
                both = np.intersect1d(ours.keys, theirs.keys, assume_unique=True)
                if len(both):
                    raise InvalidBatch(f"edge {edge_name(both[0])} must not stand in both {one} and {other}")

    def _check_vertex_conflicts(self) -> None:
        if not len(self.delete_vertices):
            return
        twice = np.intersect1d(self.insert_vertices, self.delete_vertices, assume_unique=True)
        if len(twice):
            raise InvalidBatch(f"vertex {twice[0]} must not be both inserted and deleted")
        for name in ("insert", "reweight"):
            edges: Edges = getattr(self, name)
            gone = np.isin(edges.source, self.delete_vertices) | np.isin(edges.target, self.delete_vertices)
            if gone.any():
                edge = edge_name(edges.keys[np.argmax(gone)])
                raise InvalidBatch(f"edge {edge} in {name} must not end at a vertex that the batch deletes")


def _named_vertices(vertices: ArrayLike, names: Iterable[Any]) -> tuple[VertexArray, tuple[Any, ...]]:
    """Return the vertices to insert in ascending order, and their names in the same."""
    named = tuple(names)
    arriving = distinct_vertices("insert_vertices", vertices)
    if not named:
        return arriving, ()
    ids = np.asarray(vertices).tolist()
    if len(ids) != len(named):
        raise InvalidBatch(f"names must be one for each of the {len(ids)} insert_vertices, not {len(named)}")
    called: dict[int, Any] = {}
    for vertex, name in zip(ids, named, strict=True):
        if called.setdefault(vertex, name) != name:
            raise InvalidBatch(f"vertex {vertex} must have one name, not {called[vertex]!r} and {name!r}")
    found = tuple(called[vertex] for vertex in arriving.tolist())
    if len(set(found)) < len(found):
        twice = next(name for name, count in Counter(found).items() if count > 1)
        raise InvalidBatch(f"name {twice!r} must be that of one vertex in names")
    return arriving, found


def _listed(part: Part) -> list[Any]:
    return part.rows() if isinstance(part, Edges) else np.asarray(part).tolist()


def _same(one: Part, two: Part) -> bool:
    if not isinstance(one, Edges) or not isinstance(two, Edges):
        return np.array_equal(one, two)  # type: ignore[arg-type]  # both are columns: parts are compared by name
    if (one.weight is None) != (two.weight is None) and len(one):
        return False
    same_weights = one.weight is None or two.weight is None or _same_weights(one.weight, two.weight)
    return np.array_equal(one.keys, two.keys) and same_weights


def _same_weights(one: WeightArray, two: WeightArray) -> bool:
    """Compare type and value: a graph of int32 weights takes 1 and refuses 1.0."""
    return not len(one) or (one.dtype == two.dtype and np.array_equal(one, two))
