"""Grapin keeps graph answers fresh while the graph changes all the time and outgrows GPU memory.

Importing this package is quick: names are looked up when they are first used, so neither Numba nor SimPy is
loaded before something needs it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from grapin import reference, sim, stream, testing
    from grapin.batch import Batch, Edges
    from grapin.counters import Counters
    from grapin.edges import EdgeList, Labels
    from grapin.engine import Answer, Engine, Report
    from grapin.errors import (
        AnswersLost,
        CorruptGraph,
        DeviceUnavailable,
        GrapinError,
        InvalidArgument,
        InvalidBatch,
        InvalidFile,
        MissingDependency,
        ValueOverflow,
        WrongAnswer,
    )
    from grapin.files import load_edges
    from grapin.generators import generate
    from grapin.graph import Applied, Graph, Snapshot
    from grapin.kernels.cuda.memory import edge_memory
    from grapin.loading import load
    from grapin.named import NamedBatch
    from grapin.programs import (
        BFS,
        SSSP,
        SSWP,
        Accumulative,
        ConnectedComponents,
        HittingProbability,
        Katz,
        Monotone,
        PageRank,
        PersonalisedPageRank,
        Triangles,
        WeightedPageRank,
    )
    from grapin.system import System
    from grapin.trace import Trace

_HOMES = {
    "Accumulative": "grapin.programs",
    "Answer": "grapin.engine",
    "AnswersLost": "grapin.errors",
    "Applied": "grapin.graph",
    "BFS": "grapin.programs",
    "Batch": "grapin.batch",
    "ConnectedComponents": "grapin.programs",
    "CorruptGraph": "grapin.errors",
    "Counters": "grapin.counters",
    "DeviceUnavailable": "grapin.errors",
    "EdgeList": "grapin.edges",
    "Edges": "grapin.batch",
    "Engine": "grapin.engine",
    "Graph": "grapin.graph",
    "GrapinError": "grapin.errors",
    "HittingProbability": "grapin.programs",
    "InvalidArgument": "grapin.errors",
    "InvalidBatch": "grapin.errors",
    "InvalidFile": "grapin.errors",
    "Katz": "grapin.programs",
    "Labels": "grapin.edges",
    "MissingDependency": "grapin.errors",
    "Monotone": "grapin.programs",
    "NamedBatch": "grapin.named",
    "PageRank": "grapin.programs",
    "PersonalisedPageRank": "grapin.programs",
    "Report": "grapin.engine",
    "SSSP": "grapin.programs",
    "SSWP": "grapin.programs",
    "Snapshot": "grapin.graph",
    "System": "grapin.system",
    "Trace": "grapin.trace",
    "Triangles": "grapin.programs",
    "ValueOverflow": "grapin.errors",
    "WeightedPageRank": "grapin.programs",
    "WrongAnswer": "grapin.errors",
    "edge_memory": "grapin.kernels.cuda.memory",
    "generate": "grapin.generators",
    "load": "grapin.loading",
    "load_edges": "grapin.files",
}
_MODULES = ("reference", "sim", "stream", "testing")

__all__ = [
    "BFS",
    "SSSP",
    "SSWP",
    "Accumulative",
    "Answer",
    "AnswersLost",
    "Applied",
    "Batch",
    "ConnectedComponents",
    "CorruptGraph",
    "Counters",
    "DeviceUnavailable",
    "EdgeList",
    "Edges",
    "Engine",
    "Graph",
    "GrapinError",
    "HittingProbability",
    "InvalidArgument",
    "InvalidBatch",
    "InvalidFile",
    "Katz",
    "Labels",
    "MissingDependency",
    "Monotone",
    "NamedBatch",
    "PageRank",
    "PersonalisedPageRank",
    "Report",
    "Snapshot",
    "System",
    "Trace",
    "Triangles",
    "ValueOverflow",
    "WeightedPageRank",
    "WrongAnswer",
    "edge_memory",
    "generate",
    "load",
    "load_edges",
    "reference",
    "sim",
    "stream",
    "testing",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"grapin.{name}")
    raise AttributeError(f"module 'grapin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
