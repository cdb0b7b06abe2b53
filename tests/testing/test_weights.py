"""Weights are drawn from all of the range that is asked for: small ones, those near both ends, and those between."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from grapin import Batch
from grapin.reference import ReferenceGraph
from grapin.testing import (
    Case,
    EngineMachine,
    Setup,
    Weights,
    batches,
    cases,
    edge_lists,
    hub_bursts,
    hub_churns,
    mutation_streams,
)
from grapin.testing.failures import same_everywhere
from grapin.testing.weights import weight_columns, weights_between

reach = settings(max_examples=300, phases=[Phase.generate], derandomize=True, database=None, deadline=None)
RANGES = {
    "whole": Weights("int32", 0, 1000),
    "reals": Weights("float32", 0.0, 1000.0),
    "far": Weights("int32", 5, 2**31 - 1),
}
ODD_RANGES = [
    Weights("float32", 0.1, 0.3),
    Weights("float32", 0.1, 0.1),
    Weights("float32", 0.0, 2147483647.0),
    Weights("int32", 7, 7),
    Weights("int32", 2**31 - 5, 2**31 - 1),
    Weights("int32", 0, 2**31 - 1),
]


def drawn(strategy: st.SearchStrategy[Any], attempts: int = 300) -> list[Any]:
    """Return what a strategy draws in so many attempts."""
    seen: list[Any] = []

    @settings(reach, max_examples=attempts, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def note(one: Any) -> None:
        seen.append(one)

    with same_everywhere():
        note()
    return seen


def inserted(batch: Batch) -> list[float]:
    """Return the weights of the edges that a batch inserts."""
    return [row[2] for row in batch.insert.rows()]


def tenths(weights: list[float], within: Weights) -> dict[str, float]:
    """Return which parts of these weights are the least, below a tenth, from a tenth to nine, and above."""
    span = within.high - within.low
    counts = {
        "least": sum(weight == within.low for weight in weights),
        "lowest": sum(weight - within.low <= span / 10 for weight in weights),
        "middle": sum(span / 10 < weight - within.low < 9 * span / 10 for weight in weights),
        "highest": sum(weight - within.low >= 9 * span / 10 for weight in weights),
    }
    return {name: count / len(weights) for name, count in counts.items()}


@pytest.mark.parametrize("name", RANGES)
def test_single_weights_come_from_all_of_a_range(name: str) -> None:
    within = RANGES[name]
    several = st.lists(weights_between(within.kind, within.low, within.high), min_size=5, max_size=5)
    parts = tenths([weight for weights in drawn(several) for weight in weights], within)
    assert parts["least"] > 0.02
    assert parts["lowest"] > 0.2
    assert parts["middle"] > 0.05
    assert parts["highest"] > 0.1


@pytest.mark.parametrize("name", RANGES)
def test_the_weights_of_start_graphs_come_from_all_of_a_range(name: str) -> None:
    within = RANGES[name]
    starts = drawn(edge_lists(weights=within, hubs=False))
    parts = tenths([weight for edges in starts for weight in edges.weight.tolist()], within)
    assert parts["lowest"] > 0.3
    assert parts["middle"] > 0.01
    assert parts["highest"] > 0.03


@pytest.mark.parametrize("strategy", [batches, hub_bursts, hub_churns])
def test_the_weights_of_batches_come_from_all_of_a_range(strategy: Any) -> None:
    graph = ReferenceGraph.empty(4, directed=True, weights="int32")
    made = drawn(strategy(graph, least_weight=20, largest_weight=1000))
    weights = [weight for batch in made for weight in inserted(batch)]
    parts = tenths(weights, Weights("int32", 20, 1000))
    assert min(weights) == 20
    assert max(weights) == 1000
    assert parts["lowest"] > 0.2
    assert parts["middle"] > 0.05
    assert parts["highest"] > 0.1


def test_half_of_the_columns_are_small_weights_only_so_that_there_are_ties() -> None:
    columns = drawn(weight_columns("int32", 8, least_weight=0, largest_weight=1000))
    assert 0.3 < np.mean([column.max() <= 9 for column in columns]) < 0.8


def test_whole_streams_keep_and_fill_the_range() -> None:
    streams = drawn(mutation_streams(weights=Weights("int32", 1, 500), zero_weights=False, hubs=False))
    weights = [weight for stream in streams for batch in stream.batches for weight in inserted(batch)]
    assert 1 <= min(weights) < 10
    assert 400 < max(weights) <= 500


@pytest.mark.parametrize("within", ODD_RANGES, ids=lambda within: f"{within.low}:{within.high}")
def test_ranges_of_any_form_have_streams(within: Weights) -> None:
    """Also those without a float32 in them, and those whose sums no graph holds."""
    nearest = float(np.float32(within.low)) if within.kind == "float32" else within.low
    for case in drawn(cases(weights=[within], hubs=False), attempts=50):
        for weight in (row[2] for row in case.rows() if len(row) == 3):
            assert within.low <= weight <= within.high or weight == nearest


def test_a_state_machine_draws_from_its_range() -> None:
    seen: list[float] = []

    class Noting(EngineMachine):
        setup = Setup("sssp", "reference")
        weights = Weights("int32", 3, 700)
        hubs = False

        def _apply(self, batch: Any) -> None:
            seen.extend(inserted(batch))
            super()._apply(batch)

    Noting.TestCase.settings = settings(reach, max_examples=30, stateful_step_count=10)
    Noting.TestCase("runTest").debug()
    assert 3 <= min(seen) < 13
    assert 600 < max(seen) <= 700


def test_what_a_stream_starts_from_reaches_the_far_end_and_zero_together() -> None:
    def both(case: Case) -> bool:
        weights = {row[2] for row in case.edges}
        return bool(weights) and min(weights) == 0 and max(weights) > 990

    assert both(find(cases(weights=[Weights("int32", 0, 1000)], hubs=False), both, settings=reach))
