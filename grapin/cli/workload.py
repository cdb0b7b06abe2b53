"""Where the batches of a run come from: the graph itself, sampled, or a file of updates; and where values start.

What a stream must leave behind, found by plain NumPy and held against a store.
"""

import re
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grapin.batch import edge_keys
from grapin.cli.options import draw_weights, read_edges, weight_range
from grapin.edges import EdgeList, Labels, check_exact
from grapin.errors import InvalidArgument, WrongAnswer
from grapin.generators import is_specification
from grapin.graph import Graph
from grapin.loading import standing_edges
from grapin.spool import is_standard_input, shown_name
from grapin.stream import Stream, temporal, workload
from grapin.validation import refuse

_NUMBER = re.compile(r"-?[0-9]+")

NOTHING = "empty"
"""The GRAPH to start from scratch with."""
BATCHES, BATCH_SIZE = 10, 1000
"""What is sampled where nothing else is asked for."""
SAMPLED = 4
"""Of a small graph at most one in so many edges is sampled, so that there is a graph left to change."""


class Prepared(NamedTuple):
    """A stream that brings its start graph, and the vertices of that graph that a program starts from."""

    stream: Stream
    sources: list[int]


def prepare(
    graph: str,
    *,
    source: str | None,
    batches: int | None,
    batch_size: int | None,
    insertions: float,
    updates: str | None,
    directed: bool | None,
    weights: str,
    columns: str | None = None,
    ids: str = "auto",
    seed: int,
    follow: str | None = None,
) -> Prepared:
    """Read what the options of `grapin run` name; `source` is None for a program that has no sources.

    A small graph is sampled in batches that it has edges for, unless their size is given. Where a generated graph is
    changed by a file of updates, `columns` are the file's.
    """
    low_high = weight_range(weights)
    if updates is not None and is_standard_input(graph) and is_standard_input(updates):
        refuse("updates", updates, "be a file where GRAPH is standard input, which holds one of them")
    reading: dict[str, Any] = {
        "directed": directed,
        "weights": "keep" if low_high else weights,
        "columns": columns,
        "ids": ids,
    }
    made = _of_generator(low_high, columns, updates) if is_specification(graph) else {}
    edges = draw_weights(read_edges(graph, seed, **reading | made), low_high, seed)
    if follow is not None:
        standing = standing_edges(edges)
        return Prepared(Stream(lambda: (), length=0, start=standing), _sources(source, standing))
    if updates is None:
        if graph == NOTHING:
            raise InvalidArgument("graph='empty' must come with --updates: there is nothing to sample from")
        if not len(edges):
            raise InvalidArgument(
                f"{shown_name(graph)} must have edges to sample from; or stream some with --updates"
            )
        count = min(BATCHES, max(1, len(edges) // SAMPLED)) if batches is None else batches
        size = fitting_size(edges, count) if batch_size is None else batch_size
        stream = workload(edges, batches=count, size=size, insertions=insertions, seed=seed)
        assert stream.start is not None
        return Prepared(stream, _sources(source, stream.start))
    events = draw_weights(read_edges(updates, seed, **reading), low_high, seed + 1)
    if graph == NOTHING:
        edges = replace(edges, weight=None if events.weight is None else events.weight[:0])
        edges = replace(edges, directed=events.directed)
    stream, sources = _replayed(standing_edges(edges), events, source, batch_size or BATCH_SIZE)
    return Prepared(stream.first(batches), sources)


def _of_generator(
    low_high: tuple[int, int] | None, columns: str | None, updates: str | None
) -> dict[str, Any]:
    """Return what is read otherwise where no file is: weights are drawn as asked, and columns are the updates'."""
    weights = {} if low_high is None else {"weights": "ignore"}
    return weights | {"columns": columns if updates is None else None}


def fitting_size(edges: EdgeList, batches: int) -> int:
    """Return how many mutations a batch has where nobody says: fewer where a graph has few edges to sample."""
    return min(BATCH_SIZE, max(1, len(edges) // (SAMPLED * batches)))


def _replayed(edges: EdgeList, events: EdgeList, source: str | None, size: int) -> Prepared:
    """Let the events change the graph; a source that only they bring is a vertex from the start."""
    joined = _joined(edges, events)
    before = len(edges)
    counted = _rows_before(joined, before) if before else standing_edges(joined)
    chosen = _sources(source, counted)
    assert joined.labels is not None
    names = [joined.labels.name(vertex) for vertex in chosen]
    present = np.concatenate([_places(edges, joined), np.array(chosen, np.int32)]).astype(np.int32)
    stream = temporal(_with_vertices(joined, present), size=size, start=before + len(present))
    assert stream.start is not None
    assert stream.start.labels is not None
    return Prepared(stream, [stream.start.labels.vertex(name) for name in names])


def _sources(source: str | None, edges: EdgeList) -> list[int]:
    """Find the vertices that `--source` names; `auto` is the one with most out-edges."""
    if source is None:
        return []
    if source != "auto":
        return [_vertex(part.strip(), source, edges) for part in source.split(",")]
    if not edges.vertices:
        raise InvalidArgument("source='auto' must have a vertex to choose, but there is none")
    ends = [edges.source] if edges.directed else [edges.source, edges.target]
    return [int(np.argmax(np.bincount(np.concatenate(ends), minlength=1)))]


def _vertex(text: str, source: str, edges: EdgeList) -> int:
    """Find a vertex by the name it has in the file; `source` is all of what was asked for."""
    labels = edges.labels
    names = labels is not None and labels.names.dtype == object
    known = text in labels.names if names and labels is not None else _NUMBER.fullmatch(text) is not None
    if not known and text == "auto":
        refuse("source", source, "be auto alone, or vertices between commas")
    if not known:
        refuse("source", text, "be a vertex of the graph, or auto")
    vertex = text if names else int(text)
    return int(vertex) if labels is None else labels.vertex(vertex)


def _joined(edges: EdgeList, events: EdgeList) -> EdgeList:
    """Put the rows of a graph before the events that change it; names that are equal are one vertex."""
    if (edges.weight is None) != (events.weight is None):
        raise InvalidArgument(
            "graph and updates must both have weights or both have none: try --weights ignore"
        )
    if edges.directed != events.directed:
        raise InvalidArgument("graph and updates must both be directed or both undirected: give --undirected")
    names, places = np.unique(np.concatenate(_alike(_names(edges), _names(events))), return_inverse=True)
    mine, theirs = places[: edges.vertices].astype(np.int32), places[edges.vertices :].astype(np.int32)
    times = np.arange(len(events)) if events.time is None else events.time
    removed = np.zeros(len(events), np.bool_) if events.removed is None else events.removed
    return EdgeList(
        np.concatenate([mine[edges.source], theirs[events.source]]),
        np.concatenate([mine[edges.target], theirs[events.target]]),
        len(names),
        _weights(edges, events),
        time=np.concatenate([_before(times, len(edges)), times]),
        removed=np.concatenate([np.zeros(len(edges), np.bool_), removed]),
        directed=edges.directed,
        labels=Labels(names),
        origin=f"{edges.origin} and {events.origin}",
    )


def _with_vertices(edges: EdgeList, vertices: NDArray[np.int32]) -> EdgeList:
    """Let vertices be there from the start, edges or none: by an edge to themselves that is gone already."""
    assert edges.time is not None
    assert edges.removed is not None
    count = len(vertices)
    weight = edges.weight
    return replace(
        edges,
        source=np.concatenate([vertices, edges.source]),
        target=np.concatenate([vertices, edges.target]),
        weight=None if weight is None else np.concatenate([np.zeros(count, weight.dtype), weight]),
        time=np.concatenate([_before(edges.time, count), edges.time]),
        removed=np.concatenate([np.ones(count, np.bool_), edges.removed]),
    )


def _rows_before(edges: EdgeList, count: int) -> EdgeList:
    return replace(edges, source=edges.source[:count], target=edges.target[:count])


def _before(times: NDArray[Any], count: int) -> NDArray[Any]:
    """Return times that come first: rows of one time keep their order, so the earliest will do."""
    return np.full(count, times.min() if len(times) else 0, times.dtype)


def _names(edges: EdgeList) -> NDArray[Any]:
    return np.arange(edges.vertices) if edges.labels is None else edges.labels.names


def _alike(mine: NDArray[Any], theirs: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return names of one kind: where one file names vertices by text, the numbers of the other are text too."""
    if "O" not in {mine.dtype.kind, theirs.dtype.kind}:
        return mine, theirs
    return np.array([str(name) for name in mine], object), np.array([str(name) for name in theirs], object)


def _places(edges: EdgeList, joined: EdgeList) -> NDArray[np.intp]:
    """Return the ids that the vertices of a graph have among the joined ones."""
    assert joined.labels is not None
    mine, theirs = _alike(_names(edges), joined.labels.names)
    return np.searchsorted(theirs, mine)


def _weights(edges: EdgeList, events: EdgeList) -> NDArray[Any] | None:
    if edges.weight is None or events.weight is None:
        return None
    both = (edges.weight, events.weight)
    same = edges.weight.dtype == events.weight.dtype
    if not same:
        for one, origin in zip(both, (edges.origin, events.origin), strict=True):
            check_exact(one, origin, InvalidArgument)
    return np.concatenate(both, dtype=edges.weight.dtype if same else np.float32)


def check_remaining(store: Graph, stream: Stream) -> None:
    """Raise `WrongAnswer` unless the store holds the start, plus all insertions, minus all deletions.

    This holds for a stream that names each edge at most once, as a sampled workload does.
    """
    expected, got = _expected(stream), _stored(store)
    for name, wanted, found in zip(("edges", "weights"), expected, got, strict=True):
        if not np.array_equal(wanted, found):
            raise WrongAnswer(f"the {name} in the store differ from what plain NumPy finds")


def _expected(stream: Stream) -> tuple[Any, Any]:
    parts: list[Any] = [stream.start]
    gone = []
    for batch in stream:
        parts.append(batch.insert)
        gone.append(batch.delete.keys)
    keys = np.concatenate([edge_keys(part.source, part.target) for part in parts])
    weight = np.concatenate([_weights_or_zero(part) for part in parts])
    kept = ~np.isin(keys, np.concatenate(gone)) if gone else np.ones(len(keys), np.bool_)
    return _in_order(keys[kept], weight[kept])


def _stored(store: Graph) -> tuple[Any, Any]:
    source, target, weight = store.edge_arrays()
    weight = np.zeros(len(source), np.int32) if weight is None else weight
    kept = np.ones(len(source), np.bool_) if store.directed else source <= target
    return _in_order(edge_keys(source[kept], target[kept]), weight[kept])


def _weights_or_zero(edges: Any) -> Any:
    return np.zeros(len(edges), np.int32) if edges.weight is None else edges.weight


def _in_order(keys: Any, weight: Any) -> tuple[Any, Any]:
    order = np.argsort(keys)
    return keys[order], weight[order]
