"""`grapin demo`: two answers kept fresh under two systems, held against the reference; needs no file."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.status import Status

from grapin.cli.common import read_edges, reading_options, seed_option
from grapin.cli.remaining import check_remaining
from grapin.cli.tables import print_table
from grapin.engine import Engine, QueryReport, Report
from grapin.engine.verify import verify_answer
from grapin.graph import Graph
from grapin.programs import SSSP, PageRank
from grapin.programs.program import Program
from grapin.stream import Stream, workload
from grapin.units import format_bytes, format_count, format_seconds

_SHOWN = ("bounded", "grapin-zc")


@dataclass(frozen=True, eq=False)
class _Run:
    """One system, the graph it left, and what each batch took."""

    system: str
    graph: Graph
    reports: list[Report]


@click.command()
@click.argument("graph", metavar="[GRAPH]", default="rmat:16")
@click.option("--batches", default=5, show_default=True, help="How many batches to stream.")
@click.option("--size", default=1000, show_default=True, help="Mutations a batch.")
@click.option("--insertions", default=0.5, show_default=True, help="Which part of them are insertions.")
@reading_options
@seed_option
def command(graph: str, batches: int, size: int, insertions: float, seed: int, **reading: Any) -> None:
    """Keep shortest paths and PageRank on GRAPH fresh under sampled mutations, and check every value.

    Our repair (bounded) is laid beside the published one (grapin-zc), in which every vertex pushes after each batch.
    """
    with Console(stderr=True).status(f"Reading {graph} ...") as status:
        edges = read_edges(graph, seed, **reading)
        stream = workload(edges, batches=batches, size=size, insertions=insertions, seed=seed)
        runs = [_run(system, stream, status) for system in _SHOWN]
        status.update("Checking every edge and weight of the store ...")
        store = runs[0].graph
        store.check()
        check_remaining(store, stream)
    title = (
        f"{edges.origin}: {format_count(store.vertices)} vertices, {format_count(store.edges)} edges, "
        f"{batches} batches of {format_count(size)} mutations"
    )
    print_table(
        title,
        ("program", "system", "time a batch", "edges read / edges", "GPU would request"),
        [_row(run, place) for place in range(len(_programs(store))) for run in runs],
        names=2,
    )
    updates = [report.update_seconds for run in runs for report in run.reports]
    click.echo(
        f"The store took {format_seconds(median(updates))} a batch and {format_bytes(sum(store.memory().values()))}."
    )
    click.echo("Verified: every value against the reference, every edge and weight against plain NumPy.")


def _programs(graph: Graph) -> Sequence[Program]:
    return SSSP(int(np.argmax(graph.snapshot().out.degrees))), PageRank()


def _run(system: str, stream: Stream, status: Status) -> _Run:
    """Stream all batches under one system; what the first of them compiles does not disturb medians."""
    status.update(f"{system}: computing the first values (the first time, this compiles for a minute) ...")
    graph = stream.graph()
    engine = Engine(graph, _programs(graph), system=system)
    reports = []
    for number, batch in enumerate(stream, 1):
        status.update(f"{system}: batch {number} of {len(stream)} ...")
        reports.append(engine.apply(batch))
    for answer in engine.answers:
        status.update(f"{system}: holding {answer.program.name} against the reference ...")
        verify_answer(answer, graph)
    return _Run(system, graph, reports)


def _row(run: _Run, place: int) -> tuple[str, ...]:
    """Sum up one program under one system."""
    queries: list[QueryReport] = [report.queries[place] for report in run.reports]
    read = mean(query.work.counters.edges for query in queries)
    requested = mean(query.work.counters.bytes for query in queries)
    return (
        queries[0].program,
        run.system,
        format_seconds(median(query.seconds for query in queries)),
        f"{read / max(1, run.graph.edges):.4f}",
        format_bytes(requested),
    )
