"""`grapin generate`: a generated graph as a file."""

import click

from grapin.cli.options import seed_option
from grapin.files.write import write_edges
from grapin.generators import generate
from grapin.units import format_count


@click.command()
@click.argument("spec")
@click.argument("file", type=click.Path(dir_okay=False))
@seed_option
@click.option("--weights/--no-weights", default=True, help="Whether edges have weights from 1 to 64.")
def command(spec: str, file: str, seed: int, weights: bool) -> None:
    """Make the graph that SPEC describes and write it to FILE.

    FILE ends in .txt, .csv, .npz or .parquet; .txt and .csv may be followed by .gz, .bz2, .xz or .zst.
    """
    edges = generate(spec, seed=seed, weights=weights)
    write_edges(edges, file)
    click.echo(f"{file}: {format_count(edges.vertices)} vertices, {format_count(len(edges))} edges")
