"""Do the compiled kernels ask the link for what the model predicts? Executed on the virtual GPU, beside the prediction.

Each program runs under each system on `vgpu`, from the vertex with most out-edges, with batches of 200 mutations.
The prediction is made from the list reads of that run; what is executed are the requests that the lanes of its warps
issue, behind an L1 and an L2 of an RTX A5000's sizes. Zero-copy systems are compared by bytes, unified ones by the
pages that are touched. The prediction stands behind the L1. What an L2 would serve besides depends on whether it keeps
host memory from one launch to the next, and on how large the graph is: it is a line of its own without a limit.

The compiler is needed, but no GPU (`make test-cuda` installs it into `.venv-cuda`).
"""

from collections.abc import Iterator, Sequence
from time import process_time
from typing import Any

import numpy as np

from experiments.lib.bars import Bar, figures, kept, percents, sentence, span, told
from experiments.lib.experiment import Experiment
from grapin.cli.compare import Run, measure
from grapin.engine import Engine
from grapin.generators import generate
from grapin.graph import Graph
from grapin.measured.compare import compare
from grapin.programs import PROGRAMS, SSSP
from grapin.sim.machine import MACHINES
from grapin.sim.predict import replay
from grapin.system import RUNNABLE, find_runnable

GRAPH, QUICK = "rmat:12:16", "rmat:8:8"
TIMED = "rmat:17:16"
NANOSECONDS = 200
"""A CPU core should execute 5 million edges a second, counting."""
ROUNDS = 3
MACHINE = "a5000"
BATCHES, BATCH = 3, 200
MOST_OFF = 0.02
BYTES, PAGES, REQUESTS = "bytes off by", "pages off by", "requests of one size off by, at most"
L2 = "part of the bytes that the L2 would serve"
TIME = "CPU time an edge, shortest paths from scratch"
_WORKLOAD: dict[str, Any] = {
    "source": "auto",
    "threads": None,
    "insertions": 0.5,
    "updates": None,
    "directed": None,
    "weights": "keep",
    "seed": 1,
}


def bars_of_run(program: str, run: Run) -> Iterator[Bar]:
    """Lay what was executed beside what is predicted of the run."""
    machine = MACHINES[MACHINE]
    rows = compare(replay(run.trace, run.system, machine), machine, run.trace, run.measured)
    found = {(row.source.removeprefix("executed, "), row.kind): row for row in rows}
    title = f"{program}, {run.name}"
    if ("executed", "distinct pages") in found:
        row = found["executed", "distinct pages"]
        yield Bar(f"{title}: {PAGES}", abs(row.error or 0.0), "", MOST_OFF, f"{row.measured:,.0f} pages")
        return
    if ("behind L1", "sectors read") not in found:
        return  # all lists were copied before kernels read them
    row = found["behind L1", "sectors read"]
    remark = f"{32 * row.predicted:,.0f} bytes predicted, {32 * row.measured:,.0f} executed"
    yield Bar(f"{title}: {BYTES}", abs(row.error or 0.0), "", MOST_OFF, remark)
    sizes = [each for (source, kind), each in found.items() if source == "behind L1" and "requests" in kind]
    yield Bar(f"{title}: {REQUESTS}", max(abs(each.error or 0.0) for each in sizes), "", MOST_OFF)
    kept_by_l2 = 1 - found["behind L2", "sectors read"].measured / row.measured
    yield Bar(f"{title}: {L2}", kept_by_l2, "")


def nanoseconds_an_edge(spec: str) -> float:
    """Return the CPU time that an edge takes in a plain schedule, all kernels compiled, in the best of some rounds."""
    edges = generate(spec, seed=1)
    graph = Graph.from_edges(edges.source, edges.target, edges.weight, vertices=edges.vertices)
    program = SSSP(int(np.argmax(graph.snapshot().out.degrees)))
    times = []
    for _ in range(1 + ROUNDS):
        began = process_time()
        started = Engine(graph, program, device="vgpu").started
        times.append((process_time() - began) / started.edges_read)
    return 1e9 * min(times[1:])


def bars(*, quick: bool) -> Iterator[Bar]:
    """Run every program under every system."""
    yield Bar(TIME, nanoseconds_an_edge(QUICK if quick else TIMED), "ns", None if quick else NANOSECONDS)
    graph, programs, systems = (
        (QUICK, ["bfs"], ["bounded"]) if quick else (GRAPH, list(PROGRAMS), list(RUNNABLE))
    )
    size = 40 if quick else BATCH
    for program in programs:
        for system in map(find_runnable, systems):
            runs = measure(
                graph,
                [system],
                device="vgpu",
                cache=None,
                name=program,
                batches=BATCHES,
                batch_size=size,
                **_WORKLOAD,
            )
            for run in runs:
                yield from bars_of_run(program, run)


def _answer(bars: Sequence[Bar]) -> str:
    executed = percents(figures(bars, BYTES))
    return sentence(
        told(
            "requests that lanes issue ask for bytes that are {} off the prediction behind the L1", executed
        ),
        told("of one size at most {} off", percents(figures(bars, REQUESTS))),
        told("pages of unified memory are {} off", percents(figures(bars, PAGES))),
        told("an L2 that keeps host memory would serve {} of the bytes", percents(figures(bars, L2))),
        told("an edge takes {} of CPU time", span(figures(bars, TIME), "ns")),
        kept(bars),
    )


EXPERIMENT = Experiment(
    name="executed_traffic",
    question="Do the compiled kernels ask the link for what the model predicts?",
    measure=bars,
    answer=_answer,
    configuration={"graph": GRAPH, "batches": BATCHES, "mutations a batch": BATCH, "machine": MACHINE},
)
