"""What commands share: the GRAPH argument, how its file is to be understood, the seed, and who does the work."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import click

from grapin.edges import EdgeList
from grapin.errors import InvalidArgument
from grapin.files import load_edges
from grapin.generators import generate, is_specification
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

_READING = (
    click.option(
        "--directed/--undirected",
        default=None,
        help="Whether edges run one way.  [default: what the file says, else directed]",
    ),
    click.option(
        "--columns",
        help="What the columns mean, in order: source,target,weight,time,change or - to ignore one.",
    ),
    click.option(
        "--weights",
        type=click.Choice(["keep", "ignore", "absolute", "shift"]),
        default="keep",
        show_default=True,
        help="What to do with weights; only keep refuses negative ones.",
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
    for option in reversed(_READING):
        command = option(command)
    return command


def read_edges(
    graph: str, seed: int, *, directed: bool | None = None, columns: str | None = None, weights: str = "keep"
) -> EdgeList:
    """Read the rows of a file, or make those of a generator."""
    if is_specification(graph):
        if columns is not None:
            refuse("columns", columns, f"be left out: {graph} is generated, and has no columns")
        edges = generate(graph, seed=seed, weights=weights != "ignore")
        return edges if directed is None else replace(edges, directed=directed)
    roles = None if columns is None else columns.split(",")
    return load_edges(graph, directed=directed, columns=roles, weights=weights)
