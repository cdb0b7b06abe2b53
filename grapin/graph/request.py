"""What a batch asks of a particular graph: arcs as the store keeps them, refused where they cannot be.

An undirected edge becomes two arcs, weights become the graph's 32-bit patterns, and every end must be a
vertex that exists or that the batch inserts. Nothing is looked up in the lists here.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.batch import Batch, Edges, edge_keys
from grapin.compiled import kernel
from grapin.edges import VertexArray, check_exact
from grapin.errors import GrapinError, InvalidBatch
from grapin.graph.packed import Patterns
from grapin.graph.vertices import VertexChange, VertexSet

_NO_WEIGHTS = np.empty(0, np.int32)


@dataclass(frozen=True, eq=False)
class Arcs:
    """Distinct arcs sorted by source and target, with weights as patterns (length 0 where there are none)."""

    source: VertexArray
    target: VertexArray
    weights: Patterns

    def __post_init__(self) -> None:
        freeze(self.source, self.target, self.weights)

    def __len__(self) -> int:
        return len(self.source)

    @property
    def keys(self) -> NDArray[np.int64]:
        """Source and target of each arc in one number, ascending."""
        return edge_keys(self.source, self.target)


def freeze(*columns: NDArray[Any]) -> None:
    """Forbid writing: to compiled code a column that may be written is of another type, and compiled again."""
    for column in columns:
        column.flags.writeable = False


@dataclass(frozen=True)
class Request:
    """The arcs a batch names, by what is to happen to them."""

    insert: Arcs
    delete: Arcs
    reweight: Arcs


def request(
    batch: Batch, vertices: VertexSet, change: VertexChange, *, directed: bool, dtype: Any
) -> Request:
    """Translate a batch for a graph with these vertices, direction and weights, or raise `InvalidBatch`."""
    if dtype is None and len(batch.reweight):
        raise InvalidBatch("reweight must be empty: the graph has no weights")
    named = {
        name: Arcs(edges.source, edges.target, _batch_patterns(name, edges, dtype))
        for name, edges in (("insert", batch.insert), ("delete", batch.delete), ("reweight", batch.reweight))
    }
    for name, arcs in named.items():
        if len(arcs):
            _check_ends(name, arcs, vertices, change)
    if not directed:
        named = {name: _both_ways(name, arcs) for name, arcs in named.items()}
        _check_conflicts(named)
    return Request(**named)


def patterns(weights: NDArray[Any], dtype: np.dtype[Any], where: str, error: type[GrapinError]) -> Patterns:
    """Return weights as 32-bit patterns of the graph's type, or raise `error` if that would lose digits."""
    if dtype.kind == "i":
        if weights.dtype.kind == "f" and len(weights):
            raise error(f"{where} must have whole numbers as weights: the graph's are {dtype}")
        return np.ascontiguousarray(weights, np.int32)
    check_exact(weights, where, error)
    # Adding zero turns -0.0 into 0.0, which makes equal weights have equal patterns.
    return (weights.astype(np.float32) + np.float32(0)).view(np.int32)


def _batch_patterns(name: str, edges: Edges, dtype: np.dtype[Any] | None) -> Patterns:
    if name == "delete" or not len(edges):
        return _NO_WEIGHTS
    if dtype is None:
        if edges.weight is not None:
            raise InvalidBatch(f"{name} must not give weights: the graph has none")
        return _NO_WEIGHTS
    if edges.weight is None:
        raise InvalidBatch(f"{name} must give a weight for each edge: the graph has weights")
    return patterns(edges.weight, dtype, name, InvalidBatch)


def _check_ends(name: str, arcs: Arcs, vertices: VertexSet, change: VertexChange) -> None:
    place = int(_first_unknown(arcs.source, arcs.target, vertices.alive, change.inserted))
    if place >= 0:
        row, end = divmod(place, 2)
        edge = arcs.source[row], arcs.target[row]
        raise InvalidBatch(
            f"edge ({edge[0]}, {edge[1]}) in {name} must end at vertices that exist or are inserted with it: "
            f"unknown vertex {edge[end]}"
        )


@kernel
def _first_unknown(
    source: VertexArray, target: VertexArray, alive: NDArray[np.bool_], inserted: VertexArray
) -> int:
    """Return twice the first row with an unknown end, plus one if only its target is unknown; -1 if none."""
    for row in range(len(source)):
        if not _is_known(source[row], alive, inserted):
            return 2 * row
        if not _is_known(target[row], alive, inserted):
            return 2 * row + 1
    return -1


@kernel
def _is_known(vertex: int, alive: NDArray[np.bool_], inserted: VertexArray) -> bool:
    if vertex < len(alive) and alive[vertex]:
        return True
    low, high = 0, len(inserted)
    while low < high:
        middle = (low + high) // 2
        if inserted[middle] < vertex:
            low = middle + 1
        else:
            high = middle
    return bool(low < len(inserted) and inserted[low] == vertex)


def _both_ways(name: str, arcs: Arcs) -> Arcs:
    if not len(arcs):
        return arcs
    keys = np.concatenate((arcs.keys, edge_keys(arcs.target, arcs.source)))
    order = np.argsort(keys)
    keys = keys[order]
    fresh = np.concatenate(([True], keys[1:] != keys[:-1]))
    weights = arcs.weights
    if len(weights):
        weights = np.concatenate((weights, weights))[order]
        differs = ~fresh[1:] & (weights[1:] != weights[:-1])
        if differs.any():
            source, target = divmod(int(keys[np.argmax(differs)]), 2**32)
            raise InvalidBatch(
                f"edge ({source}, {target}) in {name} must have one weight in both directions: "
                "the graph is undirected"
            )
        weights = weights[fresh]
    keys = keys[fresh]
    return Arcs((keys >> 32).astype(np.int32), keys.astype(np.int32), weights)


def _check_conflicts(named: dict[str, Arcs]) -> None:
    for one, other in (("insert", "delete"), ("insert", "reweight"), ("delete", "reweight")):
        if len(named[one]) and len(named[other]):
            both = np.intersect1d(named[one].keys, named[other].keys, assume_unique=True)
            if len(both):
                source, target = divmod(int(both[0]), 2**32)
                raise InvalidBatch(
                    f"edge ({source}, {target}) must not stand in both {one} and {other}, in either direction"
                )
