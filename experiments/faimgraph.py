"""What do batches on a graph in pages cost a GPU, beside the released faimGraph, and what does it take of memory?

The release was executed from its compiled code, and the 32-byte sectors of each warp's loads and stores were counted,
with nothing cached. Ours are counted the same way, by executing our kernels' PTX (`vgpu`), on the same graphs and the
batches that the release draws with glibc's `rand`: 10,000 pairs that are inserted, then deleted. Pages in lists are
compared in the release's own layout (`store="faimgraph"`); sectors and memory are those of our default one.

Memory is compared with the packed store's at the commit before there were pages, and time per mutation with the packed
store's of today, on one CPU core, whose kernels are the same with one lane to a warp.
"""

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from time import process_time
from typing import Any

import numpy as np

from experiments.lib.bars import DATA, Bar, kept, sentence, span, told
from experiments.lib.experiment import Experiment
from grapin.batch import Batch
from grapin.edges import EdgeList
from grapin.generators import generate
from grapin.graph import Graph
from grapin.graph.page_store import PageStore
from grapin.graph.paged import PagedGraph
from grapin.kernels.cuda.assembly import missing
from grapin.kernels.cuda.pages.arena import Arena
from grapin.loading import load
from grapin.stream import workload

SIZE = 10_000
HIGHWAYS = "world-highways"
UPDATE, VERTEX = "update-centric", "vertex-centric"
HALF = 0.5
DOWNLOADED = 160
"""Bytes that the release copies back after a batch: its header."""


@dataclass(frozen=True)
class Released:
    """What the release was counted to do (faimGraph at d54a72e, executed), first insertion and first deletion."""

    pages: tuple[int, int]
    """In lists, after the batch that inserts and after the one that deletes."""
    loads: dict[str, tuple[float, float]]
    stores: dict[str, tuple[float, float]]
    """Sectors per update, by strategy."""
    footprint: float
    """Bytes of records and pages in lists, per edge."""
    footprint_limit: float = 1.0
    """What part of that ours may take: short lists in their records are to spare most on grids and roads."""
    halves: frozenset[str] = frozenset({"stores"})
    """What of vertex-centric insertion is to take half of the release's sectors at most."""


RELEASED = {
    "rmat:14:16": Released(
        (28370, 28201),
        {UPDATE: (21.3, 21.1), VERTEX: (17.9, 30.1)},
        {UPDATE: (2.3, 3.0), VERTEX: (10.4, 1.6)},
        9.3,
    ),
    "grid:128:128": Released(
        (16384, 16384),
        {UPDATE: (9.9, 9.6), VERTEX: (9.2, 11.5)},
        {UPDATE: (2.0, 3.0), VERTEX: (9.5, 1.6)},
        21.2,
        0.7,
    ),
    HIGHWAYS: Released(
        (560282, 560282),
        {UPDATE: (8.6, 8.6), VERTEX: (31.5, 34.2)},
        {UPDATE: (2.0, 3.0), VERTEX: (13.9, 2.0)},
        28.5,
        0.7,
        frozenset({"loads", "stores"}),
    ),
}
PACKED = {"rmat:18:16": (55.0, 0.55), HIGHWAYS: (216.0, 0.3)}
"""Bytes an edge of the packed store, weights and both directions, before there were pages; what part ours may take."""
TIMED, QUICK_TIMED = "rmat:20:16", "rmat:10:16"
SIZES, QUICK_SIZES = (1_000, 10_000, 100_000), (50, 200)
BATCHES = 5
WITHOUT_INDEX = 3.0
"""How many times the packed store's time a mutation may take at the largest size, without an index of long chains."""


def graph_of(name: str) -> EdgeList | None:
    """Return a generated graph, or a real one where it lies beside the checkout."""
    if name != HIGHWAYS:
        return generate(name, seed=0)
    path = DATA / f"{name}.gr.zst"
    if not path.exists():
        return None
    graph = load(path)
    source, target, weight = graph.edge_arrays()
    return EdgeList(source, target, graph.bound, weight)


def drawn_by_release(vertices: int) -> Any:
    """Return the pairs of the release's first batch, which it draws with glibc's `rand` from seed 1."""
    library = ctypes.CDLL(None)
    library.srand(1)
    return np.array([library.rand() % vertices for _ in range(2 * SIZE)]).reshape(SIZE, 2)


def in_pages(edges: EdgeList, store: PageStore) -> PagedGraph:
    """Return the out-lists without weights, as the release keeps them."""
    graph = Graph.from_edges(
        edges.source, edges.target, vertices=edges.vertices, in_direction=False, store=store
    )
    assert isinstance(graph, PagedGraph)
    return graph


def moved_to_virtual_gpu(graph: PagedGraph) -> Any:
    """Let the graph's batches be executed as PTX from now on; return the backend. Both keep arrays in host memory."""
    from grapin.kernels.cuda.vgpu.device import backend

    here = graph._arena  # noqa: SLF001  (to make a large arena as PTX takes minutes)
    there = Arena(
        backend(),
        replace(here.store, device="vgpu"),
        weighted=here.weighted,
        lists_per_vertex=here.lists_per_vertex,
        sides=here.sides,
    )
    there.pages, there.records, there._state = here.pages, here.records, here._state  # noqa: SLF001
    graph._arena = there  # noqa: SLF001
    return backend()


def sectors(graph: PagedGraph, batches: Sequence[Batch]) -> list[tuple[float, float]]:
    """Return sectors loaded and stored per update, batch by batch; atomics are told apart, as in the release."""
    from grapin.kernels.cuda.vgpu.effects import Effect
    from grapin.kernels.cuda.vgpu.traffic import Count, Home

    virtual = moved_to_virtual_gpu(graph)
    before = virtual.gpu.options
    virtual.gpu.set(counting=1, races=False)
    counts: list[Any] = []

    def count(launched: Any) -> None:
        kinds = Effect.LOAD, Effect.STORE
        counts.append([int(launched.total(Home.DEVICE, kind)[Count.SECTORS]) for kind in kinds])

    virtual.watchers.append(count)
    found = []
    for batch in batches:
        counts.clear()
        graph.apply(batch)
        loaded, stored = np.sum(counts, axis=0) / batch.size
        found.append((float(loaded), float(stored)))
    virtual.watchers.remove(count)
    virtual.gpu.options = before
    return found


def against_release(name: str, edges: EdgeList, released: Released, pairs: Any) -> Iterator[Bar]:
    """Compare pages, bytes and memory with the release's, and sectors where there is a CUDA compiler."""
    batches = Batch(insert=pairs), Batch(delete=pairs)
    graph = in_pages(edges, PageStore(published=True, strategy=UPDATE))
    for what, batch, theirs in zip(("inserted", "deleted"), batches, released.pages, strict=True):
        sent, received = graph.host_to_device, graph.device_to_host
        graph.apply(batch)
        pages = graph.statistics()["pages in lists"]
        off = abs(pages - theirs) / theirs
        yield Bar(
            f"{name}: pages in lists off theirs, pairs {what}", off, limit=0.0, remark=f"{pages:,} pages"
        )
        bytes_sent = (graph.host_to_device - sent) / batch.size
        yield Bar(f"{name}: bytes to the device, a pair {what}", bytes_sent, "B", 8.0, published=8.0)
        back = graph.device_to_host - received
        yield Bar(f"{name}: bytes back, a batch {what}", back, "B", DOWNLOADED, published=DOWNLOADED)
    for strategy in (UPDATE, VERTEX):
        graph = in_pages(edges, PageStore(strategy=strategy))
        if strategy == UPDATE:
            taken, limit = graph._arena.footprint / graph.edges, released.footprint * released.footprint_limit  # noqa: SLF001
            yield Bar(f"{name}: records and pages", taken, "B/edge", limit, published=released.footprint)
        if missing() is None:
            found = sectors(graph, batches)
            for turn, what in enumerate(("inserted", "deleted")):
                for kind, theirs_of, ours in (
                    ("loads", released.loads, found[turn][0]),
                    ("stores", released.stores, found[turn][1]),
                ):
                    theirs_here = theirs_of[strategy][turn]
                    half = strategy == VERTEX and turn == 0 and kind in released.halves
                    most = None if strategy == VERTEX and not half else theirs_here * (HALF if half else 1)
                    title = f"{name}: sectors of {kind}, a pair {what}, {strategy}"
                    yield Bar(title, ours, "sectors", most, published=theirs_here)


def against_packed(name: str, edges: EdgeList) -> Iterator[Bar]:
    """Compare the whole memory of weighted graphs with both directions."""
    packed, part = PACKED[name]
    graph = Graph.from_edges(edges.source, edges.target, edges.weight, vertices=edges.vertices, store="pages")
    taken = sum(graph.memory().values()) / graph.edges
    yield Bar(f"{name}: all memory, weights and both directions", taken, "B/edge", part * packed)


def timed(name: str, sizes: Sequence[int], *, quick: bool) -> Iterator[Bar]:
    """Compare the time of a mutation with the packed store's on the same batches."""
    edges = generate(name)
    for size in sizes:
        stream = workload(edges, batches=BATCHES + 1, size=size, seed=size)
        start = stream.graph()
        source, target, weight = start.edge_arrays()
        paged = Graph.from_edges(source, target, weight, vertices=start.bound, store="pages")
        times: dict[str, list[float]] = {"packed": [], "pages": []}
        for batch in stream:
            for which, graph in (("packed", start), ("pages", paged)):
                begin = process_time()
                graph.apply(batch)
                times[which].append((process_time() - begin) / size * 1e6)
        ours, theirs = (median(times[which][1:]) for which in ("pages", "packed"))
        limit = WITHOUT_INDEX if size == max(SIZES) and not quick else None
        remark = f"{ours:.2f} us a mutation, packed {theirs:.2f} us; no index of long chains"
        yield Bar(
            f"{name}, batches of {size:,}: time over the packed store's", ours / theirs, "x", limit, remark
        )


def bars(*, quick: bool) -> Iterator[Bar]:
    """Compare with the release, then with the packed store."""
    for name, released in RELEASED.items():
        edges = None if quick and name != "grid:128:128" else graph_of(name)
        if edges is not None:
            yield from against_release(name, edges, released, drawn_by_release(edges.vertices))
    for name in PACKED:
        edges = None if quick else graph_of(name)
        if edges is not None:
            yield from against_packed(name, edges)
    yield from timed(*((QUICK_TIMED, QUICK_SIZES) if quick else (TIMED, SIZES)), quick=quick)


def _answer(bars: Sequence[Bar]) -> str:
    def ratios(part: str, last: str = "") -> str:
        chosen = [bar for bar in bars if part in bar.name and bar.name.endswith(last)]
        return span(bar.ratio for bar in chosen if bar.ratio is not None)

    times = [bar.figure for bar in bars if bar.name.endswith("packed store's")]
    return sentence(
        told("an update loads {} and", ratios("of loads", UPDATE))
        + told(
            " stores {} times as many sectors as in the release update-centric", ratios("of stores", UPDATE)
        ),
        told("vertex-centric {} and", ratios("of loads", VERTEX))
        + told(" {} times", ratios("of stores", VERTEX)),
        told("lists take {} of its bytes", ratios("records and pages")),
        told("on one core a mutation takes {} times as long as in the packed store", span(times)),
        kept(bars),
    )


EXPERIMENT = Experiment(
    name="faimgraph",
    question="What do batches on a graph in pages cost, beside the released faimGraph and the packed store?",
    source="faimGraph at d54a72e, executed from its compiled code",
    rival="release",
    measure=bars,
    answer=_answer,
    difference=(
        "The release's layout has 20-byte records without edges; ours keeps the first six in a record of one sector. "
        "Its vertex-centric kernels start a thread for every vertex, ours a warp for each list that the batch names; "
        "its insertion rewrites the free part of a page."
    ),
    configuration={
        "graphs": list(RELEASED),
        "pairs": SIZE,
        "timed": TIMED,
        "sizes": SIZES,
        "batches": BATCHES,
    },
)
