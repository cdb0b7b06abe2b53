"""Two files of records side by side: what became faster or slower, and what cannot be told apart.

Whether two samples of times differ: an exact rank test, and the interval of ratios that it cannot tell apart.

Times on a shared machine have a long tail and a few dozen values at most, so nothing is assumed of their shape, and no
median is bootstrapped from ten numbers. If both samples came from one distribution, every way to deal the pooled ranks
out to them would be equally likely. The Wilcoxon-Mann-Whitney test counts those ways; here it counts all of them, ties
included, and approximates nothing.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.bench.records import FIGURES, Summary
from grapin.bench.suite import Case
from grapin.errors import InvalidArgument

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


Records = dict[Case, dict[str, Any]]


@dataclass(frozen=True)
class Compared:
    """One figure of one case, then and now."""

    case: Case
    figure: str
    before: Summary
    now: Summary
    difference: Difference
    probability: float
    """Corrected for the number of comparisons."""
    attainable: bool
    """Whether so few repetitions could show any difference, however large."""

    @property
    def verdict(self) -> str:
        """`faster`, `slower`, or what is missing to say either."""
        if self.probability <= LEVEL:
            return "slower" if self.difference.ratio > 1 else "faster"
        return "no difference found" if self.attainable else "too few repetitions"


@dataclass(frozen=True)
class Comparison:
    """Everything that can be compared, and what cannot."""

    rows: list[Compared]
    only_before: list[Case]
    only_now: list[Case]
    machines_differ: bool


def compare(before: Records, now: Records) -> Comparison:
    """Compare the cases that both have; a case that was configured otherwise is refused, since it is other work."""
    common = check_comparable(before, {case: one["configuration"] for case, one in now.items()})
    pairs = [
        (case, figure, before[case][figure]["seconds"], now[case][figure]["seconds"])
        for case in common
        for figure in (FIGURES if case.system is not None else FIGURES[:1])
    ]
    differences = [compare_samples(first, second) for _case, _figure, first, second in pairs]
    probabilities = corrected([one.probability for one in differences])
    return Comparison(
        [
            Compared(
                case,
                figure,
                Summary.of(first),
                Summary.of(second),
                difference,
                probability,
                attainable=least_probability(len(first), len(second)) * len(pairs) <= LEVEL,
            )
            for (case, figure, first, second), difference, probability in zip(
                pairs, differences, probabilities, strict=True
            )
        ],
        [case for case in before if case not in now],
        [case for case in now if case not in before],
        any(before[case]["machine"] != now[case]["machine"] for case in common),
    )


def check_comparable(before: Records, now: Mapping[Case, dict[str, Any]]) -> list[Case]:
    """Return the cases that earlier records share with these, given with their configurations, or refuse."""
    common = [case for case in now if case in before]
    if not common:
        raise InvalidArgument(
            "the two records must have a case in common: graph, batch size, program, system, device"
        )
    for case in common:
        _check_configuration(case, before[case]["configuration"], now[case])
    return common


def _check_configuration(case: Case, before: dict[str, Any], now: dict[str, Any]) -> None:
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            raise InvalidArgument(
                f"{case}: {name} must be the same in both records, not {before.get(name)!r} and {now.get(name)!r}"
            )
