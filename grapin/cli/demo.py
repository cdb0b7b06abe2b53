"""`grapin demo`: mutations streamed through the store, and what happened; needs no file."""

from time import perf_counter
from typing import Any

import click
from rich.console import Console
from rich.status import Status

from grapin.cli.common import read_edges, reading_options, seed_option
from grapin.cli.remaining import check_remaining
from grapin.cli.tables import print_table
from grapin.edges import EdgeList
from grapin.graph import Applied, Graph
from grapin.stream import Stream, workload
from grapin.units import format_bytes, format_count, format_seconds


@click.command()
@click.argument("graph", metavar="[GRAPH]", default="rmat:16")
@click.option("--batches", default=10, show_default=True, help="How many batches to stream.")
@click.option("--size", default=10_000, show_default=True, help="Mutations a batch.")
@click.option("--insertions", default=0.5, show_default=True, help="Which part of them are insertions.")
@reading_options
@seed_option
def command(graph: str, batches: int, size: int, insertions: float, seed: int, **reading: Any) -> None:
    """Sample mutations from GRAPH, stream them through the store, and check what is left."""
    console = Console(stderr=True)
    with console.status(f"Reading {graph} ...") as status:
        edges = read_edges(graph, seed, **reading)
        stream = workload(edges, batches=batches, size=size, insertions=insertions, seed=seed)
        store = _warmed_up(stream, status)
        rows = _stream_through(store, stream, status)
        status.update("Checking every list, edge and weight ...")
        store.check()
        check_remaining(store, stream)
    _print(edges, store, rows)


def _warmed_up(stream: Stream, status: Status) -> Graph:
    """Build the start, after a rehearsal that compiles what is not yet compiled on this machine."""
    status.update("Compiling the store (kept for the next run) ...")
    rehearsal = stream.graph()
    for batch in stream:
        rehearsal.apply(batch)
        break
    status.update("Building the store ...")
    return stream.graph()


def _stream_through(store: Graph, stream: Stream, status: Status) -> list[tuple[str, ...]]:
    rows = []
    for number, batch in enumerate(stream, 1):
        status.update(f"Applying batch {number} of {len(stream)} ...")
        moved = store.statistics()["lists moved"]
        begin = perf_counter()
        applied = store.apply(batch)
        seconds = perf_counter() - begin
        rows.append(_row(applied, seconds / batch.size, store.statistics()["lists moved"] - moved))
    return rows


def _row(applied: Applied, seconds: float, moved: int) -> tuple[str, ...]:
    counts = (len(applied.inserted), len(applied.deleted), applied.ignored)
    return (str(applied.version), *map(format_count, counts), format_seconds(seconds), format_count(moved))


def _print(edges: EdgeList, store: Graph, rows: list[tuple[str, ...]]) -> None:
    title = f"{edges.origin}: {format_count(store.vertices)} vertices, {format_count(store.edges)} arcs left"
    columns = ("batch", "inserted", "deleted", "ignored", "a mutation", "lists moved")
    print_table(title, columns, rows)
    memory = store.memory()
    parts = [(part, format_bytes(size)) for part, size in memory.items()]
    total = ("total", format_bytes(sum(memory.values())))
    print_table("memory of the store", ("part", "size"), [*parts, total])
    click.echo("Checked: every invariant of the store, and every edge and weight against plain NumPy.")
