"""NetworKit's dynamic algorithms on the same stream: the graph and its distances follow each batch.

DynDijkstra (NetworKit 11.2) sometimes goes wrong after deletions, and may then not come back for minutes. So each
algorithm runs in a process of its own, which is ended when patience is, and what it found is compared with our values.
"""

import multiprocessing
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from time import monotonic, perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.batch import Batch
from grapin.edges import EdgeList
from grapin.stream import Stream

ALGORITHMS = {"bfs": "DynBFS", "sssp": "DynDijkstra"}
PATIENCE = 20.0
"""Seconds for all batches of one algorithm."""
_READY = "ready"


@dataclass(frozen=True)
class Followed:
    """Seconds a batch, for the graph and the distances together, and the distances after the last."""

    name: str
    seconds: list[float]
    distances: NDArray[np.float64] | None
    """None if it did not get to the last batch in time."""


def follow(program: str, stream: Stream, source: int) -> Followed:
    """Let the algorithm for a program follow the stream on one thread, as far as patience lasts."""
    name = ALGORITHMS[program]
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_run, args=(sender, name, stream.start, list(stream), source))
    child.start()
    sender.close()
    seconds: list[float] = []
    distances = None
    try:
        receiver.recv()
        deadline = monotonic() + PATIENCE
        while distances is None and receiver.poll(max(0.0, deadline - monotonic())):
            found = receiver.recv()
            if isinstance(found, float):
                seconds.append(found)
            else:
                distances = found
    finally:
        child.kill()
        child.join()
        receiver.close()
    return Followed(name, seconds, distances)


def _run(sender: Connection, name: str, start: EdgeList, batches: Sequence[Batch], source: int) -> None:
    """Send a sign when the first distances are there, then the seconds of each batch, then the last distances.

    The batches become lists of NetworKit's events beforehand, which is not part of the time.
    """
    import networkit

    networkit.setNumberOfThreads(1)
    graph = networkit_graph(networkit, start)
    updater = networkit.dynamics.GraphUpdater(graph)
    algorithm = getattr(networkit.distance, name)(graph, source)
    algorithm.run()
    sender.send(_READY)
    for batch in batches:
        events = _events(networkit, batch)
        begin = perf_counter()
        updater.update(events)
        algorithm.updateBatch(events)
        sender.send(perf_counter() - begin)
    sender.send(np.array(algorithm.getDistances(asarray=True)))


def networkit_graph(networkit: Any, start: EdgeList) -> Any:
    """Return a graph of NetworKit's own, directed and weighted."""
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
