"""`grapin experiments`: the questions that the papers and we answer with figures; ours beside theirs.

They are in the folder `experiments` of a checkout, which stands on this package and is loaded when it is needed.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from grapin.bench.records import CHANGES, commit
from grapin.cli.main import MISSED
from grapin.cli.options import Renamed, cluster_option
from grapin.errors import InvalidArgument, MissingDependency
from grapin.outputs import check_outputs
from grapin.pool import map_tasks
from grapin.progress import progress
from grapin.units import format_seconds

_CHECKOUT = Path(__file__).resolve().parents[2]


@click.group("experiments")
def command() -> None:
    """Answer the questions of the papers and our own with figures: ours beside theirs.

    \b
    grapin experiments list
    grapin experiments run growth --quick
    grapin experiments run --all --keep && grapin experiments readme
    """  # noqa: D301 - click reads \b


@command.command("list")
def list_command() -> None:
    """Print every experiment: its question, where figures were published, the latest answer."""
    from grapin.cli.tables import print_table

    frame, records = _load("experiment"), _load("records")
    rows = []
    for name in frame.names():
        try:
            experiment = frame.find(name)
        except MissingDependency as error:
            rows.append((name, str(error), "", "", ""))
            continue
        found = records.answer(name)
        took = "" if found is None else format_seconds(found["seconds"])
        said = "" if found is None else records.said(experiment, found)
        rows.append((name, experiment.question, experiment.source, took, said))
    columns = ("experiment", "question", "published in", "took", "latest answer of a full run")
    print_table("Experiments", columns, rows, numbers=False)


@command.command("run", cls=Renamed, renamed={"--output": "--out"})
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "every", is_flag=True, help="All of them; what lacks a library is passed over.")
@click.option("--quick", is_flag=True, help="Small and short, to see that it runs; its figures mean little.")
@click.option(
    "--out",
    metavar="DIR",
    help="Where NAME.jsonl gets another line and NAME.svg is drawn.  [default: records, in the checkout]",
)
@click.option("--keep", is_flag=True, help="Make it the answer of record, in experiments/answers.")
@cluster_option
def run_command(
    names: tuple[str, ...], every: bool, quick: bool, out: str | None, keep: bool, cluster: str | None
) -> int:
    """Run experiments one after the other; print ours beside the published, record and draw it.

    On a cluster, which must have a checkout too, they run at the same time; times are then the workers'.
    Returns 1 when a limit is not kept, except in a quick run.
    """
    if keep and quick:
        raise InvalidArgument("--keep needs a full run: leave --quick out")
    if bool(names) == every:
        raise InvalidArgument("name at least one experiment, or give --all without names; `list` tells them")
    frame, records, bars = _load("experiment"), _load("records"), _load("bars")
    chosen = frame.names() if every else list(dict.fromkeys(names))
    folder = records.RECORDS if out is None else Path(out)
    for name in chosen:
        frame.check(name)
        _check_folder(folder, name)
    if keep:
        _warn_of_changes()
    missed = 0
    for record in _records(chosen, quick, cluster, passing=every):
        experiment, rows = frame.find(record["experiment"]), bars.bars_of(record)
        bars.print_bars(f"{experiment.name}: {experiment.question}", rows, experiment.rival)
        click.echo(f"Answer: {records.said(experiment, record)} ({format_seconds(record['seconds'])}).")
        if experiment.difference:
            click.echo(f"Why they differ: {experiment.difference}")
        files = records.write(experiment, record, folder)
        files += records.keep(experiment, record) if keep else []
        click.echo(f"Recorded in {', '.join(map(_shown, files))}\n")
        missed += sum(bar.verdict == "FAIL" for bar in rows)
    return MISSED if missed and not quick else 0


@command.command("readme")
def readme_command() -> None:
    """Rebuild the table in experiments/README.md, the pages and the figures of answers from the records kept."""
    changed = _load("records").rebuild()
    click.echo("\n".join(map(_shown, changed)) or "All is as the records say.")
    if not _load("drawing").can_draw():
        click.echo("Figures are left as they are: drawing needs pip install 'grapin[plot]'.", err=True)


def measured(task: tuple[str, bool]) -> Any:
    """Return the record of one experiment, or what it lacks; found by name on a worker, which has its own checkout."""
    name, quick = task
    try:
        return _load("records").measured(_load("experiment").find(name), quick=quick)
    except MissingDependency as error:
        return error


def _records(chosen: Sequence[str], quick: bool, cluster: str | None, *, passing: bool) -> Iterator[Any]:
    """Yield a record for each, those of this computer as soon as they are there."""
    found: Iterable[Any]
    if cluster is not None:
        tasks = [(name, quick) for name in chosen]
        with progress("Measuring", len(tasks)) as advance:
            found = map_tasks(measured, tasks, cluster=cluster, advance=advance)
    else:
        found = _here(chosen, quick)
    for one in found:
        if not isinstance(one, MissingDependency):
            yield one
        elif passing:
            click.echo(f"passed over: {one}\n", err=True)
        else:
            raise one


def _here(chosen: Sequence[str], quick: bool) -> Iterator[Any]:
    frame, records = _load("experiment"), _load("records")
    for number, name in enumerate(chosen, start=1):
        before = None if quick else records.answer(name)
        total = None if before is None else len(before["bars"])
        try:
            with progress(f"{name} ({number} of {len(chosen)})", total) as advance:
                found = records.measured(frame.find(name), quick=quick, advance=advance)
        except MissingDependency as error:
            found = error
        yield found


def _warn_of_changes() -> None:
    """Say that an answer from code that no commit has cannot be traced."""
    here = commit()
    if here is not None and here.endswith(CHANGES):
        click.echo(
            "The code has changes that are not committed: an answer kept now cannot be traced.", err=True
        )


def _check_folder(folder: Path, name: str) -> None:
    """Refuse before minutes of measuring a folder that cannot be made or written to."""
    if folder.is_dir():
        check_outputs(str(folder / f"{name}.jsonl"), str(folder / f"{name}.svg"))
        return
    above = next(one for one in folder.absolute().parents if one.exists())
    if folder.exists():
        raise InvalidArgument(f"out={str(folder)!r} must be a folder, but is a file")
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise InvalidArgument(f"out={str(folder)!r} must be a folder that can be made in {above}")


def _load(module: str) -> Any:
    """Import a module of the experiments that lie beside this package."""
    if not (_CHECKOUT / "experiments" / "lib" / "experiment.py").is_file():
        raise MissingDependency("experiments come with a checkout of grapin's sources, not with the package")
    if str(_CHECKOUT) not in sys.path:
        sys.path.insert(0, str(_CHECKOUT))
    return import_module(f"experiments.lib.{module}")


def _shown(path: Path) -> str:
    return str(path.relative_to(_CHECKOUT) if path.is_relative_to(_CHECKOUT) else path)
