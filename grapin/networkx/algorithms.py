"""The functions of NetworkX that are read off an answer which the engine keeps fresh.

Each has the name, the arguments, the results and the errors that it has in NetworkX, and takes any graph of which there
are mirrors. Lengths come in ascending order, as Dijkstra's algorithm finds them, nodes of one length in no particular
one. What follows the order of adjacency lists (`bfs_edges`, `bfs_tree` and their like) is not here: the engine's lists
have no order, and NetworkX's own code needs no longer than to copy the result.
"""

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from grapin.engine import Answer
from grapin.networkx.mirrors import Mirror
from grapin.networkx.weights import Refused
from grapin.programs import BFS, SSSP, ConnectedComponents, PageRank
from grapin.programs.accumulative import LEAST_TOLERANCE
from grapin.programs.starting import UNREACHED

Lengths = dict[Any, int | float]
Paths = dict[Any, list[Any]]

_VERTEX_BITS = 31


class _Search:
    """Shortest paths from a set of nodes, along edges or, `turned`, against them."""

    def __init__(
        self,
        graph: Any,
        sources: list[Any],
        weight: str | None = None,
        *,
        turned: bool = False,
        missing: str = "",
    ) -> None:
        if not sources:
            raise ValueError("sources must not be empty")
        mirror: Mirror = graph.mirrors.get(weight, turned=turned)
        self.mirror = mirror
        missing = missing or f"{'Target' if turned else 'Source'} {{}} is not in G"
        self.sources = [_known(mirror, node, missing) for node in sources]
        key = frozenset(self.sources)
        self._scale = mirror.scale if weight is not None else None
        if weight is None:
            self.answer: Answer = mirror.answer(("bfs", key), lambda: BFS(source=self.sources))
        else:
            self.answer = mirror.answer(("sssp", key), lambda: SSSP(source=self.sources))

    def lengths(self, cutoff: float | None = None) -> Lengths:
        """Return the length of a shortest path to every node that has one."""
        vertices, values = self._reached(cutoff)
        listed = values.tolist() if self._scale is None else self._scale.lengths(values)
        lengths = dict(zip(self.mirror.names[vertices].tolist(), listed, strict=True))
        for source in self.sources:
            lengths[self.mirror.names[source]] = 0  # a whole number also among real ones
        return lengths

    def paths(self, cutoff: float | None = None) -> Paths:
        """Return a shortest path to every node that has one."""
        names, parents = self.mirror.names, self.answer.parents.tolist()
        found: dict[int, list[Any]] = {}
        for vertex in self._reached(cutoff)[0].tolist():
            waiting = []
            while (
                vertex >= 0 and vertex not in found
            ):  # along edges of weight 0 a parent may come behind its child
                waiting.append(vertex)
                vertex = parents[vertex]
            for one in reversed(waiting):
                before = found.get(parents[one], [])
                found[one] = [*before, names[one]]
        return {path[-1]: path for path in found.values()}

    def length(self, target: Any, cutoff: float | None = None) -> int | float:
        """Return the length of a shortest path to one node, or raise that there is none."""
        vertex = self.mirror.vertex(target)
        value = UNREACHED if vertex is None else int(self.answer.values[vertex])
        if value == UNREACHED:
            raise self._no_path(target)
        if vertex in self.sources:
            return 0
        length = value if self._scale is None else self._scale.length(value)
        if cutoff is not None and length > cutoff:
            raise self._no_path(target)
        return length

    def path(self, target: Any) -> list[Any]:
        """Return a shortest path to one node, or raise that there is none."""
        vertex = self.mirror.vertex(target)
        path = [] if vertex is None else self.answer.path(vertex)
        if not path:
            raise self._no_path(target)
        named: list[Any] = self.mirror.names[path].tolist()
        return named

    def within(self, distance: int) -> set[Any]:
        """Return the nodes at exactly this distance."""
        return self.mirror.nodes(self.answer.values == distance)

    def _reached(self, cutoff: float | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return reached vertices with their values, in ascending order of those."""
        values = self.answer.values
        vertices = np.flatnonzero(values != UNREACHED)
        keys = np.sort((values[vertices] << _VERTEX_BITS) | vertices)
        vertices, values = keys & ((1 << _VERTEX_BITS) - 1), keys >> _VERTEX_BITS
        if cutoff is None:
            return vertices, values
        digits = 0 if self._scale is None else self._scale.digits
        near = (values * 2.0**-digits <= cutoff) | (values == 0)
        return vertices[near], values[near]

    def _no_path(self, target: Any) -> nx.NetworkXNoPath:
        sources = self.mirror.names[self.sources].tolist()
        source = sources[0] if len(sources) == 1 else sources
        return nx.NetworkXNoPath(f"No path between {source!r} and {target!r}: it is not reached.")


def _known(mirror: Mirror, node: Any, missing: str = "Target {} is not in G") -> int:
    vertex = mirror.vertex(node)
    if vertex is None:
        raise nx.NodeNotFound(missing.format(node))
    return vertex


def _check_target(graph: Any, target: Any) -> None:
    _known(graph.mirrors.get(None), target)


def _check_method(method: str) -> None:
    if method not in {"dijkstra", "bellman-ford"}:
        raise ValueError(f"method not supported: {method}")


def shortest_path(
    G: Any, source: Any = None, target: Any = None, weight: Any = None, method: str = "dijkstra"
) -> Any:
    """A shortest path between two nodes, or of one node to or from all others."""
    _check_method(method)
    if source is None:
        towards = _Search(G, [target], weight, turned=True)
        return {node: path[::-1] for node, path in towards.paths().items()}
    search = _Search(G, [source], weight)
    if target is None:
        return search.paths()
    if weight is None or method == "dijkstra":
        _check_target(G, target)
    return search.path(target)


def shortest_path_length(
    G: Any, source: Any = None, target: Any = None, weight: Any = None, method: str = "dijkstra"
) -> Any:
    """The length of a shortest path between two nodes, or of one node to or from all others."""
    _check_method(method)
    if source is None:
        return _Search(G, [target], weight, turned=True).lengths()
    search = _Search(G, [source], weight)
    if target is None:
        return search.lengths()
    if weight is None:
        _check_target(G, target)
    return search.length(target)


def has_path(G: Any, source: Any, target: Any) -> bool:
    """Whether there is a path."""
    search = _Search(G, [source])
    return bool(search.answer.values[_known(search.mirror, target)] != UNREACHED)


def single_source_shortest_path_length(G: Any, source: Any, cutoff: Any = None) -> Lengths:
    """Numbers of edges from a node."""
    return _Search(G, [source]).lengths(cutoff)


def single_target_shortest_path_length(G: Any, target: Any, cutoff: Any = None) -> Lengths:
    """Numbers of edges to a node."""
    return _Search(G, [target], turned=True).lengths(cutoff)


def single_source_shortest_path(G: Any, source: Any, cutoff: Any = None) -> Paths:
    """Paths of the fewest edges from a node."""
    return _Search(G, [source], missing="Source {} not in G").paths(cutoff)


def single_target_shortest_path(G: Any, target: Any, cutoff: Any = None) -> Paths:
    """Paths of the fewest edges to a node."""
    found = _Search(G, [target], turned=True, missing="Target {} not in G").paths(cutoff)
    return {node: path[::-1] for node, path in found.items()}


def bidirectional_shortest_path(G: Any, source: Any, target: Any) -> list[Any]:
    """A path of the fewest edges between two nodes."""
    search = _Search(G, [source])
    _known(search.mirror, target)
    return search.path(target)


def bidirectional_dijkstra(G: Any, source: Any, target: Any, weight: Any = "weight") -> tuple[Any, list[Any]]:
    """Length and nodes of a shortest path between two nodes."""
    search = _Search(G, [source], weight)
    _known(search.mirror, target)
    return search.length(target), search.path(target)


def dijkstra_path(G: Any, source: Any, target: Any, weight: Any = "weight") -> list[Any]:
    """A shortest path between two nodes."""
    return _Search(G, [source], weight).path(target)


def dijkstra_path_length(G: Any, source: Any, target: Any, weight: Any = "weight") -> int | float:
    """The length of a shortest path between two nodes."""
    return _Search(G, [source], weight).length(target)


def single_source_dijkstra_path(G: Any, source: Any, cutoff: Any = None, weight: Any = "weight") -> Paths:
    """Shortest paths from a node."""
    return _Search(G, [source], weight).paths(cutoff)


def single_source_dijkstra_path_length(
    G: Any, source: Any, cutoff: Any = None, weight: Any = "weight"
) -> Lengths:
    """Lengths of shortest paths from a node."""
    return _Search(G, [source], weight).lengths(cutoff)


def single_source_dijkstra(
    G: Any, source: Any, target: Any = None, cutoff: Any = None, weight: Any = "weight"
) -> tuple[Any, Any]:
    """Lengths and paths from a node, or to one target."""
    return multi_source_dijkstra(G, [source], target, cutoff, weight)


def multi_source_dijkstra(
    G: Any, sources: Any, target: Any = None, cutoff: Any = None, weight: Any = "weight"
) -> tuple[Any, Any]:
    """Lengths and paths from the nearest of several nodes, or to one target."""
    search = _Search(G, list(sources), weight)
    if target is None:
        return search.lengths(cutoff), search.paths(cutoff)
    return search.length(target, cutoff), search.path(target)


def multi_source_dijkstra_path(G: Any, sources: Any, cutoff: Any = None, weight: Any = "weight") -> Paths:
    """Shortest paths from the nearest of several nodes."""
    return _Search(G, list(sources), weight).paths(cutoff)


def multi_source_dijkstra_path_length(
    G: Any, sources: Any, cutoff: Any = None, weight: Any = "weight"
) -> Lengths:
    """Lengths of shortest paths from the nearest of several nodes."""
    return _Search(G, list(sources), weight).lengths(cutoff)


def bellman_ford_path(G: Any, source: Any, target: Any, weight: Any = "weight") -> list[Any]:
    """A shortest path between two nodes; weights below 0 are left to NetworkX."""
    return _Search(G, [source], weight).path(target)


def bellman_ford_path_length(G: Any, source: Any, target: Any, weight: Any = "weight") -> int | float:
    """The length of a shortest path between two nodes; weights below 0 are left to NetworkX."""
    return _Search(G, [source], weight).length(target)


def single_source_bellman_ford_path(G: Any, source: Any, weight: Any = "weight") -> Paths:
    """Shortest paths from a node; weights below 0 are left to NetworkX."""
    return _Search(G, [source], weight).paths()


def single_source_bellman_ford_path_length(G: Any, source: Any, weight: Any = "weight") -> Lengths:
    """Lengths of shortest paths from a node; weights below 0 are left to NetworkX."""
    return _Search(G, [source], weight).lengths()


def single_source_bellman_ford(
    G: Any, source: Any, target: Any = None, weight: Any = "weight"
) -> tuple[Any, Any]:
    """Lengths and paths from a node, or to one target; weights below 0 are left to NetworkX."""
    return multi_source_dijkstra(G, [source], target, None, weight)


def descendants(G: Any, source: Any) -> set[Any]:
    """All nodes that can be reached from a node."""
    return _others(G, source, turned=False)


def ancestors(G: Any, source: Any) -> set[Any]:
    """All nodes from which a node can be reached."""
    return _others(G, source, turned=True)


def _others(graph: Any, node: Any, *, turned: bool) -> set[Any]:
    mirror: Mirror = graph.mirrors.get(None)
    if mirror.vertex(node) is None:
        raise nx.NetworkXError(f"The node {node!r} is not in the graph.")
    search = _Search(graph, [node], turned=turned)
    return search.mirror.nodes(search.answer.values != UNREACHED) - {node}


def descendants_at_distance(G: Any, source: Any, distance: int) -> set[Any]:
    """All nodes at this number of edges from a node."""
    mirror: Mirror = G.mirrors.get(None)
    if mirror.vertex(source) is None:
        raise nx.NetworkXError(f"The node {source!r} is not in the graph.")
    return _Search(G, [source]).within(distance)


def _labels(graph: Any) -> tuple[Mirror, NDArray[np.int64], NDArray[np.bool_]]:
    """Return each vertex' component by its smallest vertex, and which vertices there are."""
    mirror: Mirror = graph.mirrors.get(None)
    return mirror, mirror.answer("cc", ConnectedComponents).values, mirror.store.alive()


def connected_components(G: Any) -> Iterator[set[Any]]:
    """The nodes of each component."""
    mirror, labels, alive = _labels(G)
    vertices = np.flatnonzero(alive)
    vertices = vertices[np.argsort(labels[vertices], kind="stable")]
    ends = np.flatnonzero(np.diff(labels[vertices])) + 1
    names = mirror.names[vertices].tolist()
    for begin, end in zip([0, *ends.tolist()], [*ends.tolist(), len(names)], strict=True):
        if begin < end:
            yield set(names[begin:end])


def number_connected_components(G: Any) -> int:
    """How many components there are."""
    _, labels, alive = _labels(G)
    return int(np.count_nonzero((labels == np.arange(len(labels))) & alive))


def is_connected(G: Any) -> bool:
    """Whether there is one component."""
    if not len(G.mirrors.get(None)):
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return number_connected_components(G) == 1


def node_connected_component(G: Any, n: Any) -> set[Any]:
    """The nodes that hang together with one."""
    mirror, labels, alive = _labels(G)
    vertex = mirror.vertex(n)
    if vertex is None:
        raise KeyError(n)
    return mirror.nodes((labels == labels[vertex]) & alive)


def weakly_connected_components(G: Any) -> Iterator[set[Any]]:
    """The nodes of each component when directions are ignored."""
    return connected_components(G)


def number_weakly_connected_components(G: Any) -> int:
    """How many components there are when directions are ignored."""
    return number_connected_components(G)


def is_weakly_connected(G: Any) -> bool:
    """Whether there is one component when directions are ignored."""
    return is_connected(G)


def pagerank(
    G: Any,
    alpha: float = 0.85,
    personalization: Any = None,  # noqa: ARG001  (refused with what follows, unless it is left out)
    max_iter: int = 100,  # noqa: ARG001
    tol: float = 1.0e-6,
    nstart: Any = None,  # noqa: ARG001
    weight: Any = "weight",
    dangling: Any = None,  # noqa: ARG001
) -> dict[Any, float]:
    """Ranks that differ from the exact ones by at most `tol` in sum."""
    mirror: Mirror = G.mirrors.get(weight)
    if not len(mirror):
        return {}
    if weight is not None and not mirror.even:
        raise Refused(f"weight={weight!r} must be the same of all edges: ranks do not follow weights here")
    answer = mirror.answer(("pagerank", alpha, tol), lambda: PageRank(alpha, tol))
    vertices = np.flatnonzero(mirror.store.alive())
    return dict(zip(mirror.names[vertices].tolist(), answer.values[vertices].tolist(), strict=True))


def refusal(name: str, graph: Any, arguments: dict[str, Any]) -> str | None:
    """Say why a function cannot be computed here with these arguments; None where it can, if the weights can be had."""
    if callable(arguments.get("weight")):
        return "weight must be the name of an edge attribute: a function would be called for every edge"
    if name in {"shortest_path", "shortest_path_length"}:
        if arguments.get("source") is None and arguments.get("target") is None:
            return "source or target must be given: between all pairs nothing is kept fresh"
    elif name == "pagerank":
        if any(arguments.get(name) is not None for name in ("personalization", "nstart", "dangling")):
            return "personalization, nstart and dangling must be left out: a walk starts again at any node"
        if arguments.get("max_iter", 100) != 100:
            return "max_iter must be left out: the error is bounded, not the number of iterations"
        if not (0 <= arguments.get("alpha", 0) < 1 and LEAST_TOLERANCE <= arguments.get("tol", 1) <= 1):
            return f"alpha must be at least 0 and below 1, and tol from {LEAST_TOLERANCE:g} to 1"
        if graph.is_multigraph():
            return "the graph must have no parallel edges, which count as one here"
    return None
