"""The plots that do not change, as plotly's plain values; what all plots share, the page's script adds."""

import math
from collections.abc import Callable, Iterable
from typing import Any

from grapin.report.findings import ALL, Crossing, Findings
from grapin.report.palette import PART_COLOURS, system_colours
from grapin.sim.prediction import PARTS
from grapin.units import format_bytes, format_seconds

_ROW = 34
"""Pixels a row of a plot takes."""
_LINE = 0.26
"""How far the systems of one program are apart, in the distance of two programs."""


def crossing_figure(findings: Findings) -> dict[str, Any]:
    """Lay the systems' bytes a batch beside each program's name: a small dot a batch, a large one for the mean."""
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
                "hovertemplate": "%{hovertext} a batch<extra>%{fullData.name}</extra>",
            }
        )
    values = [counters.link_bytes for one in findings.crossings for counters in one.counters]
    axis = log_axis(values, 1024, format_bytes)
    return {
        "data": data,
        "layout": {
            "height": 120 + _ROW * 2 * len(findings.programs),
            "xaxis": axis | {"title": {"text": "bytes a batch, logarithmic"}},
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
            prediction = findings.prediction(machine, system, ALL)
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
                "title": {"text": "parts of a batch's time"},
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
    """Return a small dot a batch, which shows how far batches are apart."""
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
