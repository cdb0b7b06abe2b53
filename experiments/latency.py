"""How long is an answer out of date? Time a batch, from receiving it to fresh values, beside other systems.

Batches are half insertions and half deletions of the graph's own edges; a time is the median of ten batches, update of
the graph and repair of the values together. Before anything is timed, all programs follow the whole stream and must
agree with SciPy; the timed runs must end with the same values. The first batch of a run, in which compiled code is
loaded and memory is touched for the first time, is left out, for us and for the others.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import geometric_mean, median
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from experiments.lib.bars import Bar, figures, kept, named, number, sentence, span, told
from experiments.lib.experiment import Experiment
from experiments.lib.following import ALGORITHMS, PATIENCE, follow
from grapin.bench import peers
from grapin.edges import EdgeList
from grapin.engine import Engine
from grapin.generators import generate
from grapin.graph import Graph
from grapin.programs import BFS, SSSP, ConnectedComponents, Monotone
from grapin.programs.starting import UNREACHED
from grapin.session import Session
from grapin.stream import Stream, workload

PUBLISHED = {
    ("sssp", 1): {1000: 1.2, 10_000: 10.6, 100_000: 138.0},
    ("bfs", 1): {1000: 2.3, 10_000: 21.0, 100_000: 138.0},
    ("cc", 1): {1000: 1.0, 10_000: 11.5, 100_000: 104.0},
    ("sssp", 2): {1000: 1.1, 10_000: 6.6, 100_000: 92.0},
    ("bfs", 2): {1000: 1.6, 10_000: 11.0, 100_000: 92.0},
    ("cc", 2): {1000: 1.4, 10_000: 6.0, 100_000: 60.0},
}
"""Milliseconds a batch of RisGraph (SIGMOD 2021), by program and threads.

They were measured once, on another machine with two cores, of which no record is kept.
"""
HALF = 0.5
"""In the geometric mean over all cells on one thread, a batch may take this part of RisGraph's time."""
FOLLOWED = 10_000
"""Batches larger than this are not given to NetworKit, which would take minutes."""


@dataclass(frozen=True)
class Setting:
    """What is measured."""

    graph: str
    sizes: tuple[int, ...]
    batches: int
    threads: tuple[int, ...] = (1, 2)


FULL = Setting("rmat:20:16", (1000, 10_000, 100_000), 10)
QUICK = Setting("rmat:10:16", (50, 200), 2)


@dataclass(frozen=True)
class Cell:
    """One program on batches of one size."""

    program: str
    size: int
    threads: int
    update: float
    compute: float
    total: float
    """Milliseconds per batch: the medians of the two parts, and of their sum."""
    processor: float
    """Milliseconds a batch that the calling thread was really running: what the clock says when nobody disturbs."""

    @property
    def published(self) -> float | None:
        """What RisGraph takes, where it was measured."""
        return PUBLISHED[self.program, self.threads].get(self.size)

    def bar(self) -> Bar:
        """Return the time, limited by RisGraph's on one thread, and beside it on two."""
        remark = f"update {self.update:.2f}, compute {self.compute:.2f}"
        if self.threads == 1:
            remark += f", {self.processor:.2f} of processor time"
        threads = "one thread" if self.threads == 1 else f"{self.threads} threads"
        limit = self.published if self.threads == 1 else None
        name = f"{self.program}, batches of {self.size:,}, {threads}"
        return Bar(name, self.total, "ms", limit, remark, self.published)


@dataclass(frozen=True)
class Course:
    """One stream of batches, the graph before it, and the right answers after it."""

    stream: Stream
    size: int
    graph: Graph
    source: int
    programs: tuple[Monotone, ...]
    values: dict[str, NDArray[np.int64]]
    scratch: dict[str, float]
    """Milliseconds SciPy takes to compute each answer from scratch."""

    @classmethod
    def prepare(cls, edges: EdgeList, size: int, batches: int) -> "Course":
        """Follow the stream with all programs at once and hold the answers against SciPy's."""
        stream = workload(edges, batches=batches + 1, size=size, seed=size)
        graph = stream.graph()
        source = int(np.argmax(graph.snapshot().out.degrees))
        programs = (SSSP(source), BFS(source), ConnectedComponents())
        engine = Engine(graph.copy(), programs, threads=1)
        Session(engine, stream).run()
        values = {answer.program.name: answer.values for answer in engine.answers}
        tail, head, weight = engine.graph.edge_arrays()
        last = EdgeList(tail, head, engine.graph.bound, weight)
        runs = peers.prepare(last, source, 1, ("scipy",))
        scratch = {}
        for name, ours in values.items():
            begin = perf_counter()
            answer = runs[name]["scipy"]()
            scratch[name] = (perf_counter() - begin) * 1e3
            if not peers.agree(name, answer, _signed(ours)):
                raise AssertionError(f"{name} after batches of {size}: SciPy and grapin differ")
        return cls(stream, size, graph, source, programs, values, scratch)

    def cell(self, program: Monotone, threads: int) -> Cell:
        """Time one program on a copy of the graph."""
        session = Session(Engine(self.graph.copy(), program, threads=threads), self.stream)
        reports = session.run()
        if not np.array_equal(session.engine.values, self.values[program.name]):
            raise AssertionError(f"{program.name} on {threads} threads: another answer than before")
        update = [report.update_seconds * 1e3 for report in reports[1:]]
        compute = [report.compute_seconds * 1e3 for report in reports[1:]]
        total = median(map(sum, zip(update, compute, strict=True)))
        parts = median(update), median(compute), total, median(session.processor_seconds[1:]) * 1e3
        return Cell(program.name, self.size, threads, *parts)

    def beside(self, cells: list[Cell]) -> Iterator[Bar]:
        """Yield our time on one thread over SciPy's from scratch and over NetworKit's."""
        for cell in cells:
            if cell.threads > 1:
                continue
            name = f"{cell.program}, batches of {cell.size:,}, over"
            scratch = self.scratch[cell.program]
            yield Bar(f"{name} SciPy from scratch", cell.total / scratch, remark=f"SciPy {scratch:.0f} ms")
            if cell.program in ALGORITHMS and self.size <= FOLLOWED:
                yield self._beside_networkit(cell, name)

    def _beside_networkit(self, cell: Cell, name: str) -> Bar:
        other = follow(cell.program, self.stream, self.source)
        name = f"{name} NetworKit's {other.name}"
        if not other.seconds:
            remark = f"NetworKit did not finish a batch in {PATIENCE:.0f} s"
            return Bar(name, cell.total / (PATIENCE * 1e3), remark=remark)
        taken = median(other.seconds[1:] or other.seconds) * 1e3
        if other.distances is None:
            end = f"stopped in batch {len(other.seconds) + 1} of {len(self.stream)}, out of patience"
        else:
            right = peers.agree(cell.program, other.distances, _signed(self.values[cell.program]))
            end = "same values" if right else "wrong values"
        remark = f"NetworKit {taken:.1f} ms, {taken / cell.total:.0f} times as long; {end}"
        return Bar(name, cell.total / taken, remark=remark)


def _signed(values: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.where(values == UNREACHED, -1, values)


def bars(*, quick: bool) -> list[Bar]:
    """Measure every program, batch size and number of threads, and the others on the same batches."""
    setting = QUICK if quick else FULL
    edges = generate(setting.graph)
    cells: list[Cell] = []
    beside: list[Bar] = []
    for size in setting.sizes:
        course = Course.prepare(edges, size, setting.batches)
        own = [course.cell(program, count) for program in course.programs for count in setting.threads]
        cells += own
        beside += course.beside(own)
    cells.sort(key=lambda cell: cell.threads)
    return [*(cell.bar() for cell in cells), *_means(cells), *beside]


def _means(cells: list[Cell]) -> Iterator[Bar]:
    for threads, limit in ((1, HALF), (2, None)):
        ratios = [cell.total / cell.published for cell in cells if cell.threads == threads and cell.published]
        if ratios:
            name = f"geometric mean over RisGraph, threads: {threads}"
            mean = geometric_mean(ratios)
            yield Bar(
                name, mean, limit=limit, remark=f"{1 / mean:.2f} times as fast in the mean of all cells"
            )


def _answer(bars: Sequence[Bar]) -> str:
    def beside(said: str, threads: str, count: int) -> str:
        ratios = span(bar.ratio for bar in named(bars, threads) if bar.ratio is not None)
        return told(said, ratios, span(figures(bars, f"over RisGraph, threads: {count}")))

    def at_most(over: str) -> str:
        rows = [bar.figure for bar in bars if f"over {over}" in bar.name]
        return told(f"at most {{}} of {over}'s", number(max(rows)) if rows else "")

    return sentence(
        told("a batch takes {}", span((bar.figure for bar in bars if bar.unit == "ms"), "ms")),
        beside("on one thread {} of RisGraph's time on another machine ({} in the mean)", ", one thread", 1)
        + beside(", on two {} ({})", ", 2 threads", 2),
        sentence(at_most("SciPy"), at_most("NetworKit"), between=", ") + ", measured here",
        kept(bars),
    )


EXPERIMENT = Experiment(
    name="latency",
    question="How long is an answer out of date after a batch, beside other systems?",
    source="times of RisGraph (SIGMOD 2021) from another machine with two cores, of which no record is kept",
    rival="RisGraph",
    measure=bars,
    answer=_answer,
    difference=(
        "RisGraph's times are of another machine with two cores, on which SciPy took 1.3 times as long as on ours, so "
        "a ratio near 1 says little. SciPy and NetworKit are measured here, in the same run."
    ),
    configuration={
        "graph": FULL.graph,
        "sizes": FULL.sizes,
        "batches": FULL.batches,
        "threads": FULL.threads,
    },
)
