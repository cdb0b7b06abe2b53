"""Key and parent must belong together and parents must not close a cycle, in every interleaving."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from update_protocols import (
    Edge,
    Steps,
    checked,
    lowered,
    published,
    recorded,
    rereading,
    swapped,
    target_first,
    unchecked,
)

from grapin.testing import Exploration, Weak, explore
from grapin.testing.interleavings import MemoryModel

Relaxing = Callable[[list[Edge]], Steps]
NOTHING = (99, "~")
ROOT = (5, "~")
"""`~` comes after every name, as NO_PARENT after every vertex."""
TIED: list[Edge] = [("z", "u", 0), ("z", "v", 0), ("u", "v", 0), ("v", "u", 0)]
"""Both u and v are reached from z, and from each other, all with equal keys; z is the largest of the parents."""
START = {"z": ROOT, "u": NOTHING, "v": NOTHING}


def offers(
    thread: Callable[[str, int], Steps], offered: dict[str, int], parent: str | None = None
) -> Exploration:
    """Let threads offer different keys to one vertex, whose result and parent are two words."""

    def belong_together(memory: dict[Any, Any]) -> str | None:
        result, parent = memory["result"], memory["parent"]
        return (
            None
            if offered[parent] == result
            else f"result {result} with parent {parent}, who offered {offered[parent]}"
        )

    threads = {name: partial(thread, name, key) for name, key in offered.items()}
    return explore(threads, {"result": 9, "parent": parent}, at_end=belong_together)


def relaxations(
    relax: Relaxing, shares: list[list[Edge]], words: dict[str, Any], model: MemoryModel | None = None
) -> Exploration:
    """Let threads relax their shares of a graph's edges, and judge every memory they may leave behind."""
    weights = {(source, target): weight for share in shares for source, target, weight in share}
    threads = {f"T{place}": partial(relax, share) for place, share in enumerate(shares)}
    return explore(threads, words, at_end=partial(wrong_forest, weights=weights, before=words), model=model)


def wrong_forest(
    memory: dict[Any, Any], *, weights: dict[tuple[str, str], int], before: dict[str, Any]
) -> str | None:
    """Say where parents close a cycle, or where a key is one that its parent cannot have offered."""
    for vertex, (key, parent) in memory.items():
        if (key, parent) != before[vertex] and key < memory[parent][0] + weights[parent, vertex]:
            return f"{vertex} has key {key}, better than its parent {parent} can offer"
        met = [vertex]
        while parent != "~":
            if parent in met:
                return f"the parents of {' and '.join(sorted(met))} form a cycle"
            met.append(parent)
            parent = memory[parent][1]
    return None


def test_the_published_loop_leaves_one_threads_result_with_the_others_parent() -> None:
    outcome = offers(published, {"A": 5, "B": 3})
    assert outcome.counterexample is not None
    assert outcome.counterexample.wrong == "result 3 with parent A, who offered 5"
    assert outcome.states < 100  # two threads and one vertex
    assert str(outcome.counterexample).splitlines() == [
        "result 3 with parent A, who offered 5",
        "  A  minimum(result, 5)                 -> 9",
        "  B  minimum(result, 3)                 -> 5",
        "  B  read(parent)                       -> None",
        "  B  compare_and_swap(parent, None, B)  -> None",
        "  A  read(parent)                       -> B",
        "  B  read(result)                       -> 3",
        "  B  read(parent)                       -> B",
        "  A  compare_and_swap(parent, B, A)     -> B",
        "  A  read(result)                       -> 3",
        "in the end: result=3, parent=A",
    ]


def test_reading_the_parent_anew_before_the_result_fails_where_the_old_parent_offers_again() -> None:
    assert offers(rereading, {"A": 5, "B": 3}).counterexample is None
    found = offers(rereading, {"A": 5, "B": 3}, parent="B").counterexample
    assert found is not None
    assert found.wrong == "result 3 with parent A, who offered 5"


def test_one_thread_alone_is_right_whatever_its_protocol() -> None:
    for thread in (published, rereading):
        assert offers(thread, {"A": 5}).counterexample is None


@pytest.mark.parametrize("relax", [unchecked, target_first])
def test_a_packed_minimum_alone_or_tested_in_the_wrong_order_closes_a_cycle(relax: Relaxing) -> None:
    found = relaxations(relax, [[edge] for edge in TIED], START).counterexample
    assert found is not None
    assert found.wrong == "the parents of u and v form a cycle"


def test_a_packed_minimum_alone_closes_a_cycle_without_any_race() -> None:
    words = {"z": ROOT, "u": (5, "z"), "v": (5, "z")}
    outcome = relaxations(unchecked, [[("u", "v", 0), ("v", "u", 0)]], words)
    assert outcome.counterexample is not None
    assert outcome.counterexample.memory == {"z": ROOT, "u": (5, "v"), "v": (5, "u")}


EDGES = [
    (source, target, weight) for source in "uvz" for target in "uv" for weight in (0, 1) if source != target
]
SHARES = st.lists(st.lists(st.sampled_from(EDGES), min_size=1, max_size=2), min_size=3, max_size=3)


def same_weights(shares: list[list[Edge]]) -> list[list[Edge]]:
    """Give an edge that several threads relax the weight it has first."""
    weights: dict[tuple[str, str], int] = {}
    return [
        [(source, target, weights.setdefault((source, target), weight)) for source, target, weight in share]
        for share in shares
    ]


@given(SHARES.map(same_weights))
@settings(max_examples=30)
def test_ours_is_right_for_three_threads_ties_and_zero_weights(shares: list[list[Edge]]) -> None:
    for relax in (checked, lowered, swapped):
        outcome = relaxations(relax, shares, START)
        assert outcome.counterexample is None, outcome.counterexample
        assert outcome.endings


def test_ours_is_right_where_everything_is_tied() -> None:
    for relax in (checked, lowered, swapped, partial(checked, fenced=True)):
        assert relaxations(relax, [[edge] for edge in TIED], START).counterexample is None


def test_without_a_fence_stale_reads_close_a_cycle_for_what_the_cpu_does() -> None:
    outcome = relaxations(checked, [[edge] for edge in TIED], START, Weak())
    assert outcome.counterexample is not None
    assert outcome.counterexample.wrong == "the parents of u and v form a cycle"
    assert any(step.stale for step in outcome.counterexample.schedule)


@pytest.mark.parametrize("relax", [partial(checked, fenced=True), swapped, lowered])
def test_a_fence_between_the_reads_or_a_swap_that_tests_bears_stale_reads(relax: Relaxing) -> None:
    assert relaxations(relax, [[edge] for edge in TIED], START, Weak()).counterexample is None


@given(SHARES.map(same_weights))
@settings(max_examples=20)
def test_what_the_gpu_does_bears_stale_reads_for_three_threads(shares: list[list[Edge]]) -> None:
    outcome = relaxations(lowered, shares, START, Weak())
    assert outcome.counterexample is None, outcome.counterexample


@given(SHARES.map(same_weights), st.sampled_from([START, {"z": ROOT, "u": (5, "z"), "v": NOTHING}]))
@settings(max_examples=30)
def test_keys_recorded_before_the_launch_bear_stale_reads_without_a_fence(
    shares: list[list[Edge]], words: dict[str, Any]
) -> None:
    keys = {vertex: key for vertex, (key, _parent) in words.items()}
    outcome = relaxations(partial(recorded, keys=keys), shares, words, Weak())
    assert outcome.counterexample is None, outcome.counterexample


def test_only_the_swap_never_replaces_a_parent_by_one_with_an_equal_key() -> None:
    def replaced(before: dict[Any, Any], after: dict[Any, Any]) -> str | None:
        same = [vertex for vertex in after if before[vertex][0] == after[vertex][0]]
        changed = [vertex for vertex in same if before[vertex] != after[vertex]]
        return f"{changed[0]} got another parent with the same key" if changed else None

    rivals: list[Edge] = [("y", "v", 0), ("z", "v", 0)]
    words = {"y": ROOT, "z": ROOT, "v": NOTHING}
    for relax, expected in ((swapped, False), (checked, True)):
        threads = {source: partial(relax, [(source, target, weight)]) for source, target, weight in rivals}
        assert (explore(threads, words, at_step=replaced).counterexample is not None) == expected
