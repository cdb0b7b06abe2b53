"""`Mirror`: a NetworkX graph as the engine has it, and the answers that are kept fresh on it.

A mirror is of one edge attribute (or none), and of the edges as they are or turned round. A graph of this package tells
its mirrors through its `Log` which edges and nodes were touched. When the next answer is asked for, a mirror looks up
what became of those, makes one batch of it, and the engine repairs its answers. A graph of NetworkX's own is read once,
when it is converted; NetworkX keeps the result until the graph changes.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.batch import Batch
from grapin.engine import Answer, Engine
from grapin.errors import ValueOverflow
from grapin.graph import Graph
from grapin.networkx.weights import Refused, Scale, scaled_weights, smallest_of
from grapin.programs import Program

KEPT = 4
"""So many answers are kept fresh a mirror, those asked for last: every one costs a repair whenever one is asked for."""
LEAST_PENDING = 1 << 10
"""Up to so many touched edges are looked up one by one, however small the graph is."""


class Log:
    """Who wants to know what is touched in a graph."""

    __slots__ = ("mirrors",)

    def __init__(self) -> None:
        self.mirrors: list[Mirror] = []

    def edge(self, edge: tuple[Any, Any], attribute: Any = None) -> None:
        """Say that an edge comes, goes, or gets another value of an attribute."""
        for mirror in self.mirrors:
            if attribute is None or attribute == mirror.weight:
                mirror.touch_edge(edge)

    def node(self, node: Any) -> None:
        """Say that a node comes or goes."""
        for mirror in self.mirrors:
            mirror.touch_node(node)

    def everything(self) -> None:
        """Say that nothing may be as it was."""
        for mirror in self.mirrors:
            mirror.stale, mirror.refused = True, None


class Mirrors:
    """The mirrors of one graph, made when they are asked for."""

    def __init__(self, graph: Any, log: Log | None = None) -> None:
        self._graph = graph
        self._log = log
        """Of a graph that says what is touched; None for one that is read once."""
        self._made: dict[tuple[str | None, bool], Mirror] = {}

    def get(self, weight: str | None, *, turned: bool = False) -> "Mirror":
        """Return the mirror of an attribute as the graph is now; any will do where weights are not read."""
        turned = turned and self._graph.is_directed()
        asked = weight
        if asked is None:
            usable = (one for (_, way), one in self._made.items() if way == turned and one.refused is None)
            weight = next((one.weight for one in usable), None)
        mirror = self._made.get((weight, turned))
        if mirror is None:
            mirror = Mirror(self._graph, weight, turned=turned)
            self._made[weight, turned] = mirror
            if self._log is not None:
                self._log.mirrors.append(mirror)
        try:
            mirror.catch_up()
        except Refused:
            if asked is None:  # weights that nobody reads
                return self.get(None, turned=turned)
            raise
        return mirror


class Mirror:
    """One graph in the engine's store; vertices are numbered as nodes came."""

    def __init__(self, graph: Any, weight: str | None, *, turned: bool) -> None:
        self.weight = weight
        self.stale = True
        """Whether the graph has to be read as a whole."""
        self.refused: Refused | None = None
        """Why it cannot be had, until something is touched."""
        self._graph = graph
        self._turned = turned
        self._edges: set[tuple[Any, Any]] = set()
        self._nodes: set[Any] = set()
        self._most = 0
        self._engine: Engine | None = None
        self._kept: OrderedDict[Hashable, Answer] = OrderedDict()

    def touch_edge(self, edge: tuple[Any, Any]) -> None:
        """Look this edge up before the next answer."""
        self.refused = None
        if not self.stale:
            self._edges.add(edge)
            if len(self._edges) > self._most:  # reading all is quicker, and what is written down stays small
                self.stale = True

    def touch_node(self, node: Any) -> None:
        """Look this node up before the next answer."""
        self.refused = None
        if not self.stale:
            self._nodes.add(node)
            if len(self._nodes) > self._most:
                self.stale = True

    def catch_up(self) -> None:
        """Bring store and answers up to date with the graph; raise `Refused` if its weights cannot be had."""
        if self.refused is not None:
            raise self.refused
        if not self.stale and (self._edges or self._nodes):
            batch = self._batch()
            if batch is not None and batch.size:
                self._apply(batch)
        self._edges.clear()
        self._nodes.clear()
        if self.stale:
            try:
                self._read()
            except Refused as refused:
                self.refused = refused
                raise

    def answer(self, key: Hashable, program: Callable[[], Program]) -> Answer:
        """Return the answer of a program, computed or kept; `key` tells programs apart."""
        answer = self._kept.get(key)
        if answer is None:
            try:
                if self._engine is None:
                    self._engine = Engine(self.store, program(), device="cpu")
                    [answer] = self._engine.answers
                else:
                    answer = self._engine.follow(program())
            except ValueOverflow as error:
                raise _too_long(error) from error
            self._kept[key] = answer
            if len(self._kept) > KEPT:
                self._engine.unfollow(self._kept.popitem(last=False)[1])
        self._kept.move_to_end(key)
        return answer

    def vertex(self, node: Any) -> int | None:
        """Return the number of a node; None if there is no such node."""
        try:
            return self._numbers.get(node)
        except TypeError:  # not hashable, so no node
            return None

    def nodes(self, chosen: NDArray[np.bool_]) -> set[Any]:
        """Return the nodes of the vertices for which this is true."""
        return set(self.names[np.flatnonzero(chosen)].tolist())

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def even(self) -> bool:
        """Whether all edges weigh the same, so that weights make no difference to where a walker goes."""
        _, _, weights = self.store.edge_arrays()
        return weights is None or not len(weights) or bool((weights == weights[0]).all() and weights[0] > 0)

    def _read(self) -> None:
        """Make the store from the whole graph."""
        adjacency = self._graph.adj if self._graph.is_multigraph() else self._graph._adj  # noqa: SLF001
        nodes = list(adjacency)
        numbers = {node: number for number, node in enumerate(nodes)}
        degrees = np.fromiter(map(len, adjacency.values()), np.int64, len(nodes))
        source = np.repeat(np.arange(len(nodes), dtype=np.int32), degrees)
        target = np.fromiter(
            (numbers[node] for neighbours in adjacency.values() for node in neighbours), np.int32, len(source)
        )
        weights, self.scale = None, Scale()
        if self.weight is not None:
            weights, self.scale = scaled_weights(self._weights(adjacency))
        if self._turned:
            source, target = target, source
        self.store = Graph.from_edges(
            source,
            target,
            weights,
            vertices=len(nodes),
            directed=self._graph.is_directed(),
            weights="none" if weights is None else "int32",
        )
        self.names: NDArray[Any] = np.fromiter(nodes, object, len(nodes))
        """The node of each vertex, and room for more."""
        self._numbers = numbers
        self._engine = None
        self._kept.clear()
        self._most = max(LEAST_PENDING, self.store.edges // 4)
        self.stale = False

    def _weights(self, adjacency: Any) -> list[Any]:
        if self._graph.is_multigraph():
            return [
                smallest_of(parallel.values(), self.weight)
                for neighbours in adjacency.values()
                for parallel in neighbours.values()
            ]
        weight = self.weight
        return [
            attributes.get(weight, 1)
            for neighbours in adjacency.values()
            for attributes in neighbours.values()
        ]

    def _batch(self) -> Batch | None:
        """Return what became of all that was touched; None, and the mirror is stale, if weights need another scale."""
        adjacency = self._graph._adj  # noqa: SLF001  (views of it would be looked up for every edge)
        gone, come = self._number_nodes(adjacency)
        weighted = self.weight is not None
        insert: dict[tuple[int, int], int] = {}
        delete: list[tuple[int, int]] = []
        for source, target in self._edges:
            ends = self._numbers.get(source), self._numbers.get(target)
            if None in ends:  # an edge goes with its node
                continue
            attributes = adjacency[source].get(target)
            pair = self._pair(*ends)  # type: ignore[arg-type]  # neither is None
            if attributes is None:
                delete.append(pair)
            elif weighted:
                stored = self.scale.stored(attributes.get(self.weight, 1))
                if stored is None:
                    self.stale = True
                    return None
                insert[pair] = stored
            else:
                insert[pair] = 1
        columns = tuple(np.array(list(insert), np.int32).reshape(-1, 2).T)
        if weighted:
            columns += (np.fromiter(insert.values(), np.int32, len(insert)),)
        return Batch(insert=columns, delete=delete, insert_vertices=come, delete_vertices=gone)

    def _pair(self, source: int, target: int) -> tuple[int, int]:
        if not self._graph.is_directed():
            return (source, target) if source <= target else (target, source)
        return (target, source) if self._turned else (source, target)

    def _number_nodes(self, adjacency: Any) -> tuple[list[int], list[int]]:
        """Number the nodes that came, forget those that went; return the vertices that go and that come."""
        if not self._nodes:
            return [], []
        gone = [node for node in self._nodes if node in self._numbers and node not in adjacency]
        come = [node for node in self._nodes if node not in self._numbers and node in adjacency]
        freed = [self._numbers.pop(node) for node in gone]
        self.names[freed] = None
        fresh: list[int] = self.store.free_vertices(len(come)).tolist()
        room = max(fresh, default=-1) + 1 - len(self.names)
        if room > 0:
            self.names = np.append(self.names, np.full(max(room, len(self.names)), None, object))
        for vertex, node in zip(fresh, come, strict=True):
            self.names[vertex] = node
            self._numbers[node] = vertex
        for key in [key for key in self._kept if _starts_at(key, freed)]:
            self._drop(key)
        return freed, fresh

    def _drop(self, key: Hashable) -> None:
        answer = self._kept.pop(key)
        assert self._engine is not None
        if len(self._engine.answers) > 1:
            self._engine.unfollow(answer)
        else:
            self._engine = None

    def _apply(self, batch: Batch) -> None:
        if self._engine is None:
            self.store.apply(batch)
            return
        try:
            self._engine.apply(batch)
        except ValueOverflow:
            self.stale = (
                True  # perhaps only the answer of one source; what is asked for is computed from scratch
            )
        except BaseException:
            self.stale = True
            raise


def _starts_at(key: Hashable, vertices: list[int]) -> bool:
    """Tell whether an answer starts at one of these vertices, whose numbers will be other nodes'."""
    return isinstance(key, frozenset) and not key.isdisjoint(vertices)


def _too_long(error: ValueOverflow) -> Refused:
    return Refused(f"{error}, or leave the call to NetworkX's own code")
