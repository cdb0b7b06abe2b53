"""`ReferenceGraph`: the meaning of a graph and of a batch, written as dictionaries and sets.

A graph is a set of existing vertices, a set of freed ones, and a dictionary from arc to weight. A batch is
tried out on a copy that takes the graph's place only when all of it went well, which makes "whole or not at
all" true by construction. It costs time and memory in the size of the graph, on purpose: this is the judge of
the store, not its rival.

`Changes`: what a batch really changed, as plain dictionaries and sets that compare with `==`. `Arcs`: the arcs of any
graph as arrays, and which vertices exist, which is all that programs and verifiers need of it.

What a graph does with the weight it is given: keep none, 32-bit whole numbers, or 32-bit floats.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from operator import add
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grapin.batch import Batch, Edges
from grapin.edges import VertexArray, WeightArray
from grapin.errors import GrapinError, InvalidArgument, InvalidBatch
from grapin.validation import check_choice


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


Arc = tuple[int, int]
"""Source and target; an undirected edge between two vertices is two arcs."""

Weight = int | float | None
"""None on a graph without weights; a float is always exactly representable in 32 bits."""


@dataclass(frozen=True)
class Changes:
    """The difference between two versions of a graph, and what of the batch made no difference.

    Everything is said in arcs as they are stored: on an undirected graph each edge counts once a direction,
    in `ignored` and `unchanged` too.
    """

    version: int
    """How many batches the graph has seen, this one included."""
    inserted: dict[Arc, Weight]
    deleted: dict[Arc, Weight]
    """Arcs that are gone with the weight they had, those of deleted vertices included."""
    reweighted: dict[Arc, tuple[Weight, Weight]]
    """Arcs that were there before and after: the weight before, and the different weight after."""
    inserted_vertices: frozenset[int]
    deleted_vertices: frozenset[int]
    ignored: int
    """Mutations of what is not there, and insertions of vertices that are: a strict graph refuses these."""
    unchanged: int
    """Arcs that were given the weight they had already."""


KINDS = ("none", "int32", "float32")


def kind_of(weight: ArrayLike | None) -> str:
    """Return the kind of weights that an array asks for when nobody says."""
    if weight is None:
        return "none"
    return "float32" if np.asarray(weight).dtype.kind == "f" else "int32"


def stored_weight(kind: str, given: Weight = None, error: type[GrapinError] = InvalidBatch) -> Weight:
    """Return the weight as a graph of this kind stores it, or refuse one that the kind cannot hold."""
    if kind == "none":
        if given is not None:
            raise error(f"weight {given} must not be given: the graph has no weights")
        return None
    if given is None:
        raise error(f"weight must be given for each edge: the graph has {kind} weights")
    if not 0 <= given < np.inf:
        raise error(f"weight {given} must be a finite number of at least 0")
    return _whole(given, error) if kind == "int32" else _float(given, error)


def _whole(given: float, error: type[GrapinError]) -> int:
    if isinstance(given, float):
        raise error(f"weight {given} must be a whole number: the graph has int32 weights")
    if given > np.iinfo(np.int32).max:
        raise error(f"weight {given} must fit into a 32-bit integer")
    return given


def _float(given: float, error: type[GrapinError]) -> float:
    if given > np.finfo(np.float32).max:
        raise error(f"weight {given} must fit into a 32-bit float")
    stored = float(np.float32(given))
    # From 2**53 on every 64-bit float is a whole number: such a one was rounded before, and is again.
    whole = isinstance(given, int) or (given < 2**53 and given.is_integer())
    if whole and stored != given:
        raise error(f"weight {given} must be exact as a 32-bit float")
    return stored


_KEPT_WEIGHT: dict[str, Any] = {
    "last": lambda _old, new: new,
    "first": lambda old, _new: old,
    "min": min,
    "max": max,
    "sum": add,
}

ArcWeights = dict[Arc, Weight]


class ReferenceGraph:
    """A changing graph, slow and obviously right, with the same meaning as `Graph`."""

    def __init__(
        self, vertices: int = 0, *, directed: bool = True, weights: str = "none", strict: bool = False
    ) -> None:
        self.directed = directed
        self.weights = check_choice("weights", weights, KINDS)
        self.strict = strict
        self.version = 0
        self.bound = vertices
        """Vertex ids are below this, freed ones included."""
        self.freed: set[int] = set()
        """Ids below `bound` whose vertex was deleted and that wait to be used again."""
        self.arcs: ArcWeights = {}

    @classmethod
    def from_edges(
        cls,
        source: ArrayLike,
        target: ArrayLike,
        weight: ArrayLike | None = None,
        *,
        vertices: int | None = None,
        directed: bool = True,
        weights: str | None = None,
        duplicates: str = "last",
        self_loops: str = "keep",
        strict: bool = False,
    ) -> Self:
        """Build a graph from rows; of repeated edges, `duplicates` says which weight is kept.

        On an undirected graph (u, v) and (v, u) are the same edge. Without `vertices`, the largest id
        is the last vertex.
        """
        check_choice("duplicates", duplicates, [*_KEPT_WEIGHT, "refuse"])
        check_choice("self_loops", self_loops, ("keep", "drop", "refuse"))
        sources, targets = np.asarray(source).tolist(), np.asarray(target).tolist()
        given = [None] * len(sources) if weight is None else np.asarray(weight).tolist()
        bound = max([-1, *sources, *targets]) + 1 if vertices is None else vertices
        graph = cls(bound, directed=directed, weights=weights or kind_of(weight), strict=strict)
        for u, v, value in zip(sources, targets, given, strict=True):
            graph._add_row(u, v, value, duplicates, self_loops)
        return graph

    @classmethod
    def empty(
        cls, vertices: int = 0, *, directed: bool = True, weights: str = "none", strict: bool = False
    ) -> Self:
        """Build a graph of `vertices` vertices and no edge."""
        return cls(vertices, directed=directed, weights=weights, strict=strict)

    @property
    def vertices(self) -> int:
        """How many vertices exist."""
        return self.bound - len(self.freed)

    @property
    def edges(self) -> int:
        """How many arcs there are."""
        return len(self.arcs)

    def has_vertex(self, vertex: int) -> bool:
        """Tell whether this vertex exists."""
        return 0 <= vertex < self.bound and vertex not in self.freed

    def vertex_ids(self) -> list[int]:
        """Return the existing vertices, ascending."""
        return [vertex for vertex in range(self.bound) if vertex not in self.freed]

    def alive(self) -> NDArray[np.bool_]:
        """Return, for each id below `bound`, whether its vertex exists."""
        return np.array([vertex not in self.freed for vertex in range(self.bound)], dtype=bool)

    def free_vertices(self, count: int) -> VertexArray:
        """Return the ids the next `count` vertices should take: freed ones, smallest first, then new ones."""
        return np.array(list(islice(self._free_ids(), count)), dtype=np.int32)

    def edge_arrays(self) -> tuple[VertexArray, VertexArray, WeightArray | None]:
        """Return source, target and weight of every arc, sorted by source, then target."""
        arcs = sorted(self.arcs)
        source = np.array([u for u, _ in arcs], dtype=np.int32)
        target = np.array([v for _, v in arcs], dtype=np.int32)
        if self.weights == "none":
            return source, target, None
        return source, target, np.array([self.arcs[arc] for arc in arcs], dtype=self.weights)

    def copy(self) -> Self:
        """Return an independent graph with the same content."""
        twin = type(self)(self.bound, directed=self.directed, weights=self.weights, strict=self.strict)
        twin.version, twin.freed, twin.arcs = self.version, set(self.freed), dict(self.arcs)
        return twin

    def apply(self, batch: Batch, *, strict: bool | None = None) -> Changes:
        """Apply a batch whole and say what changed, or raise `InvalidBatch` and leave the graph as it was."""
        self._refuse_gaps(batch)
        insert = self._arcs_of(batch, "insert")
        delete = self._arcs_of(batch, "delete")
        reweight = self._arcs_of(batch, "reweight")
        _refuse_contradictions(insert, delete, reweight)
        draft = self.copy()
        draft.version += 1
        ignored = _change_vertices(draft, batch)
        ignored += len(delete.keys() - self.arcs.keys()) + len(reweight.keys() - self.arcs.keys())
        if ignored and (self.strict if strict is None else strict):
            raise InvalidBatch(
                f"batch must only change what is there: {ignored} of its mutations would be ignored"
            )
        _change_arcs(draft, insert, delete, reweight)
        set_again = {arc: value for arc, value in (insert | reweight).items() if arc in self.arcs}
        unchanged = sum(self.arcs[arc] == value for arc, value in set_again.items())
        changes = _difference(self, draft, ignored, unchanged)
        self.__dict__.update(draft.__dict__)
        return changes

    def _add_row(self, u: int, v: int, value: Weight, duplicates: str, self_loops: str) -> None:
        for vertex in (u, v):
            if not 0 <= vertex < self.bound:
                raise InvalidArgument(f"vertex {vertex} must be at least 0 and below {self.bound}")
        if u == v and self_loops == "drop":
            return
        if u == v and self_loops == "refuse":
            raise InvalidArgument(f"edge ({u}, {v}) must not be a self loop")
        if (u, v) in self.arcs and duplicates == "refuse":
            raise InvalidArgument(f"edge ({u}, {v}) must not be repeated")
        weight = stored_weight(self.weights, value, InvalidArgument)
        if (u, v) in self.arcs and weight is not None:
            kept = _KEPT_WEIGHT[duplicates](self.arcs[u, v], weight)
            weight = stored_weight(self.weights, kept, InvalidArgument)
        for arc in self._directions(u, v):
            self.arcs[arc] = weight

    def _directions(self, u: int, v: int) -> set[Arc]:
        return {(u, v)} if self.directed else {(u, v), (v, u)}

    def _free_ids(self) -> Iterator[int]:
        yield from sorted(self.freed)
        vertex = self.bound
        while True:
            yield vertex
            vertex += 1

    def _refuse_gaps(self, batch: Batch) -> None:
        inserted = batch.insert_vertices.tolist()
        beyond = [vertex for vertex in inserted if vertex >= self.bound]
        for expected, vertex in enumerate(sorted(beyond), start=self.bound):
            if vertex != expected:
                raise InvalidBatch(f"vertex {vertex} must not be inserted before vertex {expected}")

    def _arcs_of(self, batch: Batch, part: str) -> ArcWeights:
        """Spell out one part of the batch as arcs, in the weights of this graph."""
        edges: Edges = getattr(batch, part)
        coming = set(batch.insert_vertices.tolist())
        arcs: ArcWeights = {}
        for u, v, *given in edges.rows():
            for vertex in (u, v):
                if not self.has_vertex(vertex) and vertex not in coming:
                    raise InvalidBatch(f"unknown vertex {vertex} in {part}")
            weight = None if part == "delete" else stored_weight(self.weights, *given)
            for arc in self._directions(u, v):
                if arcs.setdefault(arc, weight) != weight:
                    raise InvalidBatch(f"edge {arc} in {part} must have one weight on an undirected graph")
        return arcs


def _change_vertices(graph: ReferenceGraph, batch: Batch) -> int:
    """Let vertices come and go, with the arcs of those that go; return how many did neither."""
    inserted, deleted = set(batch.insert_vertices.tolist()), set(batch.delete_vertices.tolist())
    there = set(graph.vertex_ids())
    graph.bound = max([graph.bound, *(vertex + 1 for vertex in inserted)])
    graph.freed = (graph.freed - inserted) | (deleted & there)
    graph.arcs = {(u, v): weight for (u, v), weight in graph.arcs.items() if not {u, v} & deleted}
    return len(inserted & there) + len(deleted - there)


def _change_arcs(graph: ReferenceGraph, insert: ArcWeights, delete: ArcWeights, reweight: ArcWeights) -> None:
    for arc in delete:
        graph.arcs.pop(arc, None)
    graph.arcs |= {arc: weight for arc, weight in reweight.items() if arc in graph.arcs}
    graph.arcs |= insert


def _refuse_contradictions(insert: ArcWeights, delete: ArcWeights, reweight: ArcWeights) -> None:
    """Refuse an arc that two parts name; undirected, (u, v) in one contradicts (v, u) in another."""
    for one, other in ((insert, delete), (insert, reweight), (delete, reweight)):
        for arc in sorted(one.keys() & other.keys()):
            raise InvalidBatch(f"edge {arc} must not stand in two parts of a batch")


def _difference(before: ReferenceGraph, after: ReferenceGraph, ignored: int, unchanged: int) -> Changes:
    old, new = before.arcs, after.arcs
    there_before, there_after = frozenset(before.vertex_ids()), frozenset(after.vertex_ids())
    return Changes(
        version=after.version,
        inserted={arc: weight for arc, weight in new.items() if arc not in old},
        deleted={arc: weight for arc, weight in old.items() if arc not in new},
        reweighted={arc: (old[arc], new[arc]) for arc in old.keys() & new.keys() if old[arc] != new[arc]},
        inserted_vertices=there_after - there_before,
        deleted_vertices=there_before - there_after,
        ignored=ignored,
        unchanged=unchanged,
    )
