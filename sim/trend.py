"""A trend: how a factor goes on beyond the largest graph that was run.

Three ways are known in which factors of a family go on: not at all, as what is left of a hub's influence fades, or for
ever by the same part each doubling, as the mean list of R-MAT grows. Which one a factor takes is not assumed but tried:
that which would have told the largest graphs best from those two and three doublings smaller.
"""

import math
from collections.abc import Sequence
from itertools import product

FLAT, FADING, STEADY = 0.0, 0.8, 1.0
"""What part of one doubling's step the next one takes."""
WAYS = (FLAT, FADING, STEADY)
AWAY = (2, 3)
"""Doublings between what is told and what it is told from, when a way is tried."""
_RECENT = 4
"""Sizes that say where things stand and how they go on; smaller ones say more about small graphs."""
_CLEARLY = 0.6
"""What part of a flat way's misses another must have to be taken: chance looks like a slope too."""
_LEAST, _MOST = 1e-9, 1 - 1e-9


def follow(
    sizes: Sequence[float],
    values: Sequence[float],
    size: float,
    *,
    part: bool = False,
    way: float | None = None,
) -> float:
    """Return the value at a size from those at smaller ones, in their order; `part` is one of a whole, 0 to 1.

    `way` is the one to take; None is for the best.
    """
    if min(values) == max(values):
        return values[-1]
    if min(values) <= 0 or (part and max(values) >= 1):
        return _mean(values[-_RECENT:], sizes[-_RECENT:])
    places = [math.log2(one) for one in sizes]
    heights = [_stretch(value, part) for value in values]
    height = _forecast(places, heights, math.log2(size), best_way(places, heights) if way is None else way)
    if not part:
        return math.exp(height)
    return min(_MOST, max(_LEAST, 1 / (1 + math.exp(-height))))


def best_way(places: Sequence[float], heights: Sequence[float]) -> float:
    """Return the way that tells the last heights best from those before; without enough of them, the fading one."""
    missed = dict.fromkeys(WAYS, 0.0)
    tried = False
    for told, away in product(range(1, len(places)), AWAY):
        known = [one for one in range(told) if places[told] - places[one] >= away - 0.1]
        if len(known) < 2:
            continue
        tried = True
        for way in WAYS:
            before = [places[one] for one in known], [heights[one] for one in known]
            missed[way] += abs(_forecast(*before, places[told], way) - heights[told])
    if not tried:
        return FADING
    way = min(FADING, STEADY, key=lambda one: missed[one])
    return way if missed[way] < _CLEARLY * missed[FLAT] else FLAT


def _forecast(places: Sequence[float], heights: Sequence[float], place: float, way: float) -> float:
    """Go on from the line through the recent places, each of which counts by its size; a flat way from their mean."""
    xs, ys = places[-_RECENT:], heights[-_RECENT:]
    weights = [2 ** (one - xs[-1]) for one in xs]
    x, y = (_mean(some, weights) for some in (xs, ys))
    if way == FLAT or len(xs) == 1:
        return y
    spread = _mean([(one - x) ** 2 for one in xs], weights)
    slope = _mean([(one - x) * (height - y) for one, height in zip(xs, ys, strict=True)], weights) / spread
    beyond = place - xs[-1]
    reach = beyond if way == STEADY else (1 - way**beyond) * way / (1 - way)
    return y + slope * (xs[-1] - x + reach)


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    return sum(one * weight for one, weight in zip(values, weights, strict=True)) / sum(weights)


def _stretch(value: float, part: bool) -> float:
    return math.log(value / (1 - value)) if part else math.log(value)
