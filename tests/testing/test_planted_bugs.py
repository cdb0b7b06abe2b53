"""The search finds each planted bug and leaves a script of a few mutations that reproduces it."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from grapin import InvalidArgument, WrongAnswer
from grapin.testing import Setup, Weights, find_failure
from grapin.user_code import load_user_code

PLANTED = Path(__file__).resolve().parent / "planted"
DEVICES = ("lost_deletion", "non_atomic_minimum", "short_lists", "stale_parent")
SETUPS = {
    **{name: Setup("sssp", str(PLANTED / f"{name}.py")) for name in DEVICES},
    "unpatched_copies": Setup("sssp", "cpu", cache="adaptive:100%"),
}
MOST_ROWS = 10
unpatched_copies = load_user_code("planted", f"{PLANTED / 'unpatched_copies.py'}:unpatched_copies")


@pytest.mark.parametrize("bug", SETUPS)
def test_each_bug_is_found_within_500_examples_and_reproduced_by_at_most_ten_edges_and_mutations(
    bug: str,
) -> None:
    with unpatched_copies() if bug == "unpatched_copies" else nullcontext():
        failure = find_failure(SETUPS[bug], weights=[Weights("int32", 0, 9)], hubs=False)
        assert failure is not None
        assert failure.examples <= 500
        assert len(failure.case.edges) + failure.case.mutations <= MOST_ROWS
        with pytest.raises(WrongAnswer) as reproduced:
            exec(failure.script(), {})
    assert failure.complaint == f"WrongAnswer: {reproduced.value}"


def test_a_rule_that_is_monotone_below_100_only_is_found_through_the_weights_that_are_asked_for() -> None:
    setup = Setup(f"{PLANTED / 'bent_rule.py'}:BentRule", "reference")
    failure = find_failure(setup, weights=[Weights.read("0:1000")], hubs=False)
    assert failure is not None
    assert len(failure.case.edges) + failure.case.mutations <= MOST_ROWS
    with pytest.raises(InvalidArgument) as reproduced:
        exec(failure.script(), {})
    assert failure.complaint == f"BrokenRule: {reproduced.value}"


def test_no_failure_is_found_where_no_bug_is_planted() -> None:
    setup = Setup("sssp", "cpu", cache="adaptive:100%")
    assert find_failure(setup, weights=[Weights("int32", 0, 9)], hubs=False, examples=50) is None
