"""Tables of the page: rows of text as HTML, names left, numbers right, everything escaped."""

from collections.abc import Iterable, Sequence
from html import escape

from grapin.report.findings import ALL, Findings, batch_count
from grapin.report.palette import system_colours
from grapin.units import format_bytes, format_count, format_seconds


def crossing_table(findings: Findings) -> str:
    """Return what was counted: a row for each program under each system."""
    colours = system_colours(dict.fromkeys(one.system for one in findings.crossings))
    rows = [
        (
            escape(one.program),
            swatch(one.system, colours[one.system]),
            format_seconds(one.median_seconds),
            f"{one.passes:.4f}",
            *(format_count(round(count)) for count in one.requests.values()),
            format_bytes(one.bytes),
        )
        for one in findings.crossings
    ]
    sizes = ("32 B", "64 B", "96 B", "128 B")
    return _table(
        "Means of a batch; the time is a median, on the device that ran it.",
        ("answer", "system", "time here", "edges read / edges", *sizes, "bytes"),
        rows,
        names=2,
    )


def time_table(findings: Findings, systems: Sequence[str]) -> str:
    """Return what was predicted without a cache for the systems compared: a row for each on each machine."""
    colours = system_colours(findings.systems)
    rows = []
    for machine in findings.machines:
        for system in systems:
            one = findings.prediction(machine, system, ALL)
            if one is None:
                continue
            rows.append(
                (
                    escape(machine),
                    swatch(system, colours[system]),
                    format_seconds(one.start.seconds.total),
                    format_seconds(one.seconds_a_batch or 0.0),
                    format_count(round(one.batches.iterations / batch_count(one))),
                    format_bytes(one.batches.wire_to_device / batch_count(one)),
                    f"{one.utilisation:.0%}",
                    escape(one.batches.seconds.dominant),
                )
            )
    return _table(
        "All answers together, without a cache; rounds and wire are of a batch, use of the link is of the whole run.",
        ("machine", "system", "first values", "a batch", "rounds", "wire", "link used", "most time"),
        rows,
        names=2,
    )


def swatch(system: str, colour: str) -> str:
    """Return a system's name behind a spot of its colour."""
    return f'<span class="spot" style="background:{colour}"></span>{escape(system)}'


def _table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, names: int) -> str:
    """Lay out cells that are HTML already; the first `names` columns name, the others are numbers."""
    head = "".join(
        f'<th scope="col"{"" if place < names else " class=number"}>{escape(column)}</th>'
        for place, column in enumerate(columns)
    )
    body = "".join(f"<tr>{_cells(row, names)}</tr>" for row in rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cells(row: Sequence[str], names: int) -> str:
    return "".join(
        f'<th scope="row">{cell}</th>' if place < names else f'<td class="number">{cell}</td>'
        for place, cell in enumerate(row)
    )
