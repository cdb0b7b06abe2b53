"""`grapin compare --executed`: our systems beside the released programs of other people, count by count."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import click
import numpy as np

from grapin.batch import Batch
from grapin.cli.tables import print_table
from grapin.engine import Engine
from grapin.errors import InvalidArgument
from grapin.files import load_edges
from grapin.generators import generate
from grapin.graph import Graph
from grapin.measured.executed import (
    RELEASES,
    Compared,
    Executed,
    compare_counts,
    counted,
    read_stream,
    read_table,
)
from grapin.outputs import STANDARD_OUTPUT, write_whole
from grapin.programs import BFS, SSSP, ConnectedComponents
from grapin.progress import progress
from grapin.system import Layout, System, ZeroCopy, find_system
from grapin.trace import Trace

_PROGRAMS = {"bfs": BFS, "sssp": SSSP, "cc": ConnectedComponents}
Weight = Callable[[Any, Any], Any]
"""The weights of edges, by their sources and targets."""


def scattered_weights(source: Any, target: Any) -> Any:
    """Return the weights that EMOGI's program was given."""
    return (1 + (source * 2654435761 + target * 40503) % 64).astype(np.int32)


def summed_weights(source: Any, target: Any) -> Any:
    """Return the weights that Grapin's program computes."""
    return (1 + (source + target) % 128).astype(np.int32)


def compare_executed(table: str, data: str, only: str | None, json_file: str | None) -> bool:
    """Run our systems on the rows of a table, and print both; tell whether all counts are as near as they must be."""
    words = (only or "").split()
    runs = [run for run in read_table(table) if all(word in run.title for word in words)]
    if not runs:
        raise InvalidArgument(f"only={only!r} must be words that the name of a run in {table} has")
    for run in runs:
        if run.unrunnable() is None:
            graph_file(run.graph, data)
    results: list[tuple[Executed, str | None, list[Compared]]] = []
    with progress("Running", len(runs)) as advance:
        for run in runs:
            reason = run.unrunnable()
            compared = []
            if reason is None:
                system = run.system()
                program = RELEASES[run.program].program
                if run.mutations is None:
                    trace, degrees = recorded(run.graph, data, program, reading(system))
                else:
                    trace, degrees = followed(run, data, program, system, read_stream(table, run))
                compared = compare_counts(run, counted(trace, system, degrees))
            results.append((run, reason, compared))
            advance(1)
    within = all(one.within for _, _, compared in results for one in compared)
    record = {
        "table": Path(table).name,
        "within": within,
        "runs": [
            {
                "run": dict(run.columns),
                "skipped": reason,
                "counts": {one.count: one.record() for one in compared},
            }
            for run, reason, compared in results
        ],
    }
    if json_file == STANDARD_OUTPUT:
        click.echo(json.dumps(record))
        return within
    if json_file is not None:
        write_whole(json_file, lambda path: path.write_text(json.dumps(record) + "\n"))
    _print(table, results)
    return within


def reading(system: System) -> System:
    """Return the system that reads the same lists in the same rounds as all that differ in where lists lie."""
    early = isinstance(system.transfer, ZeroCopy) and system.transfer.early
    recorder = find_system("emogi-released")
    return replace(recorder, schedule=system.schedule, transfer=ZeroCopy(early=early), layout=Layout())


@cache
def recorded(name: str, data: str, program: str, system: System) -> tuple[Trace, Any]:
    """Return what a run from scratch reads, and how long all lists are."""
    graph, source = open_graph(name, data, weight=scattered_weights if program == "sssp" else None)
    made: Any = _PROGRAMS[program]
    engine = Engine(
        graph, made() if program == "cc" else made(source), device="onelane", system=system, trace=True
    )
    return engine.trace, graph.snapshot().out.degrees.copy()


def followed(
    run: Executed, data: str, program: str, system: System, batches: Sequence[tuple[Any, Any]]
) -> tuple[Trace, Any]:
    """Return what a run that follows batches reads, and how long all lists were before the first of them."""
    weight = summed_weights if program == "sssp" else None
    graph, source = open_graph(run.graph, data, weight=weight)
    degrees = graph.snapshot().out.degrees.copy()
    made: Any = _PROGRAMS[program]
    engine = Engine(
        graph, made() if program == "cc" else made(source), device="onelane", system=system, trace=True
    )
    for insert, delete in batches:
        if not graph.directed:  # the stream has each edge in both directions
            insert, delete = (edges[edges[:, 0] <= edges[:, 1]] for edges in (insert, delete))
        if weight is not None:
            insert = np.column_stack((insert, weight(*insert.T)))
        engine.apply(Batch(insert=insert, delete=delete))
    return engine.trace, degrees


def open_graph(name: str, data: str, *, weight: Weight | None) -> tuple[Graph, int]:
    """Return a graph by the name that tables have for it, and the vertex with most out-edges, first of equals.

    Ids are those of the file, self loops stay, each edge is there once. A `u` behind the name stands for the symmetric
    closure.
    """
    found = graph_file(name, data)
    edges = (
        generate(found, seed=0, weights=False)
        if isinstance(found, str)
        else load_edges(found, ids="keep", weights="ignore")
    )
    source, target = edges.source.astype(np.int64), edges.target.astype(np.int64)
    undirected = _plain(name) != name
    vertices = 1 + int(max(source.max(initial=-1), target.max(initial=-1)))
    if undirected:
        source, target = np.minimum(source, target), np.maximum(source, target)
    keys = np.unique(source * vertices + target)
    source, target = keys // vertices, keys % vertices
    weights = None if weight is None else weight(source, target)
    graph = Graph.from_edges(
        source, target, weights, vertices=vertices, directed=not undirected, aligned=False
    )
    return graph, int(np.argmax(graph.snapshot().out.degrees))


def graph_file(name: str, data: str) -> Path | str:
    """Return where a table's graph comes from: a file, or the specification of a generator."""
    plain = _plain(name)
    if plain.startswith("rmat") and plain[4:].isdecimal():
        return f"rmat:{plain[4:]}:16"
    found = sorted(path for path in Path(data).glob(f"{plain}.*") if path.is_file())
    if not found:
        raise InvalidArgument(
            f"data={data!r} must be the folder with the file of {plain}, {plain}.txt or the like, which the table has "
            "runs on; --only leaves runs out"
        )
    return found[0]


def _plain(name: str) -> str:
    """Return the name of a graph without what says that it was made symmetric."""
    if name.endswith(("-u", " u")):
        return name[:-2]
    return name[:-1] if name.startswith("rmat") and name.endswith("u") else name


def _print(table: str, results: Sequence[tuple[Executed, str | None, list[Compared]]]) -> None:
    shown = [(run, compared) for run, _, compared in results if compared]
    for counts in dict.fromkeys(tuple(one.count for one in compared) for _, compared in shown):
        rows = [
            (run.title.removesuffix(f" {run.graph}"), run.graph, *map(_shown, compared))
            for run, compared in shown
            if tuple(one.count for one in compared) == counts
        ]
        print_table(
            f"{Path(table).name}: ours, and how far from theirs", ("run", "graph", *counts), rows, names=2
        )
    for reason in sorted({reason for _, reason, _ in results if reason is not None}):
        click.echo(f"{sum(reason == other for _, other, _ in results)} runs left out: {reason}.")
    inside = sum(all(one.within for one in compared) for _, compared in shown)
    click.echo(f"{inside} of {len(shown)} runs are within their tolerances.")


def _shown(one: Compared) -> str:
    mark = "" if one.within else " !"
    if one.count == "iterations":
        return f"{one.ours} {one.error:+.0f}{mark}"
    return f"{one.ours} {one.error:+.1%}{mark}" if one.error else f"{one.ours} exact{mark}"
