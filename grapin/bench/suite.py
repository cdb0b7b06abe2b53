"""`Suite`: what a benchmark runs, every program under every system on every graph, by name or from a TOML file.

`Workload`: one graph and the batches that change it, made once and run by every case on it.
"""

import os
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from grapin.batch import Batch
from grapin.bench import peers
from grapin.bench.peers import LIBRARIES, PROGRAMS, check_installed
from grapin.device import open_device
from grapin.edges import EdgeList
from grapin.engine import Engine
from grapin.engine.selftest import edge_allocation
from grapin.errors import GrapinError, InvalidArgument, InvalidFile
from grapin.graph import Graph
from grapin.programs import find_program
from grapin.programs.program import Program
from grapin.stream import Stream
from grapin.system import System, find_runnable
from grapin.validation import check_choice, check_fraction, check_integer, nearest, refuse

MOST_REPETITIONS = 50
"""Comparisons count all ways to deal out ranks; up to here that takes no time worth mentioning."""


@dataclass(frozen=True)
class Case:
    """One thing to be timed."""

    graph: str
    batch_size: int
    program: str
    system: str | None
    """None for a peer, which computes from scratch."""
    device: str
    """What executes; for a peer, the library."""

    def __str__(self) -> str:
        way = self.device if self.system is None else f"{self.system} on {self.device}"
        return f"{self.program}, {way}, {self.graph}, batches of {self.batch_size}"


@dataclass(frozen=True)
class Suite:
    """All combinations of graphs, batch sizes, programs, systems and devices, and how each is timed."""

    name: str
    graphs: tuple[str, ...]
    programs: tuple[str, ...]
    systems: tuple[str, ...] = ("bounded",)
    devices: tuple[str, ...] = ("auto",)
    batch_sizes: tuple[int, ...] = (1000,)
    batches: int = 5
    """A repetition applies so many batches, and its time a batch is their mean."""
    repetitions: int = 10
    """Each on a graph and an engine of its own, under the same batches."""
    warmup: int = 1
    """So many repetitions come first and do not count."""
    insertions: float = 0.5
    weights: str = "keep"
    cache: str | None = None
    threads: int | None = None
    seed: int = 0
    peers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("graphs", "programs", "systems", "devices", "batch_sizes"):
            if not getattr(self, name):
                refuse(name, [], "name at least one")
        for program in self.programs:
            find_program(program)
        for system in self.systems:
            find_runnable(system)
        for size in self.batch_sizes:
            check_integer("batch_sizes", size, least=1)
        for name, least, most in (
            ("batches", 1, None),
            ("repetitions", 1, MOST_REPETITIONS),
            ("warmup", 0, None),
            ("seed", 0, None),
        ):
            check_integer(name, getattr(self, name), least=least, most=most)
        if self.threads is not None:
            check_integer("threads", self.threads, least=1)
        check_fraction("insertions", self.insertions)
        for peer in self.peers:
            check_choice("peers", peer, LIBRARIES)
            check_installed(peer)

    def workloads(self) -> Iterator[tuple[str, int]]:
        """Yield each graph with each batch size: what is prepared once for all that runs on it."""
        yield from product(self.graphs, self.batch_sizes)

    def cases(self, graph: str, batch_size: int) -> list[Case]:
        """Return what runs on one workload: each program under each system on each device, then the peers."""
        found = [Case(graph, batch_size, *one) for one in product(self.programs, self.systems, self.devices)]
        known = (program for program in self.programs if program in PROGRAMS)
        return found + [
            Case(graph, batch_size, program, None, peer) for program, peer in product(known, self.peers)
        ]

    def configuration(self) -> dict[str, Any]:
        """Return what decides how much work a case is: only where all of it is equal can times be compared."""
        names = ("batches", "insertions", "weights", "cache", "threads", "seed")
        return {name: getattr(self, name) for name in names}


SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            name="default",
            graphs=("rmat:14", "grid:150:150"),
            programs=("bfs", "sssp", "cc", "pagerank"),
            systems=("bounded", "grapin", "grapin-recomp"),
            batch_sizes=(100, 1000),
        ),
        Suite(
            name="quick",
            graphs=("rmat:12",),
            programs=("sssp", "pagerank"),
            systems=("bounded", "grapin"),
            batch_sizes=(100,),
            batches=3,
            repetitions=8,
        ),
    )
}
"""Suites by name: a crowd and streets under every way to repair; and a minute's worth to see that all is well."""


def find_suite(name: str, changes: dict[str, Any]) -> Suite:
    """Return the suite of this name, or of a TOML file, with some fields changed; its devices can be used here."""
    if name.endswith(".toml"):
        suite = _load(Path(name))
    elif name in SUITES:
        suite = SUITES[name]
    else:
        raise InvalidArgument(
            f"suite={name!r} must be one of {', '.join(SUITES)}, or a file that ends in .toml"
            f"{nearest(name, SUITES)}"
        )
    suite = replace(suite, **changes)
    return replace(suite, devices=tuple(dict.fromkeys(map(_usable, suite.devices))))


def _usable(device: str) -> str:
    """Refuse a device that cannot be used; name the one that `auto` takes, since records say what really ran."""
    found = open_device(device)
    return found.name if device == "auto" else device


def _load(path: Path) -> Suite:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidFile(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidFile(f"{path}: is not a suite written as TOML ({error})") from None
    try:
        return _suite({"name": path.stem} | content)
    except GrapinError as error:
        raise InvalidFile(f"{path}: {error}") from None


def _suite(content: dict[str, Any]) -> Suite:
    known = {field.name: field.type for field in fields(Suite)}
    for name, value in content.items():
        check_choice("setting", name, known)
        kind = str(known[name])
        if kind.startswith("tuple[") and not isinstance(value, list):
            refuse(name, value, "be a list in brackets")
        texts = value if isinstance(value, list) else [value]
        if "str" in kind and not all(isinstance(text, str) for text in texts):
            refuse(name, value, "be text in quotes")
    for name in ("graphs", "programs"):
        if name not in content:
            raise InvalidArgument(f"{name} must be given")
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in content.items()
    }
    return Suite(**given)


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
        system = find_runnable(case.system)
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
        return kind(self.sources) if kind.has_sources() else kind()  # type: ignore[call-arg]


def workloads(suite: Suite, prepare: Prepare) -> Iterator[Workload]:
    """Make one workload after the other, so that only one is in memory."""
    for graph, size in suite.workloads():
        stream, sources = prepare(graph, size)
        assert stream.start is not None
        yield Workload(suite, suite.cases(graph, size), stream.start, list(stream), sources)
