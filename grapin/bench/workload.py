"""`Workload`: one graph and the batches that change it, made once and run by every case on it."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from grapin.batch import Batch
from grapin.bench import peers
from grapin.bench.suite import Case, Suite
from grapin.edges import EdgeList
from grapin.engine import Engine
from grapin.engine.selftest import edge_allocation
from grapin.graph import Graph
from grapin.programs.finding import find_program
from grapin.programs.program import Monotone, Program
from grapin.stream import Stream
from grapin.systems import System, find_system

Prepare = Callable[[str, int], tuple[Stream, list[int]]]
"""Turns a graph's name and a batch size into a stream that brings its start, and the vertices programs start from."""


@dataclass(frozen=True, eq=False)
class Workload:
    """A graph before the first batch, all batches, and what runs on them."""

    suite: Suite
    cases: list[Case]
    start: EdgeList
    batches: list[Batch]
    sources: list[int]
    _graphs: dict[bool, Graph] = field(default_factory=dict)
    _peers: dict[str, peers.Runs] = field(default_factory=dict)

    def engine(self, case: Case) -> Engine:
        """Return an engine with its first values, on a graph of its own."""
        assert case.system is not None
        system = find_system(case.system)
        return Engine(
            self._graph(case.device, system).copy(),
            self._program(case.program),
            device=case.device,
            system=system,
            threads=self.suite.threads,
            cache=self.suite.cache,
        )

    def peer(self, case: Case) -> peers.Run:
        """Return what computes a peer's answer on the graph before the first batch, in the library's own form of it."""
        library = case.device
        if library not in self._peers:
            threads = self.suite.threads or os.cpu_count() or 1
            source = self.sources[0] if self.sources else 0
            self._peers[library] = peers.prepare(self.start, source, threads, (library,))
        return self._peers[library][case.program][library]

    def _graph(self, device: str, system: System) -> Graph:
        """Build a graph once for each kind of memory; every engine gets a copy."""
        allocate = edge_allocation(device, system)
        if (allocate is None) not in self._graphs:
            stream = Stream(lambda: (), start=self.start)
            self._graphs[allocate is None] = stream.graph(allocate=allocate)
        return self._graphs[allocate is None]

    def _program(self, name: str) -> Program:
        kind = find_program(name)
        if issubclass(kind, Monotone) and kind.start is None:
            return kind(self.sources)
        return kind()


def workloads(suite: Suite, prepare: Prepare) -> Iterator[Workload]:
    """Make one workload after the other, so that only one is in memory."""
    for graph, size in suite.workloads():
        stream, sources = prepare(graph, size)
        assert stream.start is not None
        yield Workload(suite, suite.cases(graph, size), stream.start, list(stream), sources)
