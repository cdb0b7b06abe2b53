"""Mutations sampled from a graph, as the papers on streaming graphs do it.

`workload` is theirs: edges of a graph are sampled uniformly, some to be deleted and some to be inserted; the
latter are taken out of the graph before it starts. `sample` is for a graph that is there already and must not
change first: it inserts edges that the graph does not have, each from the source of one random edge to the
target of another, so that hubs receive about their share.

Every batch has the same number of insertions. No edge is named twice in a stream, so every mutation takes
effect.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grapin.batch import Batch, edge_keys
from grapin.edges import EdgeList, VertexArray, WeightArray
from grapin.errors import InvalidArgument
from grapin.random import Draws
from grapin.stream.stream import Stream
from grapin.units import format_count
from grapin.validation import check_fraction, check_integer

if TYPE_CHECKING:
    from grapin.graph import Graph

_MOST_ROUNDS = 100


@dataclass(frozen=True)
class _Shape:
    """How many batches, and how many insertions and deletions each has."""

    batches: int
    insertions: int
    deletions: int


def workload(
    edges: "EdgeList | Graph", *, batches: int = 10, size: int = 1000, insertions: float = 0.5, seed: int = 0
) -> Stream:
    """Turn a graph into a start and a stream: `size` mutations per batch, `insertions` of them insertions.

    `stream.start` is the graph without the edges that will be inserted; `stream.graph()` builds it. Inserted
    edges bring the weight they had, and updates follow the graph's own distribution.
    """
    shape = _shape(batches, size, insertions)
    population = _distinct(edges)
    rows = _sampled_rows(population, batches * size, seed).reshape(batches, size)
    coming, going = rows[:, : shape.insertions], rows[:, shape.insertions :]
    kept = np.ones(len(population), np.bool_)
    kept[coming.ravel()] = False
    start = replace(_rows(population, kept), origin=f"start of {population.origin}")
    return _stream(shape, _rows(population, coming.ravel()), _rows(population, going.ravel()), start)


def sample(
    graph: "Graph | EdgeList", *, batches: int = 10, size: int = 1000, insertions: float = 0.5, seed: int = 0
) -> Stream:
    """Sample mutations for a graph as it is now: deletions of its edges, insertions of edges it lacks.

    Everything is drawn when this is called, so the graph may change while the stream is read. Inserted edges
    take the weight of a random edge.
    """
    shape = _shape(batches, size, insertions)
    population = _distinct(graph)
    going = _rows(population, _sampled_rows(population, batches * shape.deletions, seed))
    coming = _absent(population, batches * shape.insertions, seed)
    return _stream(shape, coming, going, population if isinstance(graph, EdgeList) else None)


def _shape(batches: int, size: int, insertions: float) -> _Shape:
    check_integer("batches", batches, least=0)
    check_integer("size", size, least=1)
    coming = int(check_fraction("insertions", insertions) * size + 0.5)
    return _Shape(batches, coming, size - coming)


def _distinct(graph: "EdgeList | Graph") -> EdgeList:
    """Return each edge once, sorted, with its last weight; undirected ones with their low end first."""
    if isinstance(graph, EdgeList):
        edges = graph
        if edges.removed is not None:
            raise InvalidArgument(f"{edges.origin} has deletions: use grapin.stream.temporal to replay them")
    else:
        source, target, weight = graph.edge_arrays()
        edges = EdgeList(source, target, graph.bound, weight, directed=graph.directed, labels=graph.labels)
    source, target = edges.source, edges.target
    if not edges.directed:
        source, target = np.minimum(source, target), np.maximum(source, target)
    keys = edge_keys(source, target)
    edges = replace(edges, source=source, target=target, time=None)
    if (keys[1:] > keys[:-1]).all():
        return edges
    order = np.argsort(keys, kind="stable")
    last = np.append(keys[order][1:] != keys[order][:-1], True)
    return _rows(edges, order[last])


def _rows(edges: EdgeList, chosen: NDArray[Any]) -> EdgeList:
    weight = None if edges.weight is None else edges.weight[chosen]
    return replace(edges, source=edges.source[chosen], target=edges.target[chosen], weight=weight)


def _sampled_rows(population: EdgeList, count: int, seed: int) -> NDArray[np.int64]:
    if count > len(population):
        have, need = format_count(len(population)), format_count(count)
        raise InvalidArgument(f"batches and size must ask for at most {have} edges of the graph, not {need}")
    draws = Draws(seed, "sample")
    return draws.distinct(len(population), count)[draws.permutation(count)]


def _absent(population: EdgeList, count: int, seed: int) -> EdgeList:
    """Draw edges that are not in the population, by joining ends of its edges at random."""
    draws = Draws(seed, "absent")
    found = np.empty(0, np.int64)
    present = edge_keys(population.source, population.target)
    rounds = _MOST_ROUNDS if len(population) else 0
    for _ in range(rounds):
        if len(found) >= count:
            break
        drawn = _joined_ends(population, draws, count - len(found) + 16)
        fresh = drawn[~_contains(present, drawn) & ((drawn >> 32) != (drawn & 0xFFFFFFFF))]
        found = _first_occurrences(np.concatenate((found, fresh)))
    if len(found) < count:
        raise InvalidArgument(
            f"insertions must ask for fewer edges: the graph lacks hardly {format_count(count)}"
        )
    keys = found[:count]
    weight = population.weight
    if weight is not None and count:
        weight = weight[draws.below(len(population), count)]
    elif weight is not None:
        weight = weight[:0]
    source, target = (keys >> 32).astype(np.int32), keys.astype(np.int32)
    return replace(population, source=source, target=target, weight=weight)


def _joined_ends(population: EdgeList, draws: Draws, count: int) -> NDArray[np.int64]:
    one, other = draws.below(len(population), count), draws.below(len(population), count)
    if population.directed:
        return edge_keys(population.source[one], population.target[other])
    ends = np.stack((population.source, population.target))
    first = ends[draws.bytes(count) & 1, one]
    second = ends[draws.bytes(count) & 1, other]
    return edge_keys(np.minimum(first, second), np.maximum(first, second))


def _contains(present: NDArray[np.int64], keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    place = np.searchsorted(present, keys)
    inside = place < len(present)
    inside[inside] = present[place[inside]] == keys[inside]
    return inside


def _first_occurrences(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    _, rows = np.unique(keys, return_index=True)
    return keys[np.sort(rows)]


def _stream(shape: _Shape, coming: EdgeList, going: EdgeList, start: EdgeList | None) -> Stream:
    def batch(number: int) -> Batch:
        inserted = slice(number * shape.insertions, (number + 1) * shape.insertions)
        deleted = slice(number * shape.deletions, (number + 1) * shape.deletions)
        columns: list[VertexArray | WeightArray] = [coming.source[inserted], coming.target[inserted]]
        if coming.weight is not None:
            columns.append(coming.weight[inserted])
        return Batch(insert=tuple(columns), delete=(going.source[deleted], going.target[deleted]))

    return Stream(lambda: map(batch, range(shape.batches)), length=shape.batches, start=start)
