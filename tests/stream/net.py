"""The naive side of the stream tests: events as tuples, graphs as dictionaries."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from grapin.batch import Batch
from grapin.edges import EdgeList
from grapin.stream import Stream

Pair = tuple[int, int]


class Event(NamedTuple):
    """One row of a temporal file."""

    source: int
    target: int
    weight: int
    time: int
    removed: bool


@dataclass(frozen=True)
class Events:
    """A temporal file."""

    rows: list[Event]
    directed: bool = True

    @classmethod
    def of(cls, rows: Iterable[tuple[int, int, int, int, bool]], *, directed: bool = True) -> "Events":
        return cls([Event(*row) for row in rows], directed)

    def in_order(self) -> list[Event]:
        return sorted(self.rows, key=lambda event: event.time)


@dataclass
class NaiveGraph:
    """A dictionary of edges; it refuses what a graph would refuse."""

    directed: bool
    vertices: set[int]
    names: list[int]
    edges: dict[Pair, int] = field(default_factory=dict)

    def named(self) -> dict[Pair, int]:
        named = (((self.names[u], self.names[v]), weight) for (u, v), weight in self.edges.items())
        return {one_edge(pair, directed=self.directed): weight for pair, weight in named}


def events() -> st.SearchStrategy[Events]:
    vertex = st.integers(0, 5)
    row = st.builds(Event, vertex, vertex, st.integers(1, 4), st.integers(0, 20), st.booleans())
    return st.builds(Events, st.lists(row, max_size=25), st.booleans())


def edge_list(events: Events, *, times: bool = True, **columns: Any) -> EdgeList:
    rows = np.array([row[:4] for row in events.rows], np.int64).reshape(-1, 4)
    made: dict[str, Any] = {
        "source": rows[:, 0].astype(np.int32),
        "target": rows[:, 1].astype(np.int32),
        "vertices": 6,
        "weight": rows[:, 2].astype(np.int32),
        "time": rows[:, 3] if times else None,
        "removed": np.array([row.removed for row in events.rows], np.bool_),
        "directed": events.directed,
    }
    return EdgeList(**(made | columns))


def one_edge(pair: Pair, *, directed: bool) -> Pair:
    return pair if directed else (min(pair), max(pair))


def net_of(events: Iterable[Event], directed: bool) -> dict[Pair, int]:
    net: dict[Pair, int] = {}
    for event in events:
        pair = one_edge((event.source, event.target), directed=directed)
        if event.removed:
            net.pop(pair, None)
        else:
            net[pair] = event.weight
    return net


def start_of(made: Stream) -> NaiveGraph:
    start = made.start
    assert start is not None
    names = list(range(start.vertices)) if start.labels is None else start.labels.names.tolist()
    graph = NaiveGraph(start.directed, set(range(start.vertices)), names)
    weights = [0] * len(start) if start.weight is None else start.weight.tolist()
    for u, v, weight in zip(start.source.tolist(), start.target.tolist(), weights, strict=True):
        insert(graph, (u, v), weight)
    return graph


def insert(graph: NaiveGraph, pair: Pair, weight: int) -> None:
    assert set(pair) <= graph.vertices
    graph.edges[one_edge(pair, directed=graph.directed)] = weight


def apply_naively(graph: NaiveGraph, batch: Batch) -> None:
    inserted, deleted = batch_sets(batch)
    graph.vertices |= set(batch.insert_vertices.tolist())
    assert graph.vertices == set(range(len(graph.vertices)))
    for pair, weight in inserted.items():
        insert(graph, pair, weight)
    for pair in deleted:
        assert set(pair) <= graph.vertices
        graph.edges.pop(one_edge(pair, directed=graph.directed), None)


def batch_sets(batch: Batch) -> tuple[dict[Pair, int], set[Pair]]:
    assert batch.insert.weight is not None
    inserted = {(u, v): weight for u, v, weight in batch.insert.rows()}
    return inserted, {(u, v) for u, v in batch.delete.rows()}
