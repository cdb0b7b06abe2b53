"""The plots that do not change, as plotly's plain values; what all plots share, the page's script adds.

Colours: one a system and one a part of the time, of a lightness that stands out from white and from black alike.

Every prediction as numbers and as text, for the view in which the reader chooses.

The text is made here, so that the page writes numbers as the command line does and its script knows no units.

Tables of the page: rows of text as HTML, names left, numbers right, everything escaped.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import product
from typing import Any

from grapin.report.findings import Crossing, Findings, batch_count
from grapin.sim.prediction import PARTS, Prediction
from grapin.units import format_bytes, format_count, format_seconds

_OURS = "#0b8f83"
_PUBLISHED = "#d1603d"
_OTHERS = ("#6b7fd7", "#b9852b", "#a05bb5", "#4d96c9", "#c2557f", "#7d8b3a", "#8a7f78")
_KNOWN = {"bounded": _OURS, "grapin": _PUBLISHED}

PART_COLOURS = {
    "link": "#4d7fb8",
    "device": "#6aa06b",
    "faults": "#c9583f",
    "host": "#c99a3b",
    "launches": "#8c8f98",
}
KIND_COLOURS = {
    "requests": "#4d7fb8",
    "cache loads": "#6aa06b",
    "cache patches": "#c99a3b",
    "copies": "#a05bb5",
    "migrations": "#c9583f",
}


def system_colours(systems: Iterable[str]) -> dict[str, str]:
    """Give each system one colour: the two that a report compares always the same, the others in their order."""
    systems = list(systems)
    others = [system for system in systems if system not in _KNOWN]
    given = {system: _OTHERS[place % len(_OTHERS)] for place, system in enumerate(others)}
    return {system: (_KNOWN | given)[system] for system in systems}


_ROW = 34
"""Pixels a row of a plot takes."""
_LINE = 0.26
"""How far the systems of one program are apart, in the distance of two programs."""


def crossing_figure(findings: Findings) -> dict[str, Any]:
    """Lay the systems' bytes per batch beside each program's name: a small dot per batch, a large one for the mean."""
    colours = system_colours(dict.fromkeys(one.system for one in findings.crossings))
    data = []
    places = {program: place for place, program in enumerate(findings.programs)}
    for line, (system, colour) in enumerate(colours.items()):
        above = _LINE * (line - (len(colours) - 1) / 2)  # systems that read alike would cover each other
        mine = [one for one in findings.crossings if one.system == system]
        data.append(_batches(mine, colour, [places[one.program] + above for one in mine]))
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": plain(system),
                "x": [one.bytes for one in mine],
                "y": [places[one.program] + above for one in mine],
                "marker": {"color": colour, "size": 15},
                "hovertext": [f"{plain(one.program)}: {format_bytes(one.bytes)}" for one in mine],
                "hovertemplate": "%{hovertext} per batch<extra>%{fullData.name}</extra>",
            }
        )
    values = [counters.link_bytes for one in findings.crossings for counters in one.counters]
    axis = log_axis(values, 1024, format_bytes)
    return {
        "data": data,
        "layout": {
            "height": 120 + _ROW * 2 * len(findings.programs),
            "xaxis": axis | {"title": {"text": "bytes per batch, logarithmic"}},
            "yaxis": {
                "range": [len(places) - 0.5, -0.5],
                "tickvals": list(places.values()),
                "ticktext": [plain(program) for program in places],
                "showgrid": False,
                "zeroline": False,
            },
        },
    }


def time_figure(findings: Findings, systems: Iterable[str]) -> dict[str, Any]:
    """Show which parts a batch's time is made of, a bar for each machine and system, its length always the whole."""
    rows = []
    for machine in findings.machines:
        for system in systems:
            prediction = findings.prediction(machine, system, findings.answers[0])
            if prediction is not None:
                rows.append((f"{machine}, {system}", prediction))
    names = [plain(name) for name, _ in rows]
    sums = [sum(getattr(one.batches.seconds, part) for part in PARTS) or 1.0 for _, one in rows]
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "orientation": "h",
            "name": part,
            "y": names,
            "x": [
                getattr(one.batches.seconds, part) / whole for (_, one), whole in zip(rows, sums, strict=True)
            ],
            "marker": {"color": PART_COLOURS[part]},
            "hovertemplate": "%{y}: %{x:.1%} " + part + "<extra></extra>",
        }
        for part in PARTS
        if any(getattr(one.batches.seconds, part) for _, one in rows)
    ]
    data.append(
        {
            "type": "scatter",
            "mode": "text",
            "y": names,
            "x": [1.0] * len(rows),
            "text": [f" {format_seconds(one.seconds_a_batch or 0.0)}" for _, one in rows],
            "textposition": "middle right",
            "showlegend": False,
            "hoverinfo": "skip",
            "cliponaxis": False,
        }
    )
    return {
        "data": data,
        "layout": {
            "barmode": "stack",
            "height": 110 + _ROW * len(rows),
            "xaxis": {
                "range": [0, 1.2],
                "tickvals": [0, 0.25, 0.5, 0.75, 1],
                "tickformat": ".0%",
                "title": {"text": f"parts of a batch's time, {plain(findings.answers[0])}"},
            },
            "yaxis": {"autorange": "reversed", "type": "category"},
        },
    }


def log_axis(values: Iterable[float], base: int, form: Callable[[float], str]) -> dict[str, Any]:
    """Return an axis from the power of `base` below the least value to the one above the largest, with a few ticks."""
    positive = [value for value in values if value > 0] or [1.0]
    step = base ** (1 / 2) if base > 10 else base
    low = math.floor(math.log(min(positive), step) + 1e-9)
    high = max(low + 1, math.ceil(math.log(max(positive), step) - 1e-9))
    ticks = [step**power for power in range(low, high + 1)]
    return {
        "type": "log",
        "range": [math.log10(ticks[0]) - 0.1, math.log10(ticks[-1]) + 0.1],
        "tickvals": ticks,
        "ticktext": [form(tick) for tick in ticks],
    }


def plain(text: str) -> str:
    """Write text so that plotly, which reads a little HTML, shows it as it is."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _batches(crossings: list[Crossing], colour: str, heights: list[float]) -> dict[str, Any]:
    """Return a small dot per batch, which shows how far batches are apart."""
    pairs = [
        (counters.link_bytes, height)
        for one, height in zip(crossings, heights, strict=True)
        for counters in one.counters
    ]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [size for size, _ in pairs],
        "y": [height for _, height in pairs],
        "marker": {"color": colour, "size": 6, "opacity": 0.45},
        "showlegend": False,
        "hoverinfo": "skip",
    }


def choices(findings: Findings) -> dict[str, Any]:
    """Return what the view's script needs: what can be chosen, and an outcome for each choice that was tried."""
    found = {}
    for machine, system, answer, cache in product(
        findings.machines, findings.systems, findings.answers, findings.caches
    ):
        prediction = findings.prediction(machine, system, answer, cache)
        if prediction is not None:
            found[f"{machine}|{system}|{answer}|{cache}"] = outcome(prediction)
    return {
        "machines": {name: describe_machine(findings, name) for name in findings.machines},
        "systems": {
            name: {"colour": colour, "summary": findings.systems[name].summary}
            for name, colour in system_colours(findings.systems).items()
        },
        "answers": list(findings.answers),
        "caches": list(findings.caches),
        "partColours": PART_COLOURS,
        "kindColours": KIND_COLOURS,
        "outcomes": found,
    }


def outcome(prediction: Prediction) -> dict[str, Any]:
    """Return what a batch costs in the mean, and what the first values cost."""
    count = batch_count(prediction)
    batches = prediction.batches
    seconds = batches.seconds.total / count
    requests = sum(batches.counters.requests.values()) / count
    busy = prediction.rate * batches.seconds.total
    return {
        "seconds": seconds,
        "bytes": batches.bytes / count,
        "kinds": {kind: size / count for kind, size in batches.bytes_by_kind.items()},
        "kindText": {kind: format_bytes(size / count) for kind, size in batches.bytes_by_kind.items()},
        "parts": {part: getattr(batches.seconds, part) / count for part in PARTS},
        "text": {
            "bytes": format_bytes(batches.bytes / count),
            "requests": format_count(round(requests)),
            "rounds": format_count(round(batches.iterations / count)),
            "wire": format_bytes(batches.wire_to_device / count),
            "seconds": format_seconds(seconds),
            "start": format_seconds(prediction.start.seconds.total),
            "used": f"{batches.wire_to_device / busy:.0%}" if busy else "0%",
            "dominant": batches.seconds.dominant + (", thrashing" if batches.thrashing else ""),
        },
    }


def describe_machine(findings: Findings, name: str) -> str:
    """Say what a machine is in a few words."""
    machine = findings.machines[name]
    rate = f"{machine.link.rate / 1e9:.3g} GB/s"
    guessed = ", ".join(f"{one.name} {one.text}" for one in machine.unsourced())
    marked = f"; without a source: {guessed}" if guessed else ""
    return f"{machine.gpu.name}, {format_bytes(machine.gpu.memory)}, link of {rate}{marked}"


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
        "Means per batch; the time is a median, on the device that ran it.",
        ("answer", "system", "time (this device)", "edges read / edges", *sizes, "host-to-device bytes"),
        rows,
        names=2,
    )


def time_table(findings: Findings, systems: Sequence[str]) -> str:
    """Return what was predicted without a cache for the systems compared: a row for each on each machine."""
    colours = system_colours(findings.systems)
    rows = []
    for machine in findings.machines:
        for system in systems:
            one = findings.prediction(machine, system, findings.answers[0])
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
                    escape(one.batches.seconds.dominant) + (", thrashing" if one.total.thrashing else ""),
                )
            )
    return _table(
        f"{findings.answers[0]}, without a cache; rounds and wire are per batch, use of the link is of the whole run.",
        ("machine", "system", "first values", "per batch", "rounds", "wire", "link used", "bottleneck"),
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
