"""`grapin run`: keep an answer fresh while a stream changes the graph, and say what it took."""

import json
from pathlib import Path
from typing import Any

import click
import numpy as np

from grapin.cli.common import graph_argument, seed_option
from grapin.cli.interrupt import Interrupts
from grapin.cli.tables import print_table
from grapin.cli.updates import prepared_stream
from grapin.engine import Engine, Report
from grapin.engine.devices import DEVICES
from grapin.errors import InvalidArgument
from grapin.graph import Graph
from grapin.programs.finding import find_program
from grapin.programs.program import Accumulative, Monotone, Program
from grapin.progress import progress
from grapin.stream import Stream
from grapin.systems import SYSTEMS
from grapin.units import format_bytes, format_count, format_seconds


@click.command()
@graph_argument
@click.option(
    "--program",
    "name",
    default="sssp",
    show_default=True,
    help="bfs, sssp, sswp, cc, pagerank, or FILE.py:CLASS.",
)
@click.option(
    "--source",
    default="auto",
    show_default=True,
    help="A vertex as the file names it; auto is the one with most out-edges. Several: 3,7,9.",
)
@click.option("--batches", default=10, show_default=True, help="How many batches.")
@click.option(
    "--batch-size", default=1000, show_default=True, help="Mutations, or events of the updates, a batch."
)
@click.option(
    "--insertions", default=0.5, show_default=True, help="Which part of sampled mutations are insertions."
)
@click.option(
    "--updates",
    help="Stream the events of this file (with times, deletions too) instead of sampling the graph.",
)
@click.option("--system", default="bounded", show_default=True, help=f"{', '.join(SYSTEMS)}.")
@click.option("--device", default="auto", show_default=True, help=f"auto, {', '.join(DEVICES)}.")
@click.option("--threads", type=int, help="Threads of the CPU device.  [default: one a core]")
@click.option("--undirected/--directed", default=None, help="Store both directions of each edge.")
@click.option(
    "--weights",
    default="keep",
    show_default=True,
    help="keep, ignore, absolute, shift, or LOW:HIGH to draw whole numbers for a graph without weights.",
)
@click.option("--trace", "trace_file", help="Write what was read to this file.")
@click.option("--verify", is_flag=True, help="Hold the values against the reference at the end.")
@click.option("--json", "json_file", help="Write one JSON object to this file; - for standard output.")
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
    threads: int | None,
    trace_file: str | None,
    verify: bool,
    json_file: str | None,
    **options: Any,
) -> None:
    """Keep an answer on GRAPH fresh under a stream of mutations.

    GRAPH may be `empty`, to start from nothing with --updates.
    """
    for file in (trace_file, json_file):
        _check_writable(file)
    stream = prepared_stream(graph, **options)
    store = stream.graph()
    engine = Engine(
        store,
        _program(name, source, store),
        system=system,
        device=device,
        threads=threads,
        trace=trace_file is not None,
    )
    with Interrupts() as interrupts:
        reports = _apply_all(engine, stream, interrupts)
    verified = _verified(engine) if verify else None
    if trace_file is not None:
        engine.trace.save(trace_file)
    record = _record(engine, reports, options["seed"], verified)
    if json_file == "-":
        click.echo(json.dumps(record))
    else:
        _print(graph, engine, reports, verified)
        if json_file is not None:
            _write(json_file, json.dumps(record) + "\n")
    if interrupts.seen:
        click.echo(f"grapin: interrupted after {len(reports)} batches; all above is complete", err=True)
        context.exit(130)


def _program(name: str, source: str, graph: Graph) -> Program:
    program = find_program(name)
    if issubclass(program, Accumulative):
        return program()
    assert issubclass(program, Monotone)
    if program.start is not None:
        return program()
    if source == "auto":
        if not graph.vertices:
            return program(0) if graph.has_vertex(0) else _no_source()
        return program(int(np.argmax(graph.snapshot().out.degrees)))
    return program([_vertex(part.strip(), graph) for part in source.split(",")])


def _no_source() -> Program:
    raise InvalidArgument("source='auto' must be a vertex when the graph starts empty: give --source 0")


def _vertex(text: str, graph: Graph) -> int:
    """Find a vertex by the name it has in the file."""
    if graph.labels is not None:
        name: int | str = text if graph.labels.names.dtype == object else _whole(text)
        return graph.labels.vertex(name)
    return _whole(text)


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidArgument(f"source={text!r} must be a vertex of the graph, or auto") from None


def _apply_all(engine: Engine, stream: Stream, interrupts: Interrupts) -> list[Report]:
    reports = []
    with progress("Applying batches", len(stream)) as advance:
        for batch in stream:
            if interrupts.seen:
                break
            reports.append(engine.apply(batch))
            advance(1)
    return reports


def _verified(engine: Engine) -> bool:
    from grapin.engine.verify import verify_answer

    for answer in engine.answers:
        verify_answer(answer, engine.graph)
    return True


def _record(engine: Engine, reports: list[Report], seed: int, verified: bool | None) -> dict[str, Any]:
    started = engine.started
    return {
        "program": engine.answers[0].program.name,
        "system": engine.system.name,
        "device": engine.device,
        "threads": engine.threads,
        "seed": seed,
        "graph": {"vertices": engine.graph.vertices, "edges": engine.graph.edges},
        "initial": {
            "seconds": started.compute_seconds,
            "edges_read": started.edges_read,
            "iterations": started.iterations,
        },
        "batches": [report.record() for report in reports],
        "verified": verified,
    }


def _print(origin: str, engine: Engine, reports: list[Report], verified: bool | None) -> None:
    graph = engine.graph
    print_table(
        f"{engine.answers[0].program!r} on {origin}: {format_count(graph.vertices)} vertices, "
        f"{format_count(graph.edges)} edges; system {engine.system.name}, device {engine.device}",
        ("batch", "inserted", "deleted", "update", "compute", "changed", "edges read", "of all", "bytes"),
        [_row("start", engine.started, graph.edges)]
        + [_row(str(place), report, graph.edges) for place, report in enumerate(reports, 1)],
    )
    if verified:
        click.echo("Verified: every value and parent against the reference.")


def _row(name: str, report: Report, edges: int) -> tuple[str, ...]:
    return (
        name,
        format_count(report.inserted),
        format_count(report.deleted),
        format_seconds(report.update_seconds),
        format_seconds(report.compute_seconds),
        format_count(report.changed),
        format_count(report.edges_read),
        f"{report.edges_read / max(1, edges):.4f}",
        format_bytes(report.counters.bytes),
    )


def _check_writable(file: str | None) -> None:
    """Refuse an output before the run rather than after it."""
    if file is not None and file != "-" and not Path(file).absolute().parent.is_dir():
        raise InvalidArgument(f"file={file!r} must be in a directory that exists")


def _write(file: str, text: str) -> None:
    partial = Path(file + ".part")
    try:
        partial.write_text(text)
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)
