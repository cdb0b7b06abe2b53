"""The initial fixed point beside SciPy, NetworKit and python-graphblas, in one run.

Values are compared first; what differs is not timed. The rivals get their own form of the graph beforehand, as we
get ours; times are medians over rounds in which all take turns, since machines are shared.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from experiments.lib.bars import Bar, Place, kept, sentence, span, told
from experiments.lib.drawing import panels
from experiments.lib.experiment import Experiment
from grapin.bench import peers
from grapin.generators import generate
from grapin.graph.graph import Graph
from grapin.kernels.cpu.lists import EDGES, new_tally
from grapin.kernels.cpu.monotone.query import bind_monotone
from grapin.kernels.cpu.monotone.rounds import start_words, sweep
from grapin.kernels.rules import SHIFT, coding
from grapin.programs import BFS, SSSP, ConnectedComponents, Monotone
from grapin.programs.starting import source_arrays

FULL = "rmat:20:16"
QUICK = "rmat:10:16"
ROUNDS = 5
THREADS = (1, 2)
BARRED_THREADS = 2
OVER = "over the fastest rival"
NOT_SLOWER = 1.0
Run = Callable[[], Any]


class Ours:
    """One program on the store, computed from scratch."""

    def __init__(self, graph: Graph, program: Monotone) -> None:
        snapshot = graph.snapshot()
        if snapshot.in_ is None:
            raise TypeError("the graph must keep its in-direction")
        out, into = (
            (lists.starts, lists.degrees, lists.neighbours, lists.weights)
            for lists in (snapshot.out, snapshot.in_)
        )
        sides = 2 if program.both_ways else 1
        self.pulls, self.pushes = (into, out)[:sides], (out, into)[:sides]
        code = coding(program, graph.weight_dtype)
        self.kernels = bind_monotone(program, code, stored_weights=True, sides=sides)
        self.alive = graph.alive()
        self.roots, values = source_arrays(program, real=code.real)
        self.root_keys = code.encode(values)
        self.passes = 0.0
        self.edges = graph.edges * sides

    def run(self, threads: int) -> Any:
        """Return the words at the fixed point."""
        words, active = start_words(self.kernels, self.alive, self.roots, self.root_keys)
        tally = new_tally()
        sweep(self.kernels, words, self.pulls, self.pushes, active, threads=threads, tally=tally)
        self.passes = tally[EDGES] / max(1, self.edges)
        return words

    @staticmethod
    def values(words: Any) -> Any:
        """Return keys as signed numbers, -1 for none."""
        return (words >> SHIFT).astype(np.uint32).view(np.int32)


def compare(
    name: str, ours: Ours, threads: Sequence[int], others: dict[str, Run], rounds: int
) -> Iterator[Bar]:
    """Check that all agree, then time them in turns; yield all times, and ours over the fastest rival's."""
    expected = ours.values(ours.run(1))
    for count in threads:
        if not np.array_equal(ours.values(ours.run(count)), expected):
            raise AssertionError(f"{name}: grapin on {count} threads differs from itself on one")
    for rival, run in others.items():
        if not peers.agree(name, run(), expected):
            raise AssertionError(f"{name}: {rival} and grapin differ")
    own = {count: partial(ours.run, count) for count in threads}
    times = _medians({**own, **others}, rounds)
    best = min((times[rival] for rival in others), default=float("nan"))
    for one, time_taken in times.items():
        who = one if isinstance(one, str) else f"grapin, {_threads(one)}"
        yield Bar(f"{name} from scratch: {who}", time_taken * 1e3, "ms", place=Place(name, "time", who))
    for count in threads:
        yield Bar(
            f"{name} from scratch, {_threads(count)}, {OVER}",
            times[count] / best,
            limit=NOT_SLOWER if count == BARRED_THREADS else None,
            remark=f"{ours.passes:.2f} passes over the edges",
        )


def _threads(count: int) -> str:
    return f"{count} thread{'s' * (count > 1)}"


def _medians(runs: dict[Any, Run], rounds: int) -> dict[Any, float]:
    times: dict[Any, list[float]] = {one: [] for one in runs}
    for _ in range(rounds):
        for one, run in runs.items():
            begin = time.perf_counter()
            run()
            times[one].append(time.perf_counter() - begin)
    return {one: statistics.median(taken) for one, taken in times.items()}


def graph_bars(name: str, threads: Sequence[int], rounds: int) -> list[Bar]:
    """Measure every program on one graph, from the vertex with the most out-edges."""
    edges = generate(name)
    graph = Graph.from_edges(edges.source, edges.target, edges.weight, vertices=edges.vertices)
    source = int(np.argmax(graph.snapshot().out.degrees))
    others = peers.prepare(edges, source, max(threads))
    measured: list[Bar] = []
    for program in (BFS(source), SSSP(source), ConnectedComponents()):
        measured += compare(program.name, Ours(graph, program), threads, others[program.name], rounds)
    return measured


def bars(*, quick: bool) -> list[Bar]:
    """Measure what the bars of the engine are about."""
    return graph_bars(QUICK if quick else FULL, THREADS, 2 if quick else ROUNDS)


def _answer(bars: Sequence[Bar]) -> str:
    two, one = (
        span(bar.figure for bar in bars if bar.name.endswith(OVER) and f", {count} thread" in bar.name)
        for count in (2, 1)
    )
    return sentence(
        told(
            "on two threads the first values take {} of the fastest rival's time, on one thread {}", two, one
        ),
        kept(bars),
    )


EXPERIMENT = Experiment(
    name="initial",
    question="How long do the first values take, beside SciPy, NetworKit and python-graphblas?",
    measure=bars,
    answer=_answer,
    draw=panels(x="ms"),
    configuration={"graph": FULL, "rounds": ROUNDS, "threads": THREADS},
)
