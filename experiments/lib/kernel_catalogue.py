"""Every CUDA kernel with the types of arguments it is launched with, found by watching self-tests in the simulator.

Kernels are bound in the same order on every backend, so what the simulator was asked to launch tells the types for
kernels bound for the compiler, which cannot run here.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import product
from pkgutil import walk_packages
from types import FunctionType
from typing import Any
from unittest.mock import patch

import numpy as np
from numba import typeof

from grapin.batch import Batch
from grapin.cache import CacheSettings
from grapin.device import Query
from grapin.engine.selftest import BATCHES, PROGRAMS, VERTICES_FROM, hub_graph, next_batch
from grapin.graph import Graph
from grapin.graph.page_store import PageStore
from grapin.kernels import cuda
from grapin.kernels.cuda.assembly import fingerprint
from grapin.kernels.cuda.backend import Shape
from grapin.kernels.cuda.cache import CudaCache
from grapin.kernels.cuda.compiled import Compiler
from grapin.kernels.cuda.pages import arena
from grapin.kernels.cuda.pages.arena import Arena
from grapin.kernels.cuda.programs import make_query
from grapin.kernels.cuda.simulator import Simulator
from grapin.kernels.rules import rebind
from grapin.programs import Program
from grapin.random import Draws
from grapin.system import SYSTEMS, Resident, System

NEEDS_GPU = ("grapin.kernels.cuda.gpu", "grapin.kernels.cuda.gpu")
"""What cannot be imported without CuPy; neither has kernels."""
SCALE = 4
"""Graphs of 16 vertices: the simulator is slow, and types do not depend on size."""
RESIDENT = replace(SYSTEMS["bounded"], name="resident", transfer=Resident())
WORKLOADS: tuple[tuple[Program, System, str], ...] = (
    *product(
        PROGRAMS.values(), (SYSTEMS[name] for name in ("bounded", "grapin-zc", "grapin-recomp")), ("none",)
    ),
    (PROGRAMS["bfs"], RESIDENT, "none"),
    *product((PROGRAMS["bfs"],), (SYSTEMS[name] for name in ("exptm-filter", "subway-sync")), ("none",)),
    *product(PROGRAMS.values(), (SYSTEMS["bounded"],), ("adaptive",)),
    *product((PROGRAMS["bfs"], PROGRAMS["sssp"]), (SYSTEMS["grapin"],), ("published",)),
)
"""Each program under each kind of repair and with a cache that is asked before every walk, and what else it takes to
launch every kernel."""
ROOM = {"capacity": 400, "chunk": 160}
"""Bytes of a cache that has lists to give up and to move."""


@dataclass(frozen=True)
class Entry:
    """One kernel, bound to a program, and types it is launched with."""

    name: str
    program: str
    repair: str
    function: FunctionType
    types: tuple[Any, ...]


class Watching(Simulator):
    """The simulator, which writes down what is launched."""

    def __init__(self) -> None:
        super().__init__(warp=4, shape=Shape(1, 8))
        self.kernels: list[Any] = []
        self.types: dict[int, dict[tuple[Any, ...], None]] = {}

    def kernel(self, plain: Any, variant: str, **names: Any) -> Any:
        """Number the kernels."""
        self.kernels.append(super().kernel(plain, variant, **names))
        return self.kernels[-1]

    def launch(self, kernel: Any, *arguments: Any, shape: Shape | None = None) -> None:
        """Write down the types, then run it."""
        self.types.setdefault(self.kernels.index(kernel), {})[tuple(map(typeof, arguments))] = None
        super().launch(kernel, *arguments, shape=shape)


class Binding(Simulator):
    """Binds kernels for the compiler, and launches none."""

    def __init__(self) -> None:
        super().__init__()
        self.kernels: list[tuple[str, FunctionType]] = []

    def function(self, plain: Any, **names: Any) -> Any:
        """Compile a function that kernels call."""
        return Compiler().function(plain, **names)

    def kernel(self, plain: Any, variant: str, **names: Any) -> FunctionType:
        """Number the kernels as `Watching` does."""
        self.kernels.append((plain.__name__, rebind(plain, variant, **names)))
        return self.kernels[-1][1]


def catalogue(program: str | None = None, kind: str = "directed") -> Iterator[Entry]:
    """Yield every kernel, of one program or of all, once for each binding and list of types that make it differ."""
    found: set[tuple[str, Any]] = set()
    for one, system, policy in WORKLOADS:
        if program is not None and one.name != program:
            continue
        for entry in _entries(one, system, policy, kind):
            identity = fingerprint(entry.function), entry.types
            if identity not in found:
                found.add(identity)
                yield entry


def page_kernels() -> Iterator[Entry]:
    """Yield every kernel on graphs in pages, with and without weights, once for each list of types."""
    found: set[tuple[str, Any]] = set()
    for weights, one, kind in product(("none", "int32"), STORES_WATCHED, KINDS_WATCHED):
        watching, binding = Watching(), Binding()
        _change_in_pages(watching, one, kind, weights)
        layout = Arena(binding, one, weighted=weights != "none", **_lists_of(kind))
        for place, types in watching.types.items():
            name, function = binding.kernels[place]
            for each in types:
                identity = fingerprint(function), each
                if identity not in found:
                    found.add(identity)
                    yield Entry(name, "pages", f"{weights}, {layout.store.strategy}", function, each)


STORES_WATCHED = (
    PageStore(strategy="update-centric"),
    PageStore(strategy="vertex-centric"),
    PageStore(strategy="update-centric", published=True),
)
KINDS_WATCHED = ("directed", "undirected", "out-lists only")


def _lists_of(kind: str) -> dict[str, int]:
    """Return how many lists a vertex has in a graph of this kind, and in how many an edge is."""
    return {"lists_per_vertex": 2 if kind == "directed" else 1, "sides": 1 if kind == "out-lists only" else 2}


def _change_in_pages(backend: Simulator, store: PageStore, kind: str, weights: str) -> None:
    """Insert, delete and re-weight edges of a small graph, and vertices: by search, and by passes."""
    weighted = weights != "none"

    def edges(*pairs: tuple[int, int]) -> list[tuple[int, ...]]:
        return [(*pair, 1 + pair[1]) if weighted else pair for pair in pairs]

    columns = [np.array(column) for column in zip(*edges((0, 1), (1, 2), (2, 3), (3, 3)), strict=True)]
    with patch.object(arena, "_backend", lambda _device: backend):
        graph = Graph.from_edges(
            *columns,
            vertices=5,
            directed=kind != "undirected",
            in_direction=kind != "out-lists only",
            store=store,
        )
        reweighted = edges((2, 3)) if weighted else []
        new = edges((0, 2), (0, 3), (4, 5))
        graph.apply(Batch(insert=new, delete=[(0, 1)], reweight=reweighted, insert_vertices=[5]))
        graph.apply(Batch(delete_vertices=[0]))
        graph.edge_arrays()
        with patch.object(Arena, "pages_in_lists", -(10**6)):
            graph.apply(Batch(delete_vertices=[2]))


def shipped() -> set[str]:
    """Return the names of all kernels that the package's modules list as theirs."""
    folders = walk_packages(cuda.__path__, f"{cuda.__name__}.")
    modules = [import_module(folder.name) for folder in folders if folder.name not in NEEDS_GPU]
    return {kernel.__name__ for module in modules for kernel in getattr(module, "KERNELS", ())}


def _entries(program: Program, system: System, policy: str, kind: str) -> Iterator[Entry]:
    watching, binding = _watched(program, system, policy, kind), Binding()
    _query(binding, program, system, policy, hub_graph(kind, SCALE, seed=0))
    for place, types in watching.types.items():
        name, function = binding.kernels[place]
        for one in types:
            yield Entry(name, program.name, system.repair, function, one)


def _query(backend: Simulator, program: Program, system: System, policy: str, graph: Graph) -> Query:
    query = make_query(backend, program, system, weight_dtype=graph.weight_dtype, directed=graph.directed)
    if policy == "none":
        return query
    arrays = 2 if getattr(program, "weighted", False) else 1
    cache = CudaCache(
        backend,
        CacheSettings(policy, **ROOM),
        system.transfer,
        arrays=arrays,
        weight_dtype=graph.weight_dtype,
    )
    return cache.attach(query)


def _watched(program: Program, system: System, policy: str, kind: str) -> Watching:
    watching = Watching()
    graph: Graph = hub_graph(kind, SCALE, seed=0)
    query = _query(watching, program, system, policy, graph)
    query.start(graph.snapshot(), tracing=False)
    draws = Draws(0, "batches")
    for number in range(BATCHES):
        applied = graph.apply(next_batch(graph, draws, vertices=number >= VERTICES_FROM))
        query.repair(graph.snapshot(), applied, tracing=False)
    query.values()
    return watching
