"""The self-test of a device: every program under every system, with a cache too where the system keeps copies.

It runs on small graphs full of ties; answers are held against the reference, copies against the store.


What a GPU does with a kernel cannot be known from elsewhere; this is what to run first on a new one. The graphs have
lists of every length that kernels tell apart, weights of 0, and equal keys; the batches insert, delete and
re-weight edges and change vertices.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.batch import Batch, edge_keys
from grapin.device import CachingDevice
from grapin.device import device as find_device
from grapin.engine.engine import Engine
from grapin.engine.verify import verify_answer, verify_copies
from grapin.errors import GrapinError
from grapin.generators import generate
from grapin.graph import Graph
from grapin.graph.packed import Allocate
from grapin.programs import BFS, SSSP, SSWP, ConnectedComponents, PageRank, Program, Triangles
from grapin.random import Draws
from grapin.system import RUNNABLE, SYSTEMS, System, Unified

PROGRAMS: dict[str, Program] = {
    program.name: program
    for program in (BFS(0), SSSP(0), SSWP(0), ConnectedComponents(), PageRank(tolerance=1e-6), Triangles())
}
"""What is tried, by name; vertex 0 is the hub and never deleted."""
KINDS = ("directed", "undirected")
"""Directed graphs have whole weights, undirected ones real ones."""
BATCHES = 3
LARGEST_WEIGHT = 4
"""Few different weights, so that many paths are equally good; 0 is among them."""
VERTICES_FROM = 2
"""From this batch on vertices come and go too."""
CACHE = "30%"
"""Room for copies, where there is a cache: too little for all lists, so that some have to go."""
WITH_CACHE = " + cache"


@dataclass(frozen=True)
class Trial:
    """One program under one system on one graph, from the first values through all batches."""

    program: str
    system: str
    """Its name, followed by `WITH_CACHE` where lists were cached."""
    kind: str
    seconds: float
    wrong: str | None
    """What went wrong, as a sentence; None when every value was right."""


def selftest(
    device: str,
    *,
    scale: int = 8,
    seed: int = 0,
    systems: Iterable[str] = RUNNABLE,
    kinds: Iterable[str] = KINDS,
) -> Iterator[Trial]:
    """Try a device on graphs of `2**scale` vertices, and yield how each trial ended."""
    for kind, program, way in product(kinds, PROGRAMS.values(), ways(device, systems)):
        begin = time.perf_counter()
        wrong = _wrong(device, program, way, kind, scale, seed)
        yield Trial(program.name, way, kind, time.perf_counter() - begin, wrong)


def ways(device: str, systems: Iterable[str] = RUNNABLE) -> list[str]:
    """Return how a device is tried: under each system, and with a cache where both can have one."""
    caching = isinstance(find_device(device), CachingDevice)
    found = []
    for name in systems:
        cached = caching and SYSTEMS[name].cache != "none"
        found += [name, name + WITH_CACHE] if cached else [name]
    return found


def _wrong(device: str, program: Program, way: str, kind: str, scale: int, seed: int) -> str | None:
    system = SYSTEMS[way.removesuffix(WITH_CACHE)]
    cache = CACHE if way.endswith(WITH_CACHE) else None
    try:
        graph = hub_graph(kind, scale, seed, edge_allocation(device, system))
        draws = Draws(seed, "batches")
        engine = Engine(graph, program, device=device, system=system, cache=cache)
        _verify(engine)
        for number in range(BATCHES):
            engine.apply(next_batch(graph, draws, vertices=number >= VERTICES_FROM))
            _verify(engine)
    except GrapinError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - drivers fail in their own ways, and the other trials still tell something
        return f"{type(error).__name__}: {error}"
    return None


def _verify(engine: Engine) -> None:
    verify_answer(engine.answers[0], engine.graph)
    if engine.cache is not None:
        verify_copies(engine._cache, engine.graph.snapshot())  # noqa: SLF001  (how copies are kept is not public)


def edge_allocation(device: str, system: System) -> Allocate | None:
    """Return what puts edges where a GPU's unified memory needs them; anything else reads ordinary memory."""
    if device != "cuda" or not isinstance(system.transfer, Unified):
        return None
    from grapin.kernels.cuda.memory import edge_memory

    return edge_memory("unified")


def hub_graph(kind: str, scale: int, seed: int, allocate: Allocate | None = None) -> Graph:
    """Return a skewed graph in which vertex 0 has an edge to every other, and most lists are short."""
    edges = generate(f"rmat:{scale}:4", seed=seed, weights=False)
    others = np.arange(1, 2**scale, dtype=edges.source.dtype)
    source = np.concatenate((edges.source, np.zeros_like(others)))
    target = np.concatenate((edges.target, others))
    keys = np.unique(edge_keys(source, target))
    source, target = keys >> 32, keys & 0xFFFFFFFF
    directed = kind == "directed"
    if not directed:
        below = source < target
        source, target = source[below], target[below]
    weights = _weights(Draws(seed, "weights"), len(source), np.dtype(np.int32 if directed else np.float32))
    return Graph.from_edges(source, target, weights, directed=directed, allocate=allocate)


def next_batch(graph: Graph, draws: Draws, *, vertices: bool) -> Batch:
    """Return a batch that changes about an eighth of a graph's edges, and with `vertices` two vertices."""
    source, target, _weight = graph.edge_arrays()
    if not graph.directed:
        once = source <= target
        source, target = source[once], target[once]
    going = np.array([], np.int32)
    if vertices:
        going = np.flatnonzero(graph.alive())[1:][draws.below(graph.vertices - 1, 1)].astype(np.int32)
        apart = ~np.isin(source, going) & ~np.isin(target, going)
        source, target = source[apart], target[apart]
    deleted, reweighted = np.array_split(draws.permutation(len(source))[: len(source) // 12], 2)
    coming = _absent(graph, draws, len(deleted), going)
    return Batch(
        insert=(*coming, _weights(draws, len(coming[0]), graph.weight_dtype)),
        delete=(source[deleted], target[deleted]),
        reweight=(
            source[reweighted],
            target[reweighted],
            _weights(draws, len(reweighted), graph.weight_dtype),
        ),
        insert_vertices=[graph.bound] if vertices else [],
        delete_vertices=going,
    )


def _absent(graph: Graph, draws: Draws, count: int, going: NDArray[np.int32]) -> tuple[Any, Any]:
    """Draw edges that the graph does not have, none at a vertex that goes."""
    alive = np.setdiff1d(np.flatnonzero(graph.alive()), going)
    source = alive[draws.below(len(alive), count)]
    target = alive[draws.below(len(alive), count)]
    if not graph.directed:
        source, target = np.minimum(source, target), np.maximum(source, target)
    keys = np.unique(edge_keys(source, target))
    pairs = [(int(key >> 32), int(key & 0xFFFFFFFF)) for key in keys]
    absent = [(tail, head) for tail, head in pairs if tail != head and not graph.has_edge(tail, head)]
    return tuple(np.array(absent, np.int32).reshape(-1, 2).T)  # type: ignore[return-value]  # two columns


def _weights(draws: Draws, count: int, dtype: np.dtype[Any] | None) -> NDArray[Any]:
    return draws.below(LARGEST_WEIGHT + 1, count).astype(dtype)
