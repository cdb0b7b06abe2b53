"""A window that slides over a file with times: what was not seen for a while expires."""

from typing import Any

import numpy as np

from grapin.batch import edge_keys
from grapin.edges import EdgeList
from grapin.errors import InvalidArgument
from grapin.stream.events import (
    Steps,
    Timetable,
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
from grapin.validation import check_integer, refuse


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
