"""What does it cost that a graph can change? Reading and changing structures beside a CSR, which cannot.

*Access* is Grapin's: edges a second of shortest paths from scratch, rounds over whole frontiers, after ten batches,
predicted for its machine. All structures hold the same lists and are read in the same rounds; what differs is where
lists lie (`layouts.py`), hence which requests they take. Warps begin at the line a list starts in. Where lists follow
each other without a gap they share sectors of 32 bytes. The model has no cache on the GPU, so such a sector crosses
the link twice; what rows would be if it came once is in their remarks, and for the store in rows of its own.

*Update* is measured here, in processor time of one thread: applying a batch to the store, out-lists only, beside
merging it into the sorted columns of a CSR with NumPy. GPMA, SHGraph and faimGraph change their structures on the
GPU; how fast is nothing that can be said from here, so they have no such rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from statistics import median
from time import thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.lib.bars import Bar, Place
from experiments.lib.drawing import panels
from experiments.lib.experiment import Experiment
from experiments.lib.frontiers import rounds, rows_of
from experiments.lib.grapin_runs import BATCH, BATCHES, EDGES, MACHINE, Miniature, at_hand, miniatures
from experiments.lib.layouts import Layout, chained, gapped, packed, slabs, stored
from experiments.lib.varying import span
from grapin.batch import Batch, edge_keys
from grapin.edges import EdgeList
from grapin.graph import Graph
from grapin.graph.snapshot import Lists
from grapin.sim import replay
from grapin.sim.transfer.zero_copy import ANY_LENGTH
from grapin.stream import Stream
from grapin.system import SYSTEMS, ZeroCopy
from grapin.trace import Trace

GENERATED = ("OK", "UK")
"""Grapin's smallest and largest: miniatures of all five have the same lists, what differs is how large batches are."""
PLAIN, ALIGNED = "Grapin's store", "Grapin's store, aligned"
PUBLISHED = {PLAIN: 0.672, ALIGNED: 0.716, "GPMA": 0.48, "slab lists": 0.48}
"""Grapin, section 6: means over its graphs of the first two, the most for the others."""
RANGES = {
    PLAIN: "published 0.60 to 0.93, of which the mean stands here",
    ALIGNED: "published 0.63 to 0.97, of which the mean stands here",
    "GPMA": "published 0.09 to 0.48 of GPMA and SHGraph, of which the most stands here",
    "slab lists": "published 0.09 to 0.48 of GPMA and SHGraph, of which the most stands here",
}
ACCESS, UPDATE, ALIGNING = "edges read a second", "mutations a second", "what alignment gains"
ONCE = "if shared sectors come once"
GAIN = 1.056  # Grapin, section 6: 4.3 to 7.0 %, of which this is the middle
Frontiers = list[NDArray[np.int64]]


def changed(stream: Stream, *, aligned: bool) -> Graph:
    """Return the graph after its batches."""
    graph = stream.graph(aligned=aligned, in_direction=False)
    for batch in stream:
        graph.apply(batch)
    return graph


def frontiers_of(lists: Lists) -> Frontiers:
    """Return the rounds of shortest paths from the vertex with the most edges."""
    source = np.array([np.argmax(lists.degrees)])
    distance = np.full(len(lists.degrees), np.inf)
    distance[source] = 0
    return rounds(lists, distance, source)


def trace_of(layout: Layout, lists: Lists, frontiers: Frontiers, *, kept: bool) -> Trace:
    """Return what those rounds read of a structure.

    `kept` when a sector that two lists in a row need, in one round, comes once.
    """
    reads = rows_of(0, frontiers, layout.starts, lists)
    vertex, iteration, start = (reads[name] for name in ("vertex", "iteration", "start"))
    end = start + layout.lengths[vertex]
    if kept:
        shared = (iteration[1:] == iteration[:-1]) & (start[1:] >> 3 == (end[:-1] - 1) >> 3)
        start[1:][shared] = np.minimum(end[1:], (start[1:] | 7) + 1)[shared]
    reads["length"] = (end - start).astype(np.int32)
    reads["arrays"][:] = layout.arrays
    one = np.zeros(1, np.int64)
    changes = dict.fromkeys(("version", "vertex", "inward", "start", "length", "mutations"), one[:0])
    phases = dict.fromkeys(("version", "program", "edges", "in_slots"), one)
    phases |= {"vertices": one + len(layout.starts), "out_slots": one + end.max()}
    return Trace(reads, phases, changes, {"system": "grapin-recomp", "repair": "recompute"})


def access_bars(miniature: Miniature) -> Iterator[Bar]:
    """Compare how long the same rounds take on each structure."""
    stream = miniature.stream()
    plain, aligned = (changed(stream, aligned=one).snapshot().out for one in (False, True))
    frontiers = frontiers_of(aligned)

    def seconds(layout: Layout, *, kept: bool = False) -> float:
        system = SYSTEMS["grapin-recomp"]
        if layout.chained:
            system = replace(system, transfer=ZeroCopy(alone=ANY_LENGTH))
        predicted = replay(trace_of(layout, plain, frontiers, kept=kept), system, MACHINE)
        return miniature.seconds(predicted.total)

    csr = packed(plain)
    base, kept_base = seconds(csr), seconds(csr, kept=True)
    found, kept = {}, {}
    for layout in (
        stored(PLAIN, plain),
        stored(ALIGNED, aligned),
        gapped(plain),
        slabs(plain),
        chained(plain),
    ):
        found[layout.name] = seconds(layout)
        kept[layout.name] = seconds(layout, kept=True)
        once = kept_base / kept[layout.name]
        yield Bar(
            f"{miniature.title}, {layout.name}: {ACCESS}",
            base / found[layout.name],
            "of CSR",
            None,
            f"{RANGES.get(layout.name, 'not published')}; {once:.2f} {ONCE}",
            PUBLISHED.get(layout.name),
            Place("access", miniature.title, layout.name),
        )
    once = kept_base / kept[ALIGNED]
    yield Bar(f"{miniature.title}, {ALIGNED}: {ACCESS}, {ONCE}", once, "of CSR", None, "", PUBLISHED[ALIGNED])
    remark = "published 1.043 to 1.070, of which the middle stands here"
    for said, times in (("", found), (f", {ONCE}", kept)):
        gain = times[PLAIN] / times[ALIGNED]
        yield Bar(f"{miniature.title}: {ALIGNING}{said}", gain, "x", None, remark, GAIN)


class SortedColumns:
    """A CSR that is rebuilt after every batch, by merging sorted columns; of a directed graph with weights."""

    def __init__(self, start: EdgeList) -> None:
        assert start.directed
        assert start.weight is not None
        keys = edge_keys(start.source, start.target)
        order = np.argsort(keys)
        self.keys = keys[order]
        self.weights: NDArray[Any] = start.weight[order]
        self._vertices = np.arange(start.vertices + 1) << 32
        self.starts = np.searchsorted(self.keys, self._vertices)

    def apply(self, batch: Batch) -> None:
        """Take out what is deleted, put in what is inserted, each where it belongs; find again where lists start."""
        kept = np.ones(len(self.keys), np.bool_)
        kept[np.searchsorted(self.keys, edge_keys(batch.delete.source, batch.delete.target))] = False
        keys, weights = self.keys[kept], self.weights[kept]
        coming = edge_keys(batch.insert.source, batch.insert.target)
        order = np.argsort(coming)
        places = np.searchsorted(keys, coming[order])
        assert batch.insert.weight is not None
        self.keys = np.insert(keys, places, coming[order])
        self.weights = np.insert(weights, places, batch.insert.weight[order])
        self.starts = np.searchsorted(self.keys, self._vertices)


def update_bars(miniature: Miniature) -> Iterator[Bar]:
    """Apply the same batches to the store and to sorted columns, and compare what each takes."""
    stream = miniature.stream()
    assert stream.start is not None
    columns = SortedColumns(stream.start)
    graphs = {name: stream.graph(aligned=name == ALIGNED, in_direction=False) for name in (PLAIN, ALIGNED)}
    structures: dict[str, SortedColumns | Graph] = {"CSR": columns, **graphs}
    costs: dict[str, list[float]] = {name: [] for name in structures}
    for batch in stream:
        for name, structure in structures.items():
            begin = thread_time()
            structure.apply(batch)
            costs[name].append((thread_time() - begin) / batch.size * 1e6)
    for name, graph in graphs.items():
        _check_same(graph, columns)
        ours, theirs = median(costs[name]), median(costs["CSR"])
        yield Bar(
            f"{miniature.title}, {name}: {UPDATE}",
            theirs / ours,
            "times CSR",
            None,
            f"{ours:.2f} and {theirs:.0f} us a mutation, batches of {batch.size:,}",
            place=Place("update", miniature.title, name),
        )


def _check_same(graph: Graph, columns: SortedColumns) -> None:
    source, target, weight = graph.edge_arrays()
    keys = edge_keys(source, target)
    order = np.argsort(keys)
    assert weight is not None
    assert np.array_equal(keys[order], columns.keys)
    assert np.array_equal(weight[order], columns.weights)


def _answer(bars: Sequence[Bar]) -> str:
    aligned, gains = span(bars, "", f"{ALIGNED}: {ACCESS}"), span(bars, "", ALIGNING)
    once = span(bars, "", f"{ALIGNED}: {ACCESS}, {ONCE}"), span(bars, "", f"{ALIGNING}, {ONCE}")
    others = [span(bars, "", f"{name}: {ACCESS}") for name in ("GPMA", "slab lists")]
    return (
        f"a GPU reads lists of the aligned store at {aligned} times the speed of a CSR's, or at {once[0]} if it keeps "
        f"sectors that a CSR's lists share (published 0.63 to 0.97); alignment makes that {gains} times as fast, or "
        f"{once[1]} (1.04 to 1.07). GPMA is read at {others[0]} and slab lists at {others[1]} of a CSR's speed "
        f"(published, of both: 0.09 to 0.48). A batch changes the store {span(bars, '', f'{ALIGNED}: {UPDATE}')} times "
        "as fast as it is merged into a CSR"
    )


def bars(*, quick: bool) -> Iterator[Bar]:
    """Measure all graphs that are at hand; a quick run takes one and leaves the files out."""
    names = GENERATED[:1] if quick else GENERATED
    for miniature in chain(miniatures(quick=quick, names=names, real=False), () if quick else at_hand()):
        yield from access_bars(miniature)
        yield from update_bars(miniature)


EXPERIMENT = Experiment(
    name="figure9",
    question="What does it cost that a graph can change: how fast are its lists read and changed, beside a CSR?",
    source="Grapin, Figure 9 and section 6",
    measure=bars,
    difference=(
        "a list in one piece takes the requests that it takes in a CSR, so nothing that crosses the link makes the "
        "store slower to read but sectors that neighbouring lists of a CSR share, if the GPU keeps them; what else "
        "Grapin's third is made of, perhaps the translation of more addresses, it does not say and the model does not "
        "have. Alignment gains what was published on R-MAT graphs and more on real ones, 1.12 to 1.15, whose lists are "
        "shorter; if the GPU keeps shared sectors it loses 1 to 11 % instead, so what was published lies between. Slab "
        "lists and chained pages are granted their pointers, and a link that is full of other lists hides how long a "
        "chain waits."
    ),
    answer=_answer,
    draw=panels(x="", log={"update": "y"}),
    configuration={"edges": EDGES, "batch": BATCH, "batches": BATCHES, "machine": MACHINE},
)
