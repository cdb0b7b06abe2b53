"""What commands share: the GRAPH argument, how its file is to be understood, the seed, and who does the work."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import click

from grapin.cli.main import in_options
from grapin.edges import EdgeList
from grapin.errors import InvalidArgument
from grapin.files import load_edges
from grapin.files.ids import IDS
from grapin.files.times import guesses
from grapin.files.weights import WEIGHTS
from grapin.generators import generate, is_specification
from grapin.loading import generated_weights
from grapin.validation import check_integer, refuse

F = TypeVar("F", bound=Callable[..., Any])

graph_argument = click.argument("graph", metavar="GRAPH")
seed_option = click.option("--seed", default=0, show_default=True, help="Fixes everything that is random.")
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object instead of a table."
)
processes_option = click.option(
    "--processes", type=int, help="How many do the work, where it takes long enough.  [default: one a core]"
)
cluster_option = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="A Dask cluster that does the work instead of processes here, such as tcp://host:8786.",
)

_LAYOUT = (
    click.option(
        "--columns",
        help="What a file's columns mean, in order: source,target,weight,time,change or - to ignore one.",
    ),
    click.option(
        "--ids",
        type=click.Choice(list(IDS)),
        default="auto",
        show_default=True,
        help="What names vertices in a file: whole numbers, kept or numbered densely, or text.",
    ),
)
_READING = (
    click.option(
        "--directed/--undirected",
        default=None,
        help="Whether edges run one way.  [default: what the file says, else directed]",
    ),
    *_LAYOUT,
    click.option(
        "--weights",
        type=click.Choice(list(WEIGHTS)),
        default="keep",
        show_default=True,
        help="What to do with weights: absolute and shift take negative ones; float32 takes larger whole numbers than "
        "int32 has, and round rounds them.",
    ),
)


def count_processes(asked: int | None, cluster: str | None) -> int:
    """Return how many processes are meant by the two options."""
    if asked is not None and cluster is not None:
        raise InvalidArgument(
            f"processes={asked} must be left out: cluster={cluster!r} has workers of its own"
        )
    if asked is None:
        return os.cpu_count() or 1
    return check_integer("processes", asked, least=1)


def reading_options(command: F) -> F:
    """Add the options that say how a file is to be understood; `read_edges` takes them."""
    return _with(command, _READING)


def layout_options(command: F) -> F:
    """Add those of them that say what is in which column; other commands have their own for the rest."""
    return _with(command, _LAYOUT)


def _with(command: F, options: Sequence[Callable[[F], F]]) -> F:
    for option in reversed(options):
        command = option(command)
    return command


def read_edges(
    graph: str,
    seed: int,
    *,
    directed: bool | None = None,
    columns: str | None = None,
    ids: str = "auto",
    weights: str = "keep",
    tell: bool = True,
) -> EdgeList:
    """Read the rows of a file, or make those of a generator; `tell` says what a file's columns were taken for."""
    if is_specification(graph):
        if columns is not None:
            refuse("columns", columns, f"be left out: {graph} is generated, and has no columns")
        edges = generated_weights(generate(graph, seed=seed, weights=weights != "ignore"), weights)
        return edges if directed is None else replace(edges, directed=directed)
    edges = load_edges(graph, directed=directed, columns=columns, ids=ids, weights=weights)
    for note in guesses(edges.notes) if tell else ():
        click.echo(
            f"grapin: note: {edges.origin}: {in_options(note, click.get_current_context().command, ())}",
            err=True,
        )
    return edges
