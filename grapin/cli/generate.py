"""`grapin generate`: a generated graph as a file."""

import click

from grapin.cli.options import (
    Renamed,
    draw_weights,
    flag,
    graph_argument,
    seed_option,
    weight_range,
    weights_option,
)
from grapin.files.write import write_edges
from grapin.generators import generate
from grapin.units import format_count


@click.command(cls=Renamed, renamed={"--no-weights": flag("--weights", "ignore")})
@graph_argument
@click.argument("file", type=click.Path(dir_okay=False))
@seed_option
@weights_option
def command(graph: str, file: str, seed: int, weights: str) -> None:
    """Make the GRAPH that a specification such as rmat:18:16 describes and write it to FILE.

    Edges have weights from 1 to 64 (keep), none (ignore), or from LOW to HIGH.
    FILE ends in .txt, .csv, .npz or .parquet; .txt and .csv may be followed by .gz, .bz2, .xz or .zst.
    """
    low_high = weight_range(weights)
    edges = generate(graph, seed=seed, weights=weights != "ignore" and low_high is None)
    edges = draw_weights(edges, low_high, seed)
    write_edges(edges, file)
    click.echo(f"{file}: {format_count(edges.vertices)} vertices, {format_count(len(edges))} edges")
