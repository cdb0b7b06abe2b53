"""Runs like those in Grapin's evaluation: its graphs in miniature, its batches, its cache, on its machine.

Grapin's graphs have 0.1 to 3.3 billion edges (Table 3). A *miniature* has a few million, and as it has a part of the
edges, the same part goes of all that belongs to them: of the vertices, of the 100K mutations in each of ten batches, of
the 4 GB for cached lists. R-MAT graphs with the same average degree stand in, and real graphs where they are at hand:
web-NotreDame for wiki-en, as both are pages with links, soc-Epinions1 for Twitter, as both say who follows whom, and
cnr-2000 for uk-2007, as both are crawls of a country's web.

In the originals, requests follow each other as fast as the link takes them; in miniatures many rounds have so few that
most of their time is waiting: for a kernel's start, for the first answer, for one long list line by line. Waiting does
not grow with the graph, so `Miniature.seconds` counts it once, and what keeps the link or the device busy for as often
as the original is larger. Rounds are taken to be as many as there; a graph that is a thousand times as large has a few
more. A batch must reach the device whatever it makes it read, which `Miniature.arrival` counts.

`record` runs a stream once and returns what each way to repair reads: the published ones in a GPU's unordered rounds
(`gpu_rounds.py`), ours and PageRank in the order of our CPU device. Traces can be replayed with any cache
(`grapin.cache.replay`) on any machine (`grapin.sim.replay`).

    for miniature in miniatures(quick=quick):
        runs = record(miniature.stream(), "sssp", ("published", "bounded"))
        without = replay(runs["published"].trace, "grapin-zc", "a5000")
        cached = replay(runs["published"].trace, "grapin", "a5000", cache=miniature.cache)
        speedup = miniature.seconds(without.batches) / miniature.seconds(cached.batches)
        least = miniature.arrival(miniature.stream())
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from experiments.lib.bars import DATA
from experiments.lib.gpu_rounds import Rounds, Rule
from experiments.reads import weighted
from grapin.edges import EdgeList
from grapin.engine import Engine
from grapin.files import load_edges
from grapin.generators import generate
from grapin.programs import BFS, SSSP, ConnectedComponents, PageRank
from grapin.session import Session
from grapin.sim import MACHINES
from grapin.sim.path import copy_to_device, read_requests
from grapin.sim.prediction import Costs
from grapin.stream import Stream, workload
from grapin.system import Repair, recorder
from grapin.trace import Trace
from grapin.units import SECTOR

MACHINE = "a5000"
"""Grapin's (section 7)."""
BATCHES, BATCH = 10, 100_000  # Grapin, section 7: ten batches; 100K mutations unless it says otherwise
CACHE = 4 * 2**30  # Grapin, section 7: 4 GB for cached lists
BILLION = 2**30
"""What Tables 1 and 5 call a B: uk-2007 has 3.07 of them there, and 3,301,876,564 edges in Table 3."""
EDGE = 8
"""Bytes of an edge: a neighbour's id and a weight. Figure 12 holds all edges of FS in 22 GB, 8.5 bytes each."""
MUTATION = 12
"""Bytes of a mutation that the device is told of: source, target and weight."""
EDGES, QUICK_EDGES = 4_000_000, 40_000
"""How many edges are drawn for a miniature; a tenth of them are drawn twice."""


@dataclass(frozen=True)
class Original:
    """A graph of Grapin's (its Table 3)."""

    name: str
    vertices: int
    edges: int
    size: float
    """GB."""
    real: str
    """The file under `DATA` that stands in for it, if any does."""

    @property
    def held(self) -> float:
        """What part of its edges 4 GB hold."""
        return min(1.0, CACHE / (EDGE * self.edges))


ORIGINALS = {
    one.name: one
    for one in (
        Original("OK", 2_997_166, 106_350_214, 1.5, ""),
        Original("WK", 13_593_032, 437_208_542, 6.3, "web-NotreDame.txt.gz"),
        Original("TW", 52_579_682, 1_963_263_821, 28, "soc-Epinions1.txt.gz"),
        Original("FS", 68_349_466, 2_586_147_869, 45, ""),
        Original("UK", 105_153_952, 3_301_876_564, 55, "cnr-2000.txt.zst"),
    )
}


@dataclass(frozen=True, eq=False)
class Miniature:
    """A graph that stands in for one of Grapin's."""

    original: Original
    edges: EdgeList
    name: str

    @property
    def title(self) -> str:
        """What rows are called after."""
        return f"{self.original.name} ({self.name})"

    @property
    def part(self) -> float:
        """How large it is, by edges."""
        return len(self.edges) / self.original.edges

    @property
    def cache(self) -> int:
        """As large a part of the 4 GB, in bytes."""
        return round(CACHE * self.part)

    @property
    def mutations(self) -> int:
        """As large a part of the 100K of a batch."""
        return self._scaled(BATCH)

    def stream(
        self,
        *,
        size: float = BATCH,
        insertions: float = 0.5,
        batches: int = BATCHES,
        undirected: bool = False,
    ) -> Stream:
        """Return batches that are `size` mutations of the original; undirected for components."""
        edges = replace(self.edges, directed=False) if undirected else self.edges
        return workload(edges, batches=batches, size=self._scaled(size), insertions=insertions, seed=1)

    def seconds(self, costs: Costs, machine: str = MACHINE) -> float:
        """Return how long the original takes for what a miniature costs."""
        requests = dict(costs.counters.requests)
        requests[SECTOR] += costs.counters.patch_bytes // SECTOR
        sent = read_requests(MACHINES[machine], requests).seconds
        paged = costs.seconds.link + costs.seconds.faults if costs.migrated_bytes else 0.0
        busy = min(costs.seconds.total, max(sent, paged, costs.seconds.device))
        return busy / self.part + costs.seconds.total - busy

    def arrival(self, stream: Stream, machine: str = MACHINE) -> float:
        """Return how long the original's batches take to reach the device: a copy each, and a kernel that takes it in.

        However little a repair reads, this is what a batch takes.
        """
        there = MACHINES[machine]
        sizes = [round(MUTATION * batch.size / self.part) for batch in stream]
        copied = sum(copy_to_device(there, size).seconds for size in sizes)
        return copied + len(sizes) * (there.link.round_trip + there.gpu.launch)

    def _scaled(self, mutations: float) -> int:
        return max(2, round(mutations * self.part))


def miniatures(
    *, quick: bool, edges: int = EDGES, names: Sequence[str] = tuple(ORIGINALS), real: bool = True
) -> Iterator[Miniature]:
    """Yield a generated miniature of each of these graphs, and then the real ones; a quick run has none of those."""
    for name in names:
        yield generated(name, QUICK_EDGES if quick else edges)
    if real and not quick:
        yield from at_hand(names)


def stand_ins(*, quick: bool) -> Iterator[Miniature]:
    """Yield one miniature for each graph: a real one that is at hand, or else a generated one; a quick run the first.

    R-MAT miniatures of all five are nearly one graph, as the average degrees are nearly one: what differs is how large
    batches and cache are.
    """
    for name in tuple(ORIGINALS)[:1] if quick else ORIGINALS:
        real = [] if quick else list(at_hand((name,)))
        yield from real or [generated(name, QUICK_EDGES if quick else EDGES)]


def at_hand(names: Sequence[str] = tuple(ORIGINALS)) -> Iterator[Miniature]:
    """Yield the real graphs that stand in for some of these, as far as they lie beside the checkout."""
    for original in (ORIGINALS[name] for name in names):
        if original.real and (DATA / original.real).is_file():
            edges = weighted(load_edges(DATA / original.real))
            yield Miniature(original, edges, original.real.split(".")[0])


def generated(name: str, edges: int) -> Miniature:
    """Return the R-MAT graph that has about so many edges, and as large a part of a graph's vertices."""
    original = ORIGINALS[name]
    scale = round(math.log2(original.vertices * edges / original.edges))
    spec = f"rmat:{scale}:{max(1, round(edges / 2**scale))}"
    return Miniature(original, weighted(generate(spec)), spec)


@dataclass(frozen=True, eq=False)
class Run:
    """What one way to repair read, and how long the graph itself took to change."""

    trace: Trace
    update_seconds: tuple[float, ...]
    """By batch, on this computer."""


def record(stream: Stream, program: str, repairs: Sequence[str]) -> dict[str, Run]:
    """Run a stream, shortest paths from the vertex with the most out-edges; return what each repair reads.

    Programs are `sssp`, `bfs`, `cc` and `pagerank`; repairs are `published`, `recompute` and `bounded`.
    """
    if program == "pagerank":
        return {repair: _by_engine(stream, repair) for repair in repairs}
    graph = stream.graph()
    source = int(np.argmax(graph.snapshot().out.degrees))
    made = {"sssp": SSSP(source), "bfs": BFS(source), "cc": ConnectedComponents()}[program]
    engine = Engine(graph, made, threads=1, trace=True)
    rule = Rule.of(program, graph.bound, source)
    followed = {repair: Rounds(rule, engine, repair) for repair in repairs if repair != "bounded"}
    session = Session(engine, stream)
    for batch, _ in zip(stream, session, strict=True):
        for one in followed.values():
            one.follow(batch)
    times = [report.update_seconds for report in session.reports]
    traces = {repair: one.trace() for repair, one in followed.items()} | {"bounded": engine.trace}
    return {repair: Run(traces[repair], tuple(times)) for repair in repairs}


def _by_engine(stream: Stream, repair: str) -> Run:
    engine = Engine(stream.graph(), PageRank(), system=recorder(Repair(repair)), threads=1, trace=True)
    times = [report.update_seconds for report in Session(engine, stream).run()]
    return Run(engine.trace, tuple(times))
