"""Shortest paths as Grapin's engine computes them on a GPU: rounds over a frontier of vertices, as traces of reads.

A round takes all vertices that changed in the round before, in the order of their ids, and each pushes over its list.
With one segment all push what they had when the round began. Grapin's released code launches a round in 512 segments of
vertices, one after another, and a vertex pushes what it has when its turn comes; `segments` says how many.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.edges import EdgeList
from grapin.engine import Engine
from grapin.graph import Graph
from grapin.graph.snapshot import Lists
from grapin.programs import SSSP
from grapin.session import Session
from grapin.stream import workload
from grapin.trace import Trace

PART, BATCHES = 0.0001, 10
"""Of Grapin's graphs, its batches of 100K mutations are 0.003 to 0.1 %."""


def rounds(
    lists: Lists, distance: NDArray[np.float64], frontier: NDArray[np.int64], *, segments: int = 1
) -> list[NDArray[np.int64]]:
    """Bring distances to their fixed point as a GPU does, a frontier after the other; return the frontiers."""
    degrees = lists.degrees.astype(np.int64)
    begins = np.cumsum(degrees) - degrees
    borders = np.searchsorted(begins, np.arange(1, segments) * (int(degrees.sum()) / segments))
    found = []
    while len(frontier):
        found.append(frontier)
        pushed = distance.copy()
        for part in np.split(frontier, np.searchsorted(frontier, borders)):
            pushed[part] = distance[part]
            _push(lists, degrees, distance, part)
        changed = np.flatnonzero(distance < pushed)
        frontier = changed[degrees[changed] > 0]
    return found


def _push(
    lists: Lists, degrees: NDArray[np.int64], distance: NDArray[np.float64], part: NDArray[np.int64]
) -> None:
    assert lists.weights is not None
    count = degrees[part]
    owner = np.repeat(part, count)
    place = lists.starts[owner] + np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    np.minimum.at(distance, lists.neighbours[place], distance[owner] + lists.weights[place])


def static_trace(edges: EdgeList, *, segments: int = 1) -> Trace:
    """Return what shortest paths from scratch read of a CSR without gaps, from the vertex with the most out-edges."""
    given: dict[str, Any] = {"vertices": edges.vertices, "directed": edges.directed}
    lists = Graph.from_edges(edges.source, edges.target, edges.weight, **given).snapshot().out
    ends = np.cumsum(lists.degrees.astype(np.int64))
    source = np.array([np.argmax(lists.degrees)])
    distance = np.full(len(ends), np.inf)
    distance[source] = 0
    one = np.zeros(1, np.int64)
    phases = {
        "version": one,
        "program": one.astype(np.int32),
        "vertices": one + len(ends),
        "edges": one + ends[-1],
        "out_slots": one + ends[-1],
        "in_slots": one,
    }
    nothing = np.zeros(0, np.int64)
    changes = dict.fromkeys(("version", "vertex", "inward", "start", "length", "mutations"), nothing)
    frontiers = rounds(lists, distance, source, segments=segments)
    reads = rows_of(0, frontiers, ends - lists.degrees, lists)
    return Trace(reads, phases, changes, {"system": "static"})


def streaming_traces(edges: EdgeList) -> tuple[Trace, Trace]:
    """Return what ten batches read under the published repair: in a GPU's rounds, and in the order of our CPU device.

    After correction every vertex that has a value pushes once, all in one round, and then those that changed. The
    rounds must end with the engine's values.
    """
    stream = workload(edges, batches=BATCHES, size=max(1, round(PART * len(edges))), seed=1)
    graph = stream.graph()
    source = int(np.argmax(graph.snapshot().out.degrees))
    engine = Engine(graph, SSSP(source), system="grapin-page", threads=1, trace=True)
    before, reads = _distances(engine), []
    for number, _ in enumerate(Session(engine, stream)):
        lists, after = graph.snapshot().out, _distances(engine)
        distance = np.where(after > before, np.inf, before)
        frontiers = rounds(lists, distance, np.flatnonzero(np.isfinite(distance) & (lists.degrees > 0)))
        assert np.array_equal(distance, after)
        reads.append(rows_of(number, frontiers, lists.starts, lists))
        before = after
    trace = engine.trace
    joined = {name: np.concatenate([one[name] for one in reads]) for name in reads[0]}
    later = {name: column[1:] for name, column in trace.phases.items()}
    mine = trace.reads["phase"] > 0
    ordered = {name: column[mine] for name, column in trace.reads.items()}
    ordered["phase"] -= 1
    return Trace(joined, later, trace.changes, trace.about), Trace(ordered, later, trace.changes, trace.about)


def rows_of(
    phase: int, frontiers: list[NDArray[np.int64]], starts: NDArray[np.int64], lists: Lists
) -> dict[str, NDArray[Any]]:
    """Return the rows of a trace for frontiers whose lists start where `starts` says, read with their weights."""
    vertex = np.concatenate(frontiers)
    rows = len(vertex)
    return {
        "phase": np.full(rows, phase, np.int32),
        "iteration": np.repeat(np.arange(len(frontiers), dtype=np.int32), [len(one) for one in frontiers]),
        "vertex": vertex.astype(np.int32),
        "inward": np.zeros(rows, np.bool_),
        "start": starts[vertex],
        "length": lists.degrees[vertex].astype(np.int32),
        "arrays": np.full(rows, 2, np.uint8),
        "whole": np.ones(rows, np.bool_),
        "cached": np.zeros(rows, np.bool_),
    }


def _distances(engine: Engine) -> NDArray[np.float64]:
    values = engine.values
    return np.where(values == np.iinfo(values.dtype).max, np.inf, values.astype(np.float64))
