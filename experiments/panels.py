"""Figures of panels: rows by name as dots, rows over a number as lines, each where its place says.

Panels of dots that are about the same things stand side by side, with the names at the left only. All figures are as
wide as a page, so their letters have one size on it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isfinite
from textwrap import fill
from typing import Any, NamedTuple

from experiments.bars import Bar, Record, bars_of
from experiments.marks import COLOURS, by_line, draw_dots, draw_lines, groups_of, legend_of, place_of
from experiments.placing import placed

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


def panels(title: str, *, x: str, y: str = "", log: str | Mapping[str, str] = "") -> Callable[[Record], Any]:
    """Return what draws those of a record's rows that have a place; all of them where none has.

    Args:
        title: of the whole figure, which is the experiment's question.
        x: what the lower axis shows: the numbers that lines go over; the figures of dots.
        y: what the figures of lines are. Where nothing is said of figures, their unit is.
        log: which axes of lines are logarithmic: `x`, `y` or `xy`; perhaps by panel. Figures that differ much are on a
            logarithmic axis anyway.
    """

    def draw(record: Record) -> Any:
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
    log: str | Mapping[str, str] = "",
    rival: str = "published",
    linear: bool = False,
) -> Any:
    """Return a figure of rows that have places, as `panels` does.

    Args:
        title: of the whole figure.
        rows: all that is drawn.
        x: what the lower axis shows.
        y: what the figures of lines are.
        log: which axes of lines are logarithmic.
        rival: what stands beside ours.
        linear: dots on a linear scale, however much they differ.
    """
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
        _draw_block(part, block, colours, _Said(x, y, log, rival, linear))
    if explained:
        found = legend_of(axes for part in parts for axes in part.axes)
        legend.legend(found.values(), found.keys(), loc="center left", ncols=6)
    return figure


class _Said(NamedTuple):
    """What the axes are told, besides the rows."""

    x: str
    y: str
    log: str | Mapping[str, str]
    rival: str
    linear: bool


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


def _draw_block(part: Any, block: _Block, colours: Mapping[str, str], said: _Said) -> None:
    height = ceil(len(block.panels) / block.columns)
    every = part.subplots(height, block.columns, squeeze=False).ravel()
    for place, (axes, (name, rows)) in enumerate(zip(every, block.panels.items(), strict=False)):
        unit = "ratio" if rows[0].unit == "x" else rows[0].unit
        axes.set_title(block.wrapped(name) if name != unit else "", loc="left")
        if block.groups:
            draw_dots(axes, rows, block.groups, colours, said.rival, log=False if said.linear else None)
            if axes.get_xscale() == "linear":
                axes.locator_params(axis="x", nbins=_TICKS[block.columns > 1])
            axes.set_yticklabels(block.labels if place % block.columns == 0 else [])
            axes.tick_params(axis="y", length=0)
            axes.set_xlabel(block.wrapped(said.x or said.y or unit))
        else:
            log = said.log if isinstance(said.log, str) else said.log.get(name, "")
            draw_lines(axes, rows, colours, said.rival, log)
            axes.set(xlabel=said.x, ylabel=said.y or unit)
    for axes in every[len(block.panels) :]:
        axes.remove()
