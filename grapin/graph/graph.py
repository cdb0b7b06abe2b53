"""`Graph`: the host store, changed by batches and read through snapshots."""

import pickle
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grapin.batch import Batch, Edges
from grapin.display import Shown
from grapin.edges import MOST_VERTICES, Labels, Naming, VertexArray, WeightArray
from grapin.errors import InvalidArgument, InvalidBatch
from grapin.graph.adjacency import Adjacency
from grapin.graph.build import build, edge_columns
from grapin.graph.change import (
    Applied,
    Arcs,
    Asked,
    Change,
    and_delete,
    asked_for,
    mirrored,
    refuse_ignored,
    resolve,
)
from grapin.graph.check import check_directions
from grapin.graph.lists import all_arcs, find, incident_arcs
from grapin.graph.packed import Allocate
from grapin.graph.page_store import PageStore, page_store
from grapin.graph.snapshot import Lists, Snapshot, VertexChange, VertexSet
from grapin.named import NamedBatch
from grapin.units import format_bytes
from grapin.validation import check_integer, refuse


class Graph(Shown):
    """A set of weighted or plain edges between dense int32 vertex ids, kept for change.

    Each direction is one packed array of lists with room for growth; applying a batch costs what the batch
    changes, not what the graph holds. Make one with `from_edges` or `empty`.

    >>> graph = Graph.from_edges([0, 0, 1], [1, 2, 2])
    >>> applied = graph.apply(Batch(insert=[(2, 0)], delete=[(0, 1)]))
    >>> graph.edges, sorted(graph.out_neighbours(0).tolist())
    (3, [2])
    """

    def __init__(
        self,
        out: Adjacency,
        in_: Adjacency | None,
        *,
        vertices: VertexSet,
        edges: int,
        labels: Labels | None,
        strict: bool,
    ) -> None:
        """Assemble a graph from its parts; `in_` is `out` itself when the graph is undirected."""
        self._out = out
        self._in = in_
        self._vertices = vertices
        self._edges = edges
        self.version = 0
        """How many batches have been applied."""
        self.labels = labels
        """The outside names of the vertices, if they have any; they come and go with the vertices."""
        self.strict = strict
        """Whether a batch that would be ignored in part is refused instead."""
        self._lent: WeakSet[Snapshot | Lists] = WeakSet()
        """What shows the store's own arrays; the next batch takes them back."""

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
        aligned: bool = True,
        in_direction: bool = True,
        allocate: Allocate | None = None,
        labels: Labels | None = None,
        strict: bool = False,
        store: "str | PageStore" = "packed",
    ) -> "Graph":
        """Build a graph from columns of edges in any order.

        Args:
            source: where each edge starts.
            target: where each edge ends.
            weight: finite and not negative; int32 or float32 in the graph.
            vertices: how many there are; None for just those below the largest id.
            directed: False stores each edge as two arcs with one weight.
            weights: "none", "int32" or "float32"; None takes what `weight` is.
            duplicates: which weight a repeated edge gets: "last", "first", "min", "max" or "sum" of those
                given, or "refuse".
            self_loops: "keep", "drop" or "refuse".
            aligned: start lists on 128-byte boundaries.
            in_direction: keep in-neighbours too; a graph without them scans all edges to delete a vertex.
            allocate: places the edge arrays, see `grapin.graph.packed`.
            labels: the outside names of the vertices.
            strict: refuse batches of which a part would be ignored.
            store: "packed", in host memory, or "pages", in a device's memory, see `grapin.graph.page_store`.
        """
        pages = None if store == "packed" else page_store(store)
        columns = edge_columns(source, target, weight, vertices=vertices, weights=weights)
        out, in_ = build(
            columns,
            directed=directed,
            in_direction=in_direction,
            duplicates=duplicates,
            self_loops=self_loops,
            aligned=aligned,
            allocate=allocate,
        )
        edges = int(out.lists.degrees.sum(dtype=np.int64))
        labels = None if labels is None else labels.copy()
        made = cls if pages is None else Graph
        graph = made(
            out, in_, vertices=VertexSet(columns.vertices), edges=edges, labels=labels, strict=strict
        )
        if pages is None:
            return graph
        from grapin.graph.paged import PagedGraph

        return PagedGraph.of(graph, pages)

    @classmethod
    def empty(
        cls,
        vertices: int = 0,
        *,
        directed: bool = True,
        weights: str = "none",
        aligned: bool = True,
        in_direction: bool = True,
        allocate: Allocate | None = None,
        labels: Labels | None = None,
        strict: bool = False,
        store: "str | PageStore" = "packed",
    ) -> "Graph":
        """Return a graph of `vertices` vertices and no edges; `labels=Labels()` for one that grows by name."""
        return cls.from_edges(
            (),
            (),
            vertices=vertices,
            directed=directed,
            weights=weights,
            aligned=aligned,
            in_direction=in_direction,
            allocate=allocate,
            labels=labels,
            strict=strict,
            store=store,
        )

    @property
    def vertices(self) -> int:
        """How many vertices exist."""
        return self._vertices.count

    @property
    def bound(self) -> int:
        """Vertex ids are below this, freed ones included."""
        return self._vertices.bound

    @property
    def edges(self) -> int:
        """How many arcs are stored: an undirected edge counts twice, an undirected self loop once."""
        return self._edges

    @property
    def directed(self) -> bool:
        """False when each edge is stored as two arcs with one weight."""
        return self._in is not self._out

    @property
    def in_direction(self) -> bool:
        """Whether in-neighbours can be read."""
        return self._in is not None

    @property
    def aligned(self) -> bool:
        """Whether each list starts on a 128-byte boundary."""
        return self._out.aligned

    @property
    def weight_dtype(self) -> np.dtype[Any] | None:
        """int32, float32, or None when edges have no weights."""
        return self._out.weight_dtype

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        weights = f", {self.weight_dtype} weights" if self.weight_dtype is not None else ""
        return f"Graph({self.vertices} vertices, {self.edges} edges, {kind}{weights}, version {self.version})"

    def _facts(self) -> dict[str, str]:
        return {
            "vertices": f"{self.vertices:,}",
            "edges": f"{self.edges:,}, {'directed' if self.directed else 'undirected'}",
            "weights": "none" if self.weight_dtype is None else str(self.weight_dtype),
            "names": "none" if self.labels is None else "by vertex",
            "version": f"{self.version:,}",
            "memory": format_bytes(sum(self.memory().values())),
        }

    def has_vertex(self, vertex: int) -> bool:
        """Does this vertex exist?"""
        return check_integer("vertex", vertex) in self._vertices

    def has_edge(self, source: int, target: int) -> bool:
        """Is there an edge from `source` to `target`? False when either vertex does not exist."""
        if not (self.has_vertex(source) and self.has_vertex(target)):
            return False
        return bool(find(self._out.lists, source, target) >= 0)

    def weight(self, source: int, target: int) -> int | float:
        """Return the weight of an edge that exists."""
        if self.weight_dtype is None:
            raise InvalidArgument("weight must be asked of a graph with weights: this one has none")
        if not self.has_edge(source, target):
            raise InvalidArgument(f"edge ({source}, {target}) must exist to have a weight")
        found: int | float = self._out.weight(source, find(self._out.lists, source, target))
        return found

    def out_degree(self, vertex: int) -> int:
        """How many edges start at this vertex?"""
        return int(self._out.lists.degrees[self._known(vertex)])

    def in_degree(self, vertex: int) -> int:
        """How many edges end at this vertex?"""
        return int(self._in_lists().lists.degrees[self._known(vertex)])

    def out_neighbours(self, vertex: int) -> VertexArray:
        """Return where the edges of this vertex end, in no order; a read-only copy, which lasts."""
        return self._out.neighbours(self._known(vertex))

    def in_neighbours(self, vertex: int) -> VertexArray:
        """Return where the edges to this vertex start, in no order; a read-only copy, which lasts."""
        return self._in_lists().neighbours(self._known(vertex))

    def out_weights(self, vertex: int) -> WeightArray:
        """Return the weights beside `out_neighbours`."""
        return self._out.weights(self._known(vertex))

    def in_weights(self, vertex: int) -> WeightArray:
        """Return the weights beside `in_neighbours`."""
        return self._in_lists().weights(self._known(vertex))

    def alive(self) -> NDArray[np.bool_]:
        """Return for each id below `bound` whether it is a vertex."""
        return self._vertices.alive.copy()

    def free_vertices(self, count: int) -> VertexArray:
        """Return the ids the next `count` inserted vertices should take: freed ones first, then new ones."""
        count = check_integer("count", count, least=0, most=MOST_VERTICES - self.bound)
        return self._vertices.next_free(count)

    def snapshot(self) -> Snapshot:
        """Return the lists as they are, read-only and without a copy; refuses to be read after the next batch."""
        out = self._out.view(self.bound)
        in_ = out if self._in is self._out else None if self._in is None else self._in.view(self.bound)
        alive = self._vertices.alive.view()
        alive.flags.writeable = False
        snapshot = Snapshot(self.version, self.bound, self.edges, alive, out, in_)
        self._lent.update(lent for lent in (snapshot, out, in_) if lent is not None)
        return snapshot

    def edge_arrays(self) -> tuple[VertexArray, VertexArray, WeightArray | None]:
        """Return copies of all arcs as columns, sorted by source."""
        source, target, weights = all_arcs(self._out.lists, self.bound, self.edges)
        return source, target, self._as_weights(weights)

    def vertex(self, name: Any) -> int:
        """Return the id of the vertex with this name, as the graph was read or as it was inserted."""
        vertex = self._named("vertex", name).vertex(name)
        if vertex not in self._vertices:
            refuse(
                "vertex", name, "be a vertex that is there: its name is known, and the vertex has yet to come"
            )
        return vertex

    def name(self, vertex: int) -> Any:
        """Return what a vertex is called; its id, where vertices have no names."""
        vertex = self._known(vertex)
        return vertex if self.labels is None else self.labels.name(vertex)

    def resolve(self, batch: Batch | NamedBatch) -> tuple[Batch, int]:
        """Return a batch by ids, and how many mutations it leaves out because nothing has a name they are about."""
        if isinstance(batch, Batch):
            return batch, 0
        labels = self._named("batch", batch)
        return batch.resolve(labels, self.free_vertices, strict=self.strict)

    def apply(self, batch: Batch | NamedBatch, *, strict: bool | None = None) -> Applied:
        """Make the changes of a batch, all or none, and say what really changed.

        Raises `InvalidBatch`, with the graph untouched, if the batch names an unknown vertex, leaves a gap in
        the ids, or has weights where the graph has none or the other way round; in strict mode also if it
        deletes or re-weights what is not there or inserts a vertex that is.
        """
        batch, unknown = self.resolve(batch)
        vertices = self._vertices.change(batch)
        naming = self._naming(batch, vertices)
        asked = asked_for(batch, self._vertices, vertices, directed=self.directed, dtype=self.weight_dtype)
        applied = self._change(asked, vertices, unknown, strict=self.strict if strict is None else strict)
        if naming is not None and self.labels is not None:
            self.labels.commit(naming)
        return applied

    def _change(self, asked: Asked, vertices: VertexChange, unknown: int, *, strict: bool) -> Applied:
        """Make the changes that a batch asks for, all or none; `unknown` mutations were left out before."""
        if len(vertices.deleted):
            asked = self._with_incident_arcs(asked, vertices)
        for lists in self._directions():
            lists.reserve_vertices(vertices.bound)
        change = resolve(asked, self._out)
        if strict:
            refuse_ignored(change, vertices)
        self._commit(change, vertices)
        return self._applied(change, vertices, unknown)

    def copy(self) -> "Graph":
        """Return an independent copy; its edge arrays are placed by the same allocator."""
        out = self._out.copy()
        in_ = out if self._in is self._out else None if self._in is None else self._in.copy()
        vertices = self._vertices.copy()
        labels = None if self.labels is None else self.labels.copy()
        other = Graph(out, in_, vertices=vertices, edges=self.edges, labels=labels, strict=self.strict)
        other.version = self.version
        return other

    def __copy__(self) -> "Graph":
        return self.copy()  # two graphs must never share a store

    def __deepcopy__(self, _memo: dict[int, Any]) -> "Graph":
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        """Return all of the graph for another process: arrays are placed there by the same allocator."""
        allocate = self._out.allocate
        try:
            pickle.dumps(allocate)
        except Exception as error:  # pickle raises several kinds, and objects their own
            raise InvalidArgument(
                f"allocate={allocate!r:.60} must be a function that can be pickled, such as one that a module has by "
                f"name, for its graph to be pickled too ({error}); graph.copy() and copy.deepcopy need no pickling"
            ) from error
        return {name: value for name, value in self.__dict__.items() if name != "_lent"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lent = WeakSet()

    def memory(self) -> dict[str, int]:
        """Return the bytes of each part, slack included: `out.neighbours`, `in.weights`, `vertices` ..."""
        parts = {"vertices": self._vertices.nbytes}
        for name, lists in zip(("out", "in"), self._directions(), strict=False):
            parts |= {f"{name}.{part}": size for part, size in lists.memory().items()}
        return parts

    def statistics(self) -> dict[str, int]:
        """Return what upkeep the lists needed so far: rebalances, lists moved, growths ..."""
        total: dict[str, int] = {}
        for lists in self._directions():
            for name, count in lists.statistics().items():
                total[name] = total.get(name, 0) + count
        return total

    def check(self) -> None:
        """Verify every invariant of the store; raise `CorruptGraph` at the first broken one."""
        self._vertices.check()
        check_directions(self._out, self._in, self._vertices.alive, self.edges)

    def _directions(self) -> list[Adjacency]:
        return [self._out] if self._in is None or self._in is self._out else [self._out, self._in]

    def _in_lists(self) -> Adjacency:
        if self._in is None:
            raise InvalidArgument("in_direction=False must be True for in-neighbours to be kept")
        return self._in

    def _known(self, vertex: int) -> int:
        if not self.has_vertex(vertex):
            raise InvalidArgument(f"vertex={vertex} must be a vertex of the graph")
        return vertex

    def _named(self, argument: str, value: Any) -> Labels:
        if self.labels is None:
            refuse(
                argument,
                value,
                "be given by id: the graph's vertices have no names (graph.labels = Labels(...))",
            )
        return self.labels

    def _naming(self, batch: Batch, vertices: VertexChange) -> Naming | None:
        """Return what a batch does to the names, or refuse it; None where there are none."""
        if self.labels is None:
            if batch.names:
                raise InvalidBatch(
                    "names must be left out: the graph's vertices have none (graph.labels = Labels(...) names them)"
                )
            return None
        if not len(batch.insert_vertices) and not len(batch.delete_vertices):
            return None
        return self.labels.change(batch.insert_vertices, batch.names, vertices.inserted, vertices.deleted)

    def _with_incident_arcs(self, asked: Asked, vertices: VertexChange) -> Asked:
        in_ = None if self._in is None else self._in.lists
        keys = incident_arcs(self._out.lists, in_, vertices.deleted, self.bound)
        return and_delete(asked, keys, weighted=self.weight_dtype is not None)

    def _commit(self, change: Change, vertices: VertexChange) -> None:
        changes = [(change, self._out)]
        if self._in is not None and self._in is not self._out:
            changes.append((mirrored(change, self._in), self._in))
        self._vertices.reserve(vertices.bound)
        for one, lists in changes:
            one.reserve(lists)
        for lent in list(self._lent):
            lent.give_back(self.version)
        self._lent.clear()
        for one, lists in changes:
            one.commit(lists)
        self._vertices.commit(vertices)
        self._edges += len(change.inserted) - len(change.deleted)
        self.version += 1
        for lists in self._directions():
            lists.shrink()

    def _applied(self, change: Change, vertices: VertexChange, unknown: int) -> Applied:
        old_weights = self._as_weights(change.reweighted.stored)
        return Applied(
            version=self.version,
            inserted=self._as_edges(change.inserted, change.inserted.weights),
            deleted=self._as_edges(change.deleted, change.deleted.stored),
            reweighted=self._as_edges(change.reweighted, change.reweighted.weights),
            old_weights=change.reweighted.stored if old_weights is None else old_weights,
            inserted_vertices=vertices.inserted,
            deleted_vertices=vertices.deleted,
            ignored=len(change.ignored) + len(vertices.ignored) + unknown,
            unchanged=change.unchanged,
        )

    def _as_weights(self, patterns: NDArray[np.int32]) -> WeightArray | None:
        return None if self.weight_dtype is None else patterns.view(self.weight_dtype)

    def _as_edges(self, arcs: Arcs, weights: NDArray[np.int32]) -> Edges:
        return Edges(arcs.owner, arcs.neighbour, self._as_weights(weights))
