"""Traces for predictions: read from a file, or recorded by running a graph here, once for each way to repair.

What is predicted is what a GPU would read, in the rounds in which it would: so the kernels of `cuda` are run, on the
one-lane device. The CPU's own kernels follow keys more closely, in other rounds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from zipfile import BadZipFile, ZipFile

import click
from click.core import ParameterSource
from rich.console import Console
from rich.markup import escape

from grapin.cli.run import check_workload, find_programs, make_programs, note_lack_of_weights, wanted_source
from grapin.cli.workload import prepare
from grapin.engine import Engine
from grapin.errors import InvalidArgument
from grapin.progress import progress
from grapin.session import Session
from grapin.sim.predict import check_recorded
from grapin.spool import readable, shown_name
from grapin.system import Repair, System, recorder
from grapin.trace import Trace
from grapin.units import format_count


@dataclass(frozen=True, eq=False)
class Recording:
    """Runs of one workload that differ in how results were repaired."""

    origin: str
    traces: dict[str, Trace]
    """By the repair."""

    @classmethod
    def load(cls, path: str) -> "Recording":
        """Read the one trace of a file."""
        trace = Trace.load(path)
        return cls(shown_name(path), {trace.about["repair"]: trace})

    @property
    def title(self) -> str:
        """What was run, for people."""
        trace = next(iter(self.traces.values()))
        edges, versions = trace.phases["edges"], len(set(trace.phases["version"].tolist()))
        programs = ", ".join(trace.about["programs"])
        size = format_count(int(edges[-1])) if len(edges) else "no"
        return f"{programs} on {self.origin}: {size} edges at the end, {versions - 1} batches"

    def trace(self, system: System) -> Trace:
        """Return the trace that can answer for a system, or say which run to record."""
        if system.repair not in self.traces:
            check_recorded(next(iter(self.traces.values())), system)
        return self.traces[system.repair]

    def record(self) -> dict[str, Any]:
        """Return what was run as plain values, for a JSON file."""
        traces = {repair: trace.about | {"lists": len(trace)} for repair, trace in self.traces.items()}
        return {"origin": self.origin, "traces": traces}


def is_trace(path: str) -> bool:
    """Tell whether a path names a file that a trace was saved to."""
    with readable(path) as content:
        if not content.is_file():
            return False
        try:
            with ZipFile(content) as archive:
                return "about.npy" in archive.namelist()
        except (BadZipFile, OSError):
            return False


def reject_workload_options(context: click.Context, trace: str, workload: Sequence[str]) -> None:
    """Refuse options that say what to run where a trace says what was run."""
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if given and option.name in workload:
            raise InvalidArgument(
                f"{option.opts[0]} must be left out: {shown_name(trace)} is the trace of a run that was"
            )


def recording_device(multiprocessors: Iterable[int]) -> str:
    """Return the device that records for GPUs of these widths: as wide as they, or usually wide where they differ."""
    widths = set(multiprocessors)
    return f"onelane:{widths.pop()}" if len(widths) == 1 else "onelane"


def record(
    graph: str,
    repairs: Sequence[str],
    *,
    device: str = "onelane",
    name: str,
    source: str,
    threads: int | None,
    **options: Any,
) -> Recording:
    """Run a graph under each way to repair and keep what was read; options are those of `grapin run`."""
    check_workload(threads, options)
    programs = find_programs(name)
    wanted = wanted_source(programs, source)
    with Console(stderr=True).status(escape(f"Reading {shown_name(graph)} ...")):
        stream, sources = prepare(graph, source=wanted, **options)
        note_lack_of_weights(graph, programs, stream)
    made = make_programs(programs, sources)
    traces = {}
    with progress("Running", len(repairs) * (len(stream) + 1)) as advance:
        for repair in repairs:
            engine = Engine(
                stream.graph(),
                made,
                device=device,
                system=recorder(Repair(repair)),
                threads=threads,
                trace=True,
            )
            advance(1)
            Session(engine, stream).run(advance=advance)
            traces[repair] = engine.trace
    return Recording(shown_name(graph), traces)
