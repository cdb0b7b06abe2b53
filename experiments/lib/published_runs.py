"""The model's answers to published figures of whole runs: shortest paths, by frontiers and kept fresh under batches.

An R-MAT graph stands in for the papers' own. For Grapin's figures it is as much larger than the GPU's memory as theirs
are, and for its Table 2 an edge takes as many bytes of it (`read_amplification.py`); for HyTGraph's it is cut into as
many partitions as there. HyTGraph's table spans five graphs, so that what is published is a range.
"""

from itertools import pairwise

import numpy as np

from experiments.lib.frontiers import static_trace, streaming_traces
from experiments.read_amplification import GENERATED, PUBLISHED, QUICK, Case
from experiments.reads import weighted
from grapin.counters import count_reads
from grapin.generators import generate
from grapin.partitions import Numbers, choose_as_released, choose_filter, count_activity, volume
from grapin.sim.transfer.compaction import make_subgraph
from grapin.system import HybridReleased
from grapin.trace import Trace

PARTITIONS = 256  # HyTGraph (ICDE), section III-A
ARRAYS = 2
"""Ids and weights."""


def answers(*, quick: bool) -> dict[str, float]:
    """Return a prediction for every row of a whole run."""
    edges = weighted(generate(QUICK if quick else GENERATED))
    static = Case("static", static_trace(edges))
    streaming = Case("streaming", streaming_traces(edges)[0]).without_writes()
    found = by_copies(static.trace)
    for row, graph in zip(("G1a", "G1b", "G1c", "G1d", "G1e"), PUBLISHED, strict=True):
        found[row] = static.there(graph, graph.width)
    for row, graph in zip(("G2a", "G2b", "G2c"), PUBLISHED[2:], strict=True):
        found[row] = streaming.there(graph)
    return found


def by_copies(trace: Trace) -> dict[str, float]:
    """Return bytes moved over bytes of the graph: whole partitions, Subway, EMOGI, HyTGraph as released."""
    edges, vertices = (int(trace.phases[name][0]) for name in ("edges", "vertices"))
    iteration = trace.reads["iteration"]
    bounds = np.searchsorted(iteration, np.arange(int(iteration.max()) + 2))
    starts, lengths = trace.reads["start"], trace.reads["length"]
    moved = [
        _moved(starts[first:end], lengths[first:end], edges, vertices) for first, end in pairwise(bounds)
    ]
    shares = np.sum(moved, axis=0) / (4 * ARRAYS * edges)
    return dict(zip(("H1a", "H1b", "H1c", "H1d"), shares.tolist(), strict=True))


def _moved(starts: Numbers, lengths: Numbers, edges: int, vertices: int) -> list[int]:
    """Return the bytes that one iteration moves under each system."""
    size = 4 * ARRAYS * max(1, edges // PARTITIONS)
    activity = count_activity(starts, lengths, slots=edges, arrays=ARRAYS, partition=size)
    hybrid = volume(activity, choose_as_released(activity, HybridReleased(segments=PARTITIONS)))
    left = hybrid.requested
    return [
        int(volume(activity, choose_filter(activity)).copied.sum()),
        make_subgraph(lengths, edges=edges, vertices=vertices, arrays=ARRAYS).to_device,
        count_reads(starts, lengths, arrays=ARRAYS).bytes,
        int(hybrid.copied.sum()) + count_reads(starts[left], lengths[left], arrays=ARRAYS).bytes,
    ]
