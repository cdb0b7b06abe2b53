"""`grapin compare`: what the model predicts beside what was measured, and a machine fitted to the difference.

Runs that are measured: read and counted at once, and timed again where a GPU makes that worth while.

Predicted over measured as a figure: a point for each kind, one where both agree.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from grapin.cache.settings import CacheSettings, read_settings
from grapin.cli import run
from grapin.cli.executed import compare_executed
from grapin.cli.options import json_option
from grapin.cli.recording import Recording, is_trace, reject_workload_options
from grapin.cli.run import VIRTUAL, Outcome, check_workload, find_programs, make_programs, wanted_source
from grapin.cli.tables import print_table
from grapin.cli.whatif import WORKLOAD
from grapin.cli.workload import prepare
from grapin.device import DEVICES, gpu_schedule, open_device
from grapin.display import check_plot
from grapin.engine import Engine
from grapin.errors import DeviceUnavailable, InvalidArgument, MissingDependency
from grapin.measured.compare import Row, compare, read_measured
from grapin.measured.measured import KINDS, Counts, Measured, count_executed, count_port, from_record
from grapin.outputs import STANDARD_OUTPUT, check_outputs, write_whole
from grapin.progress import Advance, progress
from grapin.session import Session
from grapin.sim.calibrate import Calibration, Observed, calibrate, check_fitting
from grapin.sim.machine import MACHINES, Machine, find_machine
from grapin.sim.predict import check_recorded, replay
from grapin.spool import shown_name
from grapin.system import RUNNABLE, System, find_runnable, find_system
from grapin.trace import Trace
from grapin.units import format_bytes, format_count, format_seconds


def plot_errors(compared: Mapping[str, Sequence[Row]], path: Path) -> None:
    """Draw the ratio of every kind that was measured and is not 0, a marker for each run."""
    from matplotlib.figure import Figure

    shown = {
        title: {f"{row.kind} ({row.source})": row.predicted / row.measured for row in rows if row.measured}
        for title, rows in compared.items()
    }
    names = list(dict.fromkeys(name for ratios in shown.values() for name in ratios))
    figure = Figure(figsize=(9, 1.8 + 0.3 * len(names)), layout="constrained")
    axes = figure.subplots()
    axes.axvline(1.0, color="#8d8d8d", linewidth=1)
    for marker, (title, ratios) in zip("osD^vP*X" * len(shown), shown.items(), strict=False):
        places = [names.index(name) for name in ratios]
        axes.plot(list(ratios.values()), places, marker, label=title, alpha=0.8)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("predicted over measured")
    figure.legend(loc="outside lower center")
    figure.savefig(path)


_TIMES = ("time of batches",)


@dataclass(frozen=True, eq=False)
class Run:
    """One run under one system: what it read, and what every instrument said of it."""

    title: str
    name: str
    """Of the system."""
    trace: Trace
    measured: tuple[Measured, ...]
    remark: str | None = None
    """Why an instrument is missing, or what another one is."""

    @property
    def cache(self) -> CacheSettings | None:
        """The cache it had, to replay with."""
        about: dict[str, Any] | None = self.trace.about["cache"]
        if about is None:
            return None
        return CacheSettings(**{name: value for name, value in about.items() if name != "arrays"})

    @property
    def system(self) -> System:
        """The system to replay it with: one that keeps copies where the run was told to."""
        found = find_system(self.name)
        # Any policy but none: which one it is, the settings say.
        return found if self.cache is None else replace(found, cache="adaptive")


def measure(
    graph: str,
    systems: Sequence[System],
    *,
    device: str,
    cache: str | None,
    name: str,
    source: str,
    threads: int | None,
    **options: Any,
) -> list[Run]:
    """Run a graph under each system; options are those of `grapin run`.

    Room for a cache goes to the systems that keep copies, or to all where a policy is named with it.

    On a GPU each is run twice. Keeping a trace takes time, so the first run gives counters and trace; the second,
    without one and with all kernels compiled, gives times and what the driver counted at the port.
    """
    check_workload(threads, options)
    programs = find_programs(name)
    wanted = wanted_source(programs, source)
    with Console(stderr=True).status(f"Reading {shown_name(graph)} ..."):
        stream, sources = prepare(graph, source=wanted, **options)
    made = make_programs(programs, sources)
    graph = shown_name(graph)
    opened = open_device(device).name
    timed, virtual = opened == "cuda", opened.partition(":")[0] == "vgpu"
    caching = [system for system in systems if system.cache != "none"]
    if cache is None or ":" in cache or not caching:
        caching = list(systems)

    def run(system: System, advance: Advance, *, trace: bool) -> Outcome:
        engine = Engine(
            stream.graph(),
            made,
            device=device,
            system=system,
            threads=threads,
            trace=trace,
            cache=cache if system in caching else None,
        )
        advance(1)
        session = Session(engine, stream)
        session.run(advance=advance)
        return Outcome(graph, session, options["seed"], None)

    runs = []
    with progress("Running", len(systems) * (len(stream) + 1) * (1 + timed)) as advance:
        for system in systems:
            with count_executed() if virtual else nullcontext(Counts()) as executed:
                outcome = run(system, advance, trace=True)
            record = outcome.record()
            counted = replace(from_record(record), seconds=())
            measured: tuple[Measured, ...] = (counted, *executed.measured)
            remark = VIRTUAL if virtual else None
            if timed:
                measured, remark = _timed(counted, lambda: run(system, advance, trace=False).record())  # noqa: B023 - called at once
            ran = f"{record['program']} on {graph}, {len(stream)} batches"
            title = f"{ran}, system {system.name}, device {record['device']}"
            runs.append(Run(title, system.name, outcome.session.engine.trace, measured, remark))
    return runs


def _timed(counted: Measured, run: Callable[[], dict[str, Any]]) -> tuple[tuple[Measured, ...], str | None]:
    """Take times, and the port's counters where the driver has them, from a second run."""
    remark = None
    with ExitStack() as stack:
        try:
            port = stack.enter_context(count_port())
        except (MissingDependency, DeviceUnavailable) as error:
            port, remark = None, f"NVML was not read: {error}"
        again = from_record(run())
    counts = {kind: total for kind, total in counted.totals.items() if kind not in _TIMES}
    times = {kind: total for kind, total in again.totals.items() if kind in _TIMES}
    measured = (replace(counted, totals=counts), Measured("clock of the run", times, again.seconds))
    return (measured if port is None else (*measured, *port.measured)), remark


_WRITE = {"": lambda value: format_count(int(value)), "bytes": format_bytes, "seconds": format_seconds}

_NO_TIMES = (
    "calibrate must have the times of batches on a GPU: run with --device cuda, or give --measured the record of such "
    "a run"
)


@click.command()
@click.argument("graph", metavar="GRAPH-or-TRACE", required=False)
@click.option(
    "--measured",
    "files",
    multiple=True,
    metavar="FILE",
    help="What was measured: a record of grapin run --json, an Nsight Systems export (sqlite), or the CSV of Nsight "
    "Compute. Needed with a TRACE; may be given several times.",
)
@click.option("--machine", default="a5000", show_default=True, help=f"{', '.join(MACHINES)}, or a FILE.toml.")
@click.option(
    "--system",
    "systems",
    help=f"{', '.join(RUNNABLE)}; several with commas, or all.  [default: bounded, or the trace's]",
)
@click.option(
    "--device",
    default="auto",
    show_default=True,
    help=f"{', '.join(DEVICES)}; auto is cuda, or onelane where there is no GPU.",
)
@click.option("--cache", metavar="SIZE", help="Room for cached lists on the device, as for grapin run.")
@click.option(
    "--calibrate",
    "machine_file",
    metavar="FILE.toml",
    help="Fit round trip, link efficiency and fault cost to the measured times; save a machine that --machine takes.",
)
@click.option(
    "--executed",
    "table",
    metavar="TABLE",
    help="Run our systems on the rows of a table of executed programs (.csv, .csv.gz), such as those in "
    "experiments/executed, and lay our counts beside theirs; in the place of a GRAPH.",
)
@click.option("--data", default=".", metavar="DIR", help="Where the files of the table's graphs lie.")
@click.option(
    "--only", metavar="WORDS", help="Of a table, only the runs whose names have all these words in them."
)
@json_option
@click.option("--plot", "plot_file", metavar="FILE", help="Draw predicted over measured: .svg, .png or .pdf.")
@click.pass_context
def command(
    context: click.Context,
    /,
    graph: str | None,
    files: tuple[str, ...],
    machine: str,
    systems: str | None,
    device: str,
    cache: str | None,
    machine_file: str | None,
    table: str | None,
    data: str,
    only: str | None,
    json_file: str | None,
    plot_file: str | None,
    **workload: Any,
) -> None:
    """Lay predicted traffic beside measured traffic, kind by kind, with the error of each.

    A GRAPH is run here, under each system, and measured by the run's own counters and, on a GPU, by the clock and by
    NVML; the options that say what is run are those of `grapin run`. A TRACE is what `grapin run --trace` wrote; what
    was measured of that run comes from files. `docs/counters.md` explains every kind.

    With --executed nothing is predicted: the counts of our runs are laid beside those of released programs, and the
    exit code is 1 where they are further apart than the tolerances say (`docs/executed.md`).
    """
    if table is not None:
        if graph is not None:
            raise InvalidArgument(
                f"executed={table!r} must be given without a graph: the table names its own"
            )
        check_outputs(printable=json_file, keep=(table,))
        context.exit(0 if compare_executed(table, data, only, json_file) else 1)
    if graph is None:
        raise InvalidArgument("graph must be a file, a generator or a trace; or give --executed TABLE")
    device = gpu_schedule() if device == "auto" else device
    model = find_machine(machine)
    check_outputs(machine_file, plot_file, printable=json_file, keep=(graph, *files))
    if plot_file is not None:
        check_plot(plot_file)
    if machine_file is not None:
        _check_calibration(machine_file)
    if is_trace(graph):
        reject_workload_options(context, graph, WORKLOAD)
        runs = [_recorded(graph, systems, files, cache)]
    else:
        if files:
            raise InvalidArgument(
                f"measured={files[0]!r} must come with the trace of the run that was measured, not with a graph: "
                "record it with grapin run --trace FILE"
            )
        if machine_file is not None and open_device(device).name != "cuda":
            raise InvalidArgument(_NO_TIMES)
        runs = _measured(graph, systems, device, cache, workload)
    compared = {run.title: _compare(run, model) for run in runs}
    fitted = None if machine_file is None else _calibrate(runs, model)
    if fitted is not None and machine_file is not None:
        write_whole(machine_file, fitted.machine.save)
    if plot_file is not None:
        write_whole(plot_file, lambda path: plot_errors(compared, path))
    _deliver(runs, model, compared, fitted, json_file)


command.params += [option for option in run.command.params if option.name in WORKLOAD]


def _measured(
    graph: str, systems: str | None, device: str, cache: str | None, workload: dict[str, Any]
) -> list[Run]:
    names = list(RUNNABLE) if systems == "all" else (systems or "bounded").split(",")
    chosen = [find_runnable(name.strip()) for name in names]
    open_device(device)
    if cache is not None:
        read_settings(cache, policy="published", edge_bytes=0)
    return measure(graph, chosen, device=device, cache=cache, **workload)


def _recorded(path: str, systems: str | None, files: Sequence[str], cache: str | None) -> Run:
    if not files:
        raise InvalidArgument(
            f"trace={path!r} must come with --measured FILE: what was measured of the run that wrote it"
        )
    if cache is not None:
        raise InvalidArgument(
            f"cache={cache!r} must not be given with a trace, which says what cache its run had"
        )
    recording = Recording.load(path)
    trace: Trace = next(iter(recording.traces.values()))
    name = trace.about["system"] if systems is None else systems
    system = find_system(name)
    check_recorded(trace, system)
    return Run(f"{recording.title}, system {name}", name, trace, tuple(map(read_measured, files)))


def _compare(one: Run, machine: Machine) -> list[Row]:
    with Console(stderr=True).status(f"Predicting {one.title} ..."):
        return compare(
            replay(one.trace, one.system, machine, cache=one.cache), machine, one.trace, one.measured
        )


def _check_calibration(file: str) -> None:
    if not file.endswith(".toml"):
        raise InvalidArgument(f"calibrate={file!r} must end in .toml, by which --machine knows a file")
    check_fitting()


def _calibrate(runs: Sequence[Run], machine: Machine) -> Calibration:
    timed = [(one, measured) for one in runs for measured in one.measured if measured.seconds]
    if not timed:
        raise InvalidArgument(_NO_TIMES)
    observed = [Observed(one.trace, one.system, measured.seconds, one.cache) for one, measured in timed]
    source = f"calibrated on {'; '.join(one.title for one, _ in timed)}"
    with Console(stderr=True).status("Fitting the machine ..."):
        return calibrate(observed, machine, source=source)


def _deliver(
    runs: Sequence[Run],
    machine: Machine,
    compared: dict[str, list[Row]],
    fitted: Calibration | None,
    json_file: str | None,
) -> None:
    record = {
        "machine": machine.name,
        "runs": [
            {"title": one.title, **one.trace.about, "kinds": [row.record() for row in compared[one.title]]}
            for one in runs
        ],
        "calibration": None if fitted is None else fitted.record(),
    }
    if json_file == STANDARD_OUTPUT:
        click.echo(json.dumps(record))
        return
    for one in runs:
        print_table(
            f"{one.title}: predicted for {machine.name}",
            ("kind", "predicted", "measured", "error", "measured by"),
            map(_row, compared[one.title]),
        )
        if one.remark is not None:
            click.echo(one.remark)
    if fitted is not None:
        _print_fit(fitted)
    if json_file is not None:
        write_whole(json_file, lambda path: path.write_text(json.dumps(record) + "\n"))


def _row(row: Row) -> tuple[str, ...]:
    write = _WRITE[KINDS[row.kind]]
    error = "" if row.error is None else f"{row.error:+.1%}"
    exact = row.predicted == row.measured
    return row.kind, write(row.predicted), write(row.measured), "none" if exact else error, row.source


def _print_fit(fitted: Calibration) -> None:
    now = {one.name: one for one in fitted.machine.figures()}
    rows = [
        (name, replace(now[name], value=before).text, now[name].text)
        for name, (before, _) in fitted.fitted.items()
    ]
    print_table(f"{fitted.machine.name}: fitted to the measured times", ("number", "before", "after"), rows)
    click.echo(
        f"Times of batches were off by {fitted.error_before:.1%} in the mean, now by {fitted.error_after:.1%}."
    )
    if fitted.unidentifiable:
        click.echo(f"These times do not tell {', '.join(fitted.unidentifiable)}: they stay as they were.")
