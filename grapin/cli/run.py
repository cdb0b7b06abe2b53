"""`grapin run`: keep an answer fresh while a stream changes the graph, and say what it took.

What a run did, as a table for people and as one JSON object for programs.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from grapin import __version__
from grapin.batch import Batch
from grapin.cache.settings import read_settings
from grapin.cli.main import WRONG, ended_by
from grapin.cli.options import graph_argument, layout_options, seed_option
from grapin.cli.tables import print_table
from grapin.cli.workload import prepare
from grapin.counters import Counters
from grapin.device import DEVICES, open_device
from grapin.engine import Engine, Report
from grapin.engine.verify import verify_answer
from grapin.errors import GrapinError, WrongAnswer
from grapin.interrupts import Interrupts, interruption
from grapin.outputs import STANDARD_OUTPUT, check_outputs, write_whole
from grapin.programs.find import PROGRAMS, find_program
from grapin.programs.program import Monotone, Program
from grapin.progress import progress
from grapin.spool import shown_name
from grapin.stream import Stream
from grapin.system import RUNNABLE, Unified, find_runnable
from grapin.units import format_bytes, format_count, format_seconds
from grapin.validation import check_integer, refuse

_COLUMNS = (
    "batch",
    "inserted",
    "deleted",
    "ignored",
    "update",
    "compute",
    "changed",
    "edges read",
    "of all",
)


@dataclass(frozen=True, eq=False)
class Outcome:
    """A run of one program, complete or up to where it was interrupted."""

    origin: str
    engine: Engine
    reports: list[Report]
    edges: list[int]
    """Edges in the graph at the start, then after each batch."""
    seed: int
    verified: bool | None
    """None when nobody asked."""

    def record(self) -> dict[str, Any]:
        """Return plain numbers; `graph` is as the last batch left it."""
        engine, started = self.engine, self.engine.started
        return {
            "grapin": __version__,
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "origin": self.origin,
            "program": engine.answers[0].program.name,
            "sources": self._sources(),
            "system": engine.system.name,
            "device": engine.device,
            "threads": engine.threads,
            "cache": engine.cache,
            "seed": self.seed,
            "graph": {"vertices": engine.graph.vertices, "edges": engine.graph.edges},
            "initial": {"seconds": started.compute_seconds} | started.record(),
            "batches": [report.record() for report in self.reports],
            "verified": self.verified,
        }

    def print(self) -> None:
        """Print one row for the start and one a batch."""
        names = ["start", *(str(number) for number in range(1, len(self.reports) + 1))]
        reports = [self.engine.started, *self.reports]
        print_table(
            self._title(),
            (*_COLUMNS, "pages" if self._paged else "bytes"),
            [
                (*_row(*row), self._moved(row[1].counters))
                for row in zip(names, reports, self.edges, strict=True)
            ],
        )

    @property
    def _paged(self) -> bool:
        return isinstance(self.engine.system.transfer, Unified)

    def _moved(self, counters: Counters) -> str:
        """Return what crossed the link, or what was touched where the device's memory decides what crosses."""
        return format_count(counters.pages) if self._paged else format_bytes(counters.link_bytes)

    def _sources(self) -> list[str]:
        """Return the vertices that values start from, as the file names them; none where all do."""
        program, labels = self.engine.answers[0].program, self.engine.graph.labels
        sources = list(program.sources) if isinstance(program, Monotone) else []
        return [str(vertex if labels is None else labels.name(vertex)) for vertex in sources]

    def _title(self) -> str:
        engine = self.engine
        program, graph = engine.answers[0].program, engine.graph
        names = self._sources()
        return (
            f"{program.name}{' from ' if names else ''}{', '.join(names)} on {self.origin}: "
            f"{format_count(graph.vertices)} vertices, {format_count(graph.edges)} edges at the end; "
            f"system {engine.system.name}, device {engine.device}"
        )


def _row(name: str, report: Report, edges: int) -> tuple[str, ...]:
    return (
        name,
        format_count(report.inserted),
        format_count(report.deleted),
        format_count(report.ignored),
        format_seconds(report.update_seconds),
        format_seconds(report.compute_seconds),
        format_count(report.changed),
        format_count(report.edges_read),
        f"{report.edges_read / max(1, edges):.4f}",
    )


@click.command()
@graph_argument
@click.option(
    "--program",
    "name",
    default="sssp",
    show_default=True,
    help=f"{', '.join(PROGRAMS)}, or FILE.py:CLASS for one of your own.",
)
@click.option(
    "--source",
    default="auto",
    show_default=True,
    help="Vertices as the file names them, such as 3,7,9; auto is the one with most out-edges, at the start "
    "or, if there are none yet, when all updates are applied.",
)
@click.option("--batches", type=int, help="How many batches.  [default: 10, or all updates]")
@click.option(
    "--batch-size",
    type=int,
    help="Mutations, or events of the updates, a batch.  [default: 1000, or less where GRAPH is small]",
)
@click.option(
    "--insertions", default=0.5, show_default=True, help="Which part of sampled mutations are insertions."
)
@click.option(
    "--updates",
    metavar="FILE",
    help="Stream the events of this file (- for standard input), deletions too, in the order of time, instead of "
    "sampling GRAPH.",
)
@click.option("--system", default="bounded", show_default=True, help=f"{', '.join(RUNNABLE)}.")
@click.option("--device", default="auto", show_default=True, help=f"auto, {', '.join(DEVICES)}.")
@click.option(
    "--cache",
    metavar="SIZE",
    help="Room for copies of lists on the device: 10% of the bytes of all edges, 1G, or POLICY:SIZE "
    "(published, adaptive) where the system's own is not wanted.  [default: no cache]",
)
@click.option(
    "--threads",
    type=int,
    help="Threads of the CPU device.  [default: one a core; one where a trace is kept, so that it is always the same]",
)
@click.option("--undirected/--directed", default=None, help="Store both directions of each edge, or one.")
@click.option(
    "--weights",
    default="keep",
    show_default=True,
    help="keep, ignore, absolute, shift, float32, round, or LOW:HIGH to draw whole numbers where a file has none.",
)
@layout_options
@click.option("--trace", "trace_file", metavar="FILE", help="Write which lists were read to this file.")
@click.option("--verify", is_flag=True, help="Hold the answer against the reference at the end.")
@click.option(
    "--json",
    "json_file",
    metavar="FILE",
    help="Write one JSON object to this file; - prints it instead of the table.",
)
@seed_option
@click.pass_context
def command(
    context: click.Context,
    /,
    graph: str,
    name: str,
    source: str,
    system: str,
    device: str,
    cache: str | None,
    threads: int | None,
    trace_file: str | None,
    verify: bool,
    json_file: str | None,
    **options: Any,
) -> None:
    """Keep an answer on GRAPH fresh under a stream of mutations.

    GRAPH may be `empty`, to start from nothing with --updates; - is standard input. Ctrl-C and SIGTERM end the run
    after the batch it is in, with the report of all batches so far.
    """
    program = find_program(name)
    policy = find_runnable(system).cache
    open_device(device)
    if cache is not None:
        read_settings(cache, policy=policy, edge_bytes=0)
    check_workload(threads, options)
    check_outputs(trace_file, printable=json_file, keep=(graph, options["updates"]))
    status = Console(stderr=True).status(escape(f"Reading {shown_name(graph)} ..."))
    wanted = wanted_source(program, source)
    with status:
        stream, sources = prepare(graph, source=wanted, **options)
        note_lack_of_weights(graph, program, stream)
        status.update("Computing the first values (compiling, if this is the first time) ...")
        engine = Engine(
            stream.graph(),
            make_program(program, None if wanted is None else sources),
            system=system,
            device=device,
            threads=threads,
            trace=trace_file is not None,
            cache=cache,
        )
    count = len(stream) if options["batches"] is None else min(options["batches"], len(stream))
    origin = shown_name(graph)
    if options["updates"] is not None:
        origin += f", updated by {shown_name(options['updates'])}"
    with Interrupts() as interrupts:
        reports, edges, failure = _apply_all(engine, islice(stream, count), count, interrupts)
        complaint = _complaint(engine) if verify and failure is None else None
        verified = (complaint is None) if verify and failure is None else None
        _deliver(Outcome(origin, engine, reports, edges, options["seed"], verified), trace_file, json_file)
    if failure is not None:
        raise failure
    if complaint is not None:
        click.echo(f"grapin: {complaint}", err=True)
        context.exit(WRONG)
    if interrupts.noted is not None:
        word, code = ended_by(interruption(interrupts.noted))
        done = f"after {len(reports)} of {count} batches"
        if len(reports) == count:
            done = f"when all {count} batches were applied; the report and every file are complete"
        click.echo(f"grapin: {word} {done}", err=True)
        context.exit(code)


def check_workload(threads: int | None, options: dict[str, Any]) -> None:
    """Refuse before anything is read what would be refused after minutes."""
    given = {"threads": threads, "batches": options["batches"], "batch-size": options["batch_size"]}
    for name, value in given.items():
        if value is not None:
            check_integer(name, value, least=1)


def wanted_source(program: type[Program], source: str) -> str | None:
    """Return which vertices values start from; None for a program that starts everywhere, which takes no --source."""
    if issubclass(program, Monotone) and program.start is None:
        return source
    if source != "auto":
        refuse("source", source, f"be left out: {program.name} starts at every vertex")
    return None


def note_lack_of_weights(graph: str, program: type[Program], stream: Stream) -> None:
    """Say where a program that reads weights has none to read: what it computes then is another question."""
    if stream.start is None or stream.start.weight is not None:
        return
    if issubclass(program, Monotone) and program.weighted:
        click.echo(
            f"grapin: note: {shown_name(graph)} has no weights, so that every edge counts 1 for {program.name}; "
            "--weights 1:64 draws some",
            err=True,
        )


def make_program(program: type[Program], sources: list[int] | None) -> Program:
    """Make a program that starts from these vertices, or one that has no sources."""
    if sources is None:
        return program()
    assert issubclass(program, Monotone)
    return program(sources)


def _apply_all(
    engine: Engine, batches: Iterable[Batch], count: int, interrupts: Interrupts
) -> tuple[list[Report], list[int], GrapinError | None]:
    """Return what each batch did, the edges in the graph before the first and after each, and what ended it early."""
    reports, edges = [], [engine.graph.edges]
    with progress("Applying batches", count) as advance:
        for batch in batches:
            if interrupts.seen:
                break
            try:
                reports.append(engine.apply(batch))
            except GrapinError as error:
                return reports, edges, GrapinError(f"batch {len(reports) + 1}: {error}")
            edges.append(engine.graph.edges)
            advance(1)
    return reports, edges, None


def _complaint(engine: Engine) -> str | None:
    """Return what is wrong with the answer, if anything is."""
    try:
        verify_answer(engine.answers[0], engine.graph)
    except WrongAnswer as error:
        return str(error)
    return None


def _verified(program: Program) -> str:
    """Say what verifying has shown: exact values, or a sum of errors within what was asked for."""
    tolerance = getattr(program, "tolerance", None)
    return "every value is" if tolerance is None else f"values are, within a sum of errors of {tolerance:g},"


def _deliver(outcome: Outcome, trace_file: str | None, json_file: str | None) -> None:
    if trace_file is not None:
        write_whole(trace_file, outcome.engine.trace.save)
    text = json.dumps(outcome.record())
    if json_file == STANDARD_OUTPUT:
        click.echo(text)
        return
    if json_file is not None:  # before anything is printed: who reads that may stop
        write_whole(json_file, lambda path: path.write_text(text + "\n"))
    outcome.print()
    if outcome.verified:
        click.echo(f"Verified: {_verified(outcome.engine.answers[0].program)} the reference's.")
