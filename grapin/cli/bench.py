"""`grapin bench`: times of programs, systems and devices, behind a correctness gate; recorded, and compared.

The tables of `grapin bench`: what was measured, and how it compares with what was measured before.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from grapin.bench.compare import LEVEL, Compared, Comparison, Records, check_comparable, compare
from grapin.bench.measure import check, measure, turns
from grapin.bench.peers import LIBRARIES
from grapin.bench.records import Summary, gpu, read_records, record, surroundings, write_records
from grapin.bench.suite import SUITES, Case, Prepare, Suite, find_suite
from grapin.cli.main import WRONG, ended_by
from grapin.cli.options import Renamed, argument
from grapin.cli.tables import print_table
from grapin.cli.workload import prepare
from grapin.device import DEVICES
from grapin.errors import InvalidArgument, WrongAnswer
from grapin.interrupts import Interrupts, interruption
from grapin.outputs import check_outputs, write_whole
from grapin.programs import PROGRAMS
from grapin.progress import progress
from grapin.system import RUNNABLE
from grapin.units import format_bytes, format_count, format_seconds
from grapin.validation import nearest

_Naming = Callable[[Case], tuple[str, ...]]


def print_records(suite: Suite, records: Records) -> None:
    """Print a row per case; what a peer takes for the same answer from scratch stands in a column beside it."""
    own = [case for case in records if case.system is not None]
    columns, common, named = _naming(own)
    peers = [peer for peer in suite.peers if any(case.device == peer for case in records)]
    repetitions = sorted({one["repetitions"] for one in records.values()})
    counted = "-".join(map(str, dict.fromkeys((repetitions[0], repetitions[-1]))))
    by_events = any(records[case]["device_batch"] for case in own)
    print_table(
        f"suite {suite.name}{common}: medians of {counted} repetitions of {suite.batches} batches, "
        "in brackets the interquartile range as a part of the median",
        (
            *columns,
            "from scratch",
            "per batch",
            *(["per batch, by CUDA events"] if by_events else []),
            "edges read / edges",
            "host-to-device bytes",
            *(f"{peer}, from scratch" for peer in peers),
        ),
        [
            (
                *named(case),
                _figure(records[case]["start"]),
                _figure(records[case]["batch"]),
                *([_figure(records[case]["device_batch"])] if by_events else []),
                f"{records[case]['edges_read'] / max(1, records[case]['graph']['edges']):.4f}",
                format_bytes(records[case]["link_bytes"]),
                *(_peer(records, case, peer) for peer in peers),
            )
            for case in own
        ],
        names=len(columns),
    )
    count = sum(case.system is not None for case in records)
    click.echo(f"Verified before timing: {count} cases at the start and after every batch.")


def print_comparison(comparison: Comparison, before: Records, now: Records) -> None:
    """Print a row a figure, then how many differ, and what could not be compared."""
    columns, common, named = _naming([row.case for row in comparison.rows])
    print_table(
        f"{_origin(now)} against {_origin(before)}{common}",
        (*columns, "what", "before", "now", "now / before", "95% interval", "verdict"),
        [_compared(row, named) for row in comparison.rows],
        names=len(columns) + 1,
    )
    verdicts = [row.verdict for row in comparison.rows]
    click.echo(
        f"{verdicts.count('slower')} slower, {verdicts.count('faster')} faster of {len(verdicts)}: exact rank tests, "
        f"corrected so that the chance of any false finding among all of them is at most {LEVEL:.0%}; intervals "
        "are each row's own."
    )
    if "too few repetitions" in verdicts:
        click.echo("Where repetitions are too few, no difference could be found, however large: repeat more.")
    if comparison.machines_differ:
        click.echo(
            "The two were measured on machines, or with libraries, that differ: so may the times for that."
        )
    for name, cases in (("before", comparison.only_before), ("now", comparison.only_now)):
        if cases:
            click.echo(f"Only {name}: {len(cases)} cases, such as {cases[0]}.")


def _naming(cases: Sequence[Case]) -> tuple[tuple[str, ...], str, _Naming]:
    """Return the columns that tell cases apart, the rest in words, and what fills the columns."""
    texts: dict[str, Callable[[Case], str]] = {
        "graph": lambda case: case.graph,
        "batch": lambda case: format_count(case.batch_size),
        "program": lambda case: case.program,
        "system": lambda case: case.system or "",
        "device": lambda case: case.device,
    }
    same = {name: text(cases[0]) for name, text in texts.items() if len({text(case) for case in cases}) == 1}
    told = [text for name, text in texts.items() if name not in same]
    common = "".join(f", {name} {value}" for name, value in same.items() if value)
    return (
        tuple(name for name in texts if name not in same),
        common,
        lambda case: tuple(one(case) for one in told),
    )


def _figure(figure: dict[str, Any] | None) -> str:
    if figure is None:
        return ""
    summary = Summary.of(figure["seconds"])
    return f"{format_seconds(summary.median)} ({summary.relative_iqr:.0%})"


def _peer(records: Records, case: Case, peer: str) -> str:
    found = records.get(Case(case.graph, case.batch_size, case.program, None, peer))
    return "" if found is None else _figure(found["start"])


def _origin(records: Records) -> str:
    """Return version and commits of all records."""
    names = {
        f"grapin {one['grapin']}" + (f" at {one['commit']}" if one["commit"] else "")
        for one in records.values()
    }
    return ", ".join(sorted(names))


def _compared(row: Compared, named: _Naming) -> tuple[str, ...]:
    difference = row.difference
    return (
        *named(row.case),
        "from scratch" if row.figure == "start" else "a batch",
        format_seconds(row.before.median),
        format_seconds(row.now.median),
        f"{difference.ratio:.3g}",
        f"{difference.low:.3g} to {difference.high:.3g}",
        row.verdict,
    )


CaseRecords = dict[Case, dict[str, Any]]

_LISTS = {
    "programs": f"Programs: {', '.join(PROGRAMS)}, or FILE.py:CLASS.",
    "systems": f"Systems: {', '.join(RUNNABLE)}.",
    "devices": f"Devices: auto, {', '.join(DEVICES)}.",
    "batch_sizes": "Mutations per batch; several sizes with commas.",
    "peers": f"Libraries that compute bfs, sssp and cc from scratch, for comparison: {', '.join(LIBRARIES)}.",
}
_SINGLE: dict[str, tuple[type, str]] = {
    "batches": (int, "Batches a repetition."),
    "repetitions": (int, "Repetitions that count."),
    "warmup": (int, "Repetitions before them that do not."),
    "insertions": (float, "Which part of the mutations are insertions."),
    "weights": (
        str,
        "keep, ignore, absolute, shift, float32, round, or LOW:HIGH to draw weights where there are none.",
    ),
    "cache": (str, "Room for cached lists on the device, as for grapin run."),
    "threads": (int, "Threads of the CPU device and of peers."),
    "seed": (int, "Fixes everything that is random."),
}


class _Integers(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic from click 8.4 on
    """A whole number, as the option of this name is elsewhere, or several with commas."""

    name = "integer"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,  # noqa: ARG002 - click passes it
        ctx: click.Context | None,  # noqa: ARG002 - as above
    ) -> tuple[int, ...]:
        """Read the numbers."""
        if isinstance(value, tuple):
            return value
        try:
            return tuple(int(part) for part in str(value).split(",") if part.strip())
        except ValueError:
            raise InvalidArgument(
                f"batch_size={value!r} must be whole numbers with commas between them"
            ) from None


def _suite_options(command: Any) -> Any:
    """Add an option for each field of a suite; given, it replaces what the suite says."""
    for name, (kind, text) in reversed(_SINGLE.items()):
        command = click.option(f"--{name}", type=kind, help=text)(command)
    for name, text in reversed(_LISTS.items()):
        numbers: Any = _Integers() if name == "batch_sizes" else str
        command = click.option(_option(name), name, metavar="A,B,...", type=numbers, help=text)(command)
    return command


def _option(field: str) -> str:
    """Return the option that says a field: where other commands have it for one, it has the same name here."""
    return "--" + (field if field == "peers" else field.removesuffix("s")).replace("_", "-")


@click.command(
    cls=Renamed,
    renamed={"--graphs": argument}
    | {f"{_option(name)}s": _option(name) for name in _LISTS if name != "peers"},
)
@click.argument("named", metavar="[SUITE] [GRAPH]...", nargs=-1)
@_suite_options
@click.option("--out", metavar="FILE", help="Write the records to this file, a JSON object a line.")
@click.option("--against", metavar="FILE", help="Compare with the records of this file.")
@click.option("--records", metavar="FILE", help="With --against: compare these records; measure nothing.")
@click.pass_context
def command(
    context: click.Context,
    /,
    named: tuple[str, ...],
    out: str | None,
    against: str | None,
    records: str | None,
    **changes: Any,
) -> None:
    """Time how programs are kept fresh, each under each system, on each graph, with each batch size.

    SUITE is default, quick, or a FILE.toml; graphs and options replace what it says. Every answer is held against the
    reference first: if one is wrong nothing is timed, and the exit code is 1. Then all cases take turns, repetition by
    repetition. With a GPU, device auto is the GPU. Ctrl-C and SIGTERM end after the turn it is in and keep what was
    measured.

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
    suite, graphs = _named(named)
    chosen = find_suite(suite, _changes(changes) | graphs)
    check_outputs(out)
    if earlier is not None:
        cases = [case for one in chosen.workloads() for case in chosen.cases(*one)]
        check_comparable(earlier, dict.fromkeys(cases, chosen.configuration()))
    try:
        found, noted = _run(chosen, out)
    except WrongAnswer as error:
        click.echo(f"grapin: {error}", err=True)
        context.exit(WRONG)
    if found:
        print_records(chosen, found)
    if found and earlier is not None:
        print_comparison(compare(earlier, found), earlier, found)
    if noted is not None:
        word, code = ended_by(interruption(noted))
        click.echo(f"grapin: {word} with {len(found)} cases measured", err=True)
        context.exit(code)


def _named(arguments: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Tell the suite from the graphs, which commas may separate too; without a suite it is the default one."""
    names = [part.strip() for one in arguments for part in one.split(",")]
    suites = [name for name in names if name in SUITES or name.endswith(".toml")]
    graphs = tuple(name for name in names if name and name not in suites)
    if len(suites) > 1:
        raise InvalidArgument(f"suite={suites[1]!r} must be left out: there is {suites[0]!r} already")
    for graph in graphs:
        if nearest(graph, SUITES) and not Path(graph).exists():
            find_suite(graph, {})  # refuses it, and says which suite is meant
    return suites[0] if suites else "default", {"graphs": graphs} if names != suites else {}


def _changes(given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that options replace; lists are written with commas."""
    changes = {name: value for name, value in given.items() if value is not None}
    for name in _LISTS.keys() & changes.keys() - {"batch_sizes"}:
        changes[name] = tuple(part.strip() for part in changes[name].split(",") if part.strip())
    return changes


def _run(suite: Suite, out: str | None) -> tuple[CaseRecords, int | None]:
    """Check and measure; return the records, and the signal that ended it before all of them were there."""
    found: CaseRecords = {}
    where = surroundings()
    gpus = {device: gpu(device) for device in suite.devices}
    with Interrupts() as interrupts, progress("Checking, then measuring", turns(suite)) as advance:

        def stopped() -> bool:
            return interrupts.seen

        if not check(suite, _preparing(suite), stopped, advance):
            return found, interrupts.noted
        for measurements in measure(suite, _preparing(suite), stopped, advance):
            for one in measurements:
                found[one.case] = record(suite, one, where, gpus.get(one.case.device))
            if out is not None and found:
                # After each workload: what was measured survives whatever ends the process.
                write_whole(out, partial(write_records, found.values()))
        return found, interrupts.noted


def _preparing(suite: Suite) -> Prepare:
    def prepared(graph: str, size: int) -> Any:
        return prepare(
            graph,
            source="auto",
            batches=suite.batches,
            batch_size=size,
            insertions=suite.insertions,
            updates=None,
            directed=None,
            weights=suite.weights,
            seed=suite.seed,
        )

    return prepared
