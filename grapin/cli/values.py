"""The answer itself: the value of every vertex, the best of them, and the ways to some, by the names the file uses.

What is not reached has no value: it is empty in a table, null in JSON, and said in words where people read.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import click
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv, parquet

from grapin.cli.tables import print_table
from grapin.edges import Labels
from grapin.engine import Answer, Engine
from grapin.errors import InvalidArgument
from grapin.files.write import compressed, ending_of
from grapin.outputs import write_whole
from grapin.programs import ConnectedComponents
from grapin.programs.program import Monotone, Program
from grapin.programs.starting import UNREACHED
from grapin.stream import Stream
from grapin.units import format_count
from grapin.validation import refuse

VERTEX = "vertex"
"""The column of names."""


@dataclass(frozen=True, eq=False)
class Column:
    """What one program says of the vertices that are listed beside it."""

    program: Program
    values: NDArray[Any]
    """Numbers, infinite where a path may be as wide as one likes; for components, the name of one vertex of each."""
    reached: NDArray[np.bool_]

    @property
    def name(self) -> str:
        """What the program is called."""
        return self.program.name

    @property
    def ranked(self) -> NDArray[np.intp]:
        """Places of the vertices that are reached, the best value first, those of one value in their order."""
        places = np.flatnonzero(self.reached)
        larger = not isinstance(self.program, Monotone) or self.program.better == "larger"
        return places[np.argsort(-self.values[places] if larger else self.values[places], kind="stable")]

    def arrow(self) -> Any:
        """Return the values with nulls for what is not reached."""
        return pa.array(
            self.values.tolist() if self.values.dtype == object else self.values, mask=~self.reached
        )

    def plain(self, place: int) -> Any:
        """Return one value for JSON, which has no word for infinity; None where there is none."""
        if not self.reached[place]:
            return None
        value = self.values[place]
        value = value.item() if isinstance(value, np.generic) else value
        return "infinity" if value == np.inf else value


@dataclass(frozen=True, eq=False)
class Values:
    """The values of all programs at the vertices there are, in ascending order of their names."""

    vertices: NDArray[Any]
    columns: Sequence[Column]


def collect(engine: Engine) -> Values:
    """Return what an engine knows now."""
    labels = engine.graph.labels
    ids = np.flatnonzero(engine.graph.alive())
    names = _names(labels, ids)
    order = np.argsort(names, kind="stable")
    ids, names = ids[order], names[order]
    return Values(names, [_column(answer, ids, labels) for answer in engine.answers])


def _names(labels: Labels | None, ids: NDArray[Any]) -> NDArray[Any]:
    return ids if labels is None else labels.names[ids]


def _column(answer: Answer, ids: NDArray[np.intp], labels: Labels | None) -> Column:
    program, values = answer.program, answer.values[ids]
    reached = _reached(program, values)
    if isinstance(program, ConnectedComponents):
        return Column(program, _names(labels, values), reached)
    if isinstance(program, Monotone) and program.better == "larger" and values.dtype.kind == "i":
        endless = values == UNREACHED
        if endless.any():  # below 2**32, so that floats of 64 bits hold the others as they are
            values = np.where(endless, np.inf, values.astype(np.float64))
    return Column(program, values, reached)


def _reached(program: Program, values: NDArray[Any]) -> NDArray[np.bool_]:
    if not isinstance(program, Monotone):
        return np.ones(len(values), np.bool_)
    if program.better == "larger":
        return np.asarray(values != 0)
    return np.asarray(values != (np.inf if values.dtype.kind == "f" else UNREACHED))


def check_values_file(file: str | None) -> None:
    """Refuse a file whose name does not say how to write it."""
    if file is not None and ending_of(file, _WRITERS) is None:
        raise InvalidArgument(
            f"values={file!r} must end in .csv or .json (then perhaps .gz, .bz2, .xz or .zst), .parquet or .npz"
        )


def write_values(values: Values, file: str) -> None:
    """Write all values to a file, whole or not at all; its name says how."""
    form = ending_of(file, _WRITERS)
    assert form is not None

    def write(partial: Path) -> None:
        with partial.open("wb") as raw, compressed(raw, file) as sink:
            _WRITERS[form](values, sink)

    write_whole(file, write)


def _table(values: Values) -> Any:
    names = values.vertices.tolist() if values.vertices.dtype == object else values.vertices
    columns = {VERTEX: pa.array(names)}
    return pa.table(columns | {one.name: one.arrow() for one in values.columns})


def _write_csv(values: Values, sink: IO[bytes]) -> None:
    csv.write_csv(_table(values), sink, csv.WriteOptions(quoting_style="needed"))


def _write_parquet(values: Values, sink: IO[bytes]) -> None:
    parquet.write_table(_table(values), sink, compression="zstd")


def _write_npz(values: Values, sink: IO[bytes]) -> None:
    columns = {VERTEX: values.vertices} | {one.name: one.values for one in values.columns}
    # Text of fixed width: arrays of Python objects would have to be unpickled.
    texts = {name: one.astype(np.str_) for name, one in columns.items() if one.dtype == object}
    reached = {f"{one.name}_reached": one.reached for one in values.columns}
    np.savez(sink, allow_pickle=False, **(columns | texts | reached))


def _write_json(values: Values, sink: IO[bytes]) -> None:
    columns = {VERTEX: values.vertices.tolist()}
    columns |= {one.name: [one.plain(place) for place in range(len(one.values))] for one in values.columns}
    sink.write((json.dumps(columns) + "\n").encode())


_WRITERS: dict[str, Callable[[Values, IO[bytes]], None]] = {
    ".csv": _write_csv,
    ".json": _write_json,
    ".parquet": _write_parquet,
    ".npz": _write_npz,
}


def top(values: Values, count: int) -> dict[str, list[list[Any]]]:
    """Return the best of each program: vertices with their values, or components with their sizes."""
    return {
        one.name: _largest(one, count)
        if isinstance(one.program, ConnectedComponents)
        else [[_plain_name(values.vertices[place]), one.plain(place)] for place in one.ranked[:count]]
        for one in values.columns
    }


def _largest(column: Column, count: int) -> list[list[Any]]:
    names, sizes = np.unique(column.values, return_counts=True)
    order = np.argsort(-sizes, kind="stable")[:count]
    return [[_plain_name(names[place]), int(sizes[place])] for place in order]


def _plain_name(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def print_top(values: Values, found: dict[str, list[list[Any]]]) -> None:
    """Print one table a program, and under it how many vertices have no value."""
    for one in values.columns:
        rows = [(str(name), _shown(value)) for name, value in found[one.name]]
        if isinstance(one.program, ConnectedComponents):
            count = len(np.unique(one.values))
            title, head = f"{one.name}: the largest of {format_count(count)} components", "vertices"
            print_table(title, ("component of", head), rows)
            continue
        best = "highest" if not isinstance(one.program, Monotone) else f"{one.program.better} is better"
        print_table(f"{one.name}: top {len(rows)}, {best}", (VERTEX, one.name), rows)
        if isinstance(one.program, Monotone):
            reached, total = int(one.reached.sum()), len(one.reached)
            click.echo(
                f"{one.name} reaches {format_count(reached)} of {format_count(total)} vertices; "
                f"{format_count(total - reached)} are unreached."
            )


def _shown(value: Any) -> str:
    return (
        format_count(value)
        if isinstance(value, int)
        else f"{value:.6g}"
        if isinstance(value, float)
        else value
    )


Paths = dict[str, dict[str, Any]]
"""By program, then by target: the value and the names along the way; None where there is no way."""


def check_targets(targets: Sequence[str], stream: Stream, programs: Sequence[type[Program]]) -> list[int]:
    """Return the vertices that `--path` names, which are known before the run, now or in its updates."""
    if targets and not any(issubclass(program, Monotone) for program in programs):
        refuse("path", targets[0], f"be left out: {programs[0].name} has no paths")
    assert stream.start is not None
    labels, bound = stream.start.labels, stream.start.vertices
    return [_target(text, labels, bound) for text in targets]


def _target(text: str, labels: Labels | None, bound: int) -> int:
    try:
        name = text if labels is not None and labels.names.dtype == object else int(text)
        vertex = int(name) if labels is None else labels.vertex(name)
    except (InvalidArgument, ValueError):
        vertex = -1
    if not 0 <= vertex < (bound if labels is None else len(labels)):
        refuse("path", text, "be a vertex of the graph or of its updates, by the name it has there")
    return vertex


def find_paths(engine: Engine, targets: Sequence[int]) -> Paths:
    """Return the way to each target under each program that has ways."""
    labels = engine.graph.labels
    answers = [answer for answer in engine.answers if isinstance(answer.program, Monotone)]
    return {answer.program.name: _ways(answer, engine, targets, labels) for answer in answers}


def _ways(answer: Answer, engine: Engine, targets: Sequence[int], labels: Labels | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for target in targets:
        name = str(target if labels is None else labels.name(target))
        way = answer.path(target) if engine.graph.has_vertex(target) else []
        column = _column(answer, np.array(way[-1:], np.intp), labels)
        found[name] = {
            "exists": engine.graph.has_vertex(target),
            "value": _plain_name(column.plain(0)) if way else None,
            "path": [_plain_name(one) for one in _names(labels, np.array(way, np.intp))] if way else None,
        }
    return found


def print_paths(paths: Paths) -> None:
    """Print a line for each way, or say that there is none."""
    for program, ways in paths.items():
        for target, way in ways.items():
            if not way["exists"]:
                click.echo(f"{program} to {target}: not a vertex of the graph when the run ended")
            elif way["path"] is None:
                click.echo(f"{program} to {target}: unreached")
            else:
                names = " -> ".join(map(str, way["path"]))
                click.echo(f"{program} to {target}, value {_shown(way['value'])}: {names}")
