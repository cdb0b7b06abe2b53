"""Does a batch cost what it changes, or what exists? One batch size on graphs from small to large.

Compute time of a batch of 1000 mutations, half insertions and half deletions, on one thread: the median of ten batches
after one that is left out, because compiled code is loaded and memory touched for the first time in it.
"""

from collections.abc import Iterator, Sequence
from math import log2
from statistics import median

import numpy as np

from experiments.lib.bars import Bar, Place, figures, kept, sentence, span, told
from experiments.lib.drawing import panels
from experiments.lib.experiment import Experiment
from grapin.engine import Engine
from grapin.generators import generate
from grapin.programs import BFS, SSSP, ConnectedComponents
from grapin.session import Session
from grapin.stream import workload

FULL = ("rmat:16:16", "rmat:18:16", "rmat:20:16", "rmat:22:16")
QUICK = ("rmat:8:16", "rmat:10:16")
BATCHES = 10
SIZES = {"full": 1000, "quick": 50}
WITHIN = 3.0
"""The longest time may be this many times the shortest."""
RATIO = "longest over shortest"


def compute_times(name: str, size: int) -> Iterator[Bar]:
    """Yield the milliseconds a batch takes on this graph, program by program."""
    stream = workload(generate(name), batches=BATCHES + 1, size=size, seed=1)
    graph = stream.graph()
    scale = log2(graph.bound)
    source = int(np.argmax(graph.snapshot().out.degrees))
    for program in (SSSP(source), BFS(source), ConnectedComponents()):
        engine = Engine(graph.copy(), program, threads=1)
        reports = Session(engine, stream).run()[1:]
        time = median(report.compute_seconds for report in reports) * 1e3
        place = Place(f"a batch of {size:,}", program.name, scale)
        yield Bar(f"{program.name} on {name}: {place.panel}", time, "ms", place=place)


def bars(*, quick: bool) -> Iterator[Bar]:
    """Measure all graphs and compare the longest time of each program with its shortest."""
    graphs, size = (QUICK, SIZES["quick"]) if quick else (FULL, SIZES["full"])
    times: dict[str, list[float]] = {}
    for name in graphs:
        for bar in compute_times(name, size):
            times.setdefault(bar.name.split()[0], []).append(bar.figure)
            yield bar
    for program, own in times.items():
        title = f"{program}, batches of {size:,}, {graphs[0]} to {graphs[-1]}: {RATIO}"
        yield Bar(title, max(own) / min(own), "x", WITHIN)


def _answer(bars: Sequence[Bar]) -> str:
    timed = [(bar.figure, bar.place) for bar in bars if bar.place is not None]
    said = told(
        "the longest time of a program is {} times its shortest", span(figures(bars, RATIO), digits=3)
    )
    if timed:
        scales = [float(place.x) for _, place in timed]
        times = span((time for time, _ in timed), "ms")
        graphs = f"graphs of 2^{min(scales):g} to 2^{max(scales):g} vertices"
        said = f"{timed[0][1].panel} is repaired in {times} on {graphs}; {said}"
    return sentence(f"{said} (the store's update not included)", kept(bars))


EXPERIMENT = Experiment(
    name="growth",
    question="Does a batch cost what it changes, or what exists?",
    measure=bars,
    answer=_answer,
    draw=panels(x="vertices, as a power of two", y="ms"),
    configuration={"graphs": FULL, "batches": BATCHES, "size": SIZES["full"]},
)
