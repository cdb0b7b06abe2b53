"""`grapin convert`: any graph that can be read, in a format that can be written."""

from typing import Any

import click

from grapin.cli.options import graph_argument, read_edges, reading_options, seed_option
from grapin.files.write import write_edges
from grapin.units import format_count


@click.command()
@graph_argument
@click.argument("file", type=click.Path(dir_okay=False))
@reading_options
@seed_option
def command(graph: str, file: str, seed: int, **reading: Any) -> None:
    """Read GRAPH and write its rows, with the names its vertices had, to FILE.

    FILE ends in .txt, .csv, .npz or .parquet; .txt and .csv may be followed by .gz, .bz2, .xz or .zst.
    """
    edges = read_edges(graph, seed, **reading)
    write_edges(edges, file)
    click.echo(f"{file}: {format_count(edges.vertices)} vertices, {format_count(len(edges))} rows")
