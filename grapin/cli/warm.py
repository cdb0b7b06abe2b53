"""`grapin warm`: compile now what runs later, when a package is installed or an image is built."""

from itertools import product
from time import perf_counter

import click
import numpy as np

from grapin.compilations import NOT_KEPT, compilations, watchers
from grapin.engine.selftest import PROGRAMS
from grapin.progress import progress
from grapin.system import SYSTEMS
from grapin.units import format_seconds

VERTICES, EDGES = 1 << 14, 1 << 18
"""Enough that threads share rounds, so that the kernels for several are compiled too."""
_WEIGHTS = {"none": None, "whole": np.int32, "real": np.float32}


@click.command()
@click.option(
    "--program",
    "programs",
    multiple=True,
    type=click.Choice(list(PROGRAMS)),
    help="Only these; more than once.",
)
@click.option(
    "--system", "systems", multiple=True, type=click.Choice(list(SYSTEMS)), help="Only these; more than once."
)
@click.option(
    "--weights",
    "weights",
    multiple=True,
    type=click.Choice(list(_WEIGHTS)),
    help="Only graphs with these weights; more than once.",
)
def command(programs: tuple[str, ...], systems: tuple[str, ...], weights: tuple[str, ...]) -> int:
    """Compile for this machine's processor what `grapin run` uses on the CPU, and keep it.

    Run it where the package is installed, or with NUMBA_CACHE_DIR set as it will be: later processes find the machine
    code and compile nothing. Code kept beside the source is found by every user, whether they can write there or not.
    """
    from grapin.batch import Batch
    from grapin.engine.engine import Engine
    from grapin.graph import Graph

    kept: set[str | None] = set()
    watchers[:] = [lambda compilation: kept.add(compilation.kept)]
    begin = perf_counter()
    random = np.random.default_rng(0)
    source, target = random.integers(0, VERTICES, (2, EDGES))
    ways = list(
        product(weights or _WEIGHTS, (True, False), programs or PROGRAMS, systems or ("bounded", "grapin-zc"))
    )
    with progress("compiling", len(ways)) as advance:
        for kind, directed, program, system in ways:
            weight_type = _WEIGHTS[kind]
            values = None if weight_type is None else random.integers(1, 9, EDGES).astype(weight_type)
            ascending = [0, 1], [1, 2], None if values is None else values[:2]
            Graph.from_edges(*ascending, directed=directed)  # rows in order are taken in by other kernels
            graph = Graph.from_edges(source, target, values, directed=directed)
            engine = Engine(graph, PROGRAMS[program], device="cpu", system=system, threads=2)
            edge = int(source[0]), int(target[0])
            engine.apply(Batch(delete=[edge]))
            engine.apply(Batch(insert=[edge if values is None else (*edge, 1)], insert_vertices=[VERTICES]))
            engine.apply(Batch(delete_vertices=[VERTICES]))
            _ = engine.values, engine.parents if program != "pagerank" else None
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
