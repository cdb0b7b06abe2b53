"""Edges read and time to keep PageRank fresh, beside a power iteration that starts from the previous answer.

Both are held to one measured error: after each batch, the distance of our ranks from a solution that is exact to twelve
digits; the power iteration stops at the first step that is as near, which is told to it for free. A step of it reads
every edge once, as a product of a SciPy matrix and a vector; building that matrix is not counted.
"""

import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

import grapin
from experiments.lib.bars import DATA, Bar, figures, kept, sentence, span, told
from experiments.lib.experiment import Experiment
from grapin import Graph
from grapin.kernels.cpu.accumulative.query import AccumulativeQuery
from grapin.programs import PageRank
from grapin.system import find_system
from grapin.units import format_count, format_seconds

GRAPHS = ("rmat:18:16", "soc-Epinions1.txt.gz", "cnr-2000.txt.zst")
QUICK = ("rmat:10:16",)
BATCHES = 10
PARTS = (0.0001, 0.001, 0.01)
"""Batch sizes as parts of the edges, half insertions and half deletions."""
BARRED_PART = 0.001
MOST_EDGES = 1 / 3
"""At that batch size, edges read over those of the power iteration."""
EDGES, TIME = "edges read over those of the power iteration", "time over that of the power iteration"

Ranks = NDArray[np.float64]


@dataclass(frozen=True)
class Beside:
    """One batch: ours and the power iteration's reads and seconds, and the error that both reach."""

    edges: int
    seconds: float
    power_edges: int
    power_seconds: float
    error: float
    dense: bool


def flow_matrix(graph: Graph, damping: float) -> Any:
    """Return the matrix that turns amounts into what flows into each vertex."""
    source, target, _ = graph.edge_arrays()
    degrees = np.bincount(source, minlength=graph.bound)
    return csr_matrix((damping / degrees[source], (target, source)), shape=(graph.bound, graph.bound))


def power_step(flows: Any, ranks: Ranks) -> Ranks:
    """One step: follow edges, and spread evenly what was not passed on."""
    passed = flows @ ranks
    step: Ranks = passed + (1 - passed.sum()) / len(passed)
    return step


def accurate(flows: Any, ranks: Ranks) -> Ranks:
    """Iterate until the ranks stand still to twelve digits."""
    moved = 1.0
    while moved > 1e-13:
        before, ranks = ranks, power_step(flows, ranks)
        moved = float(np.abs(ranks - before).sum())
    return ranks


def power_iteration(flows: Any, ranks: Ranks, exact: Ranks, error: float) -> tuple[int, float]:
    """Return the steps from `ranks` until the error is reached, and their seconds."""
    steps, seconds = 0, 0.0
    while np.abs(ranks - exact).sum() > error:
        begin = time.perf_counter()
        ranks = power_step(flows, ranks)
        seconds += time.perf_counter() - begin
        steps += 1
    return steps, seconds


def follow(graph: Graph, program: PageRank, part: float, batches: int, seed: int) -> Iterator[Beside]:
    """Apply batches to the graph and measure both on each; the first batch, which compiles, is left out."""
    query = AccumulativeQuery(program, find_system("bounded"), weight_dtype=None, threads=1)
    query.start(graph.snapshot(), tracing=False)
    exact = query.values()
    size = max(2, int(part * graph.edges))
    for number, batch in enumerate(grapin.stream.sample(graph, batches=batches + 1, size=size, seed=seed)):
        before = query.values()
        applied = graph.apply(batch)
        snapshot = graph.snapshot()
        begin = time.perf_counter()
        work = query.repair(snapshot, applied, tracing=False)
        seconds = time.perf_counter() - begin
        flows = flow_matrix(graph, program.damping)
        exact = accurate(flows, exact)
        error = float(np.abs(query.values() - exact).sum())
        steps, power_seconds = power_iteration(flows, before, exact, error)
        if number:
            yield Beside(work.counters.edges, seconds, steps * graph.edges, power_seconds, error, work.dense)


def summary(name: str, edges: int, part: float, rows: list[Beside]) -> list[Bar]:
    """Return the edges we read and the time we take, over those of the power iteration."""
    ours = statistics.mean(row.edges for row in rows)
    power = statistics.mean(row.power_edges for row in rows)
    seconds = statistics.median(row.seconds for row in rows)
    power_seconds = statistics.median(row.power_seconds for row in rows)
    title = f"{name}, batch {part:.2%} of the edges"
    return [
        Bar(
            f"{title}: {EDGES}",
            ours / power if power else float("inf"),
            limit=MOST_EDGES if part == BARRED_PART else None,
            remark=(
                f"{ours / edges:.3f} against {power / edges:.2f} passes, "
                f"error {max(row.error for row in rows):.1e}, {sum(row.dense for row in rows)} with sweeps"
            ),
        ),
        Bar(
            f"{title}: {TIME}",
            seconds / power_seconds if power_seconds else float("inf"),
            remark=f"{format_seconds(seconds)} against {format_seconds(power_seconds)}, each on one core",
        ),
    ]


def found(name: str) -> str | Path | None:
    """Return what to load: a generator's name, a file of ours, or a path; None if there is no such file."""
    if ":" in name:
        return name
    paths = (DATA / name, Path(name))
    return next((path for path in paths if path.is_file()), None)


def graph_bars(names: Sequence[str], program: PageRank, batches: int, seed: int) -> list[Bar]:
    """Measure every batch size on those of the graphs that are at hand."""
    measured: list[Bar] = []
    for name in names:
        path = found(name)
        if path is None:
            print(f"{name} is not at hand: skipped", file=sys.stderr)
            continue
        for part in PARTS:
            graph = grapin.load(path, weights="none")
            rows = list(follow(graph, program, part, batches, seed))
            title = f"{name} ({format_count(graph.edges)} edges)"
            measured += summary(title, graph.edges, part, rows)
    return measured


def bars(*, quick: bool) -> list[Bar]:
    """Measure what the bars of the engine are about."""
    return graph_bars(QUICK if quick else GRAPHS, PageRank(), BATCHES, seed=1)


def _answer(bars: Sequence[Bar]) -> str:
    return sentence(
        told("a repair reads {} of the edges that the power iteration reads", span(figures(bars, EDGES)))
        + told(", and takes {} times as long on one CPU core", span(figures(bars, TIME))),
        kept(bars),
    )


EXPERIMENT = Experiment(
    name="pagerank",
    question="What does it take to keep PageRank fresh, beside a power iteration from the previous answer?",
    measure=bars,
    answer=_answer,
    configuration={"graphs": GRAPHS, "batches": BATCHES, "parts": PARTS, "tolerance": PageRank().tolerance},
)
