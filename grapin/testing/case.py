"""`Case`: a start graph and batches in plain rows, which can be cut down row by row and printed as a script."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from grapin.batch import Batch
from grapin.reference.graph import ReferenceGraph

if TYPE_CHECKING:
    from grapin.testing.strategies import MutationStream

Row = tuple[Any, ...]
"""Source and target of an edge, and its weight where there are weights; or one vertex."""
Mutation = tuple[str, Row]
"""Which part of a `Batch` it belongs to, and the row in it."""

_EDGE_PARTS = ("insert", "delete", "reweight")
_VERTEX_PARTS = ("insert_vertices", "delete_vertices")


@dataclass(frozen=True)
class Case:
    """One stream, and from where a program starts on it."""

    directed: bool
    weights: str
    """`none`, `int32` or `float32`."""
    vertices: int
    edges: tuple[Row, ...]
    batches: tuple[tuple[Mutation, ...], ...]
    sources: tuple[int, ...] = (0,)
    threads: int = 1

    @classmethod
    def of(cls, stream: "MutationStream", **options: Any) -> "Case":
        """Write a stream down in rows; of edges that its start repeats, those that the graph keeps."""
        start = stream.reference()
        return cls(
            directed=start.directed,
            weights=start.weights,
            vertices=start.bound,
            edges=_edge_rows(start),
            batches=tuple(mutations_of(batch) for batch in stream.batches),
            **options,
        )

    @property
    def mutations(self) -> int:
        """How many there are in all batches."""
        return sum(len(batch) for batch in self.batches)

    def rows(self) -> list[Row]:
        """Return all edges of the start, then those and the vertices of the batches."""
        return [*self.edges, *(row for batch in self.batches for _, row in batch)]

    def with_rows(self, change: Callable[[Row], Row]) -> "Case":
        """Return the case with another row in place of each, in the order of `rows`."""
        return replace(
            self,
            edges=tuple(map(change, self.edges)),
            batches=tuple(tuple((part, change(row)) for part, row in batch) for batch in self.batches),
        )

    def columns(self) -> list[list[Any]]:
        """Return the edges as columns: source, target and, where there are weights, weight."""
        width = 2 if self.weights == "none" else 3
        return [[row[place] for row in self.edges] for place in range(width)]

    def start(self) -> dict[str, Any]:
        """Return the graph that the stream starts from as the arguments of `Graph.from_edges`."""
        source, target, *weight = self.columns()
        return {
            "source": np.array(source, np.int32),
            "target": np.array(target, np.int32),
            "weight": np.array(weight[0], self.weights) if weight else None,
            "vertices": self.vertices,
            "directed": self.directed,
            "weights": self.weights,
        }


def mutations_of(batch: Batch) -> tuple[Mutation, ...]:
    """Return the mutations of a batch one by one."""
    edges = [(part, tuple(row)) for part in _EDGE_PARTS for row in getattr(batch, part).rows()]
    vertices = [(part, (vertex,)) for part in _VERTEX_PARTS for vertex in getattr(batch, part).tolist()]
    return (*edges, *vertices)


def batch_parts(mutations: Sequence[Mutation]) -> dict[str, list[Any]]:
    """Return the arguments of a `Batch`, without the empty ones."""
    parts: dict[str, list[Any]] = {}
    for part, row in mutations:
        parts.setdefault(part, []).append(row[0] if part in _VERTEX_PARTS else row)
    return parts


def _edge_rows(graph: ReferenceGraph) -> tuple[Row, ...]:
    """Return each edge once, an undirected one from its smaller end."""
    return tuple(
        (*arc, *(() if weight is None else (weight,)))
        for arc, weight in sorted(graph.arcs.items())
        if graph.directed or arc[0] <= arc[1]
    )
