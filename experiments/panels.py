"""Figures of lines over a number, or of groups of bars: for rows that say which panel, line and place are theirs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil, isfinite
from typing import Any

from experiments.bars import Bar, Place
from experiments.records import Record, bars_of

_PUBLISHED = "#d9a441"
_COLUMNS = 3
_TWO_ROWS = 4
"""So many panels stand two by two."""


def panels(title: str, *, x: str, y: str = "", log: str | Mapping[str, str] = "") -> Callable[[Record], Any]:
    """Return what draws a record's rows, one panel beside the other.

    Args:
        title: of the whole figure, which is the experiment's question.
        x: what the numbers or groups on the lower axis are.
        y: what the rows' figures are; their unit where nothing is said.
        log: which axes are logarithmic: `x`, `y` or `xy`; perhaps by panel.
    """

    def draw(record: Record) -> Any:
        from matplotlib.figure import Figure

        rows = [bar for bar in bars_of(record) if bar.place is not None and isfinite(bar.figure)]
        names = list(dict.fromkeys(place.panel for place in map(_place, rows)))
        colours = {line: f"C{at}" for at, line in enumerate(dict.fromkeys(_place(bar).line for bar in rows))}
        columns = 2 if len(names) == _TWO_ROWS else min(_COLUMNS, len(names))
        height = ceil(len(names) / columns)
        figure = Figure(figsize=(max(7.5, 4.0 * columns), 1.4 + 2.8 * height), layout="constrained")
        figure.suptitle(title, fontsize="medium")
        all_axes = figure.subplots(height, columns, squeeze=False).ravel()
        for axes, name in zip(all_axes, names, strict=False):
            own = [bar for bar in rows if _place(bar).panel == name]
            (_groups if isinstance(_place(own[0]).x, str) else _lines)(axes, own, colours)
            axes.set(title=name, xlabel=x, ylabel=y or own[0].unit)
            logarithmic = log if isinstance(log, str) else log.get(name, "")
            for axis in logarithmic:
                axes.set(**{f"{axis}scale": "log"})
            if "y" not in logarithmic:
                axes.set_ylim(bottom=0)
        for axes in all_axes[len(names) :]:
            axes.remove()
        handles = _handles(all_axes[: len(names)])
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize="small")
        return figure

    return draw


def _place(bar: Bar) -> Place:
    assert bar.place is not None
    return bar.place


def _lines(axes: Any, rows: Sequence[Bar], colours: Mapping[str, str]) -> None:
    for line, own in _by_line(rows).items():
        points = [(_place(bar).x, bar.figure) for bar in own]
        axes.plot(*zip(*points, strict=True), marker="o", markersize=4, color=colours[line], label=line)
    beside = [(_place(bar).x, bar.published) for bar in rows if bar.published is not None]
    if beside:
        axes.plot(*zip(*beside, strict=True), "_", color=_PUBLISHED, markersize=14, label="published")


def _groups(axes: Any, rows: Sequence[Bar], colours: Mapping[str, str]) -> None:
    groups = list(dict.fromkeys(_place(bar).x for bar in rows))
    lines = _by_line(rows)
    thick = 0.8 / len(lines)
    for turn, (line, own) in enumerate(lines.items()):
        middle = [groups.index(_place(bar).x) + (turn + 0.5) * thick - 0.4 for bar in own]
        axes.bar(middle, [bar.figure for bar in own], thick, color=colours[line], label=line)
    beside = {_place(bar).x: bar.published for bar in rows if bar.published is not None}
    for group, height in beside.items():
        at = groups.index(group)
        axes.plot((at - 0.45, at + 0.45), (height, height), color=_PUBLISHED, linewidth=2, label="published")
    axes.set_xticks(range(len(groups)), groups, rotation=20, ha="right", fontsize="small")


def _by_line(rows: Iterable[Bar]) -> dict[str, list[Bar]]:
    found: dict[str, list[Bar]] = {}
    for bar in rows:
        found.setdefault(_place(bar).line, []).append(bar)
    return found


def _handles(all_axes: Iterable[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for axes in all_axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return found
