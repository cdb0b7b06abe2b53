"""Bars: a figure, the limit it must keep, and the verdict; and what is said of several, in words.

An answer is put together of parts; a part whose figures are not among the rows, as in a quick run or in a record from
before a row was measured, is left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite, nan
from pathlib import Path
from typing import Any, NamedTuple

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
"""Real graphs, where they lie beside the checkout."""
Record = Mapping[str, Any]
"""What a run found and all it hangs on, as `experiments/lib/records.py` keeps it."""


class Place(NamedTuple):
    """Where a bar stands in a figure of lines or groups (`experiments/lib/drawing.py`)."""

    panel: str
    line: str
    x: float | str
    """A number on an axis, or what a group is called."""


@dataclass(frozen=True)
class Bar:
    """One thing that was measured; without a limit it is there to be compared with."""

    name: str
    figure: float
    unit: str = "x"
    limit: float | None = None
    remark: str = ""
    published: float | None = None
    """What others measured or stated of the same, in the same unit."""
    place: Place | None = None

    @property
    def ratio(self) -> float | None:
        """Ours over the published; None where nothing is, or nothing but 0."""
        return self.figure / self.published if self.published else None

    @property
    def verdict(self) -> str:
        """`pass` or `FAIL`, and nothing without a limit."""
        if self.limit is None:
            return ""
        return "pass" if self.figure <= self.limit else "FAIL"


def bars_of(record: Record) -> list[Bar]:
    """Return the rows of a record."""
    fields = ("name", "unit", "limit", "remark", "published")
    return [
        Bar(
            figure=nan if row["figure"] is None else row["figure"],
            place=Place(*row["place"]) if row.get("place") else None,
            **{name: row[name] for name in fields},
        )
        for row in record["bars"]
    ]


def print_bars(title: str, bars: Iterable[Bar], rival: str = "published") -> None:
    """Print two lines a bar: verdict, figure, limit and name; then the rival's figure, the ratio, the remark."""
    print(title)
    for bar in bars:
        limit = "" if bar.limit is None else f"(at most {bar.limit:g})"
        print(f"{bar.verdict:4} {bar.figure:7.3g} {bar.unit:11} {limit:14} {bar.name}")
        beside = "" if bar.published is None else f"{bar.published:7.3g} {rival}"
        if bar.ratio is not None:
            beside += f", ours {bar.ratio:.3g} times"
        if beside or bar.remark:
            print(f"{'':5}{beside:34} {bar.remark}".rstrip())


def number(figure: float, digits: int = 2) -> str:
    """Write a figure with so many digits, never with an exponent: `0.000011`, `7.3`, `1,113`."""
    rounded = Decimal(f"{figure:.{digits}g}")
    return f"{figure:,.0f}" if abs(rounded) >= 100 else f"{rounded:f}"


def span(figures: Iterable[float], unit: str = "", digits: int = 2) -> str:
    """Write from where to where figures go: `0.07 to 0.14 ms`; nothing of none."""
    known = [figure for figure in figures if isfinite(figure)]
    ends = dict.fromkeys(number(end, digits) for end in (min(known), max(known))) if known else {}
    return " to ".join(ends) + (f" {unit}" if unit and ends else "")


def beside(bars: Iterable[Bar], ending: str) -> str:
    """Write from where to where the figures of the rows go that are called so, and those published of the same."""
    rows = named(bars, ending)
    theirs = span(row.published for row in rows if row.published)
    return span(row.figure for row in rows) + (f" (published {theirs})" if theirs else "")


def percents(parts: Iterable[float], digits: int = 2) -> str:
    """Write from where to where parts go, in percent."""
    return span((100 * part for part in parts), "%", digits)


def figures(bars: Iterable[Bar], ending: str, beginning: str = "") -> list[float]:
    """Return the figures of the rows that are called so."""
    return [bar.figure for bar in named(bars, ending, beginning)]


def named(bars: Iterable[Bar], ending: str, beginning: str = "") -> list[Bar]:
    """Return the rows whose names begin and end so."""
    return [bar for bar in bars if bar.name.endswith(ending) and bar.name.startswith(beginning)]


def told(part: str, *spans: str) -> str:
    """Fill a part of an answer in; nothing where one of the spans is missing."""
    return part.format(*spans) if all(spans) else ""


def kept(bars: Sequence[Bar]) -> str:
    """Say how many limits are kept; nothing where there is none."""
    verdicts = [bar.verdict for bar in bars if bar.limit is not None]
    limits = "limit" if len(verdicts) == 1 else "limits"
    return f"{verdicts.count('pass')} of {len(verdicts)} {limits} kept" if verdicts else ""


def sentence(*parts: str, between: str = "; ") -> str:
    """Put the parts together that say something."""
    return between.join(part for part in parts if part) or "nothing was measured"
