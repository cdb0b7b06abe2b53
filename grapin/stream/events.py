"""Events in the order of time, cut into steps and netted: what temporal streams and sliding windows share.

An event inserts an edge or removes it. Several events on one edge within one step are netted: the last one
counts. On an undirected graph (u, v) and (v, u) are the same edge.

A file with times, replayed: so many events a batch, or so much time a batch.

A window that slides over a file with times: what was not seen for a while expires.

What streams are made from: rows that were read already, or the name of a file or a generator.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.batch import Batch, edge_keys
from grapin.edges import EdgeList, Labels, VertexArray, WeightArray
from grapin.errors import InvalidArgument
from grapin.files import load_edges
from grapin.generators import generate, is_specification
from grapin.stream.stream import Stream
from grapin.validation import check_choice, check_integer, refuse

Steps = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Timetable:
    """What happens to which edge in which step."""

    step: Steps
    source: VertexArray
    target: VertexArray
    weight: WeightArray | None
    removed: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.step)

    def rows(self, chosen: Any) -> "Timetable":
        """Return the chosen rows (a slice, a mask or row numbers)."""
        weight = None if self.weight is None else self.weight[chosen]
        return Timetable(
            self.step[chosen], self.source[chosen], self.target[chosen], weight, self.removed[chosen]
        )


def in_order(edges: EdgeList, vertices: str) -> EdgeList:
    """Return the rows sorted by time, equal times in the order of the file.

    With `vertices="arriving"` they are renumbered by first appearance, so that each step's new vertices take
    the next free ids, and `labels` remembers who they were; with `"all"` they keep their ids.
    """
    check_choice("vertices", vertices, ("all", "arriving"))
    if edges.time is not None:
        if edges.time.dtype.kind == "f" and not np.isfinite(edges.time).all():
            raise InvalidArgument("edges.time must hold finite numbers only")
        edges = _rows(edges, np.argsort(edges.time, kind="stable"))
    return edges if vertices == "all" else _by_appearance(edges)


def _rows(edges: EdgeList, order: NDArray[np.intp]) -> EdgeList:
    columns = {name: getattr(edges, name) for name in ("source", "target", "weight", "time", "removed")}
    return replace(edges, **{name: column[order] for name, column in columns.items() if column is not None})


def _by_appearance(edges: EdgeList) -> EdgeList:
    ends = np.column_stack((edges.source, edges.target)).ravel()
    known, first = np.unique(ends, return_index=True)
    arrival = known[np.argsort(first)]
    renumbered = np.empty(edges.vertices, np.int32)
    renumbered[arrival] = np.arange(len(arrival), dtype=np.int32)
    names = arrival.astype(np.int64) if edges.labels is None else edges.labels.names[arrival]
    return replace(
        edges,
        source=renumbered[edges.source],
        target=renumbered[edges.target],
        vertices=len(arrival),
        labels=Labels(names),
    )


def timetable(edges: EdgeList, step: Steps) -> Timetable:
    """Give each row (in order of time) its step, and leave edges as keys: low end first when undirected."""
    source, target = edges.source, edges.target
    if not edges.directed:
        source, target = np.minimum(source, target), np.maximum(source, target)
    removed = np.zeros(len(edges), np.bool_) if edges.removed is None else edges.removed
    return Timetable(step, source, target, edges.weight, removed)


def netted(table: Timetable) -> Timetable:
    """Keep the last row of each edge in each step, sorted by step, then edge."""
    keys = edge_keys(table.source, table.target)
    order = np.lexsort((keys, table.step))
    keys, step = keys[order], table.step[order]
    last = np.ones(len(order), np.bool_)
    last[:-1] = (keys[1:] != keys[:-1]) | (step[1:] != step[:-1])
    return table.rows(order[last])


def times(edges: EdgeList, name: str, value: Any) -> Any:
    """Return the times of the rows, which the option `name` needs together with a positive value."""
    if edges.time is None:
        raise InvalidArgument(f"{name}={value!r} must be left out for {edges.origin}, which has no times")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        refuse(name, value, "be a positive number in the unit of the file's times")
    return edges.time


def appearances(edges: EdgeList, step: Steps) -> dict[int, int]:
    """Count, for each step that has events, the vertices that have appeared by its end.

    The vertices must be numbered by appearance.
    """
    if not len(edges):
        return {}
    highest = np.maximum.accumulate(np.maximum(edges.source, edges.target).astype(np.int64))
    last = np.flatnonzero(np.diff(step, append=step[-1:] + 1))
    return dict(zip(step[last].tolist(), (highest[last] + 1).tolist(), strict=True))


def remaining(edges: EdgeList, table: Timetable, vertices: int) -> EdgeList:
    """Return the edges that are there after a single netted step, as a graph to start from."""
    kept = table.rows(~table.removed)
    return EdgeList(
        kept.source,
        kept.target,
        vertices,
        kept.weight,
        directed=edges.directed,
        labels=edges.labels,
        origin=f"start of {edges.origin}",
    )


def produce(table: Timetable, known: int, appeared: dict[int, int]) -> Iterator[Batch]:
    """Make one batch a step, which brings the vertices that have `appeared` by then and are not yet known."""
    steps, begins = np.unique(table.step, return_index=True)
    ends = np.append(begins, len(table))[1:]
    for step, begin, end in zip(steps.tolist(), begins, ends, strict=True):
        rows = table.rows(slice(begin, end))
        now = max(known, appeared.get(step, 0))
        yield _batch(rows, np.arange(known, now, dtype=np.int32))
        known = now


def _batch(rows: Timetable, arriving: VertexArray) -> Batch:
    coming, going = rows.rows(~rows.removed), rows.rows(rows.removed)
    columns = [coming.source, coming.target] + ([] if coming.weight is None else [coming.weight])
    return Batch(insert=tuple(columns), delete=(going.source, going.target), insert_vertices=arriving)


Origin = EdgeList | str | os.PathLike[str]
"""Rows, a path that `load_edges` reads, or a specification that `generate` knows."""


def read_origin(origin: Any) -> EdgeList:
    """Return the rows that are meant, or say what would do."""
    if isinstance(origin, EdgeList):
        return origin
    if isinstance(origin, str) and is_specification(origin):
        return generate(origin)
    if isinstance(origin, (str, os.PathLike)):
        return load_edges(origin)
    raise InvalidArgument(
        f"edges={origin!r:.60} must be a path, or rows as grapin.load_edges reads them: a graph keeps no times "
        "(grapin.stream.sample draws batches from one)"
    )


MOST_EVENTS = 2**62
"""In one batch: what rows are numbered with."""


def temporal(
    edges: Origin,
    *,
    size: int | None = None,
    window: float | None = None,
    start: int = 0,
    vertices: str = "arriving",
) -> Stream:
    """Replay events in the order of time, equal times in the order of the rows.

    Args:
        edges: The events, or a file of them; rows marked `removed` delete their edge. Without times, rows are taken
            as they stand.
        size: Events a batch (the last batch may have fewer).
        window: Time a batch, in the unit of the file, counted from the first event after `start`; windows in
            which nothing happens give no batch. Exactly one of `size` and `window` is given.
        start: How many of the first events make the graph before the first batch.
        vertices: `arriving`: a vertex is inserted by the batch in which it first appears, and takes the next
            id; `stream.start.labels` names them. `all`: all exist from the start and keep their ids.

    Several events on one edge within one batch are netted: the last one counts. An edge that appears and goes
    within one batch is therefore a deletion, which a graph that never had it counts as ignored.
    """
    if (size is None) == (window is None):
        raise InvalidArgument("temporal() must be given exactly one of size= (events) and window= (time)")
    rows = read_origin(edges)
    check_integer("start", start, least=0, most=len(rows))
    rows = in_order(rows, vertices)
    step = _by_size(rows, start, size) if size is not None else _by_window(rows, start, window)
    # The prefix is a step of its own before all others.
    step[:start] = -1
    table = netted(timetable(rows, step))
    appeared = appearances(rows, step) if vertices == "arriving" else {}
    known = appeared.get(-1, 0) if vertices == "arriving" else rows.vertices
    prefix = np.searchsorted(table.step, 0)
    before, after = table.rows(slice(0, prefix)), table.rows(slice(prefix, None))
    return Stream(
        lambda: produce(after, known, appeared),
        length=len(np.unique(after.step)),
        start=remaining(rows, before, known),
    )


def _by_size(edges: EdgeList, start: int, size: Any) -> Steps:
    rows = np.arange(len(edges), dtype=np.int64)
    return (rows - start) // check_integer("size", size, least=1, most=MOST_EVENTS)


def _by_window(edges: EdgeList, start: int, window: Any) -> Steps:
    time = times(edges, "window", window)
    since = time[start:] - time[start] if start < len(time) else time[start:]
    step = np.full(len(edges), -1, np.int64)
    step[start:] = np.floor_divide(since, window)
    return step


def sliding(
    edges: Origin,
    *,
    count: int | None = None,
    span: float | None = None,
    step: float,
    vertices: str = "arriving",
) -> Stream:
    """Hold the edges of the latest events only; an edge seen again stays for another full window.

    Args:
        edges: The events, or a file of them; rows marked `removed` delete their edge at once.
        count: The window holds the latest `count` events, and each batch takes in `step` more.
        span: The window holds the latest `span` of time, in the unit of the file, and each batch moves it on
            by `step`. Exactly one of `count` and `span` is given. Batches that would be empty are left out.
        step: How far a batch moves the window; at most the window itself.
        vertices: As for `temporal`.

    The graph is empty at first. After the batch that ends before position p (an event's number, or a time),
    an edge is there if its last event before p is an insertion not older than p - window.
    """
    if (count is None) == (span is None):
        raise InvalidArgument("sliding() must be given exactly one of count= (events) and span= (time)")
    rows = in_order(read_origin(edges), vertices)
    position, window = _positions(rows, count, span, step)
    arrival = np.floor_divide(position, step).astype(np.int64)
    expiry = np.floor_divide(position + window, step).astype(np.int64)
    if span is None:
        # The last batch may take in fewer events, and then lets fewer go.
        expiry[position + window >= len(rows)] = len(rows)
    table = _with_expiries(timetable(rows, arrival), expiry)
    appeared = appearances(rows, arrival) if vertices == "arriving" else {}
    known = 0 if vertices == "arriving" else rows.vertices
    nothing = remaining(rows, table.rows(slice(0, 0)), known)
    return Stream(lambda: produce(table, known, appeared), length=len(np.unique(table.step)), start=nothing)


def _positions(edges: EdgeList, count: int | None, span: float | None, step: Any) -> tuple[Any, Any]:
    if span is None:
        window: Any = check_integer("count", count, least=1)
        check_integer("step", step, least=1)
        position: Any = np.arange(len(edges), dtype=np.int64)
    else:
        time, window = times(edges, "span", span), span
        times(edges, "step", step)
        position = time - time[0] if len(time) else time
    if step > window:
        refuse("step", step, f"be at most the window of {window}, or events would go before they came")
    return position, window


def _with_expiries(table: Timetable, expiry: Steps) -> Timetable:
    """Add the expiry of every insertion that no later event on its edge forestalls."""
    keys = edge_keys(table.source, table.target)
    order = np.argsort(keys, kind="stable")
    keys, rows, expiry = keys[order], table.rows(order), expiry[order]
    forestalled = np.zeros(len(order), np.bool_)
    forestalled[:-1] = (keys[1:] == keys[:-1]) & (rows.step[1:] <= expiry[:-1])
    final = table.step.max(initial=0)
    expired = ~rows.removed & ~forestalled & (expiry <= final)
    return netted(_joined(table, rows.rows(expired), expiry[expired]))


def _joined(table: Timetable, leaving: Timetable, step: Steps) -> Timetable:
    weight: Any = None
    if table.weight is not None and leaving.weight is not None:
        weight = np.concatenate((table.weight, leaving.weight))
    return Timetable(
        np.concatenate((table.step, step)),
        np.concatenate((table.source, leaving.source)),
        np.concatenate((table.target, leaving.target)),
        weight,
        np.concatenate((table.removed, np.ones(len(leaving), np.bool_))),
    )
