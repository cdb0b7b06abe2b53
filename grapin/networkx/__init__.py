"""NetworkX computes with Grapin: the backend `grapin`, and graphs whose mutations are deltas.

NetworkX finds the backend by itself (entry points `networkx.backends` and `networkx.backend_info`), so
`nx.shortest_path_length(G, s, backend="grapin")` works without an import of this module. A `grapin.networkx.Graph` or
`DiGraph` is a NetworkX graph in every respect that also keeps its last answers: what `add_edge` and `remove_edge`
changed since is repaired by the next call, and nothing is converted again.

Importing this package loads neither NetworkX nor the engine: NetworkX itself does, whenever it is imported.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grapin.networkx.graphs import DiGraph, Graph

__all__ = ["DiGraph", "Graph", "backend_info"]

_LENGTHS = "Lengths are exact: what 32 bits would round is left to NetworkX."
_PATHS = "Of several shortest paths it may be another one than NetworkX's own."
_SETS = "Components come in no particular order."

FUNCTIONS = {
    "ancestors": "",
    "bellman_ford_path": f"{_PATHS} {_LENGTHS}",
    "bellman_ford_path_length": _LENGTHS,
    "bidirectional_dijkstra": f"{_PATHS} {_LENGTHS}",
    "bidirectional_shortest_path": _PATHS,
    "connected_components": _SETS,
    "descendants": "",
    "descendants_at_distance": "",
    "dijkstra_path": f"{_PATHS} {_LENGTHS}",
    "dijkstra_path_length": _LENGTHS,
    "has_path": "",
    "is_connected": "",
    "is_weakly_connected": "",
    "multi_source_dijkstra": f"{_PATHS} {_LENGTHS}",
    "multi_source_dijkstra_path": f"{_PATHS} {_LENGTHS}",
    "multi_source_dijkstra_path_length": _LENGTHS,
    "node_connected_component": "",
    "number_connected_components": "",
    "number_weakly_connected_components": "",
    "pagerank": "Ranks differ from the exact ones by at most `tol` in sum; weights and personalisation are refused.",
    "shortest_path": f"{_PATHS} {_LENGTHS}",
    "shortest_path_length": _LENGTHS,
    "single_source_bellman_ford": f"{_PATHS} {_LENGTHS}",
    "single_source_bellman_ford_path": f"{_PATHS} {_LENGTHS}",
    "single_source_bellman_ford_path_length": _LENGTHS,
    "single_source_dijkstra": f"{_PATHS} {_LENGTHS}",
    "single_source_dijkstra_path": f"{_PATHS} {_LENGTHS}",
    "single_source_dijkstra_path_length": _LENGTHS,
    "single_source_shortest_path": _PATHS,
    "single_source_shortest_path_length": "",
    "single_target_shortest_path": _PATHS,
    "single_target_shortest_path_length": "",
    "weakly_connected_components": _SETS,
}
"""What the backend computes itself, and what a reader of NetworkX's documentation should know about each."""


def backend_info() -> dict[str, Any]:
    """Return what NetworkX shows of the backend, and which functions it may hand over."""
    return {
        "backend_name": "grapin",
        "project": "Grapin",
        "package": "grapin",
        "short_summary": "Repairs the last answer when the graph changes; see grapin.networkx.Graph.",
        "functions": {name: {"additional_docs": note} for name, note in FUNCTIONS.items()},
    }


def __getattr__(name: str) -> Any:
    if name in {"Graph", "DiGraph"}:
        return getattr(import_module("grapin.networkx.graphs"), name)
    raise AttributeError(f"module 'grapin.networkx' has no attribute {name!r}")
