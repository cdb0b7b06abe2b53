"""`grapin compare --executed`: our systems beside the released programs of other people, count by count."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import click
import numpy as np

from grapin.cli.tables import print_table
from grapin.engine import Engine
from grapin.errors import InvalidArgument
from grapin.files import load_edges
from grapin.generators import generate
from grapin.graph import Graph
from grapin.measured.executed import (
    COUNTS,
    RELEASES,
    Compared,
    Executed,
    compare_counts,
    counted,
    read_table,
)
from grapin.outputs import STANDARD_OUTPUT, write_whole
from grapin.programs import BFS, SSSP, ConnectedComponents
from grapin.progress import progress
from grapin.system import Layout, System, ZeroCopy, find_system
from grapin.trace import Trace

_PROGRAMS = {"bfs": BFS, "sssp": SSSP, "cc": ConnectedComponents}
_MULTIPLIERS = 2654435761, 40503
"""The weight of (u, v) in the tables of EMOGI: 1 + (u * 2654435761 + v * 40503) mod 64."""


def compare_executed(table: str, data: str, only: str | None, json_file: str | None) -> bool:
    """Run our systems on the rows of a table, and print both; tell whether all counts are as near as they must be."""
    words = (only or "").split()
    runs = [run for run in read_table(table) if all(word in " ".join(run.name) for word in words)]
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
                trace, degrees = recorded(run.graph, data, RELEASES[run.program].program, reading(system))
                compared = compare_counts(run, counted(trace, system, degrees))
            results.append((run, reason, compared))
            advance(1)
    within = all(one.within for _, _, compared in results for one in compared)
    record = {
        "table": Path(table).name,
        "within": within,
        "runs": [
            {
                "run": list(run.name),
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
    graph, source = open_graph(name, data, weighted=program == "sssp")
    made: Any = _PROGRAMS[program]
    engine = Engine(
        graph, made() if program == "cc" else made(source), device="onelane", system=system, trace=True
    )
    return engine.trace, graph.snapshot().out.degrees.copy()


def open_graph(name: str, data: str, *, weighted: bool) -> tuple[Graph, int]:
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
    first, second = _MULTIPLIERS
    weight = (1 + (source * first + target * second) % 64).astype(np.int32) if weighted else None
    graph = Graph.from_edges(
        source, target, weight, vertices=vertices, directed=not undirected, aligned=False
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
    rows = [
        (*_title(run), *(f"{one.ours}/{one.theirs}" for one in compared[:2]), *map(_error, compared))
        for run, _, compared in results
        if compared
    ]
    columns = ("run", "graph", "rounds", "edges", *(f"{name} error" for name in COUNTS))
    print_table(f"{Path(table).name}: ours/theirs", columns, rows, names=2)
    skipped = sorted({reason for _, reason, _ in results if reason is not None})
    for reason in skipped:
        count = sum(reason == other for _, other, _ in results)
        click.echo(f"{count} runs left out: {reason}.")
    outside = [run for run, _, compared in results if not all(one.within for one in compared)]
    click.echo(f"{len(rows) - len(outside)} of {len(rows)} runs are within their tolerances.")


def _title(run: Executed) -> tuple[str, str]:
    program, variant, memory, schedule, graph = run.name
    return f"{program}, {variant}, {memory}, {schedule}", graph


def _error(one: Compared) -> str:
    mark = "" if one.within else " !"
    if one.count == "iterations":
        return f"{one.error:+.0f}{mark}"
    return f"{one.error:+.1%}{mark}" if one.error else f"exact{mark}"
