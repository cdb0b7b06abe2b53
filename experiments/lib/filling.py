"""What it costs to fill a graph from empty, and how long the worst batch takes: real files, replayed in their order."""

from collections.abc import Iterator
from dataclasses import replace
from time import thread_time

import numpy as np
from numpy.typing import NDArray

from experiments.lib.bars import DATA, Bar
from grapin.edges import EdgeList
from grapin.files import load_edges
from grapin.stream import temporal

FILES = ("out.debian-deps.zst", "CollegeMsg.txt.gz", "actor-costar.txt.zst")
ROWS = {"full": 1_000_000, "quick": 20_000}
"""Of a longer file the first events are taken."""
BATCH = 1000
REPEATS = 3
EVENT_LIMIT = 1.0
"""Microseconds an event."""
TAIL_LIMIT = 10.0
"""The worst batch may take so many times the median."""


def filling_bars(*, quick: bool) -> Iterator[Bar]:
    """Fill a graph with each file that is there."""
    for name in FILES:
        if (DATA / name).is_file():
            edges = _first_rows(load_edges(DATA / name), ROWS["quick" if quick else "full"])
            yield from _bars(name.removeprefix("out.").partition(".")[0], edges)


def _bars(name: str, edges: EdgeList) -> Iterator[Bar]:
    _fill(edges)  # loads compiled code, which the worst batch would contain otherwise
    times = np.array([_fill(edges) for _ in range(REPEATS)])
    # A batch does the same work each time: what one time takes longer by is the machine's doing.
    best = times.min(axis=0)
    middle, most = float(np.median(best)), float(best.max())
    tail = ", ".join(f"p{rank:g} {np.percentile(best, rank):.2f}" for rank in (90, 99, 99.9))
    worst = ", ".join(f"{one.max() / np.median(one):.0f}" for one in times)
    cost = float(np.median(times.sum(axis=1))) / len(edges) * 1e3
    yield Bar(f"filling a graph with {name} from empty", cost, "us/event", EVENT_LIMIT)
    remark = f"ms: median {middle:.2f}, {tail}, worst {most:.2f}; single runs {worst}"
    yield Bar(f"worst batch over the median, filling with {name}", most / middle, "x", TAIL_LIMIT, remark)


def _fill(edges: EdgeList) -> NDArray[np.float64]:
    """Return the milliseconds of processor time that each batch takes."""
    stream = temporal(edges, size=BATCH)
    graph = stream.graph()
    times = []
    for batch in stream:
        begin = thread_time()
        graph.apply(batch)
        times.append((thread_time() - begin) * 1e3)
    return np.array(times)


def _first_rows(edges: EdgeList, count: int) -> EdgeList:
    names = ("source", "target", "weight", "time", "removed")
    columns = {name: getattr(edges, name) for name in names}
    return replace(edges, **{name: rows[:count] for name, rows in columns.items() if rows is not None})
