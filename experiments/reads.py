"""How many edges does a repair read? Ours, that of Grapin's paper, and the fewest that any repair can.

Batches of 0.1 % of the edges, half insertions and half deletions, mean of ten; and two real streams of insertions and
deletions, replayed in ten batches after their first half. Grapin's repair is our implementation of it (`grapin-zc`),
run here on the same batches; its paper has no figures for these graphs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from experiments.lib.bars import DATA, Bar, kept, named, number, sentence, span, told
from experiments.lib.experiment import Experiment
from grapin.edges import EdgeList
from grapin.engine import Engine
from grapin.files import load_edges
from grapin.generators import generate
from grapin.graph import Graph
from grapin.loading import standing_edges
from grapin.programs import BFS, SSSP, ConnectedComponents, Monotone
from grapin.random import Draws
from grapin.session import Session
from grapin.stream import Stream, temporal, workload

GENERATED = "rmat:18:16"
QUICK = "rmat:10:16"
FILES = (
    "soc-Epinions1.txt.gz",
    "web-NotreDame.txt.gz",
    "cnr-2000.txt.zst",
    "actor-costar.txt.zst",
    "world-highways.gr.zst",
)
STREAMS = ("out.wine-includes.zst", "out.debian-deps.zst")
PART = 0.001
BATCHES = 10
TIMES_THE_BOUND = 2.0
PART_OF_PUBLISHED = 1 / 200
BOUND = "read over the bound"
RIVAL = "Grapin's repair"


@dataclass(frozen=True)
class Reads:
    """Edges read a batch over edges in the graph."""

    ours: float
    published: float
    bound: float


def programs(graph: Graph) -> Iterator[Monotone]:
    """Yield the programs, from the vertex with the most out-edges."""
    source = int(np.argmax(graph.snapshot().out.degrees))
    yield from (BFS(source), SSSP(source), ConnectedComponents())


def measure(stream: Stream, program: Monotone) -> Reads:
    """Run one stream under both repairs."""
    ours, bound = _mean_reads(stream, program, "bounded")
    published, _ = _mean_reads(stream, program, "grapin-zc")
    return Reads(ours, published, bound)


def _mean_reads(stream: Stream, program: Monotone, system: str) -> tuple[float, float]:
    graph = stream.graph()
    engine = Engine(graph, program, system=system, threads=1)
    reports = Session(engine, stream).run()
    read = sum(report.edges_read for report in reports)
    bound = sum(report.affected_edges for report in reports)
    every = len(reports) * graph.edges
    return read / every, bound / every


def weighted(edges: EdgeList) -> EdgeList:
    """Return simple edges with weights from 1 to 64 where the file has none."""
    edges = standing_edges(edges)
    if edges.weight is None:
        drawn = Draws(0, "weights").below(64, len(edges)) + 1
        edges = replace(edges, weight=drawn.astype(np.int32))
    return edges


def sampled_bars(name: str, edges: EdgeList) -> list[Bar]:
    """Measure sampled batches on one graph."""
    rows = len(edges) if edges.directed else 2 * len(edges)
    size = round(PART * rows) if edges.directed else round(PART * rows / 2)
    stream = workload(edges, batches=BATCHES, size=size, seed=1)
    found = []
    for program in programs(stream.graph()):
        reads = measure(stream, program)
        title = f"{program.name} on {name}"
        remark = (
            f"bounded {reads.ours:.6f}, bound {reads.bound:.6f}, {RIVAL} {reads.published:.3f} of all edges"
        )
        found.append(Bar(f"{title}: edges read", reads.ours, "of all edges", published=reads.published))
        limited = program.name != "cc"
        ratio = reads.ours / reads.bound if reads.bound else float("nan")
        found.append(Bar(f"{title}: {BOUND}", ratio, "x", TIMES_THE_BOUND if limited else None, remark))
        if name == GENERATED:
            part = reads.ours / reads.published
            found.append(Bar(f"{title}: read over {RIVAL}", part, "x", PART_OF_PUBLISHED))
    return found


def stream_bars(name: str, edges: EdgeList) -> list[Bar]:
    """Measure the second half of a real stream; its figures are what they are."""
    half = len(edges) // 2
    stream = temporal(replace(edges, weight=None), size=-(-half // BATCHES), start=len(edges) - half)
    found = []
    for program in programs(stream.graph()):
        reads = measure(stream, program)
        remark = (
            f"bounded {reads.ours:.4f}, bound {reads.bound:.4f}, {RIVAL} {reads.published:.3f} of all edges"
        )
        title = f"{program.name} on {name}"
        found.append(Bar(f"{title}: edges read", reads.ours, "of all edges", published=reads.published))
        ratio = reads.ours / reads.bound if reads.bound else float("nan")
        found.append(Bar(f"{title}: {BOUND}", ratio, "x", None, remark))
    return found


def bars(*, quick: bool) -> list[Bar]:
    """Measure all graphs that are at hand; a quick run leaves the files out."""
    if quick:
        return sampled_bars(QUICK, generate(QUICK))
    found = sampled_bars(GENERATED, generate(GENERATED))
    for file in FILES:
        if (DATA / file).is_file():
            found += sampled_bars(file.split(".")[0], weighted(_read(file)))
    for file in STREAMS:
        if (DATA / file).is_file():
            found += stream_bars(file.split(".")[1], load_edges(DATA / file))
    return found


def _answer(bars: Sequence[Bar]) -> str:
    ratios = [bar.ratio for bar in bars if bar.ratio is not None]
    bound = [bar.figure for bar in named(bars, BOUND) if bar.limit is not None]
    return sentence(
        f"it reads {number(median(ratios))} of what {RIVAL} reads on the same batches in the median of {len(ratios)} "
        f"({span(ratios)})",
        told("{} times what changes affect, for BFS and SSSP on sampled batches", span(bound)),
        kept(bars),
    )


def _read(file: str) -> EdgeList:
    return load_edges(DATA / file, directed=False if file.startswith("actor") else None)


EXPERIMENT = Experiment(
    name="reads",
    question="How many edges does a repair read, beside Grapin's repair and beside the edges that changes affect?",
    source="the repair of Grapin's paper, our implementation, run here on the same batches",
    rival=RIVAL,
    measure=bars,
    difference="Grapin's repair lets every vertex that has a value push again; ours follows what changed.",
    answer=_answer,
    configuration={"part": PART, "batches": BATCHES},
)
