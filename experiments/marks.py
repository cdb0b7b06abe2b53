"""How rows are marked on axes: dots by name, lines over a number; what was published beside them, and limits.

A length says a size only where it begins at zero, so figures on a logarithmic scale are dots without a stem; a zero,
which such a scale has no place for, stands at its edge and is written out.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import isclose, log10
from typing import Any

from experiments.bars import Bar, Place

PUBLISHED, LIMIT, FAINT = "#d08c1f", "#c8553d", "#b8b8b8"
COLOURS = ("#3b6fb6", "#2a9d8f", "#7a5195", "#4d4d4d", "#8a6d3b", "#c0609b")
"""Of the lines, in turn."""
LOOK: Mapping[str, Any] = {
    "svg.hashsalt": "grapin",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "xtick.color": "#555555",
    "xtick.labelcolor": "black",
    "ytick.color": "#555555",
    "ytick.labelcolor": "black",
    "lines.linewidth": 1.2,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "legend.fontsize": 8,
}
WIDE = 30
"""Where the largest is this many times the smallest, the scale is logarithmic."""
_ROOM = 1.5
"""What a logarithmic scale shows beyond its ends, as a factor."""
_NEAR = 1.3
"""Lines that stay within this factor are shown without the zero below them."""


def place_of(bar: Bar) -> Place:
    """Return where a row stands that has a place."""
    assert bar.place is not None
    return bar.place


def groups_of(rows: Iterable[Bar]) -> tuple[str, ...]:
    """Return what the rows of a panel of dots are called, each once."""
    return tuple(dict.fromkeys(str(place_of(bar).x) for bar in rows))


def by_line(rows: Iterable[Bar]) -> dict[str, list[Bar]]:
    """Return the rows of each line, in their order."""
    found: dict[str, list[Bar]] = {}
    for bar in rows:
        found.setdefault(place_of(bar).line, []).append(bar)
    return found


def draw_dots(
    axes: Any,
    rows: Sequence[Bar],
    groups: Sequence[str],
    colours: Mapping[str, str],
    rival: str,
    *,
    log: bool | None,
) -> None:
    """Mark rows along the lower axis, group below group, the lines of a group close together; None goes by figures."""
    lines = by_line(rows)
    _set_scale(
        axes, "x", _figures(rows), beyond=[bar.limit for bar in rows if bar.limit is not None], log=log
    )
    for turn, (line, own) in enumerate(lines.items()):
        aside = 0.8 * ((turn + 0.5) / len(lines) - 0.5)
        marked = {groups.index(str(place_of(bar).x)) + aside: bar for bar in own}
        _draw_line_of_dots(axes, marked, line, colours[line], rival)
    axes.set_yticks(range(len(groups)))
    axes.set_ylim(len(groups) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")


def _draw_line_of_dots(axes: Any, marked: Mapping[float, Bar], line: str, colour: str, rival: str) -> None:
    """Mark rows at their heights, ours above all else."""
    figures = [(bar.figure, height) for height, bar in marked.items()]
    beside = [(bar.published, height) for height, bar in marked.items()]
    limits = [(bar.limit, height) for height, bar in marked.items()]
    if axes.get_xscale() == "linear":
        axes.hlines(
            list(marked), 0, [figure for figure, _ in figures], color=colour, linewidth=2.5, alpha=0.35
        )
    _join(axes, marked)
    _mark(axes, limits, marker="|", markersize=9, markeredgewidth=1.6, color=LIMIT, label="limit")
    _mark(axes, beside, marker="D", markerfacecolor="white", color=PUBLISHED, label=rival)
    _mark(axes, figures, marker="o", color=colour, label=line)


def draw_lines(axes: Any, rows: Sequence[Bar], colours: Mapping[str, str], rival: str, log: str) -> None:
    """Draw rows over the number that is their place; `log` names the axes that must be logarithmic."""
    _set_scale(axes, "y", _figures(rows), near=True, log="y" in log or None)
    if "x" in log:
        axes.set_xscale("log")
        _plain_decades(axes.xaxis, short=False)
    elif all(float(place_of(bar).x).is_integer() for bar in rows):
        axes.locator_params(axis="x", integer=True)
    for line, own in by_line(rows).items():
        _line(axes, [(place_of(bar).x, bar.figure) for bar in own], "-o", color=colours[line], label=line)
        beside = [(place_of(bar).x, bar.published) for bar in own if bar.published is not None]
        _line(axes, beside, ":D", color=PUBLISHED, markerfacecolor="white", label=rival)


def legend_of(all_axes: Iterable[Any]) -> dict[str, Any]:
    """Return one handle for everything that is marked, ours first."""
    found: dict[str, Any] = {}
    for axes in all_axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return dict(sorted(found.items(), key=lambda pair: pair[1].get_color() in {PUBLISHED, LIMIT}))


def _figures(rows: Iterable[Bar]) -> list[float]:
    return [one for bar in rows for one in (bar.figure, bar.published) if one is not None]


def _set_scale(
    axes: Any,
    axis: str,
    figures: Sequence[float],
    *,
    beyond: Sequence[float] = (),
    log: bool | None = None,
    near: bool = False,
) -> None:
    """Show all figures and what lies beyond: from zero, except where they differ much, or little and may be near."""
    sizes = [one for one in figures if one > 0]
    if log is None:
        log = bool(sizes) and min(figures) >= 0 and max(sizes) > WIDE * min(sizes)
    numbers = [*figures, *beyond]
    if log and sizes:
        sizes += [one for one in beyond if one > 0]
        axes.set(**{f"{axis}scale": "log", f"{axis}lim": (min(sizes) / _ROOM, max(sizes) * _ROOM)})
        _plain_decades(getattr(axes, f"{axis}axis"), short=max(sizes) / min(sizes) < WIDE)
    elif not near or max(numbers) > _NEAR * min(numbers):
        low, high = min(0.0, *numbers), max(0.0, *numbers)
        axes.set(**{f"{axis}lim": (1.08 * low, 1.08 * high or 1.0)})


def _plain_decades(axis: Any, *, short: bool) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=(1, 3) if short else (1,), numticks=5))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(_tick))


def _tick(number: float, _: int) -> str:
    power = round(log10(number))
    far = isclose(number, 10.0**power) and not -3 <= power <= 4
    return f"$10^{{{power}}}$" if far else f"{number:g}"


def _join(axes: Any, marked: Mapping[float, Bar]) -> None:
    """Draw a thin line from ours to the published."""
    floor = axes.get_xlim()[0]
    for height, bar in marked.items():
        if bar.published is not None:
            ends = [max(end, floor) for end in (bar.figure, bar.published)]
            axes.plot(ends, [height, height], color=FAINT, linewidth=0.9, zorder=1)


def _mark(axes: Any, points: Iterable[tuple[float | None, float]], **style: Any) -> None:
    """Mark figures at their heights; on a logarithmic scale a zero at the edge, with a note."""
    log = axes.get_xscale() == "log"
    known = [(figure, height) for figure, height in points if figure is not None]
    if known:
        axes.plot(
            *_columns([point for point in known if point[0] > 0 or not log]),
            linestyle="",
            clip_on=False,
            **style,
        )
    for figure, height in known:
        if log and figure <= 0:
            _note_zero(axes, (0, height), axes.get_yaxis_transform(), (6, 0), style)


def _line(axes: Any, points: Sequence[tuple[Any, float]], kind: str, **style: Any) -> None:
    log = axes.get_yscale() == "log"
    if points:
        axes.plot(*_columns([point for point in points if point[1] > 0 or not log]), kind, **style)
    for x, figure in points:
        if log and figure <= 0:
            _note_zero(axes, (x, 0), axes.get_xaxis_transform(), (0, 6), style)


def _note_zero(
    axes: Any, point: tuple[float, float], transform: Any, aside: tuple[int, int], style: Mapping[str, Any]
) -> None:
    colours = {name: style[name] for name in ("color", "markerfacecolor") if name in style}
    marker = style.get("marker", "o")
    axes.plot(*point, linestyle="", marker=marker, transform=transform, clip_on=False, **colours)
    axes.annotate("0", point, xycoords=transform, xytext=aside, textcoords="offset points", va="center")


def _columns(points: Sequence[tuple[Any, float]]) -> tuple[list[Any], list[float]]:
    return [x for x, _ in points], [y for _, y in points]
