"""The initial fixed point beside SciPy, NetworKit and python-graphblas, in one run.

    python -m experiments.initial [--graph rmat:20:16] [--rounds N] [--threads 1 2]

Values are compared first; what differs is not timed. The rivals get their own form of the graph beforehand, as we
get ours; times are medians over rounds in which all take turns, since machines are shared.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from experiments import rivals
from grapin.generators import generate
from grapin.graph.graph import Graph
from grapin.kernels.cpu.lists import EDGES, new_tally
from grapin.kernels.cpu.monotone.binding import bind_monotone
from grapin.kernels.cpu.monotone.sweep import start_words, sweep
from grapin.kernels.rules import coding
from grapin.kernels.words import SHIFT
from grapin.programs import BFS, SSSP, ConnectedComponents, Monotone
from grapin.programs.program import source_arrays
from grapin.units import format_seconds

Run = Callable[[], Any]


class Ours:
    """One program on the store, computed from nothing."""

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
        self.roots, values = source_arrays(program)
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


def compare(name: str, ours: Ours, threads: list[int], others: dict[str, Run], rounds: int) -> None:
    """Check that all agree, then time them in turns and print one line each."""
    runs: dict[str, Run] = {f"grapin, {count} threads": partial(ours.run, count) for count in threads}
    expected = ours.values(ours.run(1))
    for count in threads:
        if not np.array_equal(ours.values(ours.run(count)), expected):
            raise AssertionError(f"{name}: grapin on {count} threads differs from itself on one")
    for rival, run in others.items():
        if not rivals.agree(name, run(), expected):
            raise AssertionError(f"{name}: {rival} and grapin differ")
    runs |= others
    times: dict[str, list[float]] = {one: [] for one in runs}
    for _ in range(rounds):
        for one, run in runs.items():
            begin = time.perf_counter()
            run()
            times[one].append(time.perf_counter() - begin)
    medians = {one: statistics.median(taken) for one, taken in times.items()}
    best = min((medians[rival] for rival in others), default=float("nan"))
    print(f"{name}: {ours.passes:.2f} passes over the edges; ratio to the fastest rival")
    for one, taken in sorted(medians.items(), key=lambda pair: pair[1]):
        print(f"  {one:24} {format_seconds(taken):>10}  {taken / best:5.2f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--graph", default="rmat:20:16")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    edges = generate(arguments.graph)
    graph = Graph.from_edges(edges.source, edges.target, edges.weight, vertices=edges.vertices)
    source = int(np.argmax(graph.snapshot().out.degrees))
    others = rivals.prepare(edges, source, max(arguments.threads))
    print(f"{arguments.graph}, from vertex {source}, median of {arguments.rounds} rounds")
    for name, program in (("bfs", BFS(source)), ("sssp", SSSP(source)), ("cc", ConnectedComponents())):
        compare(name, Ours(graph, program), arguments.threads, others[name], arguments.rounds)


if __name__ == "__main__":
    main()
