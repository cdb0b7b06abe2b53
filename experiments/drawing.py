"""Figures from records: ours beside the published, one panel a unit; the same bytes from the same record."""

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from experiments.bars import Bar
from experiments.experiment import Experiment

_OURS, _PUBLISHED, _LIMIT = "#3b6fb6", "#d9a441", "#c8553d"
_WIDE = 100
"""Where the largest is this many times the smallest, the scale is logarithmic."""


def save(experiment: Experiment, record: Any, bars: Sequence[Bar], path: Path) -> None:
    """Draw a record as its experiment says, else as `beside` does, into an SVG file without a date."""
    import matplotlib as mpl

    style: Any = {"svg.hashsalt": "grapin", "svg.fonttype": "none", "font.family": "sans-serif"}
    with mpl.rc_context(style):
        figure = experiment.draw(record) if experiment.draw else beside(experiment.question, bars)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def beside(title: str, bars: Sequence[Bar]) -> Any:
    """Return a figure of all rows: ours, the published under it, and a mark where the limit is."""
    from matplotlib.figure import Figure

    units: dict[str, list[Bar]] = {}
    for bar in bars:
        if isfinite(bar.figure):
            units.setdefault(bar.unit, []).append(bar)
    heights = [1 + len(group) for group in units.values()] or [1]
    figure = Figure(figsize=(9, 1.2 + 0.3 * sum(heights)), layout="constrained")
    figure.suptitle(title, fontsize="medium")
    panels = list(figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0])
    for axes, (unit, group) in zip(panels, units.items(), strict=False):
        _panel(axes, unit, group)
    handles, labels = _marks(panels)
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def _panel(axes: Any, unit: str, group: Sequence[Bar]) -> None:
    places = range(len(group))
    published = {place: bar.published for place, bar in enumerate(group) if bar.published is not None}
    limits = {place: bar.limit for place, bar in enumerate(group) if bar.limit is not None}
    thick = 0.4 if published else 0.7
    axes.barh(
        [place - thick / 2 * bool(published) for place in places],
        [bar.figure for bar in group],
        thick,
        color=_OURS,
        label="ours",
    )
    if published:
        axes.barh(
            [place + thick / 2 for place in published],
            list(published.values()),
            thick,
            color=_PUBLISHED,
            label="published",
        )
    if limits:
        axes.plot(list(limits.values()), list(limits), "|", color=_LIMIT, markersize=10, label="limit")
    axes.set_yticks(places, [bar.name for bar in group], fontsize="small")
    axes.invert_yaxis()
    axes.set_xlabel(unit or "share")
    drawn = [abs(one) for one in (*(bar.figure for bar in group), *published.values()) if one]
    if drawn and max(drawn) > _WIDE * min(drawn):
        axes.set_xscale("log")


def _marks(panels: Sequence[Any]) -> tuple[list[Any], list[str]]:
    found: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values()), list(found)
