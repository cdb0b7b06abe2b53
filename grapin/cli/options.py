"""Options that commands share: the GRAPH argument, how its file is to be understood, the seed, who does the work.

One concept has one name in all commands, so a few options had to take the name that the others had. Who types the old
one (a script, a habit) gets what it meant, and a note that says what it is called now; the help does not list it.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import click
import numpy as np

from grapin.cli.main import in_options
from grapin.edges import EdgeList
from grapin.errors import InvalidArgument
from grapin.files import load_edges
from grapin.files.ids import IDS
from grapin.files.layout import guesses
from grapin.files.weights import WEIGHTS
from grapin.generators import generate, is_specification
from grapin.loading import generated_weights
from grapin.outputs import STANDARD_OUTPUT
from grapin.random import Draws
from grapin.validation import check_choice, check_integer, refuse

F = TypeVar("F", bound=Callable[..., Any])

graph_argument = click.argument("graph", metavar="GRAPH")
seed_option = click.option("--seed", default=0, show_default=True, help="Fixes everything that is random.")
json_option = click.option(
    "--json",
    "json_file",
    metavar="[FILE]",
    is_flag=False,
    flag_value=STANDARD_OUTPUT,
    help="Write one JSON object to this file; - or none prints it instead of the table.",
)
gpu_memory_option = click.option(
    "--gpu-memory",
    metavar="SIZE",
    help="Memory of the GPU: 16G, or a part of the bytes of all edges such as 33%; several with commas.  [default: the "
    "machine's]",
)
oversubscribe_option = click.option(
    "--oversubscribe",
    metavar="TIMES",
    help="The same as how many times as large as memory the edges are: 3 is --gpu-memory 33.3%.",
)
directed_option = click.option(
    "--directed/--undirected",
    default=None,
    help="Whether edges run one way.  [default: what the file says, else directed]",
)
weights_option = click.option(
    "--weights",
    default="keep",
    show_default=True,
    help="keep, ignore, absolute, shift, or LOW:HIGH to draw whole numbers where a file has none; only keep refuses "
    "negative ones.",
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
    directed_option,
    *_LAYOUT,
    weights_option,
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
    """Read the rows of a file, or make those of a generator; weights LOW:HIGH are drawn.

    `tell` says what a file's columns were taken for.
    """
    drawn = weight_range(weights)
    if drawn is not None:
        kept = "ignore" if is_specification(graph) else "keep"
        edges = read_edges(graph, seed, directed=directed, columns=columns, ids=ids, weights=kept, tell=tell)
        return draw_weights(edges, drawn, seed)
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


def weight_range(weights: str) -> tuple[int, int] | None:
    """Return between which whole numbers `--weights` asks to draw; None where it says what to do with a file's own."""
    low, colon, high = weights.partition(":")
    if not colon:
        check_choice("weights", weights, WEIGHTS)
        return None
    if not (low.isdecimal() and high.isdecimal() and int(low) <= int(high) < 2**31):
        raise InvalidArgument(f"weights={weights!r} must be LOW:HIGH with whole numbers, such as 1:64")
    return int(low), int(high)


def draw_weights(edges: EdgeList, low_high: tuple[int, int] | None, seed: int) -> EdgeList:
    """Draw weights for edges that have none."""
    if low_high is None or edges.weight is not None:
        return edges
    low, high = low_high
    drawn = Draws(seed, "weights").below(high - low + 1, len(edges)) + low
    return replace(edges, weight=drawn.astype(np.int32))


Rename = str | Callable[[str], list[str]]
"""The option's name now, or a function of its value (empty for a flag) that returns what to type instead."""


class Renamed(click.Command):
    """A command with options that had other names: `renamed` says of each old one what it is now."""

    def __init__(self, *arguments: Any, renamed: Mapping[str, Rename], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.renamed = renamed

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Replace old names before click looks at them; behind `--` there are none."""
        end = args.index("--") if "--" in args else len(args)
        return super().parse_args(ctx, [*_now(self.renamed, args[:end]), *args[end:]])


def flag(*now: str) -> Callable[[str], list[str]]:
    """Stand for a flag that takes no value."""

    def typed(_value: str) -> list[str]:
        return list(now)

    typed.takes_value = False  # type: ignore[attr-defined]
    return typed


def argument(value: str) -> list[str]:
    """Stand for an option whose value is an argument now."""
    return [value]


def _now(renamed: Mapping[str, Rename], given: list[str]) -> list[str]:
    found: list[str] = []
    rest = iter(given)
    for one in rest:
        old, equals, value = one.partition("=")
        rename = renamed.get(old)
        if rename is None:
            found.append(one)
            continue
        if isinstance(rename, str):
            found.append(rename + equals + value)
            shown = rename
        else:
            if not equals and getattr(rename, "takes_value", True):
                value = next(rest, "")
            found += rename(value)
            shown = " ".join(rename(value)) or "left out"
        click.echo(f"grapin: note: {old} is {shown} now", err=True)
    return found
