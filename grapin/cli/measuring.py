"""Runs that are measured: read and counted at once, and timed again where a GPU makes that worth while."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from rich.console import Console

from grapin.cache.settings import CacheSettings
from grapin.cli.outcome import Outcome
from grapin.cli.run import check_workload, make_program
from grapin.cli.updates import prepare
from grapin.engine import Engine
from grapin.engine.devices import open_device
from grapin.errors import DeviceUnavailable, MissingDependency
from grapin.measured.measured import Measured
from grapin.measured.nvml import count_port
from grapin.measured.run_record import from_record
from grapin.programs.finding import find_program
from grapin.programs.program import Monotone
from grapin.progress import progress
from grapin.sim.systems import ModelSystem, find_model_system
from grapin.systems import System
from grapin.trace import Trace

_TIMES = ("time of batches",)


@dataclass(frozen=True, eq=False)
class Run:
    """One run under one system: what it read, and what every instrument said of it."""

    title: str
    name: str
    """Of the system."""
    trace: Trace
    measured: tuple[Measured, ...]
    remark: str | None = None
    """Why an instrument is missing."""

    @property
    def cache(self) -> CacheSettings | None:
        """The cache it had, to replay with."""
        about: dict[str, Any] | None = self.trace.about["cache"]
        if about is None:
            return None
        return CacheSettings(**{name: value for name, value in about.items() if name != "arrays"})

    @property
    def system(self) -> ModelSystem:
        """The system to replay it with: one that keeps copies where the run was told to."""
        found = find_model_system(self.name)
        # Any policy but none: which one it is, the settings say.
        return found if self.cache is None else replace(found, cache="adaptive")


def measure(
    graph: str,
    systems: Sequence[System],
    *,
    device: str,
    cache: str | None,
    name: str,
    source: str,
    threads: int | None,
    **options: Any,
) -> list[Run]:
    """Run a graph under each system; options are those of `grapin run`.

    Room for a cache goes to the systems that keep copies, or to all where a policy is named with it.

    On a GPU each is run twice. Keeping a trace takes time, so the first run gives counters and trace; the second,
    without one and with all kernels compiled, gives times and what the driver counted at the port.
    """
    check_workload(threads, options)
    program = find_program(name)
    wanted = source if issubclass(program, Monotone) and program.start is None else None
    with Console(stderr=True).status(f"Reading {graph} ..."):
        stream, sources = prepare(graph, source=wanted, **options)
    made = make_program(program, None if wanted is None else sources)
    count = len(stream) if options["batches"] is None else min(options["batches"], len(stream))
    timed = open_device(device).name == "cuda"
    caching = [system for system in systems if system.cache != "none"]
    if cache is None or ":" in cache or not caching:
        caching = list(systems)

    def run(system: System, advance: Callable[[int], None], *, trace: bool) -> Outcome:
        engine = Engine(
            stream.graph(),
            made,
            device=device,
            system=system,
            threads=threads,
            trace=trace,
            cache=cache if system in caching else None,
        )
        advance(1)
        reports, edges = [], [engine.graph.edges]
        for batch in islice(stream, count):
            reports.append(engine.apply(batch))
            edges.append(engine.graph.edges)
            advance(1)
        return Outcome(graph, engine, reports, edges, options["seed"], None)

    runs = []
    with progress("Running", len(systems) * (count + 1) * (1 + timed)) as advance:
        for system in systems:
            outcome = run(system, advance, trace=True)
            record = outcome.record()
            counted = replace(from_record(record), seconds=())
            measured: tuple[Measured, ...] = (counted,)
            remark = None
            if timed:
                measured, remark = _timed(counted, lambda: run(system, advance, trace=False).record())  # noqa: B023 - called at once
            title = (
                f"{made.name} on {graph}, {count} batches, system {system.name}, device {record['device']}"
            )
            runs.append(Run(title, system.name, outcome.engine.trace, measured, remark))
    return runs


def _timed(counted: Measured, run: Callable[[], dict[str, Any]]) -> tuple[tuple[Measured, ...], str | None]:
    """Take times, and the port's counters where the driver has them, from a second run."""
    remark = None
    with ExitStack() as stack:
        try:
            port = stack.enter_context(count_port())
        except (MissingDependency, DeviceUnavailable) as error:
            port, remark = None, f"NVML was not read: {error}"
        again = from_record(run())
    counts = {kind: total for kind, total in counted.totals.items() if kind not in _TIMES}
    times = {kind: total for kind, total in again.totals.items() if kind in _TIMES}
    measured = (replace(counted, totals=counts), Measured("clock of the run", times, again.seconds))
    return (measured if port is None else (*measured, port.measured)), remark
