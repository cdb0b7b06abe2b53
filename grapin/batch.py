"""`Batch`: one set of mutations, checked whole before anything changes, applied whole or not at all.

What a batch means:

- inserting an edge that exists sets its weight; re-weighting or deleting one that does not exist is counted as
  ignored, or refused by a graph in strict mode;
- the same edge may be named twice only to say the same thing twice: inserting and deleting it, inserting and
  re-weighting it, or giving it two weights is refused;
- deleting a vertex deletes its edges; its index is free for a later `insert_vertices`; a batch that deletes a
  vertex may not insert or re-weight an edge at it, nor insert it again;
- vertices inserted by a batch exist for the edges of that batch;
- order inside a batch has no meaning: edges are kept sorted by source and target.

Only what the batch says about itself is checked here; `Graph.apply` checks it against the graph.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grapin.edges import MOST_VERTICES, VertexArray, WeightArray
from grapin.errors import InvalidBatch


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


EdgeInput = ArrayLike | Sequence[ArrayLike] | Edges
"""Rows `[(u, v), ...]` or `[(u, v, w), ...]`, a tuple of columns `(sources, targets[, weights])`, or `Edges`."""


def edge_keys(source: VertexArray, target: VertexArray) -> NDArray[np.int64]:
    """Pack each edge into one number that sorts by source, then target."""
    return (source.astype(np.int64) << 32) | target


class Batch:
    """Edges to insert, delete and re-weight, vertices to insert and delete; immutable once made.

    >>> Batch(insert=[(0, 1), (1, 2)], delete=[(2, 0)]).size
    3
    """

    __slots__ = ("delete", "delete_vertices", "insert", "insert_vertices", "reweight")

    insert: Edges
    delete: Edges
    reweight: Edges
    insert_vertices: VertexArray
    delete_vertices: VertexArray

    def __init__(
        self,
        insert: EdgeInput = (),
        delete: EdgeInput = (),
        reweight: EdgeInput = (),
        insert_vertices: ArrayLike = (),
        delete_vertices: ArrayLike = (),
    ) -> None:
        self.insert = _edges("insert", insert)
        self.delete = _edges("delete", delete, weights="refused")
        self.reweight = _edges("reweight", reweight, weights="required")
        self.insert_vertices = np.unique(_vertices("insert_vertices", insert_vertices))
        self.delete_vertices = np.unique(_vertices("delete_vertices", delete_vertices))
        self._check_conflicts()

    @property
    def size(self) -> int:
        """How many mutations this batch holds."""
        edges = len(self.insert) + len(self.delete) + len(self.reweight)
        return edges + len(self.insert_vertices) + len(self.delete_vertices)

    def __repr__(self) -> str:
        parts = [f"{name}={len(getattr(self, name))}" for name in self.__slots__ if len(getattr(self, name))]
        return f"Batch({', '.join(sorted(parts))})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Batch):
            return NotImplemented
        return self._content() == other._content()

    __hash__ = None  # type: ignore[assignment]  # equality compares arrays; a batch is no dictionary key

    def _content(self) -> tuple[object, ...]:
        edges = (self.insert.rows(), self.delete.rows(), self.reweight.rows())
        return (*edges, self.insert_vertices.tolist(), self.delete_vertices.tolist())

    def _check_conflicts(self) -> None:
        named = {"insert": self.insert, "delete": self.delete, "reweight": self.reweight}
        for one, other in (("insert", "delete"), ("insert", "reweight"), ("delete", "reweight")):
            if len(named[one]) and len(named[other]):
                both = np.intersect1d(named[one].keys, named[other].keys, assume_unique=True)
                if len(both):
                    raise InvalidBatch(f"edge {_edge_name(both[0])} must not stand in both {one} and {other}")
        if not len(self.delete_vertices):
            return
        twice = np.intersect1d(self.insert_vertices, self.delete_vertices, assume_unique=True)
        if len(twice):
            raise InvalidBatch(f"vertex {twice[0]} must not be both inserted and deleted")
        for name in ("insert", "reweight"):
            edges = named[name]
            gone = np.isin(edges.source, self.delete_vertices) | np.isin(edges.target, self.delete_vertices)
            if gone.any():
                row = int(np.argmax(gone))
                edge = f"({edges.source[row]}, {edges.target[row]})"
                raise InvalidBatch(f"edge {edge} in {name} must not end at a vertex that the batch deletes")


def _edge_name(key: Any) -> str:
    return f"({int(key) >> 32}, {int(key) & 0xFFFFFFFF})"


def _edges(name: str, given: EdgeInput, weights: str = "optional") -> Edges:
    """Normalise any accepted form of edges: typed columns, sorted, exact repetitions dropped."""
    source, target, weight = _columns(name, given)
    if weights == "required" and weight is None and len(source):
        raise InvalidBatch(f"{name} must give a weight for each edge: (source, target, weight)")
    if weights == "refused" and weight is not None:
        raise InvalidBatch(f"{name} must hold (source, target) only: an edge is deleted whatever its weight")
    keys = edge_keys(source, target)
    if len(keys) > 1 and not (keys[1:] > keys[:-1]).all():
        order = np.argsort(keys)
        keys = keys[order]
        if weight is not None:
            weight = weight[order]
        same = keys[1:] == keys[:-1]
        if same.any():
            if weight is not None and (weight[1:][same] != weight[:-1][same]).any():
                row = int(np.argmax(same & (weight[1:] != weight[:-1])))
                edge = _edge_name(keys[row])
                raise InvalidBatch(
                    f"edge {edge} in {name} must have one weight, not {weight[row]} and {weight[row + 1]}"
                )
            kept = np.concatenate(([True], ~same))
            keys = keys[kept]
            weight = None if weight is None else weight[kept]
        source, target = (keys >> 32).astype(np.int32), keys.astype(np.int32)
    columns = [source, target] if weight is None else [source, target, weight]
    for column in columns:
        column.flags.writeable = False
    return Edges(source, target, weight)


def _columns(name: str, given: EdgeInput) -> tuple[VertexArray, VertexArray, WeightArray | None]:
    if isinstance(given, Edges):
        columns: list[Any] = [given.source, given.target]
        if given.weight is not None:
            columns.append(given.weight)
    elif isinstance(given, tuple) and len(given) in {2, 3} and all(np.ndim(column) == 1 for column in given):
        columns = list(given)
    else:
        columns = _columns_of_rows(name, given)
    if len({len(column) for column in columns}) > 1:
        lengths = ", ".join(str(len(column)) for column in columns)
        raise InvalidBatch(f"{name} must have columns of one length, not {lengths}")
    source, target = _vertices(name, columns[0]), _vertices(name, columns[1])
    return source, target, _weights(name, columns[2]) if len(columns) == 3 else None


def _columns_of_rows(name: str, given: Any) -> list[Any]:
    if isinstance(given, np.ndarray):
        if given.ndim == 2 and given.shape[1] in {2, 3}:
            return list(given.T)
        if given.size == 0:
            return [[], []]
        raise InvalidBatch(f"{name} must have shape (n, 2) or (n, 3), not {given.shape}")
    try:
        rows = [tuple(row) for row in given]
    except TypeError:
        raise InvalidBatch(f"{name} must be rows (source, target[, weight]), not {given!r:.60}") from None
    widths = {len(row) for row in rows}
    if not rows:
        return [[], []]
    if widths not in ({2}, {3}):
        raise InvalidBatch(f"{name} must have rows (source, target) or (source, target, weight), all alike")
    return list(zip(*rows, strict=True))


def _vertices(name: str, given: Any) -> VertexArray:
    array = np.asarray(given)
    if array.ndim != 1:
        raise InvalidBatch(f"{name} must hold vertices in one dimension, not {array.ndim}")
    if array.size == 0:
        return np.empty(0, np.int32)
    if array.dtype.kind not in "iu":
        whole = array.dtype.kind == "f" and bool(np.all(np.isfinite(array) & (array == np.floor(array))))
        # A row array (n, 3) with float weights carries its ids as floats; a lone float column is a mistake.
        if not (whole and array.base is not None and array.base.ndim == 2):
            raise InvalidBatch(f"{name} must hold whole numbers as vertices, not {array.dtype}")
    least, most = array.min(), array.max()
    if least < 0 or most >= MOST_VERTICES:
        culprit = least if least < 0 else most
        raise InvalidBatch(f"vertex {culprit} in {name} must be at least 0 and below {MOST_VERTICES}")
    return array.astype(np.int32)


def _weights(name: str, given: Any) -> WeightArray:
    array = np.asarray(given)
    if array.size == 0:
        return np.empty(0, np.float32) if array.dtype.kind == "f" else np.empty(0, np.int32)
    if array.dtype.kind not in "iuf":
        raise InvalidBatch(f"{name} must have numbers as weights, not {array.dtype}")
    bad = ~np.isfinite(array) | (array < 0) if array.dtype.kind == "f" else array < 0
    if bad.any():
        raise InvalidBatch(f"weight {array[bad][0]} in {name} must be a finite number of at least 0")
    if array.dtype.kind == "f":
        if array.max() > np.finfo(np.float32).max:
            raise InvalidBatch(f"weight {array.max()} in {name} must fit into a 32-bit float")
        return array.astype(np.float32)
    if array.max() > np.iinfo(np.int32).max:
        raise InvalidBatch(f"weight {array.max()} in {name} must fit into a 32-bit integer")
    return array.astype(np.int32)
