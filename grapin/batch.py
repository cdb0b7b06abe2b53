"""`Batch`: one set of mutations, checked whole before anything changes, applied whole or not at all.

What a batch means:

- inserting an edge that exists sets its weight; re-weighting or deleting one that does not exist is counted
  as ignored, or refused by a graph in strict mode;
- the same edge may be named twice only to say the same thing twice: inserting and deleting it, inserting and
  re-weighting it, or giving it two weights is refused;
- deleting a vertex deletes its edges; its index is free for a later `insert_vertices`; a batch that deletes a
  vertex may not insert or re-weight an edge at it, nor insert it again;
- vertices inserted by a batch exist for the edges of that batch;
- order inside a batch has no meaning: edges are kept sorted by source and target.

Only what the batch says about itself is checked here; `Graph.apply` checks it against the graph.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from grapin.columns import EdgeInput, Edges, distinct_vertices, edge_keys, edge_name, edges_of
from grapin.edges import VertexArray, WeightArray
from grapin.errors import InvalidBatch

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

    def __init__(
        self,
        insert: EdgeInput = (),
        delete: EdgeInput = (),
        reweight: EdgeInput = (),
        insert_vertices: ArrayLike = (),
        delete_vertices: ArrayLike = (),
    ) -> None:
        parts = {
            "insert": edges_of("insert", insert),
            "delete": edges_of("delete", delete, weights="refused"),
            "reweight": edges_of("reweight", reweight, weights="required"),
            "insert_vertices": distinct_vertices("insert_vertices", insert_vertices),
            "delete_vertices": distinct_vertices("delete_vertices", delete_vertices),
        }
        for name, part in parts.items():
            object.__setattr__(self, name, part)
        self._check_edge_conflicts()
        self._check_vertex_conflicts()

    @property
    def size(self) -> int:
        """How many mutations this batch holds."""
        return sum(len(part) for part in self._parts().values())

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

    def _parts(self) -> dict[str, Edges | VertexArray]:
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


def _listed(part: Edges | VertexArray) -> list[Any]:
    return part.rows() if isinstance(part, Edges) else part.tolist()


def _same(one: Edges | VertexArray, two: Edges | VertexArray) -> bool:
    if not isinstance(one, Edges) or not isinstance(two, Edges):
        return np.array_equal(one, two)  # type: ignore[arg-type]  # both are arrays: parts are compared by name
    if (one.weight is None) != (two.weight is None) and len(one):
        return False
    same_weights = one.weight is None or two.weight is None or _same_weights(one.weight, two.weight)
    return np.array_equal(one.keys, two.keys) and same_weights


def _same_weights(one: WeightArray, two: WeightArray) -> bool:
    """Compare type and value: a graph of int32 weights takes 1 and refuses 1.0."""
    return not len(one) or (one.dtype == two.dtype and np.array_equal(one, two))
