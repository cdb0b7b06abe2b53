"""The tables of `grapin bench`: what was measured, and how it compares with what was measured before."""

from collections.abc import Callable, Sequence
from typing import Any

import click

from grapin.bench.comparison import Compared, Comparison, Records
from grapin.bench.rank_test import LEVEL
from grapin.bench.records import Summary
from grapin.bench.suite import Case, Suite
from grapin.cli.tables import print_table
from grapin.units import format_bytes, format_count, format_seconds

_Naming = Callable[[Case], tuple[str, ...]]


def print_records(suite: Suite, records: Records) -> None:
    """Print a row a case; what a peer takes for the same answer from nothing stands in a column beside it."""
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
            "from nothing",
            "a batch",
            *(["a batch, by events"] if by_events else []),
            "edges read / edges",
            "over the link",
            *(f"{peer}, from nothing" for peer in peers),
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
    return f"{format_seconds(summary.median)} ({summary.spread:.0%})"


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
        "from nothing" if row.figure == "start" else "a batch",
        format_seconds(row.before.median),
        format_seconds(row.now.median),
        f"{difference.ratio:.3g}",
        f"{difference.low:.3g} to {difference.high:.3g}",
        row.verdict,
    )
