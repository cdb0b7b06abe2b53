"""Factors: a cost as what is physical about it, and the trend of each beyond the largest graph that was run.

Lists that are read, elements of a list, the part of them that the device holds, bytes requested for each element that
it does not, how those bytes divide among requests, pages touched by a list, bytes moved for each of them, headers for
a byte: each changes slowly with a graph's size or not at all. `costs_of` multiplies them out again, so that whatever
becomes of the factors, the orders and sums hold that hold of every cost: no wire is below its payload, nothing is held
that is not read, requests by size are the bytes, parts are the time.

Three ways are known in which factors of a family go on: not at all, as what is left of a hub's influence fades, or for
ever by the same part each doubling, as the mean list of R-MAT grows. Which one a factor takes is not assumed but tried:
that which would have told the largest graphs best from those two and three doublings smaller.
"""

import math
from collections.abc import Sequence
from itertools import product

from grapin.counters import REQUEST_SIZES, Counters
from grapin.sim.prediction import PARTS, Costs, Seconds

PARTS_OF_ONE = frozenset({"edges held", "lists held", "hidden", *(f"part {size}" for size in REQUEST_SIZES)})
"""Factors that are parts of something."""
Factors = dict[str, float]


def factors_of(costs: Costs, rate: float) -> Factors:
    """Take a cost apart; a factor of something that there is none of is 0."""
    counters, seconds = costs.counters, costs.seconds
    edges, lists, requested = counters.edges, counters.lists, counters.bytes
    parts = [getattr(seconds, part) for part in PARTS]
    moved = costs.migrated_bytes
    return {
        "lists": lists,
        "length": _over(edges, lists),
        "edges held": _over(counters.cached_edges, edges),
        "lists held": _over(counters.cached_lists, lists),
        "requested": _over(requested - counters.load_bytes, edges - counters.cached_edges),
        "loads": _over(counters.loads, lists),
        "loaded": _over(counters.load_bytes, edges),
        **{f"part {size}": _over(size * count, requested) for size, count in counters.requests.items()},
        "touched": _over(counters.pages, lists),
        "patched": _over(counters.patch_bytes, edges),
        "copied": _over(counters.copied_bytes, edges),
        "migrated": _over(moved, counters.pages),
        "written back": _over(costs.evicted_bytes, moved),
        "faults": _over(costs.faults, moved),
        "evictions": _over(costs.evictions, moved),
        "headers": max(0.0, _over(costs.wire_to_device, costs.bytes) - 1.0),
        "upward": _over(costs.wire_to_host, costs.bytes),
        "iterations": costs.iterations,
        "waiting": _over(max(0.0, seconds.link - costs.wire_to_device / rate), costs.iterations),
        "device": _over(seconds.device, edges),
        "driver": _over(seconds.faults, moved),
        "host": _over(seconds.host, edges),
        "launches": _over(seconds.launches, costs.iterations),
        "hidden": min(1.0, _over(seconds.hidden, sum(parts) - max(parts))),
    }


def costs_of(factors: Factors, rate: float) -> Costs:
    """Put a cost together from its factors."""
    lists = round(factors["lists"])
    edges = round(factors["length"] * lists)
    held = round(factors["edges held"] * edges)
    loaded = factors["loaded"] * edges
    requests = _requests(factors, factors["requested"] * (edges - held) + loaded)
    counters = Counters.of(edges, lists, requests, round(factors["touched"] * lists))
    counters += Counters(
        cached_edges=held,
        cached_lists=round(factors["lists held"] * lists),
        loads=round(factors["loads"] * lists),
        load_bytes=min(round(loaded), counters.bytes),
        patch_bytes=round(factors["patched"] * edges),
        copied_bytes=round(factors["copied"] * edges),
    )
    moved = round(factors["migrated"] * counters.pages)
    payload = counters.link_bytes + moved
    wire = payload + round(factors["headers"] * payload)
    iterations = round(factors["iterations"])
    parts = {
        "link": wire / rate + factors["waiting"] * iterations,
        "device": factors["device"] * edges,
        "faults": factors["driver"] * moved,
        "host": factors["host"] * edges,
        "launches": factors["launches"] * iterations,
    }
    hidden = factors["hidden"] * (sum(parts.values()) - max(parts.values()))
    return Costs(
        counters,
        migrated_bytes=moved,
        evicted_bytes=round(factors["written back"] * moved),
        evictions=round(factors["evictions"] * moved),
        faults=round(factors["faults"] * moved),
        wire_to_device=wire,
        wire_to_host=round(factors["upward"] * payload),
        iterations=iterations,
        seconds=Seconds(**parts, hidden=hidden),
    )


def _requests(factors: Factors, size: float) -> list[int]:
    """Divide bytes among requests; the parts are made to add up to one."""
    parts = [factors[f"part {one}"] for one in REQUEST_SIZES]
    whole = sum(parts)
    return [
        round(part / whole * size / one) if whole else 0
        for part, one in zip(parts, REQUEST_SIZES, strict=True)
    ]


def _over(amount: float, base: float) -> float:
    return amount / base if base > 0 else 0.0


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
