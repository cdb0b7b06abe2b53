"""`grapin bench`: times of programs, systems and devices, behind a correctness gate; recorded, and compared."""

from functools import partial
from typing import Any

import click

from grapin.bench.comparison import check_comparable, compare
from grapin.bench.measuring import check, measure, turns
from grapin.bench.peers import LIBRARIES
from grapin.bench.records import read_records, record, write_records
from grapin.bench.suite import Case, Suite, find_suite
from grapin.bench.surroundings import gpu, surroundings
from grapin.bench.workload import Prepare
from grapin.cli.bench_tables import print_comparison, print_records
from grapin.cli.exit_codes import INTERRUPTED, WRONG
from grapin.cli.interrupt import Interrupts
from grapin.cli.outputs import check_outputs, write_whole
from grapin.cli.updates import prepare
from grapin.engine.devices import DEVICES
from grapin.errors import InvalidArgument, WrongAnswer
from grapin.programs.finding import PROGRAMS
from grapin.progress import progress
from grapin.systems import SYSTEMS

Records = dict[Case, dict[str, Any]]

_LISTS = {
    "graphs": "Graphs: files or generators.",
    "programs": f"Programs: {', '.join(PROGRAMS)}, or FILE.py:CLASS.",
    "systems": f"Systems: {', '.join(SYSTEMS)}.",
    "devices": f"Devices: auto, {', '.join(DEVICES)}.",
    "batch_sizes": "Mutations a batch.",
    "peers": f"Libraries that compute bfs, sssp and cc from nothing, for comparison: {', '.join(LIBRARIES)}.",
}
_SINGLE: dict[str, tuple[type, str]] = {
    "batches": (int, "Batches a repetition."),
    "repetitions": (int, "Repetitions that count."),
    "warmup": (int, "Repetitions before them that do not."),
    "insertions": (float, "Which part of the mutations are insertions."),
    "weights": (str, "keep, ignore, absolute, shift, or LOW:HIGH to draw weights where there are none."),
    "cache": (str, "Room for copies of lists on the device, as for grapin run."),
    "threads": (int, "Threads of the CPU device and of peers."),
    "seed": (int, "Fixes everything that is random."),
}


def _suite_options(command: Any) -> Any:
    """Add an option for each field of a suite; given, it replaces what the suite says."""
    for name, (kind, text) in reversed(_SINGLE.items()):
        command = click.option(f"--{name}", type=kind, help=text)(command)
    for name, text in reversed(_LISTS.items()):
        command = click.option(f"--{name.replace('_', '-')}", metavar="A,B,...", help=text)(command)
    return command


@click.command()
@click.argument("suite", default="default")
@_suite_options
@click.option("--out", metavar="FILE", help="Write the records to this file, a JSON object a line.")
@click.option("--against", metavar="FILE", help="Compare with the records of this file.")
@click.option("--records", metavar="FILE", help="With --against: compare these records; measure nothing.")
@click.pass_context
def command(
    context: click.Context,
    /,
    suite: str,
    out: str | None,
    against: str | None,
    records: str | None,
    **changes: Any,
) -> None:
    """Time how programs are kept fresh, each under each system, on each graph, with each batch size.

    SUITE is default, quick, or a FILE.toml; options replace what it says. Every answer is held against the reference
    first: if one is wrong nothing is timed, and the exit code is 1. Then all cases take turns, repetition by
    repetition. With a GPU, device auto is the GPU. Ctrl-C ends after the turn it is in and keeps what was measured.

    \b
    grapin bench quick --out before.jsonl
    grapin bench quick --against before.jsonl
    grapin bench --records after.jsonl --against before.jsonl
    """  # noqa: D301 - click reads the character, which keeps the lines apart
    earlier = None if against is None else read_records(against)
    if records is not None:
        if earlier is None or out is not None:
            raise InvalidArgument(
                "--records must come with --against, and without --out: nothing is measured"
            )
        later = read_records(records)
        print_comparison(compare(earlier, later), earlier, later)
        return
    chosen = find_suite(suite, _changes(changes))
    check_outputs(out)
    if earlier is not None:
        cases = [case for one in chosen.workloads() for case in chosen.cases(*one)]
        check_comparable(earlier, dict.fromkeys(cases, chosen.configuration()))
    try:
        found, complete = _run(chosen, out)
    except WrongAnswer as error:
        click.echo(f"grapin: {error}", err=True)
        context.exit(WRONG)
    if found:
        print_records(chosen, found)
    if found and earlier is not None:
        print_comparison(compare(earlier, found), earlier, found)
    if not complete:
        click.echo(f"grapin: interrupted with {len(found)} cases measured", err=True)
        context.exit(INTERRUPTED)


def _changes(given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that options replace; lists are written with commas."""
    changes = {name: value for name, value in given.items() if value is not None}
    for name in _LISTS.keys() & changes.keys():
        changes[name] = tuple(part.strip() for part in changes[name].split(",") if part.strip())
    if "batch_sizes" in changes:
        changes["batch_sizes"] = tuple(map(_whole, changes["batch_sizes"]))
    return changes


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidArgument(
            f"batch-sizes={text!r} must be whole numbers with commas between them"
        ) from None


def _run(suite: Suite, out: str | None) -> tuple[Records, bool]:
    """Check and measure; return the records, and whether all of them are there with all repetitions."""
    found: Records = {}
    where = surroundings()
    gpus = {device: gpu(device) for device in suite.devices}
    with Interrupts() as interrupts, progress("Checking, then measuring", turns(suite)) as advance:

        def stopped() -> bool:
            return interrupts.seen

        if not check(suite, _preparing(suite), stopped, advance):
            return found, False
        for measurements in measure(suite, _preparing(suite), stopped, advance):
            for one in measurements:
                found[one.case] = record(suite, one, where, gpus.get(one.case.device))
            if out is not None and found:
                # After each workload: what was measured survives whatever ends the process.
                write_whole(out, partial(write_records, found.values()))
        return found, not interrupts.seen


def _preparing(suite: Suite) -> Prepare:
    def prepared(graph: str, size: int) -> Any:
        return prepare(
            graph,
            source="auto",
            batches=suite.batches,
            batch_size=size,
            insertions=suite.insertions,
            updates=None,
            undirected=None,
            weights=suite.weights,
            seed=suite.seed,
        )

    return prepared
