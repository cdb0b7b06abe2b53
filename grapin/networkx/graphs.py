"""`Graph` and `DiGraph`: NetworkX's own graphs, whose mutations are written down for the engine.

NetworkX keeps a graph in dictionaries: the outer one leads from a node to its neighbours, the inner one from one of
those to the edge's attributes. Here these are dictionaries that tell a `Log` which edge or node was touched, so no way
of changing a graph is missed, be it `add_edge`, `G[u][v]["weight"] = 3` or an algorithm that works on them directly.
Written down is only where something happened. What the graph is now is read from the dictionaries themselves when the
next answer is asked for, so touching an edge more often than it changes costs time and nothing else.
"""

from typing import Any, Self

import networkx as nx

from grapin.networkx.mirrors import Log, Mirrors

_NOBODY = object()


class _Watched(dict[Any, Any]):
    """A dictionary that says before a key is set or goes; copies and pickles of it are plain dictionaries."""

    __slots__ = ()

    def touch(self, key: Any) -> None:
        """Say that this key is about to change."""

    def __setitem__(self, key: Any, value: Any) -> None:
        self.touch(key)
        super().__setitem__(key, value)

    def __delitem__(self, key: Any) -> None:
        self.touch(key)
        super().__delitem__(key)

    def __ior__(self, other: Any) -> Self:  # type: ignore[misc]  # dict's own has two forms
        self.update(other)
        return self

    def update(self, *others: Any, **named: Any) -> None:
        for key, value in dict(*others, **named).items():
            self[key] = value

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: Any, *default: Any) -> Any:
        if key in self:
            self.touch(key)
        return super().pop(key, *default)

    def popitem(self) -> tuple[Any, Any]:
        key = next(reversed(self), _NOBODY)
        if key is not _NOBODY:
            self.touch(key)
        return super().popitem()

    def clear(self) -> None:
        for key in self:
            self.touch(key)
        super().clear()

    def __reduce_ex__(self, _protocol: Any) -> Any:
        return dict, (dict(self),)


class _Attributes(_Watched):
    """The attributes of one edge."""

    __slots__ = ("edge", "log")

    def __init__(self, *given: Any, **named: Any) -> None:
        self.log: Log | None = None
        """Who is told; nobody as long as the edge is in no graph."""
        self.edge: Any = None
        super().__init__(*given, **named)

    def touch(self, key: Any) -> None:
        if self.log is not None:
            self.log.edge(self.edge, key)

    def update(self, *given: Any, **named: Any) -> None:
        if self.log is None:
            dict.update(self, *given, **named)
        else:
            super().update(*given, **named)


class _Neighbours(_Watched):
    """The edges of one node, by neighbour."""

    __slots__ = ("log", "node")

    def __init__(self, *given: Any, **named: Any) -> None:
        self.log: Log | None = None
        """Who is told; nobody where these are predecessors, which are successors of others."""
        self.node: Any = None
        super().__init__(*given, **named)

    def touch(self, key: Any) -> None:
        if self.log is not None:
            self.log.edge((self.node, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.log is not None:
            edge = self.node, key
            self.log.edge(edge)
            if type(value) is _Attributes:
                value.log, value.edge = self.log, edge
        dict.__setitem__(self, key, value)


class _Adjacency(_Watched):
    """The neighbours of each node."""

    __slots__ = ("log",)

    def __init__(self, *given: Any, **named: Any) -> None:
        self.log: Log | None = None
        super().__init__(*given, **named)

    def touch(self, key: Any) -> None:
        if self.log is not None:
            self.log.node(key)
            for neighbour in self.get(key, ()):
                self.log.edge((key, neighbour))

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        if self.log is not None:
            if type(value) is _Neighbours:
                value.log, value.node = self.log, key
            for neighbour in value:
                self.log.edge((key, neighbour))

    def clear(self) -> None:
        if self.log is not None:
            self.log.everything()
        dict.clear(self)


class _Kept:
    """What both kinds of graphs have on top of NetworkX's."""

    __networkx_backend__ = "grapin"

    adjlist_outer_dict_factory = _Adjacency
    adjlist_inner_dict_factory = _Neighbours
    edge_attr_dict_factory = _Attributes

    def __new__(cls, *_arguments: Any, **_named: Any) -> Self:
        """Make a graph of this very class, whichever backend NetworkX is configured to take graphs from."""
        made = object.__new__(cls)
        made._log = Log()
        made.mirrors = Mirrors(made, made._log)
        made.noted = set()
        return made

    _log: Log
    mirrors: Mirrors
    """What the engine has of the graph."""
    noted: set[str]
    """Why something ran as NetworkX's own code, as far as that was said."""

    def __init__(self, incoming_graph_data: Any = None, **attr: Any) -> None:
        attr.pop("backend", None)
        super().__init__(**attr)
        self._adj.log = self._log  # type: ignore[attr-defined]  # of NetworkX; predecessors are the same edges
        if incoming_graph_data is not None:
            nx.convert.to_networkx_graph(incoming_graph_data, create_using=self)
            self.graph.update(attr)  # type: ignore[attr-defined]  # of NetworkX

    @property
    def watched(self) -> bool:
        """Whether all that happens to the edges is written down; not in a view, whose edges are another graph's."""
        adjacency = self._adj  # type: ignore[attr-defined]  # of NetworkX
        return type(adjacency) is _Adjacency and adjacency.log is self._log

    def to_directed_class(self) -> type[nx.DiGraph]:
        """Return the class of directed copies."""
        return DiGraph

    def to_undirected_class(self) -> type[nx.Graph]:
        """Return the class of undirected copies."""
        return Graph

    def __reduce_ex__(self, _protocol: Any) -> Any:
        """Copy and pickle what a plain graph holds; answers stay with the graph that has them."""
        assert isinstance(self, nx.Graph)
        plain = nx.DiGraph(self) if self.is_directed() else nx.Graph(self)
        return type(self), (plain,)

    def __copy__(self) -> Any:
        return type(self)(self)  # two graphs that share dictionaries would each miss what the other changes


class Graph(_Kept, nx.Graph):  # type: ignore[misc]  # NetworkX ships no types
    """An undirected NetworkX graph that keeps its answers fresh.

    >>> import networkx as nx
    >>> G = Graph()
    >>> G.add_weighted_edges_from([("a", "b", 2), ("b", "c", 2), ("a", "c", 9)])
    >>> nx.shortest_path_length(G, "a", "c", weight="weight")
    4
    >>> G.remove_edge("b", "c")
    >>> nx.shortest_path_length(G, "a", "c", weight="weight")
    9

    What the backend does not compute runs as NetworkX's own code, on the same graph.
    """


class DiGraph(_Kept, nx.DiGraph):  # type: ignore[misc]  # NetworkX ships no types
    """A directed NetworkX graph that keeps its answers fresh; see `Graph`."""
