"""`Archive`: a graph as named arrays and plain numbers, the form in which a file can hold it.

The lists lie there without slack, but every list comes back where it was, with the room it had: what is read of a
graph that was saved, and in how many requests, does not change by saving it.
"""

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grapin.edges import Labels
from grapin.errors import InvalidArgument
from grapin.graph.adjacency import Adjacency
from grapin.graph.graph import Graph
from grapin.graph.packed import Allocate
from grapin.graph.snapshot import VertexSet

PLAIN_NAMES = (str, int, float)
"""What a vertex may be called for JSON to bring the name back as it was."""
_PLACED_ELSEWHERE = ("allocate", "_migration", "weight_dtype")
"""What a direction has and an archive leaves out: given again, begun again, or said once for the graph."""

_SHARED = ("free_blocks", "counters", "windows")


class Archive(NamedTuple):
    """Arrays by name, and the numbers that say what they are, as JSON can hold them."""

    numbers: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def archive(graph: Graph) -> Archive:
    """Return all of a graph; the arrays stay as they are when the graph changes."""
    if type(graph) is not Graph:
        raise InvalidArgument("graph must have store='packed' to be saved: pages lie in a device's memory")
    vertices = graph._vertices  # noqa: SLF001 - this module and the graph share its form
    numbers: dict[str, Any] = {
        "version": graph.version,
        "edges": graph.edges,
        "bound": graph.bound,
        "directed": graph.directed,
        "strict": graph.strict,
        "weights": None if graph.weight_dtype is None else str(graph.weight_dtype),
    }
    arrays = {"alive": graph.alive(), "free": np.array(vertices._heap, np.int64)}  # noqa: SLF001 - as above
    for name, direction in _directions(graph):
        numbers[name], parts = _parts(direction)
        arrays |= {f"{name}.{part}": array for part, array in parts.items()}
    if graph.labels is not None:
        numbers["exact"] = graph.labels.exact
        arrays["names"], arrays["unnamed"] = _names(graph.labels)
    return Archive(numbers, arrays)


def restore(saved: Archive, *, allocate: Allocate | None = None) -> Graph:
    """Return the graph that an archive holds, its edge arrays placed by `allocate`."""
    numbers, arrays = saved
    dtype = None if numbers["weights"] is None else np.dtype(numbers["weights"])
    made = {}
    for name in ("out", "in"):
        if name in numbers:
            made[name] = _direction(
                name, numbers[name], arrays, {"weight_dtype": dtype, "allocate": allocate}
            )
    out = made["out"]
    graph = Graph(
        out,
        made.get("in") if numbers["directed"] else out,
        vertices=_vertices(arrays["alive"], arrays["free"]),
        edges=numbers["edges"],
        labels=_labels(numbers, arrays) if "exact" in numbers else None,
        strict=numbers["strict"],
    )
    graph.version = numbers["version"]
    return graph


def _directions(graph: Graph) -> list[tuple[str, Adjacency]]:
    return list(zip(("out", "in"), graph._directions(), strict=False))  # noqa: SLF001 - as above


def _parts(direction: Adjacency) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    state = direction.__getstate__()
    lists = state.pop("lists")
    parts = {"heads": state.pop("heads")} | {
        # What is long was packed into arrays of its own; the rest is still the graph's.
        name: part.copy() if name in _SHARED else part
        for name, part in lists.items()
        if isinstance(part, np.ndarray)
    }
    numbers = {name: part for name, part in state.items() if name not in _PLACED_ELSEWHERE}
    numbers["line_shift"] = lists["line_shift"]
    return json.loads(json.dumps(numbers, default=lambda number: number.item())), parts


def _direction(
    name: str, numbers: dict[str, Any], arrays: dict[str, NDArray[Any]], given: dict[str, Any]
) -> Adjacency:
    parts = {part.removeprefix(f"{name}."): arrays[part] for part in arrays if part.startswith(f"{name}.")}
    state = numbers | given | {"_migration": None, "heads": parts.pop("heads")}
    state["lists"] = parts | {"line_shift": state.pop("line_shift")}
    direction = Adjacency.__new__(Adjacency)
    direction.__setstate__(state)
    return direction


def _vertices(alive: NDArray[np.bool_], free: NDArray[np.int64]) -> VertexSet:
    vertices = VertexSet(0)
    queued = np.zeros(len(alive), np.bool_)
    queued[free] = True
    vertices.__setstate__(
        {
            "bound": len(alive),
            "count": int(np.count_nonzero(alive)),
            "_alive": alive,
            "_queued": queued,
            "_heap": free.tolist(),
        }
    )
    return vertices


def _names(labels: Labels) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return names as an array without objects, and which vertices have none any more."""
    names, unnamed = labels.names, np.array(sorted(labels._gone), np.int64)  # noqa: SLF001 - as above
    if names.dtype != object:
        return names.copy(), unnamed
    listed = names.tolist()
    for place in unnamed.tolist():
        listed[place] = 0
    for name in listed:
        if type(name) not in PLAIN_NAMES:
            raise InvalidArgument(
                f"vertex {name!r:.60} must be named by text or a number for the graph to be saved"
            )
    return np.frombuffer(json.dumps(listed).encode(), np.uint8), unnamed


def _labels(numbers: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Labels:
    names = arrays["names"]
    if names.dtype == np.uint8:
        listed = json.loads(names.tobytes())
        names = np.empty(len(listed), object)
        names[:] = listed
    labels = Labels(names, exact=numbers["exact"])
    labels._gone = set(arrays["unnamed"].tolist())  # noqa: SLF001 - as above
    return labels
