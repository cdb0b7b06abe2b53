"""Events in the order of time, cut into steps and netted: what temporal streams and sliding windows share.

An event inserts an edge or removes it. Several events on one edge within one step are netted: the last one
counts. On an undirected graph (u, v) and (v, u) are the same edge.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.batch import Batch, edge_keys
from grapin.edges import EdgeList, Labels, VertexArray, WeightArray
from grapin.errors import InvalidArgument
from grapin.validation import check_choice, refuse

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
