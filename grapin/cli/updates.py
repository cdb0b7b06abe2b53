"""Where the batches of a run come from: the graph itself, sampled, or a file of updates."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.cli.common import read_edges
from grapin.edges import EdgeList, Labels
from grapin.errors import InvalidArgument
from grapin.randomness import Draws
from grapin.stream import Stream, temporal, workload


def prepared_stream(
    graph: str,
    *,
    batches: int,
    batch_size: int,
    insertions: float,
    updates: str | None,
    undirected: bool | None,
    weights: str,
    seed: int,
) -> Stream:
    """Return a stream that brings its start graph, as the options of `grapin run` ask for it."""
    low_high = _range(weights)
    directed = None if undirected is None else not undirected
    rule = "keep" if low_high else weights
    edges = _weighted(read_edges(graph, seed, directed=directed, weights=rule), low_high, seed)
    if updates is None:
        if graph == "empty":
            raise InvalidArgument("graph='empty' must come with --updates: there is nothing to sample from")
        return workload(edges, batches=batches, size=batch_size, insertions=insertions, seed=seed)
    events = read_edges(updates, seed, directed=directed, weights=rule)
    events = _weighted(events, low_high, seed + 1)
    if graph == "empty":
        return temporal(events, size=batch_size)
    return temporal(_joined(edges, events), size=batch_size, start=len(edges))


def _range(weights: str) -> tuple[int, int] | None:
    low, colon, high = weights.partition(":")
    if not colon:
        return None
    if not (low.isdigit() and high.isdigit() and int(low) <= int(high) < 2**31):
        raise InvalidArgument(f"weights={weights!r} must be LOW:HIGH with whole numbers, such as 1:64")
    return int(low), int(high)


def _weighted(edges: EdgeList, low_high: tuple[int, int] | None, seed: int) -> EdgeList:
    """Draw weights for edges that have none."""
    if low_high is None or edges.weight is not None:
        return edges
    low, high = low_high
    drawn = Draws(seed, "weights").below(high - low + 1, len(edges)) + low
    return replace(edges, weight=drawn.astype(np.int32))


def _joined(edges: EdgeList, events: EdgeList) -> EdgeList:
    """Put the rows of a graph before the events that change it; names that are equal are one vertex."""
    if (edges.weight is None) != (events.weight is None):
        raise InvalidArgument(
            "graph and updates must both have weights or both have none: try --weights ignore"
        )
    if edges.directed != events.directed:
        raise InvalidArgument("graph and updates must both be directed or both undirected: give --undirected")
    names, places = np.unique(np.concatenate([_names(edges), _names(events)]), return_inverse=True)
    mine, theirs = places[: edges.vertices].astype(np.int32), places[edges.vertices :].astype(np.int32)
    count = len(events)
    times = np.arange(count) if events.time is None else events.time
    removed = np.zeros(count, np.bool_) if events.removed is None else events.removed
    before = np.full(len(edges), times.min() if count else 0, times.dtype)
    return EdgeList(
        np.concatenate([mine[edges.source], theirs[events.source]]),
        np.concatenate([mine[edges.target], theirs[events.target]]),
        len(names),
        _concatenated(edges, events),
        time=np.concatenate([before, times]),
        removed=np.concatenate([np.zeros(len(edges), np.bool_), removed]),
        directed=edges.directed,
        labels=Labels(names),
        origin=f"{edges.origin} and {events.origin}",
    )


def _names(edges: EdgeList) -> NDArray[Any]:
    return np.arange(edges.vertices) if edges.labels is None else edges.labels.names


def _concatenated(edges: EdgeList, events: EdgeList) -> NDArray[Any] | None:
    if edges.weight is None or events.weight is None:
        return None
    return np.concatenate([edges.weight, events.weight])
