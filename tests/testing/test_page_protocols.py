"""Pages have one owner and lists lose nothing, in every interleaving; the ways that look simpler fail."""

from functools import partial
from typing import Any

import pytest
from page_protocols import (
    EMPTY,
    give,
    insert,
    release_give,
    release_take,
    stack_cycle,
    stack_take,
    take,
)

from grapin.testing import explore
from grapin.testing.interleavings import Exploration, Weak

MODELS = [None, Weak()]


def ring(*pages: int, size: int) -> dict[str, Any]:
    """Return the slots of a ring with these pages from the first slot on."""
    return {f"slot{place}": pages[place] if place < len(pages) else EMPTY for place in range(size)}


def handed_out_twice(memory: dict[str, Any]) -> str | None:
    """Say which page two threads have."""
    got = [page for word, page in memory.items() if word.startswith("got ") and page != EMPTY]
    if "nothing, for ever" in got:
        return "a thread waits for ever"
    return next((f"page {page} was handed out twice" for page in got if got.count(page) > 1), None)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("queued", [0, 1, 2, 3])
@pytest.mark.parametrize("front", [0, 1, 2])
def test_no_page_is_handed_out_twice_wherever_the_ring_begins(
    model: Any, threads: int, queued: int, front: int
) -> None:
    size = 3
    pages = {f"slot{(front + place) % size}": 10 + place for place in range(queued)}
    words = {**ring(size=size), **pages, "taken": 0} | {f"got {name}": EMPTY for name in "ABC"[:threads]}
    takers = {
        name: partial(take, name, front=front, queued=queued, fresh=20, size=size) for name in "ABC"[:threads]
    }
    outcome = explore(takers, words, at_end=handed_out_twice, model=model)
    assert outcome.counterexample is None, outcome.counterexample
    expected = {10 + place for place in range(min(queued, threads))} | set(range(20, 20 + threads - queued))
    for ending in outcome.endings:
        assert {ending[f"got {name}"] for name in takers} == expected


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("front", [0, 1, 2, 3])
def test_pages_given_back_are_all_in_the_queue_once_and_fill_it_to_the_last_slot(
    model: Any, front: int
) -> None:
    size, before = 4, 7
    words = {**ring(size=size), f"slot{front}": before, "returned": 0}
    givers = {
        "A": partial(give, (1, 2), front=front, queued=1, size=size),
        "B": partial(give, (3,), front=front, queued=1, size=size),
    }
    outcome = explore(givers, words, model=model)
    for ending in outcome.endings:
        assert sorted(ending[f"slot{place}"] for place in range(size)) == [1, 2, 3, before]


def of_release(threads: dict[str, Any], words: dict[str, Any]) -> Exploration:
    return explore(threads, words, at_end=handed_out_twice)


def test_a_ring_that_is_filled_while_it_is_emptied_lets_a_thread_wait_for_a_slot() -> None:
    words = {**ring(size=2), "count": 0, "front": 0, "back": 0, "got A": EMPTY}
    outcome = of_release(
        {"A": partial(release_take, "A", size=2), "B": partial(release_give, 5, size=2)}, words
    )
    assert outcome.counterexample is not None
    assert outcome.counterexample.wrong == "a thread waits for ever"


def test_a_push_that_fails_because_the_ring_is_full_lets_a_later_pop_wait_for_ever() -> None:
    words = {**ring(1, 2, size=2), "count": 2, "front": 0, "back": 2}
    full = explore({"A": partial(release_give, 3, size=2)}, words).endings[0]
    assert full["count"] == 3  # though there are two pages
    takers = {name: partial(release_take, name, size=2) for name in "ABC"}
    outcome = of_release(takers, full | {f"got {name}": EMPTY for name in "ABC"})
    assert outcome.counterexample is not None
    assert outcome.counterexample.wrong == "a thread waits for ever"


def test_counters_that_wrap_at_a_power_of_two_lose_pages_of_a_ring_of_another_size() -> None:
    size, modulus = 3, 4
    words = {**ring(1, size=size), "count": 1, "front": 3, "back": 0, "got A": EMPTY}
    # The back wrapped round to 0 after the slot of 3, which is slot 0 again: the page is put where another one lies.
    outcome = explore({"A": partial(release_give, 2, size=size, modulus=modulus)}, words)
    ending = outcome.endings[0]
    assert ending["count"] == 2
    assert [ending[f"slot{place}"] for place in range(size)].count(2) == 0


def test_a_linked_stack_hands_a_page_out_twice_when_its_head_comes_back() -> None:
    words = {"head": 0, "next0": 1, "next1": EMPTY, "got A": EMPTY, "got B": EMPTY}
    taken: dict[str, Any] = {"A": partial(stack_take, "A"), "B": partial(stack_cycle, "B")}

    def head_in_use(memory: dict[str, Any]) -> str | None:
        if memory["head"] != EMPTY and memory["head"] == memory["got B"]:
            return "a page is in the stack and in use"
        return handed_out_twice(memory)

    outcome = explore(taken, words, at_end=head_in_use)
    assert outcome.counterexample is not None
    assert outcome.counterexample.wrong == "a page is in the stack and in use"


LIST = {"degree": 0, "first": -1, "inline": EMPTY, "taken": 0} | {
    f"{word}{page}": EMPTY for page in range(3) for word in ("edge", "link")
}


def inserts(neighbours: list[int], model: Any, **options: bool) -> Exploration:
    """Insert each neighbour in a thread of its own, and judge the list they leave behind."""
    words = LIST | {f"result {name}": "" for name, _ in zip("ABC", neighbours, strict=False)}

    def lost(memory: dict[str, Any]) -> str | None:
        results = {name: memory[f"result {name}"] for name, _ in zip("ABC", neighbours, strict=False)}
        if "gave up" in results.values():
            return None
        found = [memory["inline"]] if memory["degree"] else []
        page = memory["first"]
        for _ in range(memory["degree"] - 1):
            if page == EMPTY:
                return "the chain breaks off"
            found.append(memory[f"edge{page}"])
            page = memory[f"link{page}"]
        if sorted(found) != sorted(set(neighbours)):
            return f"the list holds {sorted(found)}"
        return None

    threads = {
        name: partial(insert, name, one, **options) for name, one in zip("ABC", neighbours, strict=False)
    }
    return explore(threads, words, at_end=lost, model=model)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("neighbours", [[1, 2], [1, 1]])
def test_two_insertions_into_one_list_lose_and_repeat_nothing(model: Any, neighbours: list[int]) -> None:
    outcome = inserts(neighbours, model)
    assert outcome.counterexample is None, outcome.counterexample


@pytest.mark.parametrize("neighbours", [[1, 2, 3], [1, 2, 1]])
def test_three_insertions_into_one_list_lose_and_repeat_nothing(neighbours: list[int]) -> None:
    outcome = inserts(neighbours, Weak())
    assert outcome.counterexample is None, outcome.counterexample


@pytest.mark.parametrize("options", [{"fenced": False}, {"released": False}])
def test_without_either_fence_stale_reads_put_an_edge_into_a_list_twice(options: dict[str, bool]) -> None:
    assert (
        inserts([1, 1], None, **options).counterexample is None
    )  # where memory does not lag, none is missed
    outcome = inserts([1, 1], Weak(), **options)
    assert outcome.counterexample is not None
    assert outcome.counterexample.wrong == "the list holds [1, 1]"
    assert any(step.stale for step in outcome.counterexample.schedule)
