"""`grapin info`: what is in a graph, and what the store needs for it."""

import json
from typing import Any

import click
import numpy as np

from grapin.cli.main import in_options
from grapin.cli.options import graph_argument, json_option, read_edges, reading_options, seed_option
from grapin.cli.tables import print_table
from grapin.edges import EdgeList
from grapin.outputs import STANDARD_OUTPUT, check_outputs, write_whole
from grapin.stream import temporal
from grapin.units import format_bytes, format_count


@click.command()
@graph_argument
@reading_options
@seed_option
@json_option
@click.pass_context
def command(context: click.Context, /, graph: str, seed: int, json_file: str | None, **reading: Any) -> None:
    """Count vertices and edges, describe degrees, and account for memory."""
    check_outputs(printable=json_file, keep=(graph,))
    facts = _facts(read_edges(graph, seed, **reading, tell=False))
    text = json.dumps(facts)
    if json_file == STANDARD_OUTPUT:
        click.echo(text)
        return
    if json_file is not None:
        write_whole(json_file, lambda path: path.write_text(text + "\n"))
    counts = [(name, _written(facts[name])) for name in facts if name not in {"notes", "memory", "origin"}]
    print_table(facts["origin"], ("", "value"), counts)
    total = sum(facts["memory"].values())
    memory = [(part, format_bytes(size)) for part, size in facts["memory"].items()]
    print_table("memory of the store", ("part", "size"), [*memory, ("total", format_bytes(total))])
    for note in facts["notes"]:
        click.echo(in_options(note, context.command, ()))


def _facts(edges: EdgeList) -> dict[str, Any]:
    # What is left once all events have happened, which for a plain file is what it says.
    graph = temporal(edges, size=1, start=len(edges), vertices="all").graph()
    degrees = graph.snapshot().out.degrees[: graph.bound]
    return {
        "origin": edges.origin,
        "vertices": graph.vertices,
        "rows": len(edges),
        "deletions": 0 if edges.removed is None else int(edges.removed.sum()),
        "arcs": graph.edges,
        "directed": edges.directed,
        "self loops": int((edges.source == edges.target).sum()),
        "weights": "none" if edges.weight is None else str(edges.weight.dtype),
        "times": None if edges.time is None else [edges.time.min().item(), edges.time.max().item()],
        "mean degree": round(graph.edges / max(graph.vertices, 1), 2),
        "median degree": float(np.median(degrees)) if len(degrees) else 0.0,
        "largest degree": int(degrees.max(initial=0)),
        "notes": list(edges.notes),
        "memory": graph.memory(),
    }


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return format_count(value)
    if isinstance(value, list):
        return " to ".join(str(end) for end in value)
    return "none" if value is None else str(value)
