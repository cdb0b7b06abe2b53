"""The search for a rule's counterexample finds what the engine's own list finds, and what lies between its values."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

import grapin
from grapin.errors import BrokenRule, InvalidArgument
from grapin.programs import find_program
from grapin.testing import Setup, Weights, check_monotone, find_failure, find_refutation

PLANTED = Path(__file__).resolve().parent / "planted"
BENT = f"{PLANTED / 'bent_rule.py'}:BentRule"
EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "most_reliable_path.py"


def with_rule(edge: Callable[[Any, Any], Any], **attributes: Any) -> grapin.Monotone:
    """Return a program with this rule."""
    kind = type("Ruled", (grapin.Monotone,), {"name": "ruled", "edge": staticmethod(edge), **attributes})
    return kind(0)  # type: ignore[no-any-return]  # made above


def bent_at(place: float) -> Callable[[Any, Any], Any]:
    return lambda value, weight: value + weight if value < place else value + 1


BROKEN = {
    "odd values are worse": with_rule(lambda value, weight: value + weight + (10 if value % 2 else 0)),
    **{f"bent at {place}": with_rule(bent_at(place)) for place in (30, 100, 137, 777, 1000, 2**20, 10**6)},
    "bent at 0.3": with_rule(bent_at(0.3), values="float"),
    "bent at 1000.0": with_rule(bent_at(1000.0), values="float"),
    "the last value is best": with_rule(lambda value, weight: value + weight if value < 2**32 - 2 else 0),
    "improves what is not reached": with_rule(lambda value, _: value or 1, better="larger", source_value=5),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_rule_that_breaks_at_one_place_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgument, match=r"Ruled\.edge must"):
        check_monotone(BROKEN[name])


@pytest.mark.parametrize("name", BROKEN)
def test_the_engine_s_own_values_are_among_those_that_are_tried(name: str) -> None:
    """Whatever an engine refuses for a weight, the search refuses for the same weight."""
    graph = grapin.Graph.from_edges([0, 1], [1, 2], [7, 7])
    try:
        grapin.Engine(graph, BROKEN[name], device="reference")
    except BrokenRule:
        with pytest.raises(BrokenRule):
            check_monotone(BROKEN[name], weights=st.just(7))


@pytest.mark.parametrize("place", [2, 100, 1000, 50_000, 2**20, 10**9])
def test_an_engine_refuses_a_rule_that_changes_at_a_round_value(place: int) -> None:
    graph = grapin.Graph.from_edges([0, 1], [1, 2], [1, 4])
    with pytest.raises(InvalidArgument, match=rf"but {place - 1} is better than {place} and edge"):
        grapin.Engine(graph, with_rule(bent_at(place)), device="reference")


def test_an_engine_looks_at_large_weights_among_many_small_ones() -> None:
    far = 500
    weights = [1] * far
    weights[far // 2] = 1000
    graph = grapin.Graph.from_edges(list(range(far)), list(range(1, far + 1)), weights)
    with pytest.raises(InvalidArgument, match=r"edge\(\d+, 1000\)"):
        grapin.Engine(graph, with_rule(bent_at(150)), device="reference")


def test_values_are_floats_where_the_weights_are() -> None:
    seen: set[type] = set()

    def noting(value: Any, weight: Any) -> Any:
        seen.add(type(value))
        return value + weight

    program = with_rule(noting, values="weight")
    check_monotone(program, weights=Weights("int32", 0, 9))
    assert seen == {int}
    seen.clear()
    check_monotone(program, weights=Weights("float32", 0.0, 9.0))
    assert {kind.__name__ for kind in seen} == {"float32"}


def test_what_is_lost_in_rounding_to_32_bits_breaks_no_order() -> None:
    rule = with_rule(
        lambda value, _: float(value) * (1 + 1e-12), values="float", better="larger", source_value=1.0
    )
    check_monotone(rule)


def test_a_refutation_s_script_fails_as_it_says(tmp_path: Path) -> None:
    probabilities = Setup(f"{EXAMPLE}:MostReliablePath")
    assert find_refutation(probabilities, weights=[Weights("float32", 0.0, 1.0)]) is None
    for setup, weights in ((Setup(BENT), "0:1000"), (probabilities, "0.0:2.0")):
        refutation = find_refutation(setup, weights=[Weights.read(weights)])
        assert refutation is not None
        (tmp_path / "refuted.py").write_text(refutation.script())
        run = subprocess.run(
            [sys.executable, tmp_path / "refuted.py"], capture_output=True, text=True, check=False
        )
        assert run.stderr.splitlines()[-1] == f"grapin.errors.{refutation.complaint}"


def test_the_same_seed_finds_the_same_refutation() -> None:
    found = [find_refutation(Setup(BENT), weights=[Weights("int32")], random_seed=3) for _ in range(2)]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].script() == found[1].script()


def test_programs_that_are_not_monotone_by_kind_have_no_rule_to_refute() -> None:
    assert find_refutation(Setup("pagerank"), weights=[Weights("none")]) is None


def test_streams_find_a_rule_that_breaks_at_a_value_that_only_large_weights_reach(tmp_path: Path) -> None:
    """Not by the engine's own values: the rule keeps order, but for small weights, at each of them."""
    (tmp_path / "rule.py").write_text(
        "import grapin\n"
        "class Heavy(grapin.Monotone):\n"
        "    name = 'heavy'\n"
        "    @staticmethod\n"
        "    def edge(value, weight):\n"
        "        return value + weight if weight < 500 else value - 1\n"
    )
    failure = find_failure(
        Setup(f"{tmp_path}/rule.py:Heavy", "reference"), weights=[Weights("int32", 0, 1000)], hubs=False
    )
    assert failure is not None
    assert len(failure.case.edges) + failure.case.mutations == 1
    assert [row[2] for row in failure.case.rows()] == [500]


def test_the_planted_program_is_one_that_can_be_found() -> None:
    assert find_program(BENT).name == "bent rule"
