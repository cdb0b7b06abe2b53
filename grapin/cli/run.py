"""`grapin run`: keep answers fresh while a stream changes the graph; say what they are, and what it took.

What a run did, as a table for people and as one JSON object for programs.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.markup import escape

from grapin import __version__
from grapin.cache.settings import read_settings
from grapin.cli.main import WRONG, ended_by
from grapin.cli.options import (
    directed_option,
    graph_argument,
    json_option,
    layout_options,
    seed_option,
    weights_option,
)
from grapin.cli.state import open_session
from grapin.cli.tables import print_table
from grapin.cli.values import (
    Values,
    check_targets,
    check_values_file,
    collect,
    find_paths,
    print_paths,
    print_top,
    top,
    write_values,
)
from grapin.cli.workload import BATCH_SIZE, prepare
from grapin.device import DEVICES, check_tracing, open_device
from grapin.engine import Report
from grapin.engine.log import DURABILITIES
from grapin.errors import WrongAnswer
from grapin.interrupts import Interrupts, interruption
from grapin.outputs import STANDARD_OUTPUT, check_outputs, write_whole
from grapin.programs import PROGRAMS, find_program
from grapin.programs.program import Program
from grapin.progress import progress
from grapin.session import BatchFailed, Session
from grapin.spool import shown_name
from grapin.stream import Live, Stream
from grapin.system import RUNNABLE, STAGED, Unified, find_runnable
from grapin.units import format_bytes, format_count, format_seconds
from grapin.validation import check_integer, refuse

ROWS = ("auto", "all", "summary")
"""How batches are printed."""
MANY = 20
"""From so many batches on they are summed up, unless every row is asked for."""
_RANKS = {"min": 0, "p50": 50, "p90": 90, "p99": 99, "max": 100}


VIRTUAL = (
    "Executed: the PTX that a GPU would get, warp by warp on this CPU, its requests counted behind modelled caches "
    "(docs/virtual-gpu.md). It is no GPU, and says nothing of time."
)
"""What is said of a run on the virtual GPU."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """A run of one program, complete or up to where it was interrupted."""

    origin: str
    session: Session
    seed: int
    verified: bool | None
    """None when nobody asked."""

    def record(self) -> dict[str, Any]:
        """Return plain numbers; `graph` is as the last batch left it."""
        engine, started = self.session.engine, self.session.engine.started
        return {
            "grapin": __version__,
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "origin": self.origin,
            "program": ",".join(answer.program.name for answer in engine.answers),
            "sources": self._sources(),
            "system": engine.system.name,
            "device": engine.device,
            "threads": engine.threads,
            "cache": engine.cache,
            "seed": self.seed,
            "graph": {"vertices": engine.graph.vertices, "edges": engine.graph.edges},
            "initial": {"seconds": started.compute_seconds} | started.to_dict(),
            "batches": [report.to_dict() for report in self.session.reports],
            "verified": self.verified,
        } | ({"latency": self.session.latencies.to_dict()} if len(self.session.latencies) else {})

    def print(self, rows: str = "all") -> None:
        """Print one row for the start and one a batch, or one a quantity with its percentiles over all batches."""
        session = self.session
        waited = session.latencies.to_dict()
        if waited:
            said = ", ".join(f"{name} {format_seconds(seconds)}" for name, seconds in waited.items())
            print(f"From the arrival of a row to fresh answers, over {session.applied} batches: {said}")
        if rows == "summary" or (rows == "auto" and len(session.reports) >= MANY):
            self._print_summary()
            return
        shown = list(self._quantities())
        reports = [session.engine.started, *session.reports]
        table = [
            (str(number or "start"), *(form(value(report, edges)) for _, value, form in shown))
            for number, (report, edges) in enumerate(zip(reports, session.edges, strict=True))
        ]
        print_table(self._title(), ("batch", *(head for head, _, _ in shown)), table)

    def _print_summary(self) -> None:
        """Print what occurred, not what lies between: a percentile is the value of one of the batches."""
        shown = {name: (number, form) for name, number, form in self._quantities()}
        session = self.session
        reports, edges = session.reports, session.edges
        rows = []
        for name, (number, form) in shown.items():
            values = [number(*one) for one in zip(reports, edges[1:], strict=True)]
            ranks = np.percentile(values, list(_RANKS.values()), method="inverted_cdf") if values else ()
            start = form(number(session.engine.started, edges[0]))
            rows.append((name, start, *(form(rank.item()) for rank in ranks)))
        columns = ("per batch", "start", *(_RANKS if reports else ()))
        print_table(self._title(), columns, rows)
        print(f"{format_count(len(reports))} batches; --rows all prints each.")

    def _quantities(self) -> Iterator[tuple[str, Callable[[Report, int], float], Callable[[Any], str]]]:
        """Yield what is summed up of a batch: what it is called, how it is found, how it is written."""
        yield "inserted", lambda report, _: report.inserted, format_count
        yield "deleted", lambda report, _: report.deleted, format_count
        yield "ignored", lambda report, _: report.ignored, format_count
        yield "update", lambda report, _: report.update_seconds, format_seconds
        yield "compute", lambda report, _: report.compute_seconds, format_seconds
        yield "changed", lambda report, _: report.changed, format_count
        yield "edges read", lambda report, _: report.edges_read, format_count
        yield "read/edges", lambda report, edges: report.edges_read / max(1, edges), "{:.4f}".format
        if self._paged:  # what crosses is decided by the device's memory
            yield "pages", lambda report, _: report.counters.pages, format_count
        else:
            yield "to device", lambda report, _: report.counters.link_bytes, format_bytes

    @property
    def _paged(self) -> bool:
        return isinstance(self.session.engine.system.transfer, Unified)

    def _sources(self) -> list[str]:
        """Return the vertices that values start from, as the file names them; none where all do."""
        engine = self.session.engine
        programs, labels = [answer.program for answer in engine.answers], engine.graph.labels
        sources = dict.fromkeys(vertex for program in programs for vertex in getattr(program, "sources", ()))
        return [str(vertex if labels is None else labels.name(vertex)) for vertex in sources]

    def _title(self) -> str:
        engine = self.session.engine
        programs, graph = ", ".join(answer.program.name for answer in engine.answers), engine.graph
        names = self._sources()
        return (
            f"{programs}{' from ' if names else ''}{', '.join(names)} on {self.origin}: "
            f"{format_count(graph.vertices)} vertices, {format_count(graph.edges)} edges at the end; "
            f"system {engine.system.name}, device {engine.device}"
        )


@click.command()
@graph_argument
@click.option(
    "--program",
    "name",
    default="sssp",
    show_default=True,
    help=f"{', '.join(PROGRAMS)}, or FILE.py:CLASS for one of your own; several with commas.",
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
    help="Mutations, or events of the updates, per batch.  [default: 1000, or less where GRAPH is small]",
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
@click.option(
    "--follow",
    metavar="FILE",
    help="Take rows as they are written to this file (- for standard input) instead of sampling GRAPH: source, target, "
    "weight and change (1 or -1), or what the first line or --columns says. Ends with Ctrl-C, SIGTERM or --batches.",
)
@click.option(
    "--batch-seconds",
    default=0.01,
    show_default=True,
    help="A batch of --follow waits so long for its --batch-size rows.",
)
@click.option(
    "--state",
    "state_folder",
    metavar="DIR",
    help="Keep graph, answers and every batch in this directory, and go on from there if the run was ended or killed.",
)
@click.option(
    "--durability",
    type=click.Choice(list(DURABILITIES)),
    default="batch",
    show_default=True,
    help="What a batch waits for with --state: the disk, the operating system, or nothing.",
)
@click.option("--system", default="bounded", show_default=True, help=f"{', '.join((*RUNNABLE, *STAGED))}.")
@click.option("--device", default="auto", show_default=True, help=f"auto, {', '.join(DEVICES)}.")
@click.option(
    "--cache",
    metavar="SIZE",
    help="Room for cached lists on the device: 10% of the bytes of all edges, 1G, or POLICY:SIZE "
    "(published, adaptive) where the system's own is not wanted.  [default: no cache]",
)
@click.option(
    "--threads",
    type=int,
    help="Threads of the CPU device.  [default: one a core; one where a trace is kept, so that it is always the same]",
)
@directed_option
@weights_option
@layout_options
@click.option(
    "--trace",
    "trace_file",
    metavar="FILE",
    help="Write which lists were read to this file, "
    "on the way, so that a long run does not keep it in memory; it is there when the run ends, or not at all.",
)
@click.option("--verify", is_flag=True, help="Hold the answers against the reference at the end.")
@click.option(
    "--values",
    "values_file",
    metavar="FILE",
    help="Write the value of every vertex at the end to this file: .csv, .json, .parquet or .npz.",
)
@click.option(
    "--top",
    "best",
    type=click.IntRange(min=1),
    metavar="COUNT",
    help="Print so many vertices with the best values at the end; of cc, the largest components.",
)
@click.option(
    "--path",
    "targets",
    multiple=True,
    metavar="TARGET",
    help="Print the way by which this vertex got its value; may be given several times.",
)
@click.option(
    "--rows",
    type=click.Choice(ROWS),
    default=ROWS[0],
    show_default=True,
    help="A row for all batches, or a summary with percentiles; auto sums up where there are many.",
)
@json_option
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
    values_file: str | None,
    best: int | None,
    targets: tuple[str, ...],
    rows: str,
    json_file: str | None,
    batch_seconds: float,
    state_folder: str | None,
    durability: str,
    **options: Any,
) -> None:
    """Keep answers on GRAPH fresh under a stream of mutations.

    GRAPH may be `empty`, to start from scratch with --updates. - is standard input. Vertices are named as the file
    names them. Ctrl-C and SIGTERM end the run after the batch it is in, with the report and the values of all batches
    so far.
    """
    programs = find_programs(name)
    policy = find_runnable(system).cache
    found = open_device(device, find_runnable(system))
    if trace_file is not None:
        check_tracing(found)
    if cache is not None:
        read_settings(cache, policy=policy, edge_bytes=0)
    check_workload(threads, options)
    check_values_file(values_file)
    check_outputs(trace_file, values_file, printable=json_file, keep=(graph, options["updates"]))
    wanted = wanted_source(programs, source)
    with Console(stderr=True).status(escape(f"Reading {shown_name(graph)} ...")):
        stream, sources = prepare(graph, source=wanted, **options)
        note_lack_of_weights(graph, programs, stream)
        ends = check_targets(targets, stream, programs)
        store = stream.graph()
    made = make_programs(programs, sources)
    settings: dict[str, Any] = {
        "system": system,
        "device": device,
        "threads": threads,
        "trace": trace_file or False,
        "cache": cache,
    }
    follow, interrupts = options["follow"], Interrupts()
    batches: Stream | Live = stream
    count = len(stream) if follow is None else options["batches"]
    if follow is not None:
        batches = Live(
            follow,
            size=options["batch_size"] or BATCH_SIZE,
            seconds=batch_seconds,
            columns=options["columns"],
            weighted=store.weight_dtype is not None,
            directed=store.directed,
            names=store.labels is not None,
            until=lambda: interrupts.seen,
        )
    origin = shown_name(graph)
    if options["updates"] is not None or follow is not None:
        origin += f", updated by {shown_name(options['updates'] or follow)}"
    session = open_session(
        store,
        made,
        batches,
        settings,
        state=state_folder,
        durability=durability,
        run=(origin, *(options[name] for name in ("batch_size", "insertions", "seed", "columns", "weights"))),
        count=count,
    )
    with interrupts, closing(session.engine):
        failure = _apply_all(session, count, interrupts)
        complaint = _complaint(session) if verify and failure is None else None
        verified = (complaint is None) if verify and failure is None else None
        asked = failure is None and complaint is None  # an answer that is lost or wrong is none
        values = collect(session.engine) if asked and (values_file is not None or best is not None) else None
        if values is not None and values_file is not None:
            write_values(values, values_file)
        outcome = Outcome(origin, session, options["seed"], verified)
        answers: dict[str, Any] = {}
        if values is not None and best is not None:
            answers["top"] = top(values, best)
        if asked and ends:
            answers["paths"] = find_paths(session.engine, ends)
        _deliver(outcome, answers, trace_file, json_file, rows)
        if json_file != STANDARD_OUTPUT:
            _print_answers(answers, values)
    if failure is not None:
        raise failure
    if complaint is not None:
        click.echo(f"grapin: {complaint}", err=True)
        context.exit(WRONG)
    if interrupts.noted is not None:
        word, code = ended_by(interruption(interrupts.noted))
        applied = session.applied
        done = f"after {applied} batches" if count is None else f"after {applied} of {count} batches"
        if applied == count:
            done = f"when all {count} batches were applied; the report and every file are complete"
        click.echo(f"grapin: {word} {done}", err=True)
        context.exit(code)


def check_workload(threads: int | None, options: dict[str, Any]) -> None:
    """Refuse before anything is read what would be refused after minutes."""
    given = {"threads": threads, "batches": options["batches"], "batch-size": options["batch_size"]}
    for name, value in given.items():
        if value is not None:
            check_integer(name, value, least=1)


def find_programs(names: str) -> list[type[Program]]:
    """Return the programs that `--program` names, each once: reports and columns are told apart by their names."""
    programs = [find_program(name.strip()) for name in names.split(",")]
    if len({program.name for program in programs}) < len(programs):
        refuse("program", names, "name each program once")
    return programs


def wanted_source(programs: Sequence[type[Program]], source: str) -> str | None:
    """Return which vertices values start from; None for programs that start everywhere, which take no --source."""
    if any(program.has_sources() for program in programs):
        return source
    if source != "auto":
        names = " and ".join(program.name for program in programs)
        refuse("source", source, f"be left out: {names} starts at every vertex")
    return None


def note_lack_of_weights(graph: str, programs: Sequence[type[Program]], stream: Stream) -> None:
    """Say where a program that reads weights has none to read: what it computes then is another question."""
    if stream.start is None or stream.start.weight is not None:
        return
    for program in programs:
        if getattr(program, "weighted", False):
            click.echo(
                f"grapin: note: {shown_name(graph)} has no weights, so that every edge counts 1 for {program.name}; "
                "--weights 1:64 draws some",
                err=True,
            )


def make_programs(programs: Sequence[type[Program]], sources: list[int]) -> list[Program]:
    """Make programs that start from these vertices, as far as they have sources."""
    return [_made(program, sources) for program in programs]


def _made(program: type[Program], sources: list[int]) -> Program:
    return program(sources) if program.has_sources() else program()  # type: ignore[call-arg]


def _apply_all(session: Session, count: int | None, interrupts: Interrupts) -> BatchFailed | None:
    """Apply the batches, all of them unless a signal or an error ends it; return the error."""
    with progress("Applying batches", count) as advance:
        try:
            session.run(advance=advance, interrupts=interrupts)
        except BatchFailed as error:
            return error
    return None


def _complaint(session: Session) -> str | None:
    """Return what is wrong with the first answer that is, if any."""
    try:
        session.verify()
    except WrongAnswer as error:
        return str(error)
    return None


def _verified(program: Program) -> str:
    """Say what verifying has shown: exact values, or a sum of errors within what was asked for."""
    tolerance = getattr(program, "tolerance", None)
    return "every value is" if tolerance is None else f"values are, within a sum of errors of {tolerance:g},"


def _deliver(
    outcome: Outcome, answers: dict[str, Any], trace_file: str | None, json_file: str | None, rows: str
) -> None:
    if trace_file is not None and outcome.session.engine.tracing:  # one that was lost has been told of
        outcome.session.engine.finish_trace()
    text = json.dumps(outcome.record() | answers)
    if json_file == STANDARD_OUTPUT:
        click.echo(text)
        return
    if json_file is not None:  # before anything is printed: who reads that may stop
        write_whole(json_file, lambda path: path.write_text(text + "\n"))
    outcome.print(rows)
    if outcome.session.engine.device.partition(":")[0] == "vgpu":
        click.echo(VIRTUAL)
    if outcome.verified:
        for answer in outcome.session.engine.answers:
            whose = "" if len(outcome.session.engine.answers) == 1 else f"{answer.program.name}: "
            click.echo(f"Verified: {whose}{_verified(answer.program)} the reference's.")


def _print_answers(answers: dict[str, Any], values: Values | None) -> None:
    if values is not None and "top" in answers:
        print_top(values, answers["top"])
    print_paths(answers.get("paths", {}))
