"""`grapin whatif` on graphs that are not run: smaller ones of the family are, and say what the large one would do."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from grapin.cli.recording import record
from grapin.cli.writing import write_edges
from grapin.errors import InvalidArgument
from grapin.progress import progress
from grapin.sim.extrapolation import Extrapolated, extrapolate, scaled
from grapin.sim.families import (
    DEGREES,
    members,
    nominal_size,
    read_degrees,
    sampled_graph,
    sampled_vertices,
    too_large,
    usual_members,
)
from grapin.sim.prediction import Prediction
from grapin.sim.sweeping import Combination, sweep

Sized = dict[float, str]
"""Graphs to run by their size."""


def must_extrapolate(graph: str, smaller: str | None) -> bool:
    """Tell whether a graph is to be predicted from smaller ones."""
    return smaller is not None or graph.startswith(DEGREES) or too_large(graph)


def predict_family(
    graph: str,
    smaller: str | None,
    combinations: list[Combination],
    workload: dict[str, Any],
    cluster: str | None = None,
) -> list[Extrapolated]:
    """Run smaller graphs of a family and return what each combination would be on the large one."""
    repairs = list(dict.fromkeys(one.system.repair for one in combinations))
    rows: list[list[Prediction]] = []
    with (
        _smaller_graphs(graph, smaller, workload["seed"]) as (size, sized),
        progress("Sizes", len(sized)) as advance,
    ):
        for own, name in sized.items():
            recording = record(name, repairs, **workload)
            shrunk = [scaled(one, own / size) for one in combinations]
            rows.append(sweep(recording.traces, shrunk, cluster=cluster))
            advance(1)
    return [extrapolate(list(sized), column, size) for column in map(list, zip(*rows, strict=True))]


def error_line(found: list[Extrapolated]) -> str:
    """Say how good the extrapolation is, in one sentence."""
    bytes_off, seconds_off = max(one.bytes_error for one in found), max(one.seconds_error for one in found)
    reach = f"{len(found[0].sizes)} sizes, {found[0].doublings:.1f} doublings beyond the largest"
    return (
        f"Extrapolated from {reach}; that one, predicted from the others, is missed by up to {bytes_off:.1%} in bytes "
        f"and {seconds_off:.1%} in time."
    )


@contextmanager
def _smaller_graphs(graph: str, smaller: str | None, seed: int) -> Iterator[tuple[float, Sized]]:
    if not graph.startswith(DEGREES):
        names = usual_members(graph) if smaller is None else members(graph, smaller)
        yield nominal_size(graph), {nominal_size(name): name for name in names}
        return
    if smaller is not None:
        raise InvalidArgument(f"from={smaller!r} must be left out: the graphs are drawn from the degrees")
    degrees = read_degrees(graph.removeprefix(DEGREES))
    with TemporaryDirectory(prefix="grapin-") as folder:
        sized: Sized = {}
        for vertices in sampled_vertices(degrees):
            file = str(Path(folder, f"{vertices}.npz"))
            write_edges(sampled_graph(degrees, vertices, seed), file)
            sized[vertices] = file
        yield len(degrees), sized
