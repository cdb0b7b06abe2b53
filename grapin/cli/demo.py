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

from grapin.bench.machine import processor
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
from grapin.sim.predict import Combination, combine, memory_settings, sweep
from grapin.spool import shown_name
from grapin.stream import Stream, workload
from grapin.trace import Trace
from grapin.units import format_bytes, format_count, format_seconds
from grapin.validation import check_integer

_RUN = {"bounded": "bounded", "grapin": "published", "grapin-recomp": "recompute"}
"""The systems that are run, and the way each repairs results: predictions for all others come from their traces."""
_PREDICTED = (*_RUN, "grapin-page", "hytgraph-icde", "emogi", "subway-async", "imptm-um")
_CACHES = (None, "5%", "10%", "20%", "40%")


@dataclass(frozen=True, eq=False)
class _Run:
    """One system, the graph it left, what each batch took, and what it read."""

    system: str
    device: str
    graph: Graph
    programs: Sequence[str]
    reports: list[Report]
    total: Counters
    trace: Trace

    def crossings(self) -> list[Crossing]:
        return [
            Crossing(
                program,
                self.system,
                [report.queries[place].seconds for report in self.reports],
                [report.queries[place].work.counters for report in self.reports],
                self.graph.edges,
            )
            for place, program in enumerate(self.programs)
        ]


@click.command(cls=Renamed, renamed={"--graph": argument, "--size": "--batch-size"})
@click.argument("graph", metavar="[GRAPH]", default="rmat:15")
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

    GRAPH is rmat:15 if none is given.

    Our repair (bounded) is laid beside the published one (grapin), in which every vertex pushes after each batch, and
    beside starting from scratch (grapin-recomp). The report is one HTML file; it also says what other systems, other
    machines and a cache on the device would make of the same stream.
    """
    check_integer("batches", batches, least=1)
    memory = memory_settings(gpu_memory, oversubscribe)
    combinations = combine(machines.split(","), _PREDICTED, _CACHES, (*settings, *memory))
    combinations = [one for one in combinations if _fits(one)]
    open_device(device)
    check_outputs(out, keep=(graph,))
    check_report()
    with Console(stderr=True).status(escape(f"Reading {shown_name(graph)} ...")) as status:
        edges = read_edges(graph, seed, **reading)
        size = fitting_size(edges, batches) if batch_size is None else batch_size
        stream = workload(edges, batches=batches, size=size, insertions=insertions, seed=seed)
        runs = [_run(system, device, stream, status) for system in _RUN]
        status.update("Checking every edge and weight of the store ...")
        for run in runs:
            run.graph.check()
            check_remaining(run.graph, stream)
    with progress("Predicting", len(combinations)) as advance:
        traces = {_RUN[run.system]: run.trace for run in runs}
        # From here on a memory that is a part of the edges is a number of bytes: the report shows it.
        combinations = [one.sized(traces[one.system.repair]) for one in combinations]
        predictions = sweep(traces, combinations, advance=advance)
    first = runs[0]
    findings = Findings(
        graph=shown_name(graph),
        facts=_facts(first, batches, size, insertions, seed),
        checks=_checks(runs),
        programs=first.programs,
        phase_programs=first.trace.phases["program"].tolist(),
        crossings=sorted(
            (crossing for run in runs for crossing in run.crossings()),
            key=lambda one: first.programs.index(one.program),
        ),
        predictions=list(zip(combinations, predictions, strict=True)),
        edge_bytes=_edge_bytes(first.graph),
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


def _programs(graph: Graph) -> Sequence[Program]:
    return SSSP(int(np.argmax(graph.snapshot().out.degrees))), PageRank()


def _run(system: str, device: str, stream: Stream, status: Status) -> _Run:
    """Stream all batches under one system and hold its answers against the reference."""
    graph = stream.graph()
    programs = _programs(graph)
    status.stop()  # for bars in its place
    session = Session.warmed_up(graph, programs, stream, system=system, device=device, trace=True)
    with progress(f"{system}: applying batches", len(stream)) as advance:
        reports = session.run(advance=advance)
    status.start()
    session.verify(lambda name: status.update(f"{system}: holding {name} against the reference ..."))
    engine = session.engine
    names = [answer.program.name for answer in engine.answers]
    total = sum((report.counters for report in reports), engine.started.counters)
    return _Run(system, engine.device, graph, names, reports, total, engine.trace)


def _check_prediction(findings: Findings, runs: list[_Run]) -> None:
    """Refuse to report predictions of requests that were not made."""
    for run in runs:
        for machine in findings.machines:
            found = findings.prediction(machine, run.system, findings.answers[0])
            assert found is not None
            if found.total.counters.requests != run.total.requests:
                raise WrongAnswer(
                    f"the requests predicted for {run.system} on {machine} differ from those counted"
                )


def _facts(run: _Run, batches: int, size: int, insertions: float, seed: int) -> dict[str, str]:
    store = run.graph
    return {
        "graph": f"{format_count(store.vertices)} vertices, {format_count(store.edges)} edges at the end",
        "store": f"{format_bytes(sum(store.memory().values()))} in host memory",
        "stream": f"{batches} batches of {format_count(size)} mutations, {insertions:.0%} of them insertions",
        "answers": ", ".join(run.programs),
        "device": run.device,
        "seed": str(seed),
        "made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC on {processor()}, {os.cpu_count()} cores",
    }


def _edge_bytes(graph: Graph) -> int:
    return sum(size for name, size in graph.memory().items() if name.endswith(("neighbours", "weights")))


def _checks(runs: list[_Run]) -> list[str]:
    values = sum(run.graph.vertices * len(run.programs) for run in runs)
    requests = sum(sum(run.total.requests.values()) for run in runs)
    return [
        f"{format_count(values)} values under {len(runs)} systems, each held against the reference.",
        f"{format_count(runs[0].graph.edges)} edges and weights of each store, held against plain NumPy.",
        f"{format_count(requests)} requests counted, as many of each size as the model predicts.",
    ]


def _print(findings: Findings) -> None:
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
    columns = ("program", "system", "per batch (this CPU)", "edges read / edges", "host-to-device bytes")
    predicted = (f"on {machine}" for machine in findings.machines)
    print_table(
        f"{findings.graph}: {facts['graph']}; {facts['stream']}", (*columns, *predicted), rows, names=2
    )
    for check in findings.checks:
        click.echo(f"Verified: {check}")


def _predicted(findings: Findings, machine: str, one: Crossing) -> str:
    found = findings.prediction(machine, one.system, one.program)
    assert found is not None
    return format_seconds(found.seconds_a_batch or 0.0)
