"""What NetworkX asks of a backend: conversions, whether it can run something, and the functions by their names.

A graph of this package is a NetworkX graph, so every function of NetworkX works on it: what is not computed here, or
not with these arguments or weights, runs as NetworkX's own code on the same dictionaries, without a conversion. Of
other graphs only what is computed here is taken; what is refused goes back to NetworkX, to its next backend.
"""

import inspect
import logging
from functools import cache, wraps
from typing import Any

import networkx as nx
from networkx.utils.backends import _registered_algorithms

from grapin.networkx import FUNCTIONS, algorithms
from grapin.networkx.graphs import DiGraph, Graph
from grapin.networkx.mirrors import Mirrors
from grapin.networkx.weights import Refused

_LOG = logging.getLogger("grapin")
_NEW = {"graph__new__": Graph, "digraph__new__": DiGraph}
_TURNED = {"ancestors", "single_target_shortest_path", "single_target_shortest_path_length"}
_SLOW = {
    name for name in FUNCTIONS if name.startswith(("single_source_", "multi_source_")) and "short" not in name
}
"""What takes NetworkX longer than it takes to convert a graph: all shortest paths over weights."""


class Converted:
    """A graph of NetworkX's own as it was when it was converted."""

    __networkx_backend__ = "grapin"

    def __init__(self, graph: nx.Graph) -> None:
        self.graph = graph
        self.mirrors = Mirrors(graph)

    def is_multigraph(self) -> bool:
        """Whether the graph has parallel edges."""
        return bool(self.graph.is_multigraph())


def convert_from_nx(
    graph: Any, edge_attrs: dict[str, Any] | None = None, name: str | None = None, **_: Any
) -> Converted:
    """Read a graph of NetworkX's own; raise NotImplementedError if it has weights that would be rounded."""
    converted = Converted(graph)
    converted.mirrors.get(next(iter(edge_attrs or ()), None), turned=name in _TURNED)
    return converted


def convert_to_nx(result: Any, **_: Any) -> Any:
    """Return NetworkX's own of what it got from here; our graphs are NetworkX's as they are."""
    return result.graph if isinstance(result, Converted) else result


def can_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Tell whether a function can be run with these arguments, or why not.

    Whether the weights of a graph can be had exactly is found when they are read, and refused then.
    """
    if name in _NEW or any(isinstance(one, (Graph, DiGraph)) for one in (*args, *kwargs.values())):
        return True
    if name not in FUNCTIONS:
        return "it is not computed by Grapin"
    arguments = _signature(name).bind(*args, **kwargs).arguments
    return algorithms.refusal(name, arguments.pop("G"), arguments) or True


def should_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Tell whether it is quicker to convert a graph and run a function here than to run NetworkX's own code."""
    graph = args[0] if args else kwargs.get("G")
    kept = getattr(graph, "__networkx_cache__", None) or {}
    if isinstance(graph, (Graph, DiGraph)) or name in _SLOW or kept.get("backends", {}).get("grapin"):
        return True
    return "one call takes less time than a conversion: a grapin.networkx.Graph needs none"


def __getattr__(name: str) -> Any:
    """Return a function by the name that NetworkX has for it; it looks up what it calls each time."""
    if name in _NEW:
        return _maker(_NEW[name])
    if name in FUNCTIONS:
        return _offered(name)
    if name in _registered_algorithms:
        return _original(name)
    raise AttributeError(f"module 'grapin.networkx.backend' has no attribute {name!r}")


@cache
def _maker(kind: Any) -> Any:
    def new(_cls: Any, *_arguments: Any, **_named: Any) -> Any:
        return kind.__new__(kind)  # NetworkX calls its __init__

    return new


@cache
def _signature(name: str) -> inspect.Signature:
    return inspect.signature(getattr(algorithms, name))


@cache
def _original(name: str) -> Any:
    """Return NetworkX's own code."""
    return _registered_algorithms[name].orig_func


@cache
def _offered(name: str) -> Any:
    """Return what computes a function here, or has NetworkX's own code do so on a graph that is NetworkX's as well."""
    algorithm, signature = getattr(algorithms, name), _signature(name)

    @wraps(algorithm)
    def run(*args: Any, **kwargs: Any) -> Any:
        arguments = signature.bind(*args, **kwargs).arguments
        graph = arguments.pop("G")
        reason = algorithms.refusal(name, graph, arguments)
        if reason is None:
            try:
                return algorithm(_mirrored(graph), **arguments)
            except Refused as refused:
                reason = str(refused)
        if isinstance(graph, Converted):
            raise Refused(reason)
        if reason not in graph.noted:  # once a graph: algorithms call each other, and users call again
            graph.noted.add(reason)
            _LOG.warning("grapin: note: %s runs as NetworkX's own code: %s", name, reason)
        return _original(name)(graph, **arguments)

    return run


def _mirrored(graph: Any) -> Any:
    """Return what has mirrors of a graph: itself, unless it is a view of another one, which says nothing of changes."""
    return graph if isinstance(graph, Converted) or graph.watched else Converted(graph)
