"""What the reference programs and verifiers need of a graph: its arcs as arrays, and which vertices exist."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from grapin.edges import VertexArray, WeightArray
from grapin.errors import InvalidArgument


class EdgeSource(Protocol):
    """`Graph`, `ReferenceGraph`, `Arcs`, or anything of yours that can list its arcs."""

    @property
    def bound(self) -> int:
        """Vertex ids are below this."""

    def alive(self) -> NDArray[np.bool_]:
        """Return, for each id below `bound`, whether its vertex exists."""

    def edge_arrays(self) -> tuple[VertexArray, VertexArray, WeightArray | None]:
        """Return source, target and weight (None without weights) of every arc."""


@dataclass(frozen=True, eq=False)
class Arcs:
    """An `EdgeSource` made of arrays."""

    source: NDArray[np.integer[Any]]
    target: NDArray[np.integer[Any]]
    weight: NDArray[Any] | None
    bound: int
    existing: NDArray[np.bool_]

    @classmethod
    def of(cls, graph: EdgeSource) -> Self:
        """Read the arcs of a graph once."""
        return cls(*graph.edge_arrays(), bound=graph.bound, existing=graph.alive())

    def alive(self) -> NDArray[np.bool_]:
        """Return which vertices exist."""
        return self.existing

    def edge_arrays(self) -> tuple[Any, Any, Any]:
        """Return source, target and weight."""
        return self.source, self.target, self.weight

    def both_ways(self) -> Self:
        """Return the arcs together with their reverses: reachability regardless of direction."""
        source = np.concatenate([self.source, self.target])
        target = np.concatenate([self.target, self.source])
        weight = None if self.weight is None else np.concatenate([self.weight, self.weight])
        return type(self)(source, target, weight, self.bound, self.existing)

    def check_sources(self, sources: int | Iterable[int]) -> list[int]:
        """Return the sources as a list of existing vertices, or refuse them."""
        listed = [int(vertex) for vertex in np.atleast_1d(np.asarray(_as_sequence(sources), dtype=np.int64))]
        for vertex in listed:
            if not 0 <= vertex < self.bound or not self.existing[vertex]:
                raise InvalidArgument(f"source={vertex} must be a vertex that exists")
        return listed


def _as_sequence(sources: int | Iterable[int]) -> Any:
    return list(sources) if isinstance(sources, Iterable) else sources
