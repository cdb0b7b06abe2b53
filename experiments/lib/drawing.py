"""Figures of records: rows by name as dots, rows over a number as lines, each where its place says.

A row that has no place stands where its name puts it, which reads `subject: what was measured`: what is measured of
several subjects becomes a panel, whose rows are the subjects; all else stands together by unit. Panels of dots that are
about the same things stand side by side, with the names at the left only. A length says a size only where it begins at
zero, so figures on a logarithmic scale are dots without a stem; a zero, which such a scale has no place for, stands at
its edge and is written out. The same record and the same library give the same bytes.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from io import BytesIO
from math import ceil, isclose, isfinite, log10
from textwrap import fill
from typing import Any

from experiments.lib.bars import Bar, Place, Record, bars_of
from experiments.lib.experiment import Experiment

OURS = "ours"
_SEPARATORS = (": ", ", ")


def placed(bars: Sequence[Bar]) -> list[Bar]:
    """Return all rows with a place: their own, or that which their name gives them."""
    splits = [_split(bar, bars) for bar in bars]
    return [
        bar if bar.place is not None else replace(bar, place=Place(panel, OURS, subject))
        for bar, (subject, panel) in zip(bars, splits, strict=True)
    ]


def _split(bar: Bar, bars: Sequence[Bar]) -> tuple[str, str]:
    """Return subject and panel; the panel is the unit where no other row measures the same."""
    for separator in _SEPARATORS:
        ends = Counter((other.name.rpartition(separator)[2], other.unit) for other in bars)
        subject, _, what = bar.name.rpartition(separator)
        if subject and ends[what, bar.unit] > 1:
            units = {unit for end, unit in ends if end == what}
            return subject, what if len(units) == 1 else f"{what}, {bar.unit}"
    return bar.name, bar.unit if bar.unit not in ("", "x") else ""


PUBLISHED, LIMIT, FAINT = "#d08c1f", "#c8553d", "#b8b8b8"
COLOURS = ("#3b6fb6", "#2a9d8f", "#7a5195", "#4d4d4d", "#8a6d3b", "#c0609b")
"""Of the lines, in turn."""
LOOK: Mapping[str, Any] = {
    "svg.hashsalt": "grapin",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "axes.titlesize": 8.5,
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
    **dict.fromkeys(("axes.grid", "axes.axisbelow"), True),
    **dict.fromkeys(("font.size", "legend.fontsize"), 8),
    **dict.fromkeys(("xtick.color", "ytick.color"), "#555555"),
    **dict.fromkeys(("xtick.labelcolor", "ytick.labelcolor"), "black"),
    "axes.edgecolor": "#888888",
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.5,
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
        own_figures = [bar.figure for bar in own]
        if axes.get_xscale() == "linear":
            axes.hlines(list(marked), 0, own_figures, color=colours[line], linewidth=2.5, alpha=0.35)
        _join(axes, marked)
        limits = {"marker": "|", "markersize": 9, "markeredgewidth": 1.6, "color": LIMIT, "label": "limit"}
        beside = {"marker": "D", "markerfacecolor": "white", "color": PUBLISHED, "label": rival}
        _mark(axes, [bar.limit for bar in own], marked, limits)
        _mark(axes, [bar.published for bar in own], marked, beside)
        _mark(axes, own_figures, marked, {"marker": "o", "color": colours[line], "label": line})
    axes.set_yticks(range(len(groups)))
    axes.set_ylim(len(groups) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")


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


def _mark(
    axes: Any, figures: Iterable[float | None], heights: Iterable[float], style: Mapping[str, Any]
) -> None:
    """Mark figures at their heights; on a logarithmic scale a zero at the edge, with a note."""
    known = [(one, height) for one, height in zip(figures, heights, strict=True) if one is not None]
    if known:
        shown = [point for point in known if point[0] > 0 or axes.get_xscale() != "log"]
        axes.plot(*_columns(shown), linestyle="", clip_on=False, **style)
    for figure, height in known:
        if figure <= 0 and axes.get_xscale() == "log":
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


Log = str | Mapping[str, str]
"""Which axes of lines are logarithmic: `x`, `y` or `xy`; perhaps by panel."""
WIDTH = 9.0
"""Inches of every figure."""
_LETTER = 0.066
"""Inches that a letter takes on average."""
_LABELS = (66, 46)
"""Letters of a row's name before it is wrapped: beside one panel, and beside several."""
_TICKS = (8, 5)
"""Steps of the figures' scale, at the most: of one panel, and of several side by side."""
_NARROWEST = 1.6
"""Inches of the axes of a panel, at the least."""


def panels(*, x: str, y: str = "", log: Log = "") -> Callable[[str, Record], Any]:
    """Return what draws, under a title, those of a record's rows that have a place; all of them where none has.

    Args:
        x: what the lower axis shows: the numbers that lines go over; the figures of dots.
        y: what the figures of lines are. Where nothing is said of figures, their unit is.
        log: which axes of lines are logarithmic; figures that differ much are on such an axis anyway.
    """

    def draw(title: str, record: Record) -> Any:
        bars = bars_of(record)
        rows = [bar for bar in bars if bar.place is not None]
        return figure_of(title, rows, x=x, y=y, log=log) if rows else figure_of(title, placed(bars))

    return draw


def figure_of(
    title: str,
    rows: Sequence[Bar],
    *,
    x: str = "",
    y: str = "",
    log: Log = "",
    rival: str = "published",
    linear: bool = False,
) -> Any:
    """Return a figure of rows that have places, as `panels` does; `linear` keeps dots on a linear scale."""
    from matplotlib.figure import Figure

    rows = [bar for bar in rows if isfinite(bar.figure)]
    colours = dict(zip(by_line(rows), COLOURS * len(rows), strict=False))
    blocks = list(_blocks(rows))
    explained = len(colours) > 1 or any(bar.published is not None or bar.limit is not None for bar in rows)
    heights = [0.3 if explained else 0.05, *(block.height for block in blocks)]
    title = fill(title, 112)
    figure = Figure(figsize=(WIDTH, sum(heights) + 0.25 * (1 + title.count("\n"))), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    legend, *parts = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    for part, block in zip(parts, blocks, strict=True):
        _draw_block(part, block, colours, rival, x, y, log, linear=linear)
    if explained:
        found = legend_of(axes for part in parts for axes in part.axes)
        legend.legend(found.values(), found.keys(), loc="center left", ncols=6)
    return figure


@dataclass(frozen=True)
class _Block:
    """Panels side by side: of dots about the same groups, or of lines."""

    panels: Mapping[str, list[Bar]]
    groups: tuple[str, ...]
    """What rows of dots are called; none of lines."""

    @property
    def labels(self) -> list[str]:
        """The groups' names, wrapped."""
        letters = _LABELS[len(self.panels) > 1]
        return [fill(group, letters, break_long_words=False, break_on_hyphens=False) for group in self.groups]

    @property
    def axes_room(self) -> float:
        """Inches beside the longest label."""
        lines = (line for label in self.labels for line in label.split("\n"))
        return WIDTH - _LETTER * max(map(len, lines), default=6)

    @property
    def columns(self) -> int:
        """As many as leave no gaps, and no panel too narrow."""
        count = len(self.panels)
        fitting = max(1, int(self.axes_room / _NARROWEST))
        wanted = 4 if count % 4 == 0 and self.groups and count > 4 else 2 if count in {2, 4} else 3
        return min(count, wanted, fitting)

    def wrapped(self, text: str) -> str:
        """Break what stands above or below one panel."""
        return fill(text, int(self.axes_room / self.columns / (1.12 * _LETTER)), break_on_hyphens=False)

    @property
    def height(self) -> float:
        """Inches of all rows of panels."""
        lines = max((len(by_line(rows)) for rows in self.panels.values()), default=1)
        each = [max(0.19 + 0.09 * (lines - 1), 0.16 * (1 + label.count("\n"))) for label in self.labels]
        title = max(self.wrapped(name).count("\n") + bool(name) for name in self.panels)
        one = 0.48 + 0.16 * title + (len(each) * max(each) if each else 1.9)
        return one * ceil(len(self.panels) / self.columns)


def _blocks(rows: Sequence[Bar]) -> Iterator[_Block]:
    """Put panels together whose groups are the same, or at least half of them and no others."""
    every: dict[str, list[Bar]] = {}
    for bar in rows:
        every.setdefault(place_of(bar).panel, []).append(bar)
    together: dict[tuple[str, ...], dict[str, list[Bar]]] = {}
    for name, own in every.items():
        groups = groups_of(own) if isinstance(place_of(own[0]).x, str) else ()
        among = (other for other in together if set(groups) <= set(other) and len(other) <= 2 * len(groups))
        together.setdefault(next(among, groups), {})[name] = own
    yield from (_Block(own, groups) for groups, own in together.items())


def _draw_block(
    part: Any,
    block: _Block,
    colours: Mapping[str, str],
    rival: str,
    x: str,
    y: str,
    log: Log,
    *,
    linear: bool,
) -> None:
    height = ceil(len(block.panels) / block.columns)
    every = part.subplots(height, block.columns, squeeze=False).ravel()
    for place, (axes, (name, rows)) in enumerate(zip(every, block.panels.items(), strict=False)):
        unit = "ratio" if rows[0].unit == "x" else rows[0].unit
        axes.set_title(block.wrapped(name) if name != unit else "", loc="left")
        if block.groups:
            draw_dots(axes, rows, block.groups, colours, rival, log=False if linear else None)
            if axes.get_xscale() == "linear":
                axes.locator_params(axis="x", nbins=_TICKS[block.columns > 1])
            axes.set_yticklabels(block.labels if place % block.columns == 0 else [])
            axes.tick_params(axis="y", length=0)
            axes.set_xlabel(block.wrapped(x or y or unit))
        else:
            draw_lines(axes, rows, colours, rival, log if isinstance(log, str) else log.get(name, ""))
            axes.set(xlabel=x, ylabel=y or unit)
    for axes in every[len(block.panels) :]:
        axes.remove()


_CLIP = re.compile(rb"\bp[0-9a-f]{10}\b")


def can_draw() -> bool:
    """Tell whether the library that draws is here; without it figures are left as they are."""
    return find_spec("matplotlib") is not None


def drawn(experiment: Experiment, record: Record) -> bytes:
    """Draw a record as its experiment says, else all of its rows, as an SVG without a date."""
    import matplotlib as mpl

    style: Any = LOOK
    with mpl.rc_context(style):
        if experiment.draw:
            figure = experiment.draw(experiment.question, record)
        else:
            figure = figure_of(experiment.question, placed(bars_of(record)), rival=experiment.rival)
        file = BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Title": experiment.question})
    # Clipping areas are named after all digits of their place, of which the last are by chance.
    names: dict[bytes, int] = {}
    return _CLIP.sub(lambda match: b"clip%d" % names.setdefault(match[0], len(names)), file.getvalue())
