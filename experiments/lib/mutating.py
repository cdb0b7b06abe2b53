"""What mutations cost: batches of several sizes, small and large graphs, hubs, and NetworKit beside it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from time import thread_time
from typing import Any

import numpy as np

from experiments.lib.bars import DATA, Bar
from experiments.lib.following import networkit_graph
from grapin.batch import Batch
from grapin.edges import EdgeList
from grapin.files import load_edges
from grapin.generators import generate
from grapin.graph import Graph
from grapin.random import Draws
from grapin.stream import Stream, workload

BATCHES = 10
UNIT = "us/mutation"
WITHIN = 5.0
"""Hubs may cost this many times what uniformly sampled mutations cost."""


@dataclass(frozen=True)
class Cost:
    """Microseconds per mutation: each batch's, for applying it and for making it from columns."""

    applying: Sequence[float]
    making: Sequence[float]

    @property
    def typical(self) -> float:
        """The median over the batches, applying alone."""
        return median(self.applying)

    @property
    def total(self) -> float:
        """The median over the batches, making and applying."""
        return median(map(sum, zip(self.applying, self.making, strict=True)))


def apply_timed(graph: Graph, batches: Iterable[Batch]) -> Cost:
    """Make each batch again from its columns, in no order, and apply it."""
    applying, making = [], []
    for batch in batches:
        columns = _unordered(batch)
        begin = thread_time()
        made = Batch(*columns)
        between = thread_time()
        graph.apply(made)
        end = thread_time()
        applying.append((end - between) / made.size * 1e6)
        making.append((between - begin) / made.size * 1e6)
    return Cost(applying, making)


def _unordered(batch: Batch) -> tuple[Any, Any]:
    coming = Draws(0, "coming").permutation(len(batch.insert))
    going = Draws(0, "going").permutation(len(batch.delete))
    insert: list[Any] = [batch.insert.source[coming], batch.insert.target[coming]]
    if batch.insert.weight is not None:
        insert.append(batch.insert.weight[coming])
    return tuple(insert), (batch.delete.source[going], batch.delete.target[going])


def size_bars(edges: EdgeList, sizes: Sequence[int]) -> list[Bar]:
    """Measure batches of each size, half insertions and half deletions, and NetworKit on the same batches."""
    bars = []
    for size in sizes:
        stream = workload(edges, batches=BATCHES, size=size, seed=size)
        cost = apply_timed(stream.graph(), stream)
        remark = f"{cost.total:.2f} with making the batch from unsorted columns"
        bars.append(Bar(f"apply batches of {size:,}", cost.typical, UNIT, 1.0, remark))
        remark = "C++ called edge by edge from Python; no check of the batch, no report of changes"
        bars.append(Bar(f"NetworKit addEdge, removeEdge, {size:,}", _networkit(stream), UNIT, None, remark))
    return bars


def _networkit(stream: Stream) -> float:
    import networkit

    assert stream.start is not None
    graph = networkit_graph(networkit, stream.start)
    costs = []
    for batch in stream:
        insert, delete = batch.insert.rows(), batch.delete.rows()
        begin = thread_time()
        for source, target, weight in insert:
            graph.addEdge(source, target, weight)
        for source, target in delete:
            graph.removeEdge(source, target)
        costs.append((thread_time() - begin) / batch.size * 1e6)
    return median(costs)


def growth_bar(large: EdgeList, small: str, size: int) -> Bar:
    """Compare one batch size on a large and on a small graph: cost must follow the batch, not the graph."""
    costs = []
    for edges in (large, generate(small)):
        stream = workload(edges, batches=BATCHES, size=size, seed=1)
        costs.append(apply_timed(stream.graph(), stream).typical)
    remark = f"{costs[0]:.2f} and {costs[1]:.2f} {UNIT}"
    return Bar(f"batches of {size:,} on {large.origin} over {small}", costs[0] / costs[1], "x", 2.0, remark)


def one_hub_bar(edges: EdgeList, mutations: int, size: int) -> Bar:
    """Insert half a million edges at one vertex and delete them again, in another order."""
    stream = workload(edges, batches=BATCHES, size=size, seed=2)
    graph = stream.graph()
    uniform = apply_timed(graph, stream).typical
    hub = int(np.argmax(np.bincount(edges.source, minlength=edges.vertices)))
    absent = np.setdiff1d(np.arange(edges.vertices), graph.out_neighbours(hub))
    count = min(mutations // 2, len(absent))
    targets = absent[Draws(0, "hub").permutation(len(absent))[:count]]
    leaving = targets[Draws(0, "leave").permutation(count)]
    batches = [_at_hub(hub, targets[begin : begin + size], insert=True) for begin in range(0, count, size)]
    batches += [_at_hub(hub, leaving[begin : begin + size], insert=False) for begin in range(0, count, size)]
    cost = apply_timed(graph, batches).applying
    mean = sum(cost) / len(cost)
    remark = f"mean {mean:.2f}, worst batch {max(cost):.2f}, uniform {uniform:.2f} {UNIT}"
    return Bar(f"{2 * count:,} mutations at one vertex over uniform", mean / uniform, "x", WITHIN, remark)


def _at_hub(hub: int, targets: Any, *, insert: bool) -> Batch:
    source = np.full(len(targets), hub)
    return Batch(insert=(source, targets, source % 64 + 1)) if insert else Batch(delete=(source, targets))


def largest_hubs_bars(size: int) -> list[Bar]:
    """Hit only the edges of the ten largest hubs of a web graph."""
    path = DATA / "cnr-2000.txt.zst"
    if not path.is_file():
        return []
    edges = load_edges(path)
    weight = np.ones(len(edges), np.int32)
    edges = replace(edges, weight=weight)
    stream = workload(edges, batches=BATCHES, size=size, seed=3)
    uniform = apply_timed(stream.graph(), stream).typical
    degrees = np.bincount(edges.source, minlength=edges.vertices) + np.bincount(
        edges.target, minlength=edges.vertices
    )
    hubs = np.argsort(degrees)[-10:]
    rows = np.isin(edges.source, hubs) | np.isin(edges.target, hubs)
    at_hubs = EdgeList(edges.source[rows], edges.target[rows], edges.vertices, weight[rows])
    stream = workload(at_hubs, batches=BATCHES, size=size, seed=4)
    graph = Graph.from_edges(edges.source, edges.target, weight, vertices=edges.vertices)
    for batch in stream:
        graph.apply(Batch(delete=(batch.insert.source, batch.insert.target)))
    cost = apply_timed(graph, stream).typical
    remark = f"{cost:.2f} and {uniform:.2f} {UNIT}, batches of {size:,}"
    return [
        Bar("batches at the 10 largest hubs of cnr-2000 over uniform", cost / uniform, "x", WITHIN, remark)
    ]
