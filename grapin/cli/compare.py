"""`grapin compare`: what the model predicts beside what was measured, and a machine fitted to the difference."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click
from rich.console import Console

from grapin.cache.settings import read_settings
from grapin.cli import run
from grapin.cli.error_plot import plot_errors
from grapin.cli.measuring import Run, measure
from grapin.cli.outputs import STANDARD_OUTPUT, check_outputs, write_whole
from grapin.cli.plotting import check_plot
from grapin.cli.recording import Recording, check_unrun, is_trace
from grapin.cli.tables import print_table
from grapin.cli.whatif import WORKLOAD
from grapin.engine.devices import DEVICES, open_device
from grapin.errors import InvalidArgument
from grapin.measured.comparing import Row, compare
from grapin.measured.measured import KINDS
from grapin.measured.reading import read_measured
from grapin.sim.calibrate import Calibration, Observed, calibrate, check_fitting
from grapin.sim.machine import Machine
from grapin.sim.presets import MACHINES, find_machine
from grapin.sim.replaying import replay
from grapin.sim.systems import check_recorded, find_model_system
from grapin.systems import SYSTEMS, find_system
from grapin.trace import Trace
from grapin.units import format_bytes, format_count, format_seconds

_WRITE = {"": lambda value: format_count(int(value)), "bytes": format_bytes, "seconds": format_seconds}

_NO_TIMES = (
    "calibrate must have the times of batches on a GPU: run with --device cuda, or give --measured the record of such "
    "a run"
)


@click.command()
@click.argument("origin", metavar="TRACE-or-GRAPH")
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
    help=f"{', '.join(SYSTEMS)}; several with commas, or all.  [default: bounded, or the trace's]",
)
@click.option("--device", default="auto", show_default=True, help=f"auto, {', '.join(DEVICES)}.")
@click.option("--cache", metavar="SIZE", help="Room for copies of lists on the device, as for grapin run.")
@click.option(
    "--calibrate",
    "machine_file",
    metavar="FILE.toml",
    help="Fit round trip, link efficiency and fault cost to the measured times; save a machine that --machine takes.",
)
@click.option(
    "--json", "json_file", metavar="FILE", help="Write one JSON object; - prints it instead of the table."
)
@click.option("--plot", "plot_file", metavar="FILE", help="Draw predicted over measured: .svg, .png or .pdf.")
@click.pass_context
def command(
    context: click.Context,
    /,
    origin: str,
    files: tuple[str, ...],
    machine: str,
    systems: str | None,
    device: str,
    cache: str | None,
    machine_file: str | None,
    json_file: str | None,
    plot_file: str | None,
    **workload: Any,
) -> None:
    """Lay predicted traffic beside measured traffic, kind by kind, with the error of each.

    A GRAPH is run here, under each system, and measured by the run's own counters and, on a GPU, by the clock and by
    NVML; the options that say what is run are those of `grapin run`. A TRACE is what `grapin run --trace` wrote; what
    was measured of that run comes from files. `docs/counters.md` explains every kind.
    """
    model = find_machine(machine)
    check_outputs(machine_file, json_file, plot_file)
    if plot_file is not None:
        check_plot(plot_file)
    if machine_file is not None:
        _check_calibration(machine_file)
    if is_trace(origin):
        check_unrun(context, origin, WORKLOAD)
        runs = [_recorded(origin, systems, files, cache)]
    else:
        if files:
            raise InvalidArgument(
                f"measured={files[0]!r} must come with the trace of the run that was measured, not with a graph: "
                "record it with grapin run --trace FILE"
            )
        if machine_file is not None and open_device(device).name != "cuda":
            raise InvalidArgument(_NO_TIMES)
        runs = _measured(origin, systems, device, cache, workload)
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
    names = list(SYSTEMS) if systems == "all" else (systems or "bounded").split(",")
    chosen = [find_system(name.strip()) for name in names]
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
    system = find_model_system(name)
    check_recorded(trace, system)
    return Run(f"{recording.title}, system {name}", name, trace, tuple(map(read_measured, files)))


def _compare(one: Run, machine: Machine) -> list[Row]:
    with Console(stderr=True).status(f"Predicting {one.title} ..."):
        return compare(replay(one.trace, one.system, machine, cache=one.cache), machine, one.measured)


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
    if fitted.untold:
        click.echo(f"These times do not tell {', '.join(fitted.untold)}: they stay as they were.")
