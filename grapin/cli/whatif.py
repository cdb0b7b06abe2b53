"""`grapin whatif`: what a run would cost on other machines, under other systems, with more or less cache.

`grapin whatif` on graphs that are not run: smaller ones of the family are, and say what the large one would do.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from rich.console import Console

from grapin.cli import run
from grapin.cli.options import (
    cluster_option,
    count_processes,
    gpu_memory_option,
    json_option,
    oversubscribe_option,
    processes_option,
)
from grapin.cli.recording import Recording, is_trace, record, recording_device, reject_workload_options
from grapin.cli.tables import print_table
from grapin.cli.workload import BATCH_SIZE, BATCHES, SAMPLED
from grapin.display import check_plot
from grapin.errors import InvalidArgument
from grapin.files.write import write_edges
from grapin.outputs import STANDARD_OUTPUT, check_outputs, write_whole
from grapin.pool import check_cluster
from grapin.progress import progress
from grapin.sim.extrapolate import LOCAL, Extrapolated, Member, check_sizes, predict_large, steps
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
from grapin.sim.machine import MACHINES
from grapin.sim.plots import plot_predictions
from grapin.sim.predict import Combination, combine, memory_settings, replay, sweep
from grapin.sim.prediction import Prediction
from grapin.sim.timeline import Timeline
from grapin.spool import shown_name
from grapin.system import SYSTEMS, Repair, Rounds
from grapin.trace import Trace
from grapin.units import format_bytes, format_count, format_seconds

Sized = dict[float, str]
"""Graphs to run by their size."""
_PART_CHANGED = 64
"""All batches together change at most one in so many edges of a small graph, where they may be as large as wanted."""


@dataclass(frozen=True)
class Family:
    """The large graph: its size, as those of its family are compared, and its edges."""

    size: float
    edges: int


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
    with _smaller_graphs(graph, smaller, workload["seed"]) as (family, sized):
        check_sizes(list(sized), family.size)
        wanted = _pinned(workload, family.edges)
        found = []
        with progress("Sizes", len(sized) + steps(list(sized))) as advance:
            for own, name in sized.items():
                found.append(run_member(name, own, family, repairs, wanted))
                advance(1)
            size = 1 if workload["updates"] else wanted["batch_size"]
            return predict_large(found, combinations, family.size, size, cluster=cluster, advance=advance)


def error_lines(found: list[Extrapolated]) -> list[str]:
    """Say how good the extrapolation is, a line for each that is believed, and why others are not."""
    reach = f"{len(found[0].sizes)} sizes, {found[0].doublings:.1f} doublings beyond the largest"
    lines = [f"Extrapolated from {reach}; the error is that of telling the largest from those much smaller."]
    for one in found:
        name = f"{one.prediction.system} on {one.prediction.machine}"
        if one.refusal:
            lines.append(f"{name} is not predicted: {one.refusal}.")
        else:
            off = f"bytes may be off by {one.bytes_error:.1%}, time by {one.seconds_error:.1%}"
            lines.append(f"{name}, cache {one.prediction.cache}: {off}.")
    return lines


def believed(graph: str, found: list[Extrapolated]) -> list[Extrapolated]:
    """Return what is believed; where nothing is, say why."""
    kept = [one for one in found if not one.refusal]
    if not kept:
        raise InvalidArgument(f"graph={graph!r} must be one that can be predicted: {found[0].refusal}")
    return kept


def _pinned(workload: dict[str, Any], edges: int) -> dict[str, Any]:
    """Return the workload with as many batches, of as many mutations, as the large graph is changed by."""
    if workload["updates"]:
        return workload
    batches = min(BATCHES, max(1, edges // SAMPLED)) if workload["batches"] is None else workload["batches"]
    size = workload["batch_size"] or min(BATCH_SIZE, max(1, edges // (SAMPLED * max(1, batches))))
    return workload | {"batches": batches, "batch_size": size}


def run_member(
    name: str, own: float, family: Family, repairs: list[Repair], workload: dict[str, Any]
) -> Member:
    """Run one graph; batches are as much smaller as it is, but not where a repair reads only what they change."""
    if workload["updates"]:
        return Member(own, record(name, repairs, **workload).traces, dict.fromkeys(repairs, 1.0))
    wanted, part = workload["batch_size"], own / family.size
    least = max(1, round(wanted * part))
    most = int(family.edges * part) // (_PART_CHANGED * max(1, workload["batches"]))
    sizes = {one: max(least, min(wanted, most)) if one == LOCAL else least for one in repairs}
    traces: dict[str, Trace] = {}
    for size in sorted(set(sizes.values())):
        some = [one for one in repairs if sizes[one] == size]
        traces |= record(name, some, **workload | {"batch_size": size}).traces
    return Member(own, traces, {str(one): float(size) for one, size in sizes.items()})


@contextmanager
def _smaller_graphs(graph: str, smaller: str | None, seed: int) -> Iterator[tuple[Family, Sized]]:
    if not graph.startswith(DEGREES):
        names = usual_members(graph) if smaller is None else members(graph, smaller)
        size = nominal_size(graph)
        yield Family(size, size), {nominal_size(name): name for name in names}
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
        yield Family(len(degrees), int(degrees.sum())), sized


_COLUMNS = (
    "machine",
    "system",
    "cache",
    "bytes",
    *("32 B", "64 B", "96 B", "128 B"),
    "wire",
    "start",
    "per batch",
    "all",
    "link used",
    "bottleneck",
)
WORKLOAD = (
    "name",
    "source",
    "batches",
    "batch_size",
    "insertions",
    "updates",
    "threads",
    "directed",
    "weights",
    "columns",
    "ids",
    "seed",
)
"""Options of `grapin run` that say what is run; they mean the same here."""
_SMALL = 1_000_000
"""A sweep that replays fewer lists than this is over before other processes have started."""


@click.command()
@click.argument("graph", metavar="GRAPH-or-TRACE")
@click.option(
    "--machine",
    "machines",
    default="a5000",
    show_default=True,
    help=f"{', '.join(MACHINES)}, or a FILE.toml.",
)
@click.option("--system", "systems", default="bounded", show_default=True, help=f"{', '.join(SYSTEMS)}.")
@click.option(
    "--cache",
    "caches",
    help="Room for cached lists: sizes such as 1G,2G or parts of the edges such as 10%.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NUMBER=VALUE",
    help="Change a number of the machines, such as link.generation=5; several values with commas are all tried.",
)
@gpu_memory_option
@oversubscribe_option
@click.option(
    "--from",
    "smaller",
    metavar="GRAPHS",
    help="Run smaller graphs of the family instead, such as rmat:16..19, and extrapolate; always done for a GRAPH that "
    "does not fit into memory.",
)
@processes_option
@cluster_option
@json_option
@click.option("--plot", "plot_file", metavar="FILE", help="Draw times and bytes: .svg, .png or .pdf.")
@click.option(
    "--timeline", "timeline_file", metavar="FILE", help="Write what happens when, for ui.perfetto.dev."
)
@click.pass_context
def command(
    context: click.Context,
    /,
    graph: str,
    machines: str,
    systems: str,
    caches: str | None,
    settings: tuple[str, ...],
    gpu_memory: str | None,
    oversubscribe: str | None,
    smaller: str | None,
    processes: int | None,
    cluster: str | None,
    json_file: str | None,
    plot_file: str | None,
    timeline_file: str | None,
    **workload: Any,
) -> None:
    """Predict bytes, requests and time of a run for every combination of machine, system and cache.

    TRACE is a file that `grapin run --trace` wrote. A GRAPH is run here first, once for each way to repair that the
    systems need, in the schedule of a GPU as wide as the machine's (device onelane); options that say what is run are
    those of `grapin run`. `degrees:FILE` stands for a graph of which only the degrees are known, one a line.
    """
    memory = memory_settings(gpu_memory, oversubscribe)
    combinations = combine(machines.split(","), systems.split(","), _split(caches), (*settings, *memory))
    workers = count_processes(processes, cluster)
    check_outputs(timeline_file, plot_file, printable=json_file, keep=(graph,))
    if plot_file is not None:
        check_plot(plot_file)
    if timeline_file is not None and len(combinations) > 1:
        raise InvalidArgument(
            f"timeline={timeline_file!r} must be asked for with one combination, not {len(combinations)}"
        )
    if cluster is not None:
        if timeline_file is not None:
            raise InvalidArgument(f"timeline={timeline_file!r} must be asked for without a cluster")
        check_cluster(cluster)
    if is_trace(graph):
        reject_workload_options(context, graph, WORKLOAD)
    elif must_extrapolate(graph, smaller):
        if timeline_file is not None:
            raise InvalidArgument(f"timeline={timeline_file!r} must be asked for a graph that is run")
        found = predict_family(graph, smaller, combinations, workload, cluster)
        kept = believed(graph, found)
        title = f"{workload['name']} on {shown_name(graph)}, extrapolated"
        about = {
            "origin": graph,
            "extrapolated": [_errors(one) for one in kept],
            "refused": [_refused(one) for one in found if one.refusal],
        }
        remarks = [*error_lines(found), *unsourced_lines(combinations)]
        _deliver(title, about, [one.prediction for one in kept], json_file, plot_file, remarks)
        return
    repairs = list(dict.fromkeys(one.system.repair for one in combinations))
    device = recording_device(one.machine.gpu.multiprocessors for one in combinations)
    recording = (
        Recording.load(graph) if is_trace(graph) else record(graph, repairs, device=device, **workload)
    )
    predictions = _predict(recording, combinations, workers, cluster, timeline_file)
    remarks = unsourced_lines(combinations)
    _deliver(recording.title, recording.record(), predictions, json_file, plot_file, remarks)


command.params += [option for option in run.command.params if option.name in WORKLOAD]


def _split(caches: str | None) -> list[str | None]:
    return [None] if caches is None else [size.strip() for size in caches.split(",")]


def _predict(
    recording: Recording,
    combinations: list[Combination],
    workers: int,
    cluster: str | None,
    timeline_file: str | None,
) -> list[Prediction]:
    if timeline_file is not None:
        (one,) = combinations
        timeline = Timeline()
        with Console(stderr=True).status("Following every request ..."):
            trace = recording.trace(one.system)
            found = replay(trace, one.system, one.machine_for(trace), cache=one.cache, timeline=timeline)
        write_whole(timeline_file, timeline.save)
        return [found]
    lists = sum(len(recording.trace(one.system)) for one in combinations)
    processes = workers if lists > _SMALL else 1
    with progress("Predicting", len(combinations)) as advance:
        return sweep(recording.traces, combinations, processes=processes, cluster=cluster, advance=advance)


def _errors(one: Extrapolated) -> dict[str, Any]:
    return {
        "sizes": one.sizes,
        "size": one.size,
        "bytes_error": one.bytes_error,
        "seconds_error": one.seconds_error,
        "checks": [vars(check) for check in one.checks],
    }


def _refused(one: Extrapolated) -> dict[str, str]:
    prediction = one.prediction
    return {"system": prediction.system, "machine": prediction.machine, "reason": one.refusal}


def _deliver(
    title: str,
    about: dict[str, Any],
    predictions: list[Prediction],
    json_file: str | None,
    plot_file: str | None,
    remarks: Sequence[str] = (),
) -> None:
    if plot_file is not None:
        write_whole(plot_file, lambda path: plot_predictions(predictions, title).savefig(path))
    text = json.dumps(about | {"predictions": [one.record() for one in predictions]})
    if json_file == STANDARD_OUTPUT:
        click.echo(text)
        return
    if json_file is not None:  # before anything is printed: who reads that may stop
        write_whole(json_file, lambda path: path.write_text(text + "\n"))
    print_table(title, _COLUMNS, map(_row, predictions), names=3)
    for remark in (*thrashing_lines(predictions), *schedule_lines(predictions), *remarks):
        click.echo(remark)


def thrashing_lines(predictions: Iterable[Prediction]) -> list[str]:
    """Say of each prediction that thrashes that it does, and how far its figure can be taken."""
    return [
        f"{one.system} on {one.machine} thrashes: {one.total.amplification:.0f} bytes move for each that is read, in "
        "the order in which vertices were found; a GPU that takes them by number moves far fewer (docs/what-if.md)."
        for one in predictions
        if one.total.thrashing
    ]


def schedule_lines(predictions: Iterable[Prediction]) -> list[str]:
    """Say which predictions are not of the order and the layout that their system has when it runs."""
    systems = {one.system: SYSTEMS.get(one.system) for one in predictions}
    ordered = [name for name, system in systems.items() if system and isinstance(system.schedule, Rounds)]
    line = (
        f"{', '.join(ordered)}: predicted from lists in our layout, read in the device's order and not in the released "
        "program's; grapin compare --executed runs them in theirs (docs/executed.md)."
    )
    return [line] if ordered else []


def unsourced_lines(combinations: Iterable[Combination]) -> list[str]:
    """Say of each machine which of its numbers nobody published; machines that lack the same share a line."""
    lacking: dict[str, list[str]] = {}
    for machine in {one.machine.name: one.machine for one in combinations}.values():
        figures = ", ".join(f"{one.name} ({one.text})" for one in machine.unsourced())
        lacking.setdefault(figures, []).append(machine.name)
    return [
        f"Without a source, for {', '.join(machines)}: {figures}. Try others with --set."
        for figures, machines in lacking.items()
        if figures
    ]


def _row(one: Prediction) -> tuple[str, ...]:
    total, batch = one.total, one.seconds_a_batch
    return (
        one.machine,
        one.system,
        one.cache,
        format_bytes(total.bytes),
        *(format_count(count) for count in total.counters.requests.values()),
        format_bytes(total.wire_to_device),
        format_seconds(one.start.seconds.total),
        "" if batch is None else format_seconds(batch),
        format_seconds(one.seconds),
        f"{one.utilisation:.1%}",
        f"{one.dominant}, thrashing" if total.thrashing else one.dominant,
    )
