"""`grapin warm`: compile now what runs later, when a package is installed or an image is built."""

from collections.abc import Iterable
from itertools import product
from time import perf_counter

import click
import numpy as np

from grapin.compilations import NOT_KEPT, compilations, watchers
from grapin.engine.selftest import PROGRAMS
from grapin.progress import progress
from grapin.system import RUNNABLE
from grapin.units import format_seconds
from grapin.validation import check_choice

_WEIGHTS = {"none": None, "whole": np.int32, "real": np.float32}


@click.command()
@click.option(
    "--program",
    "programs",
    default=",".join(PROGRAMS),
    show_default=True,
    help="Programs, with commas between them.",
)
@click.option(
    "--system", "systems", default="bounded,grapin-zc", show_default=True, help=f"{', '.join(RUNNABLE)}."
)
@click.option(
    "--kind",
    "kinds",
    default=",".join(_WEIGHTS),
    show_default=True,
    help="Which weights graphs have, with commas between them.",
)
def command(programs: str, systems: str, kinds: str) -> int:
    """Compile for this machine's processor what `grapin run` uses on the CPU, and keep it.

    Run it where the package is installed, or with NUMBA_CACHE_DIR set as it will be: later processes find the machine
    code and compile nothing. Code kept beside the source is found by every user, whether they can write there or not.
    """
    from grapin.engine.warmup import warm_up
    from grapin.graph import Graph

    ways = list(
        product(
            _listed("kind", kinds, _WEIGHTS),
            (True, False),
            _listed("program", programs, PROGRAMS),
            _listed("system", systems, RUNNABLE),
        )
    )
    kept: set[str | None] = set()
    watchers[:] = [lambda compilation: kept.add(compilation.kept)]
    begin = perf_counter()
    with progress("Compiling", len(ways)) as advance:
        for kind, directed, program, system in ways:
            weight_type = _WEIGHTS[kind]
            weights = None if weight_type is None else np.ones(2, weight_type)
            graph = Graph.from_edges([0, 1], [1, 2], weights, directed=directed)
            warm_up(graph, PROGRAMS[program], device="cpu", system=system, threads=2)
            advance(1)
    seconds = format_seconds(perf_counter() - begin)
    if None in kept:
        click.echo(f"{compilations()} functions compiled in {seconds}, but {NOT_KEPT}")
    elif kept:
        folders = sorted({str(folder) for folder in kept})
        click.echo(f"{compilations()} functions compiled in {seconds}, kept in {len(folders)} folders:")
        click.echo("\n".join(folders))
    else:
        click.echo(f"everything was compiled before ({seconds} to see that)")
    return 0


def _listed(option: str, names: str, known: Iterable[str]) -> list[str]:
    """Return the names between commas, each of which must be known."""
    return [check_choice(option, name.strip(), known) for name in names.split(",")]
