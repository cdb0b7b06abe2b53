"""Whether two samples of times differ: an exact rank test, and the interval of ratios that it cannot tell apart.

Times on a shared machine have a long tail and a few dozen values at most, so nothing is assumed of their shape, and no
median is bootstrapped from ten numbers. If both samples came from one distribution, every way to deal the pooled ranks
out to them would be equally likely. The Wilcoxon-Mann-Whitney test counts those ways; here it counts all of them, ties
included, and approximates nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Sample = Sequence[float] | NDArray[Any]

LEVEL = 0.05
"""How often a difference may be found where there is none."""


@dataclass(frozen=True)
class Difference:
    """How a second sample compares with a first."""

    ratio: float
    """Second by first: the median of the ratios of all pairs (Hodges and Lehmann's estimate, on logarithms)."""
    low: float
    high: float
    """Between these the true ratio lies, wrong at most as often as `LEVEL`; 0 and infinity: too few values to say."""
    probability: float
    """How often two samples of one distribution differ at least as much."""


def compare_samples(first: Sample, second: Sample) -> Difference:
    """Compare positive numbers; neither sample may be empty."""
    ratios = np.sort(np.divide.outer(np.asarray(second, float), np.asarray(first, float)).ravel())
    outside = _least_extreme(len(first), len(second))
    low, high = (0.0, math.inf) if outside < 0 else (ratios[outside], ratios[-1 - outside])
    return Difference(float(np.median(ratios)), float(low), float(high), probability(first, second))


def probability(first: Sample, second: Sample) -> float:
    """Return how often chance alone brings the mean ranks of two samples at least as far apart as they are."""
    doubled = _doubled_ranks(np.concatenate([np.asarray(first, float), np.asarray(second, float)]))
    ways = _ways(tuple(sorted(doubled.tolist())), len(first))
    found = int(doubled[: len(first)].sum())
    # The middle is len(first) * (count + 1) in doubled ranks, a whole number: distances from it are exact.
    middle = len(first) * (len(doubled) + 1)
    far = np.abs(np.arange(len(ways)) - middle) >= abs(found - middle)
    return float(min(1.0, ways[far].sum() / ways.sum()))


def least_probability(first: int, second: int) -> float:
    """Return the smallest probability that samples of these sizes can have: that of two that do not overlap."""
    return min(1.0, 2 / math.comb(first + second, first))


def corrected(probabilities: Sequence[float]) -> list[float]:
    """Correct for having looked several times (Holm): below `LEVEL`, the chance that any finding is false is too."""
    count = len(probabilities)
    result, highest = [0.0] * count, 0.0
    for rank, place in enumerate(sorted(range(count), key=probabilities.__getitem__)):
        highest = max(highest, min(1.0, (count - rank) * probabilities[place]))
        result[place] = highest
    return result


def _doubled_ranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return twice the rank of each value, equal values sharing the mean of theirs, so that all are whole."""
    ordered = np.sort(values)
    before, through = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    return (before + through + 1).astype(np.int64)


@lru_cache(maxsize=64)
def _ways(doubled: tuple[int, ...], size: int) -> NDArray[np.float64]:
    """Count, for each sum, the choices of `size` of these ranks that have it."""
    ways = np.zeros((size + 1, sum(doubled) + 1))
    ways[0, 0] = 1
    for rank in doubled:
        # Larger choices first, so that no rank is chosen twice.
        for chosen in range(size, 0, -1):
            ways[chosen, rank:] += ways[chosen - 1, : ways.shape[1] - rank]
    chosen_ways: NDArray[np.float64] = ways[size]
    return chosen_ways


@lru_cache(maxsize=64)
def _least_extreme(first: int, second: int) -> int:
    """Return how many of the smallest pairwise ratios, and of the largest, lie outside the interval less one."""
    ways = _ways(tuple(range(2, 2 * (first + second) + 1, 2)), first)
    smallest = first * (first + 1)
    tail = np.cumsum(ways[smallest::2]) / ways.sum()
    return int(np.searchsorted(2 * tail, LEVEL, "right")) - 1
