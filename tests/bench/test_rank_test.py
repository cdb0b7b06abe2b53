"""The rank test finds what differs, and no more often than it says what does not."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grapin.bench.compare import LEVEL, compare_samples, corrected, least_probability, probability
from grapin.bench.suite import MOST_REPETITIONS

TIMES = st.floats(1e-6, 1e3)
SAMPLES = st.lists(TIMES, min_size=1, max_size=8)
TIED = st.lists(st.sampled_from([1.0, 2.0, 3.0]), min_size=1, max_size=5)
PROBABILITIES = st.lists(st.floats(0, 1), max_size=10)
Draw = Callable[[np.random.Generator, int], np.ndarray]

DISTRIBUTIONS: dict[str, Draw] = {
    "lognormal": lambda random, size: random.lognormal(0, 0.3, size),
    "long tail": lambda random, size: 1 + random.pareto(1.5, size),
    "two speeds": lambda random, size: np.where(random.random(size) < 0.3, 3.0, 1.0) + random.random(size),
    "coarse clock": lambda random, size: 1.0 + random.integers(0, 5, size),
}


@given(TIED, TIED)
def test_the_probability_is_the_part_of_all_deals_that_are_as_extreme(
    first: list[float], second: list[float]
) -> None:
    pooled = np.array(first + second)
    ranks = np.array([(pooled < one).sum() + ((pooled == one).sum() + 1) / 2 for one in pooled])
    middle = len(first) * (len(pooled) + 1) / 2
    distances = [
        abs(ranks[list(deal)].sum() - middle) for deal in combinations(range(len(pooled)), len(first))
    ]
    extreme = sum(distance >= distances[0] for distance in distances)
    assert probability(first, second) == pytest.approx(extreme / len(distances))


@pytest.mark.parametrize("size", [7, 12])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_two_samples_of_one_distribution_differ_as_rarely_as_stated(name: str, size: int) -> None:
    random, trials = np.random.default_rng(size), 1000
    found = sum(
        probability(DISTRIBUTIONS[name](random, size), DISTRIBUTIONS[name](random, size)) <= LEVEL
        for _ in range(trials)
    )
    deviation = np.sqrt(trials * LEVEL * (1 - LEVEL))
    assert found <= trials * LEVEL + 3 * deviation
    assert (
        found >= trials * LEVEL / 2 - 3 * deviation
    )  # few values have few probabilities, some below the level


@pytest.mark.parametrize(("size", "noise"), [(8, 0.2), (10, 0.3), (20, 0.4)])
def test_twice_as_slow_is_found_even_among_a_dozen_comparisons_with_repetitions_to_match_the_noise(
    size: int, noise: float
) -> None:
    random, trials = np.random.default_rng(1), 200
    found = 0
    for _ in range(trials):
        first, second = random.lognormal(0, noise, (2, size))
        difference = compare_samples(first, 2 * second)
        found += 12 * difference.probability <= LEVEL and difference.ratio > 1
    assert found >= 0.9 * trials


def test_the_interval_misses_the_true_ratio_as_rarely_as_stated() -> None:
    random, trials, true = np.random.default_rng(2), 1000, 1.3
    missed = 0
    for _ in range(trials):
        difference = compare_samples(random.lognormal(0, 0.5, 8), true * random.lognormal(0, 0.5, 10))
        missed += not difference.low <= true <= difference.high
    assert missed <= trials * LEVEL + 3 * np.sqrt(trials * LEVEL)
    assert missed >= trials * LEVEL / 3


@pytest.mark.parametrize(("first", "second"), [(1, 4), (4, 4), (5, 5), (3, 6), (7, 3)])
def test_the_interval_leaves_out_one_exactly_where_a_difference_is_found(first: int, second: int) -> None:
    values = np.arange(1, first + second + 1)
    found = 0
    for deal in combinations(range(len(values)), first):
        difference = compare_samples(values[list(deal)], np.delete(values, deal))
        different = difference.probability <= LEVEL
        assert different == (not difference.low <= 1 <= difference.high)
        found += different
    assert (found > 0) == (least_probability(first, second) <= LEVEL)


@given(SAMPLES, SAMPLES)
def test_comparing_the_other_way_around_inverts_the_ratio(first: list[float], second: list[float]) -> None:
    one, other = compare_samples(first, second), compare_samples(second, first)
    assert one.probability == pytest.approx(other.probability)
    assert one.low == pytest.approx(1 / other.high if np.isfinite(other.high) else 0.0)
    assert one.low <= one.ratio <= one.high


@given(SAMPLES, SAMPLES)
def test_the_unit_of_time_does_not_matter(first: list[float], second: list[float]) -> None:
    scaled = compare_samples([8 * one for one in first], [8 * one for one in second])
    assert scaled == compare_samples(first, second)


@given(st.integers(1, 12), st.integers(1, 12))
def test_samples_that_do_not_overlap_have_the_least_probability(first: int, second: int) -> None:
    apart = probability(range(first), range(100, 100 + second))
    assert apart == pytest.approx(least_probability(first, second))


def test_the_largest_samples_are_compared_exactly_too() -> None:
    first = np.arange(MOST_REPETITIONS) + 1.0
    assert probability(first, first + 0.5) > 0.5
    assert probability(first, first + 100) == pytest.approx(least_probability(len(first), len(first)))


@given(PROBABILITIES)
def test_correction_keeps_order_and_never_lowers_a_probability(given_ones: list[float]) -> None:
    after = corrected(given_ones)
    for one, own in zip(given_ones, after, strict=True):
        assert one <= own <= 1
        assert all(own <= theirs for other, theirs in zip(given_ones, after, strict=True) if one < other)
    if given_ones:
        assert min(after) == pytest.approx(min(1.0, len(given_ones) * min(given_ones)))


def test_among_many_comparisons_of_equals_a_finding_is_as_rare_as_among_few() -> None:
    random, trials = np.random.default_rng(3), 300
    families = [
        corrected([probability(random.random(8), random.random(8)) for _ in range(10)]) for _ in range(trials)
    ]
    found = sum(min(family) <= LEVEL for family in families)
    assert found <= trials * LEVEL + 3 * np.sqrt(trials * LEVEL)
