"""What does a trace cost, and what does it cost when it is not asked for?

On: two engines, one that keeps a trace and one that does not, apply the same batches in turns; the ratio of their times
is measured batch by batch, and is of the whole of `Engine.apply`, as the trace is put together after the repair.

Off: every list read passes one branch that is not taken, and hands the unused trace along. There is no engine without
that branch to compare with; so the lists that a batch really read are counted again, with the branch and without it,
and the difference is set against the time of the repair.
"""

from collections.abc import Sequence
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from experiments.lib.bars import Bar, figures, kept, percents, sentence, span, told
from experiments.lib.experiment import Experiment
from grapin.compiled import compiled
from grapin.engine import Engine
from grapin.generators import generate
from grapin.graph import Graph
from grapin.kernels.cpu.lists import count_list, keep_read, new_tally
from grapin.programs import BFS, SSSP, ConnectedComponents, Monotone
from grapin.stream import Stream, workload

FULL = ("rmat:20:16", 10_000)
QUICK = ("rmat:10:16", 100)
BATCHES = 10
ROUNDS = 25
MOST_LISTS = 200_000
"""So many lists are counted in one round, to make the cost of calling a compiled function vanish."""
MOST_ON = 1.5
MOST_OFF = 0.02
ON, OFF = "batch with a trace over without", "part of the repair spent on not tracing"


@compiled
def count_with_branch(starts: Any, lengths: Any, times: int, tally: Any, trace: Any, tracing: bool) -> int:
    """Count lists as the engine's kernels do, several times over."""
    used = 0
    for _ in range(times):
        for place in range(starts.size):
            count_list(tally, starts[place], lengths[place], 1)
            if tracing:
                trace, used = keep_read(trace, used, tally, place, starts[place], lengths[place], 1)
    return used


@compiled
def count_without_branch(starts: Any, lengths: Any, times: int, tally: Any) -> None:
    """Count lists where there is no trace to think of, several times over."""
    for _ in range(times):
        for place in range(starts.size):
            count_list(tally, starts[place], lengths[place], 1)


def on_bars(graph: Graph, stream: Stream, program: Monotone) -> tuple[list[Bar], Engine, float]:
    """Compare engines with and without a trace; return them with the traced one and the other's compute seconds."""
    engines = [Engine(graph.copy(), program, threads=1, trace=trace) for trace in (False, True)]
    ratios, compute = [], []
    for number, batch in enumerate(stream):
        times = [0.0, 0.0]
        # Whoever goes second finds the batch in the processor's cache.
        for place in (0, 1) if number % 2 else (1, 0):
            begin = perf_counter()
            report = engines[place].apply(batch)
            times[place] = perf_counter() - begin
            if number and not place:
                compute.append(report.compute_seconds)
        if number:
            ratios.append(times[1] / times[0])
    bars = [Bar(f"{program.name}: {ON}", median(ratios), "x", MOST_ON)]
    return bars, engines[1], median(compute)


def off_bar(engine: Engine, compute: float) -> Bar:
    """Count the lists of the last batch again, in turns with the branch and without it."""
    trace = engine.trace
    rows = trace.reads["phase"] == len(trace.phases["version"]) - 1
    starts, lengths = trace.reads["start"][rows], trace.reads["length"][rows].astype(np.int64)
    tally, nothing = new_tally(), np.empty(0, np.int64)
    times = 1 + MOST_LISTS // max(1, len(starts))
    differences = []
    for _ in range(ROUNDS + 1):
        begin = perf_counter()
        count_with_branch(starts, lengths, times, tally, nothing, tracing=False)
        between = perf_counter()
        count_without_branch(starts, lengths, times, tally)
        differences.append(((between - begin) - (perf_counter() - between)) / times)
    cost = max(0.0, median(differences[1:]))
    name = engine.answers[0].program.name
    remark = f"{cost * 1e6:.1f} us for {len(starts):,} lists, beside {compute * 1e3:.2f} ms of repair"
    return Bar(f"{name}: {OFF}", cost / compute, "x", MOST_OFF, remark)


def bars(*, quick: bool) -> list[Bar]:
    """Measure every program."""
    name, size = QUICK if quick else FULL
    stream = workload(generate(name), batches=BATCHES + 1, size=size, seed=1)
    graph = stream.graph()
    source = int(np.argmax(graph.snapshot().out.degrees))
    measured: list[Bar] = []
    for program in (SSSP(source), BFS(source), ConnectedComponents()):
        found, engine, compute = on_bars(graph, stream, program)
        measured += [*found, off_bar(engine, compute)]
    return measured


def _answer(bars: Sequence[Bar]) -> str:
    return sentence(
        told("a batch with a trace takes {} times as long as without", span(figures(bars, ON), digits=3)),
        told("not asked for, a trace costs {} of a repair", percents(figures(bars, OFF))),
        kept(bars),
    )


EXPERIMENT = Experiment(
    name="tracing",
    question="What does a trace cost, and what does it cost when it is not asked for?",
    measure=bars,
    answer=_answer,
    configuration={"graph and batch size": FULL, "batches": BATCHES, "rounds": ROUNDS},
)
