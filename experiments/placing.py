"""Where rows stand in a figure when they do not say so: by their names, which read `subject: what was measured`.

What is measured of several subjects becomes a panel, whose rows are the subjects; all else stands together by unit.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from experiments.bars import Bar, Place

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
