"""A file with times, replayed: so many events a batch, or so much time a batch."""

from typing import Any

import numpy as np

from grapin.edges import EdgeList
from grapin.errors import InvalidArgument
from grapin.stream.events import (
    Steps,
    appearances,
    in_order,
    netted,
    produce,
    remaining,
    times,
    timetable,
)
from grapin.stream.origins import Origin, read_origin
from grapin.stream.stream import Stream
from grapin.validation import check_integer


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
    return (rows - start) // check_integer("size", size, least=1)


def _by_window(edges: EdgeList, start: int, window: Any) -> Steps:
    time = times(edges, "window", window)
    since = time[start:] - time[start] if start < len(time) else time[start:]
    step = np.full(len(edges), -1, np.int64)
    step[start:] = np.floor_divide(since, window)
    return step
