"""How much does unified memory move for what is read? Beside what Grapin measured (Tables 2 and 5).

Shortest paths from the vertex with the most out-edges, on Grapin's RTX A5000. Our graphs are two orders of magnitude
smaller than its own, so memory is made smaller in proportion: at Orkut's ratio of graph to memory the graph fits 16
times, at uk-2007's it is 2.5 times too large. Pages, big pages and blocks keep their size, because lists do: how many
lists lie in a page, which decides how much of it is wanted, is then as it was there.

Two workloads. *Static* is Table 2a: rounds over a frontier of vertices, in the order of their ids, on a CSR without
gaps. *Streaming* is Table 5: ten batches under the published repair, on the store, in the same kind of rounds; the
order in which our CPU device repairs, by key in a hundred small rounds, is beside it.

What is theirs and not ours, and what shows it:

- **An edge takes 14 to 17 bytes of memory there, and 8 are counted when it is read.** So Table 3's sizes over its
  edges; and where the graph fits, and no page can move twice, 1.43 and 6.83 GB moved for graphs of "1.5 and 6.3 GB"
  whose ids and weights are 0.85 and 3.5 GB. (Subway, table 2, has the same Twitter graph as a CSR of 16 GB, Table 3 of
  28.) That a read counts 8 bytes is in Table 2b; and uk-2007's 127.2 GB are then the edges that Table 1 has for one
  computation. So lists are stretched to that size here, and what is read still counts 8 bytes per edge.
- **Values and indices of vertices are on the GPU** (section 2.2), which leaves less for pages. At least 16 bytes a
  vertex: an index of 8, a value and an offer of 4 each (released code, csr_graph.cuh).
- **A round is synchronous.** The released code is not quite (`lib/frontiers.py`), but then fewer edges would be
  read than the tables say: 1.6 to 3.7 passes here instead of 2.5 to 6, and 1.6 to 4.8 there. A line shows what it, and
  the released code's weights, would change.

Amplification is then three factors, all of them in the tables: bytes in memory over bytes counted, times the number of
times that the graph was moved, over the passes that were read. They stand beside ours in the remarks. What is left are
the graphs. Most pages have a list that is wanted in all but the smallest rounds, so more rounds move the graph more
often: R-MAT needs 9, actor-costar 20 and moves 0.39 graphs a round; Friendster needs 30 (Subway, table 4) and moved as
much a round. Twitter's 5.8 are few passes (1.6) rather than much movement. And blocks are few here: web-NotreDame has
ten, of which one too many at Twitter's ratio hardly ever matters. Whatever is evicted is written back, without advice;
Grapin does not say whether its transfers include that, and the figures here do not.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from experiments.lib.bars import DATA, Bar, Place, Record, bars_of, kept, named, sentence, span, told
from experiments.lib.drawing import figure_of
from experiments.lib.experiment import Experiment
from experiments.lib.frontiers import BATCHES, PART, static_trace, streaming_traces
from experiments.lib.grapin_runs import ORIGINALS, Original
from experiments.reads import weighted
from grapin.edges import EdgeList
from grapin.files import load_edges
from grapin.generators import generate
from grapin.sim import MACHINES
from grapin.sim.paging import DRIVER, Driver, UnifiedVolumes
from grapin.sim.paging.memory import Layout
from grapin.sim.transfer.unified import pages_written, replay_unified
from grapin.trace import Trace

MEMORY = 24e9
"""Bytes of an RTX A5000 (Grapin, section 7)."""
VERTEX = 16
"""Bytes of a vertex that are on the GPU at the least: an index of 8, a value and an offer of 4 each."""
EDGE = 8
"""Bytes that count when an edge is read: a neighbour's id and a weight (Grapin, Table 2b)."""
SEGMENTS = 512  # README of Grapin's released code
HEAVIEST = 128  # framework.cuh of Grapin's released code: weights are (source + target) % 128 + 1
RANGE = (5.8, 9.0)
"""Table 2a where the graph does not fit."""
STATIC, STREAMING = "static", "streaming"
MOVED = "moved in over read"
OFF_RANGE = "off the published range"
_NAME = re.compile(r"(\w+), (\S+?)(?: \(\d+ rounds\))?(?: at the ratio of (\w+))?(?:: |, )(.+)")
"""Workload, graph, ratio and what was measured, in a row's name."""

GENERATED = "rmat:18:16"
QUICK = "rmat:10:16"
WEB = ("cnr-2000.txt.zst", "web-NotreDame.txt.gz")
"""Pages and links in the order of a crawl, as uk-2007."""
SOCIAL = "actor-costar.txt.zst"
"""The largest at hand, and with more rounds than R-MAT; too large for batches here."""


@dataclass(frozen=True)
class Published:
    """A graph of Grapin's (Table 3), what was read and moved of it in GB (2a), and moved over zero-copy (5)."""

    original: Original
    read: float
    moved: float
    over_zero_copy: float

    @property
    def name(self) -> str:
        """What the paper calls it."""
        return self.original.name

    @property
    def amplification(self) -> float:
        """Bytes moved over bytes read."""
        return self.moved / self.read

    @property
    def ratio(self) -> float:
        """How many times as large it is as the memory left for its pages."""
        return self.original.size * 1e9 / (MEMORY - VERTEX * self.original.vertices)

    @property
    def width(self) -> float:
        """Bytes of memory that an edge takes, over those that count when it is read."""
        return self.original.size * 1e9 / self.original.edges / EDGE

    @property
    def passes(self) -> float:
        """How often the edges were read."""
        return self.read * 1e9 / (EDGE * self.original.edges)

    @property
    def loads(self) -> float:
        """How often the graph was moved."""
        return self.moved / self.original.size

    @property
    def fits(self) -> bool:
        """Whether it fits into memory."""
        return self.ratio < 1


PUBLISHED = (
    Published(ORIGINALS["OK"], 2.08, 1.43, 0.14),
    Published(ORIGINALS["WK"], 13.6, 6.83, 0.50),
    Published(ORIGINALS["TW"], 24.8, 142.7, 2.1),
    Published(ORIGINALS["FS"], 58.1, 524.8, 5.6),
    Published(ORIGINALS["UK"], 127.2, 884.1, 3.0),
)
FRIENDSTER = PUBLISHED[3]


@dataclass(frozen=True, eq=False)
class Case:
    """A trace and what it is called."""

    name: str
    trace: Trace

    @cached_property
    def read(self) -> int:
        """Bytes of edges read, as Grapin counts them."""
        return int(self.trace.reads["length"].sum(dtype=np.int64)) * EDGE

    @property
    def passes(self) -> float:
        """How often the edges are read."""
        return self.read / (EDGE * float(self.trace.phases["edges"][0]))

    @property
    def rounds(self) -> int:
        """How many rounds there are."""
        return int(self.trace.reads["iteration"].max()) + 1

    def moved(
        self,
        ratio: float,
        *,
        width: float = 1.0,
        driver: Driver = DRIVER,
        advice: str = "none",
        **settings: int,
    ) -> UnifiedVolumes:
        """Return what moves on a GPU that the graph is `ratio` times as large as, with edges of `width` x 8 bytes."""
        trace = self._stretched(width)
        machine = MACHINES["a5000"].with_settings({f"gpu.{name}": value for name, value in settings.items()})
        out = Layout.of(trace, driver).pages[:2]  # what is read; in-lists are only written
        blocks = int((-(-out // driver.pages_per_block)).sum())
        memory = max(1, round(blocks / ratio)) * driver.block
        return replay_unified(trace, machine, driver=driver, advice=advice, memory=memory).total

    def there(self, graph: Published, width: float = 1.0) -> float:
        """Return bytes moved to the GPU over bytes read, at the ratio of a published graph."""
        return self.moved(graph.ratio, width=width).bytes_in / self.read

    def _stretched(self, width: float) -> Trace:
        """Return the same lists in arrays whose elements are `width` times as wide."""
        if width == 1.0:
            return self.trace
        reads, phases = self.trace.reads, self.trace.phases
        start, end = (
            (place * width).astype(np.int64) for place in (reads["start"], reads["start"] + reads["length"])
        )
        slots = np.ceil(phases["out_slots"] * width).astype(np.int64)
        lists = {**reads, "start": start, "length": (end - start).astype(np.int32)}
        return replace(self.trace, reads=lists, phases={**phases, "out_slots": slots})

    def without_writes(self) -> "Case":
        """Return the same reads, as if the host changed a graph of its own."""
        return Case(self.name, without_writes(self.trace))


def without_writes(trace: Trace) -> Trace:
    """Return the same reads, as if the host changed a graph of its own."""
    return replace(trace, changes={name: column[:0] for name, column in trace.changes.items()})


def static_bars(case: Case, *, web: bool = False) -> list[Bar]:
    """Replay at each of Grapin's ratios. Less moves than is read where the graph fits; web graphs meet uk-2007."""
    found = []
    for graph in PUBLISHED:
        there = case.there(graph, graph.width)
        loads = there * case.passes / graph.width
        remark = (
            f"{graph.width:.2f} wide x {loads:.1f} loads / {case.passes:.2f} passes; there {graph.width:.2f} x "
            f"{graph.loads:.1f} / {graph.passes:.2f}; with edges of 8 bytes {case.there(graph):.2f}"
        )
        limit = 1.0 if graph.fits else None
        name = f"{case.name} ({case.rounds} rounds) at the ratio of {graph.name}: {MOVED}"
        found.append(Bar(name, there, "x", limit, remark, published=graph.amplification))
    if web:
        nearest = min(max(there, RANGE[0]), RANGE[1])
        off = 100 * abs(there / nearest - 1)
        remark = f"{there:.1f}, published {RANGE[0]:g} to {RANGE[1]:g}"
        found.append(Bar(f"{case.name} at the ratio of UK: {OFF_RANGE}", off, "%", 0.0, remark))
    return found


def streaming_bars(case: Case, ordered: Case) -> list[Bar]:
    """Replay batches at each ratio, the host's writes left out as Table 5 must have; with them in the remark."""
    found = []
    for graph in PUBLISHED:
        alone = case.without_writes().there(graph)
        moved, copied = (
            case.moved(graph.ratio, advice=advice).bytes_in / case.read for advice in ("none", "read-mostly")
        )
        by_key = ordered.without_writes().there(graph)
        limit = 1.0 if graph.fits else None
        remark = (
            f"with the host's writes {moved:.2f}, read-mostly {copied:.2f}; in the CPU's order {by_key:.1f}"
        )
        name = f"{case.name} at the ratio of {graph.name}: {MOVED}"
        found.append(Bar(name, alone, "x", limit, remark, published=graph.over_zero_copy))
    return found


def circumstance_bars(case: Case, edges: EdgeList) -> list[Bar]:
    """Show at Friendster's ratio what each circumstance changes: theirs first, then the model's."""
    graph = FRIENDSTER
    ratio, width = graph.ratio, graph.width
    wide: dict[str, Any] = {"width": width}
    like_theirs = (edges.source.astype(np.int64) + edges.target) % HEAVIEST + 1
    released = replace(edges, weight=like_theirs.astype(np.int32))
    weights = Case("", static_trace(released))
    order = Case("", static_trace(edges, segments=SEGMENTS))
    kinds = {
        "as above": (case, case.moved(ratio, **wide)),
        "edges of 8 bytes in memory": (case, case.moved(ratio)),
        "all 24 GB for pages": (case, case.moved(graph.original.size * 1e9 / MEMORY, **wide)),
        "weights as in the released code": (weights, weights.moved(ratio, **wide)),
        "order in a round as in the released code": (order, order.moved(ratio, **wide)),
        "blocks of 512 KiB": (case, case.moved(ratio, **wide, driver=replace(DRIVER, block=512 * 1024))),
        "8 multiprocessors, an eighth of the warps": (case, case.moved(ratio, **wide, multiprocessors=8)),
        "without prefetching": (case, case.moved(ratio, **wide, driver=replace(DRIVER, prefetch=False))),
        "advised read-mostly": (case, case.moved(ratio, **wide, advice="read-mostly")),
    }
    return [
        Bar(
            f"{case.name} at the ratio of {graph.name}, {kind}",
            moved.bytes_in / one.read,
            "x",
            None,
            f"{one.passes:.2f} passes; written back {moved.bytes_out / one.read:.2f}",
        )
        for kind, (one, moved) in kinds.items()
    ]


def write_bar(case: Case) -> Bar:
    """Compare the pages that batches change with the lists they change in them (Table 2b)."""
    pages, lists = 0, 0
    layout = Layout.of(case.trace, DRIVER)
    for version in np.unique(case.trace.changes["version"]).tolist():
        pages += len(np.unique(pages_written(case.trace, layout, DRIVER, version)))
        mine = case.trace.changes["version"] == version
        lists += int(case.trace.changes["length"][mine].sum(dtype=np.int64))
    remark = "published 3.5 to 14.7, for 100K mutations of graphs 100 times as large"
    return Bar(
        f"{case.name}: bytes of changed pages over changed lists",
        pages * DRIVER.page / (lists * EDGE),
        "x",
        None,
        remark,
    )


def bars(*, quick: bool) -> list[Bar]:
    """Replay all graphs that are at hand; a quick run leaves the files out."""
    found: list[Bar] = []
    for name, edges in _graphs(QUICK if quick else GENERATED, () if quick else WEB):
        case = Case(f"{STATIC}, {_short(name)}", static_trace(edges))
        found += static_bars(case, web=name in WEB) + circumstance_bars(case, edges)
        in_rounds, ordered = (
            Case(f"{STREAMING}, {_short(name)}", trace) for trace in streaming_traces(edges)
        )
        found += [*streaming_bars(in_rounds, ordered), write_bar(in_rounds)]
    if not quick and (DATA / SOCIAL).is_file():
        edges = weighted(load_edges(DATA / SOCIAL))
        found += static_bars(Case(f"{STATIC}, {_short(SOCIAL)}", static_trace(edges)))
    return found


def _graphs(generated: str, files: tuple[str, ...]) -> Iterator[tuple[str, EdgeList]]:
    yield generated, weighted(generate(generated))
    for file in files:
        if (DATA / file).is_file():
            yield file, weighted(load_edges(DATA / file))


def _short(name: str) -> str:
    return name.partition(".")[0]


def _answer(bars: Sequence[Bar]) -> str:
    def moved(workload: str, *, fits: bool) -> str:
        rows = [bar for bar in named(bars, MOVED, workload) if (bar.limit is not None) == fits]
        theirs = span(bar.published for bar in rows if bar.published is not None)
        return told("{} times (published {})", span(bar.figure for bar in rows), theirs)

    return sentence(
        told(
            "where the graph does not fit, searches move {} what they read, batches {}",
            moved(STATIC, fits=False),
            moved(STREAMING, fits=False),
        ),
        told("where it fits, {} and {}", moved(STATIC, fits=True), moved(STREAMING, fits=True)),
        kept(bars),
    )


def _placed(bar: Bar) -> Bar:
    """Return a row in its panel: graphs as lines, at one ratio after the other or in one circumstance after another."""
    match = _NAME.fullmatch(bar.name)
    if match is None:
        return bar
    workload, graph, ratio, what = match.groups()
    if ratio is None:
        return replace(bar, place=Place(f"{workload}: {what}", graph, "all batches"))
    if what == MOVED:
        return replace(bar, place=Place(f"{workload}: {what}", graph, f"at the ratio of {ratio}"))
    return replace(
        bar, place=Place(f"{workload} at the ratio of {ratio}, in other circumstances", graph, what)
    )


def _draw(title: str, record: Record) -> Any:
    """Draw all rows but those that tell only how far another is off."""
    rows = [_placed(bar) for bar in bars_of(record) if not bar.name.endswith(OFF_RANGE)]
    return figure_of(title, [row for row in rows if row.place is not None])


EXPERIMENT = Experiment(
    name="read_amplification",
    question="How much does unified memory move for what is read?",
    source="Grapin, Tables 2 and 5",
    measure=bars,
    answer=_answer,
    draw=_draw,
    difference=(
        "amplification is how often the graph is moved over the passes that are read: R-MAT and the actors need fewer "
        "rounds than Friendster and so are moved less often, and read more passes than Twitter; web graphs are near "
        "uk-2007."
    ),
    configuration={"graphs": (GENERATED, *WEB, SOCIAL), "part": PART, "batches": BATCHES},
)
