"""Words for answers: figures as people write them, from where to where they go, and how many limits are kept.

An answer is put together of parts; a part whose figures are not among the rows, as in a quick run or in a record from
before a row was measured, is left out.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from math import isfinite

from experiments.bars import Bar


def number(figure: float, digits: int = 2) -> str:
    """Write a figure with so many digits, never with an exponent: `0.000011`, `7.3`, `1,113`."""
    rounded = Decimal(f"{figure:.{digits}g}")
    return f"{figure:,.0f}" if abs(rounded) >= 100 else f"{rounded:f}"


def span(figures: Iterable[float], unit: str = "", digits: int = 2) -> str:
    """Write from where to where figures go: `0.07 to 0.14 ms`; nothing of none."""
    known = [figure for figure in figures if isfinite(figure)]
    ends = dict.fromkeys(number(end, digits) for end in (min(known), max(known))) if known else {}
    return " to ".join(ends) + (f" {unit}" if unit and ends else "")


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
