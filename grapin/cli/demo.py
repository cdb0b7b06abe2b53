"""`grapin demo`: answers kept fresh, checked, counted, predicted for other machines; one report, no file needed."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.status import Status

from grapin.bench.records import processor
from grapin.cache.settings import read_settings
from grapin.cli.options import (
    Renamed,
    argument,
    gpu_memory_option,
    oversubscribe_option,
    read_edges,
    reading_options,
    seed_option,
)
from grapin.cli.recording import recording_device
from grapin.cli.tables import print_table
from grapin.cli.workload import check_remaining, fitting_size
from grapin.counters import Counters
from grapin.device import DEVICES, open_device
from grapin.engine import Report
from grapin.errors import WrongAnswer
from grapin.graph import Graph
from grapin.outputs import check_outputs, write_whole
from grapin.programs import SSSP, PageRank
from grapin.programs.program import Program
from grapin.progress import progress
from grapin.report import Crossing, Findings, check_report, render
from grapin.session import Session
from grapin.sim.machine import MACHINES
from grapin.sim.predict import MEMORY, Combination, combine, memory_settings, sweep
from grapin.spool import shown_name
from grapin.stream import Stream, workload
from grapin.trace import Trace
from grapin.units import format_bytes, format_count, format_seconds
from grapin.validation import check_integer

_RUN = {"bounded": "bounded", "grapin": "published", "grapin-recomp": "recompute"}
"""The systems that are run, and the way each repairs results: predictions for all others come from their traces."""
_PREDICTED = (*_RUN, "grapin-page", "hytgraph-icde", "emogi", "subway-async", "imptm-um")
_CACHES = (None, "5%", "10%", "20%", "40%")
_MEMORY = "25%"
"""Memory of the GPUs for a large graph where nobody says: one that fits into it has nothing to show."""
_LARGE = 2_000_000
"""Edges from which a CPU takes minutes for PageRank from scratch after every batch, and for pages one by one."""
_LEFT_OUT = "PageRank under grapin-recomp, unified memory, caches: minutes at this size"
_VERIFIED = (
    "none sampled, by the reference in NumPy: no edge offers a better distance, every parent's edge offers just this "
    "one, and a step of the power iteration bounds the error of the ranks, or all of it is run"
)
_QUICKLY_PREDICTED = ("bounded", "grapin", "grapin-recomp", "hytgraph-icde", "emogi", "subway-async")


@dataclass(frozen=True, eq=False)
class _Run:
    """One system: what each batch took, what it read, and what is left to say of its graph, which is gone."""

    system: str
    device: str
    """What ran it for the times."""
    recorder: str
    """What ran it for the reads: on a machine without a GPU, a GPU's kernels on the CPU."""
    programs: Sequence[str]
    seconds: list[list[float]]
    """By batch and program."""
    reports: list[Report]
    total: Counters
    trace: Trace
    vertices: int
    edges: int
    memory: dict[str, int]
    """Of the store, by array."""

    @property
    def phase_programs(self) -> list[str]:
        """Whose values each phase of the trace computed."""
        return [self.programs[place] for place in self.trace.phases["program"].tolist()]

    def crossings(self) -> list[Crossing]:
        return [
            Crossing(
                program,
                self.system,
                [batch[place] for batch in self.seconds],
                [report.queries[place].work.counters for report in self.reports],
                self.edges,
            )
            for place, program in enumerate(self.programs)
        ]


@click.command(cls=Renamed, renamed={"--graph": argument, "--size": "--batch-size"})
@click.argument("graph", metavar="[GRAPH]", default="rmat:20:10")
@click.option("--batches", default=5, show_default=True, help="How many batches to stream.")
@click.option(
    "--batch-size",
    type=int,
    help="Mutations per batch.  [default: 1000, or less where the graph is small]",
)
@click.option("--insertions", default=0.5, show_default=True, help="Which part of them are insertions.")
@click.option(
    "--machine",
    "machines",
    default="a5000,gh200",
    show_default=True,
    help=f"Predict for these: {', '.join(MACHINES)}, or a FILE.toml.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NUMBER=VALUE",
    help="Change a number of the machines, such as gpu.memory=64M.",
)
@gpu_memory_option
@oversubscribe_option
@click.option("--device", default="auto", show_default=True, help=f"auto, {', '.join(DEVICES)}.")
@click.option("--out", default="grapin-report.html", show_default=True, help="Where the report goes.")
@reading_options
@seed_option
def command(
    graph: str,
    batches: int,
    batch_size: int | None,
    insertions: float,
    machines: str,
    settings: tuple[str, ...],
    gpu_memory: str | None,
    oversubscribe: str | None,
    device: str,
    out: str,
    seed: int,
    **reading: Any,
) -> None:
    """Keep shortest paths and PageRank of GRAPH fresh under sampled mutations, check all, and write a report.

    GRAPH is rmat:20:10 if none is given: ten million edges, which take about 4 GB of memory. From two million edges on
    the GPUs that are predicted have memory for a quarter of them, unless --gpu-memory, --oversubscribe or --set says
    otherwise, and what would take minutes is left out, which the report says.

    Our repair (bounded) is compared with the published one (grapin), in which every vertex pushes after each batch, and
    with computing from scratch (grapin-recomp). The report is one HTML file; it also says what other systems, other
    machines and a cache on the device would make of the same stream. Every value is checked, whatever the size.
    Without a GPU everything runs twice: on the CPU's own kernels for the times, and on a GPU's kernels, compiled for
    the CPU (device onelane), for what they read in which round.
    """
    check_integer("batches", batches, least=1)
    memory = memory_settings(gpu_memory, oversubscribe)
    combinations = combine(machines.split(","), _PREDICTED, _CACHES, (*settings, *memory))
    open_device(device)
    check_outputs(out, keep=(graph,))
    check_report()
    with Console(stderr=True).status(escape(f"Reading {shown_name(graph)} ...")) as status:
        edges = read_edges(graph, seed, **reading)
        size = fitting_size(edges, batches) if batch_size is None else batch_size
        stream = workload(edges, batches=batches, size=size, insertions=insertions, seed=seed)
        large = len(edges) >= _LARGE
        if large:
            memory = memory or _default_memory(settings)
            named = machines.split(",")
            combinations = combine(named, _QUICKLY_PREDICTED, settings=(*settings, *memory))
        combinations = [one for one in combinations if _fits(one)]
        widths = {one.machine.gpu.multiprocessors for one in combinations}
        recorder = recording_device(widths) if open_device(device).name == "cpu" else device
        runs = [_run(system, device, recorder, stream, status, large=large) for system in _RUN]
    with progress("Predicting", len(combinations)) as advance:
        traces = {_RUN[run.system]: run.trace for run in runs}
        # From here on a memory that is a part of the edges is a number of bytes: the report shows it.
        combinations = [one.sized(traces[one.system.repair]) for one in combinations]
        predictions = sweep(traces, combinations, advance=advance)
    first = runs[0]
    findings = Findings(
        graph=shown_name(graph),
        facts=_facts(first, batches, size, insertions, seed)
        | _memory_facts(memory)
        | ({"left out": _LEFT_OUT} if large else {}),
        checks=_checks(runs),
        programs=first.programs,
        batch=f"{format_count(size)} mutations of {format_count(first.edges)} edges",
        phase_programs={_RUN[run.system]: run.phase_programs for run in runs},
        crossings=sorted(
            (crossing for run in runs for crossing in run.crossings()),
            key=lambda one: first.programs.index(one.program),
        ),
        predictions=list(zip(combinations, predictions, strict=True)),
        edge_bytes=sum(
            size for name, size in first.memory.items() if name.endswith(("neighbours", "weights"))
        ),
    )
    _check_prediction(findings, runs)
    write_whole(out, lambda path: path.write_text(render(findings), encoding="utf-8"))
    _print(findings)
    click.echo(f"Report: {Path(out).absolute()}")


def _fits(one: Combination) -> bool:
    """Tell whether a cache of a part of the edges fits into memory of a part of the edges."""
    if one.memory_share is None or one.cache is None:
        return True
    return read_settings(one.cache, policy="none", edge_bytes=10**6).capacity < one.memory_share * 10**6


def _default_memory(settings: Sequence[str]) -> tuple[str, ...]:
    """Return a part of the edges, unless a setting says how much memory there is."""
    said = any(setting.partition("=")[0].strip() == MEMORY for setting in settings)
    return () if said else memory_settings(_MEMORY, None)


def _memory_facts(settings: Sequence[str]) -> dict[str, str]:
    """Say of which size the memory is, where it is a part of the edges."""
    given = [setting.partition("=")[2] for setting in settings]
    return {"GPU memory": f"{given[0]} of the edges' bytes"} if given and "%" in given[0] else {}


def _programs(graph: Graph, system: str, *, large: bool) -> Sequence[Program]:
    source = int(np.argmax(graph.snapshot().out.degrees))
    return [SSSP(source)] if large and _RUN[system] == "recompute" else [SSSP(source), PageRank()]


def _run(system: str, device: str, recorder: str, stream: Stream, status: Status, *, large: bool) -> _Run:
    """Stream all batches under one system: for what they take, and, on the device that says so, for what they read."""
    seconds, ran_on = None, device
    if recorder != device:
        timed = _applied(system, device, stream, status, large=large, trace=False)
        seconds, ran_on = _seconds(timed), timed.engine.device
        del timed  # with its graph
    session = _applied(system, recorder, stream, status, large=large, trace=True)
    engine, graph = session.engine, session.engine.graph
    return _Run(
        system,
        engine.device if seconds is None else ran_on,
        engine.device,
        [answer.program.name for answer in engine.answers],
        _seconds(session) if seconds is None else seconds,
        session.reports,
        sum((report.counters for report in session.reports), engine.started.counters),
        engine.trace,
        graph.vertices,
        graph.edges,
        graph.memory(),
    )


def _applied(
    system: str, device: str, stream: Stream, status: Status, *, large: bool, trace: bool
) -> Session:
    """Return a session after all batches, its answers and its store held against the reference."""
    graph = stream.graph()
    programs = _programs(graph, system, large=large)
    status.stop()  # for bars in its place
    session = Session.warmed_up(graph, programs, stream, system=system, device=device, trace=trace)
    named = f"{system} on {session.engine.device}"
    with progress(f"{named}: applying batches", len(stream)) as advance:
        session.run(advance=advance)
    status.start()
    session.verify(lambda name: status.update(f"{named}: holding {name} against the reference ..."))
    status.update(f"{named}: checking every edge and weight of the store ...")
    graph.check()
    check_remaining(graph, stream)
    return session


def _seconds(session: Session) -> list[list[float]]:
    return [[query.seconds for query in report.queries] for report in session.reports]


def _check_prediction(findings: Findings, runs: list[_Run]) -> None:
    """Refuse to report predictions of requests that were not made."""
    for run in runs:
        for machine in findings.machines:
            found = [findings.prediction(machine, run.system, program) for program in run.programs]
            counters = sum((one.total.counters for one in found if one is not None), Counters())
            if counters.requests != run.total.requests:
                raise WrongAnswer(
                    f"the requests predicted for {run.system} on {machine} differ from those counted"
                )


def _facts(run: _Run, batches: int, size: int, insertions: float, seed: int) -> dict[str, str]:
    return {
        "graph": f"{format_count(run.vertices)} vertices, {format_count(run.edges)} edges at the end",
        "store": f"{format_bytes(sum(run.memory.values()))} in host memory",
        "stream": f"{batches} batches of {format_count(size)} mutations, {insertions:.0%} of them insertions",
        "answers": ", ".join(run.programs),
        "device": run.device
        if run.device == run.recorder
        else f"{run.device} for times, {run.recorder} for reads",
        "seed": str(seed),
        "made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC on {processor()}, {os.cpu_count()} cores",
    }


def _checks(runs: list[_Run]) -> list[str]:
    values = sum(run.vertices * len(run.programs) * len({run.device, run.recorder}) for run in runs)
    requests = sum(sum(run.total.requests.values()) for run in runs)
    return [
        f"{format_count(values)} values under {len(runs)} systems after the last batch, {_VERIFIED}.",
        f"{format_count(runs[0].edges)} edges and weights of each store, held against plain NumPy.",
        f"{format_count(requests)} requests counted, as many of each size as the model predicts.",
    ]


def _print(findings: Findings) -> None:
    for verdict in findings.verdicts():
        click.echo(verdict)
    rows = [
        (
            one.program,
            one.system,
            format_seconds(one.median_seconds),
            f"{one.passes:.4f}",
            format_bytes(one.bytes),
            *(_predicted(findings, machine, one) for machine in findings.machines),
        )
        for one in findings.crossings
    ]
    facts = findings.facts
    columns = ("program", "system", "time per batch (this CPU)", "edges read / edges", "host-to-device bytes")
    predicted = (f"predicted on {machine}" for machine in findings.machines)
    print_table(
        f"{findings.graph}: {facts['graph']}; {facts['stream']}", (*columns, *predicted), rows, names=2
    )
    for check in findings.checks:
        click.echo(f"Verified: {check}")


def _predicted(findings: Findings, machine: str, one: Crossing) -> str:
    found = findings.prediction(machine, one.system, one.program)
    assert found is not None
    return format_seconds(found.seconds_a_batch or 0.0)
