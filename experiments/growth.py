"""Does a batch cost what it changes, or what exists? One batch size on graphs from small to large.

    python -m experiments.growth [--quick]

Compute time of a batch of 1000 mutations, half insertions and half deletions, on one thread: the median of ten batches
after one that is left out, because compiled code is loaded and memory touched for the first time in it.
"""

import sys
from statistics import median

import numpy as np

from experiments.bars import Bar
from experiments.experiment import Experiment
from grapin.engine import Engine
from grapin.generators import generate
from grapin.programs import BFS, SSSP, ConnectedComponents
from grapin.stream import workload

FULL = ("rmat:16:16", "rmat:18:16", "rmat:20:16", "rmat:22:16")
QUICK = ("rmat:8:16", "rmat:10:16")
BATCHES = 10
SIZES = {"full": 1000, "quick": 50}
WITHIN = 3.0
"""The longest time may be this many times the shortest."""


def compute_times(name: str, size: int) -> dict[str, float]:
    """Return the milliseconds a batch takes on this graph, by program."""
    stream = workload(generate(name), batches=BATCHES + 1, size=size, seed=1)
    graph = stream.graph()
    source = int(np.argmax(graph.snapshot().out.degrees))
    times = {}
    for program in (SSSP(source), BFS(source), ConnectedComponents()):
        engine = Engine(graph.copy(), program, threads=1)
        reports = [engine.apply(batch) for batch in stream][1:]
        times[program.name] = median(report.compute_seconds for report in reports) * 1e3
    return times


def bars(*, quick: bool) -> list[Bar]:
    """Measure all graphs and compare the longest time of each program with its shortest."""
    graphs, size = (QUICK, SIZES["quick"]) if quick else (FULL, SIZES["full"])
    found = {name: compute_times(name, size) for name in graphs}
    measured = []
    for program in next(iter(found.values())):
        times = [found[name][program] for name in graphs]
        remark = ", ".join(f"{name} {time:.3f} ms" for name, time in zip(graphs, times, strict=True))
        title = f"{program}, batches of {size:,}, {graphs[0]} to {graphs[-1]}: longest over shortest"
        measured.append(Bar(title, max(times) / min(times), "x", WITHIN, remark))
    return measured


EXPERIMENT = Experiment(
    name="growth",
    question="Does a batch cost what it changes, or what exists?",
    measure=bars,
    configuration={"graphs": FULL, "batches": BATCHES, "size": SIZES["full"]},
)

if __name__ == "__main__":
    sys.exit(EXPERIMENT.main())
