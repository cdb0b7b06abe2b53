"""Warming up: machine code is compiled or loaded before anything is timed, not in the batches that need it first.

Numba compiles a kernel when it is first called with arguments of its types, which takes seconds, or loads what an
earlier process compiled, which takes milliseconds. A run that is measured should see neither. So a small graph of the
same kind (weights, direction, program, system, device, threads, trace, cache) is changed first in every way there is:
edges and vertices that come and go, weights that rise and fall, repairs that stay small, that are settled by a sweep
and that give up, and an empty batch.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.batch import Batch, edge_keys
from grapin.cache.settings import CacheSettings
from grapin.device import open_device
from grapin.engine.engine import Engine
from grapin.errors import GrapinError
from grapin.graph import Graph
from grapin.programs.accumulative import Accumulative
from grapin.programs.program import Monotone, Program
from grapin.random import Draws
from grapin.system import System, find_system

COMPILING = ("cpu", "cuda", "onelane")
"""Devices whose kernels are compiled. The others execute Python, in which a graph of this size would take long."""
STEPS = 14
"""How often `advance` is called with 1."""
_VERTICES = 40_000
"""Above the widths from which threads share a round (2**15 edges) and a sweep settles a repair (2**12 vertices)."""
_SWEPT = 10_000
_FEW = 16
_SMALL_STEPS = 4
_SEEN = 256
"""So many vertices of the graph lend the weight of an edge."""


def warm_up(
    graph: Graph,
    programs: Program | Sequence[Program],
    *,
    device: str = "auto",
    system: str | System = "bounded",
    threads: int | None = None,
    trace: bool = False,
    cache: str | int | CacheSettings | None = None,
    advance: Callable[[float], None] = lambda _: None,
) -> None:
    """Compile whatever an engine with these arguments will call; the graph only lends its kind and some weights.

    What such an engine refuses is left for it to refuse: a failure here ends the warm-up and nothing else.
    """
    compiles = open_device(device, find_system(system)).name.partition(":")[0] in COMPILING
    small = _small_graph(graph, _VERTICES if compiles else _FEW)
    advance(1)
    change: Callable[[Batch], object] = small.apply
    if compiles:
        listed = [programs] if isinstance(programs, Program) else programs
        started = [_from_vertex_0(one) for one in listed]
        try:
            change = Engine(
                small, started, device=device, system=system, threads=threads, trace=trace, cache=cache
            ).apply
        except GrapinError:
            return
    advance(1)
    for batch in _batches(small):
        try:
            change(batch)
        except GrapinError:  # such as weights that add up to more than a value holds
            return
        advance(1)


def _from_vertex_0(program: Program) -> Program:
    """Return the program with the one source that the small graph has for sure; its rules stay the same."""
    moved = copy.copy(program)
    if isinstance(moved, Monotone) and moved.sources:
        moved.sources = {0: next(iter(moved.sources.values()))}
    elif isinstance(moved, Accumulative) and moved.base is not None:
        moved.base = {0: 1.0}
    return moved


def _small_graph(graph: Graph, vertices: int) -> Graph:
    """Return a graph in which vertex 0 has an edge to every other, and every other has a few."""
    draws = Draws(0, "warm-up")
    hub, others = np.zeros(vertices - 1, np.int32), np.arange(1, vertices, dtype=np.int32)
    ends = draws.below(vertices, 2 * vertices).astype(np.int32)
    keys = np.unique(np.concatenate([edge_keys(hub, others), edge_keys(ends[:vertices], ends[vertices:])]))
    source, target = (keys >> 32).astype(np.int32), keys.astype(np.int32)
    if not graph.directed:
        above = source < target
        source, target = source[above], target[above]
    return Graph.from_edges(
        source,
        target,
        _weights(graph, len(source)),
        vertices=vertices,
        directed=graph.directed,
        in_direction=graph.in_direction,
    )


def _weights(graph: Graph, count: int) -> NDArray[Any] | None:
    """Return weights such as the graph has, so that what holds for a program there holds here."""
    if graph.weight_dtype is None:
        return None
    lists = graph.snapshot().out
    vertices = np.flatnonzero(lists.degrees)[:_SEEN]
    seen = lists.weights[lists.starts[vertices]] if len(vertices) else np.ones(1, graph.weight_dtype)
    return np.resize(np.sort(seen).astype(graph.weight_dtype), count)


def _batches(graph: Graph) -> Iterator[Batch]:
    """Yield every kind of batch; each is made for the graph as the one before it left it."""
    yield Batch()
    yield _mixed(graph, _FEW, vertices=False)
    yield _mixed(graph, _FEW, vertices=True)
    source, target, weight = graph.edge_arrays()
    lost = np.flatnonzero(source == 0)[:_SWEPT]
    columns = (source[lost], target[lost])
    yield Batch(delete=columns)
    yield Batch(insert=columns if weight is None else (*columns, weight[lost]))
    yield _mixed(graph, graph.edges // 8, vertices=True)
    for _ in range(
        _SMALL_STEPS
    ):  # until the room behind the lists is scarce, and they begin to move to larger arrays
        yield _growing(graph, graph.bound // 400, 0)
    yield _mixed(graph, _FEW, vertices=False)
    yield _growing(graph, graph.bound, graph.edges)


def _mixed(graph: Graph, size: int, *, vertices: bool) -> Batch:
    """Return a batch that deletes, re-weights and inserts about `size` edges each, and with `vertices` two vertices."""
    draws = Draws(size, "changes")
    source, target, weight = graph.edge_arrays()
    going = np.flatnonzero(graph.alive())[-1:].astype(np.int32) if vertices else np.empty(0, np.int32)
    coming = np.arange(graph.bound, graph.bound + len(going), dtype=np.int32)
    kept = ~np.isin(source, going) & ~np.isin(target, going)
    if not graph.directed:
        kept &= source <= target
    source, target, weight = source[kept], target[kept], None if weight is None else weight[kept]
    chosen = draws.permutation(len(source))[: 2 * size]
    deleted, reweighted = chosen[::2], chosen[1::2]
    # From one random edge's source to another's target, and to the vertices that come.
    joined = source[draws.below(len(source), size)], target[draws.below(len(source), size)]
    new = [np.concatenate([joined[0], coming * 0]), np.concatenate([joined[1], coming])]
    if not graph.directed:
        new = [np.minimum(*new), np.maximum(*new)]
    keys = np.setdiff1d(edge_keys(new[0], new[1]), edge_keys(source[chosen], target[chosen]))
    inserted: tuple[NDArray[Any], ...] = ((keys >> 32).astype(np.int32), keys.astype(np.int32))
    changed: tuple[NDArray[Any], ...] = ()
    if weight is not None:
        inserted = (*inserted, np.resize(weight, len(keys)))
        changed = (source[reweighted], target[reweighted], weight[reweighted[::-1]])
    return Batch(
        insert=inserted,
        delete=(source[deleted], target[deleted]),
        reweight=changed,
        insert_vertices=coming,
        delete_vertices=going,
    )


def _growing(graph: Graph, fresh: int, count: int) -> Batch:
    """Return a batch that only inserts: vertices, an edge at each of them and `count` others."""
    coming = np.arange(graph.bound, graph.bound + fresh, dtype=np.int32)
    others = Draws(0, "growth").below(graph.bound + fresh, count) if count else np.empty(0)
    target = np.concatenate([coming, others.astype(np.int32)])
    source = np.resize(coming, len(target))
    keys = np.unique(edge_keys(np.minimum(source, target), np.maximum(source, target)))
    inserted: tuple[NDArray[Any], ...] = ((keys >> 32).astype(np.int32), keys.astype(np.int32))
    weight = graph.edge_arrays()[2]
    if weight is not None:
        inserted = (*inserted, np.resize(weight, len(keys)))
    return Batch(insert=inserted, insert_vertices=coming)
