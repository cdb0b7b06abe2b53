"""NetworKit's dynamic algorithms on the same stream: the graph and its distances follow each batch.

DynDijkstra sometimes goes wrong after deletions, and then takes tens of seconds a batch; so its distances are compared
with ours, and an algorithm that exhausts its patience is not asked again.
"""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.batch import Batch
from grapin.stream import Stream

ALGORITHMS = {"bfs": "DynBFS", "sssp": "DynDijkstra"}


@dataclass(frozen=True)
class Followed:
    """Seconds a batch, for the graph and for one algorithm together, and the distances after the last."""

    name: str
    seconds: list[float]
    distances: NDArray[np.float64] | None
    """None if it did not get to the last batch."""


def follow(stream: Stream, source: int, *, patience: float = 30.0) -> dict[str, Followed]:
    """Apply every batch, on one thread, and return what each program's algorithm did.

    The batches become lists of NetworKit's events beforehand, which is not part of the time. `patience` is in seconds
    an algorithm.
    """
    import networkit

    networkit.setNumberOfThreads(1)
    graph = _graph(networkit, stream)
    updater = networkit.dynamics.GraphUpdater(graph)
    running = {
        program: getattr(networkit.distance, name)(graph, source) for program, name in ALGORITHMS.items()
    }
    for algorithm in running.values():
        algorithm.run()
    seconds: dict[str, list[float]] = {program: [] for program in running}
    for batch in stream:
        events = _events(networkit, batch)
        begin = perf_counter()
        updater.update(events)
        updating = perf_counter() - begin
        for program, algorithm in running.items():
            if sum(seconds[program]) < patience:
                begin = perf_counter()
                algorithm.updateBatch(events)
                seconds[program].append(updating + perf_counter() - begin)
    return {
        program: Followed(
            ALGORITHMS[program],
            seconds[program],
            np.array(algorithm.getDistances(asarray=True)) if len(seconds[program]) == len(stream) else None,
        )
        for program, algorithm in running.items()
    }


def _graph(networkit: Any, stream: Stream) -> Any:
    start = stream.start
    assert start is not None
    assert start.weight is not None
    # It reads 64-bit ids whatever it is given.
    ends = start.source.astype(np.uint64), start.target.astype(np.uint64)
    columns = start.weight.astype(np.float64), ends
    return networkit.GraphFromCoo(columns, n=start.vertices, weighted=True, directed=True)


def _events(networkit: Any, batch: Batch) -> list[Any]:
    event, kinds = networkit.dynamics.GraphEvent, networkit.dynamics.GraphEventType
    coming = [event(kinds.EDGE_ADDITION, *row) for row in batch.insert.rows()]
    going = [event(kinds.EDGE_REMOVAL, *row, 0.0) for row in batch.delete.rows()]
    return coming + going
