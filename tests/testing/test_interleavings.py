"""The explorer meets every interleaving, each state once, and says which one went wrong."""

import doctest
from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from update_protocols import Steps

from grapin.errors import InvalidArgument
from grapin.testing import Interleaved, Weak, atomic, explore, fence, interleavings, minimum, read, write
from grapin.testing.interleavings import MemoryModel

MODELS = [Interleaved(), Weak()]


def writer(word: str, values: list[int]) -> Callable[[], Steps]:
    def steps() -> Steps:
        for value in values:
            yield write(word, value)

    return steps


def ends(threads: dict[str, Callable[[], Steps]], words: dict[Any, Any], model: MemoryModel) -> set[Any]:
    return {tuple(memory.values()) for memory in explore(threads, words, model=model).endings}


@pytest.mark.parametrize("model", MODELS)
@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3), min_size=1, max_size=3))
def test_the_last_write_is_the_last_one_of_any_thread(model: MemoryModel, values: list[list[int]]) -> None:
    threads = {f"T{place}": writer("x", written) for place, written in enumerate(values)}
    assert ends(threads, {"x": 9}, model) == {(written[-1],) for written in values}


@pytest.mark.parametrize("model", MODELS)
@given(offered=st.lists(st.integers(0, 9), min_size=1, max_size=4))
def test_atomic_minima_commute(model: MemoryModel, offered: list[int]) -> None:
    def lowering(value: int) -> Callable[[], Steps]:
        def steps() -> Steps:
            yield minimum("x", value)

        return steps

    threads = {f"T{place}": lowering(value) for place, value in enumerate(offered)}
    assert ends(threads, {"x": 5}, model) == {(min(5, *offered),)}


def test_every_order_is_met() -> None:
    def appending(name: str) -> Callable[[], Steps]:
        def steps() -> Steps:
            seen = yield read("log")
            yield write("log", (*seen, name))

        return steps

    logs = ends({name: appending(name) for name in "AB"}, {"log": ()}, Interleaved())
    assert {(order,) for order in permutations("AB")} < logs
    assert logs == {(("A", "B"),), (("B", "A"),), (("A",),), (("B",),)}


def litmus(first: list[Any], second: list[Any], model: MemoryModel) -> set[Any]:
    """Run two threads that write down what they read, and return every pair of lists of answers."""

    def noting(name: str, accesses: list[Any]) -> Callable[[], Steps]:
        def steps() -> Steps:
            answers = []
            for access in accesses:
                answer = yield access
                if access.change is None and access.word is not None:
                    answers.append(answer)
            yield write(name, tuple(answers))

        return steps

    threads = {"A": noting("A", first), "B": noting("B", second)}
    return {end[2:] for end in ends(threads, {"x": 0, "y": 0, "A": None, "B": None}, model)}


SENDING = [write("x", 1), write("y", 1)]
FENCED_SENDING = [write("x", 1), fence(), write("y", 1)]
RECEIVING = [read("y"), read("x")]
FENCED_RECEIVING = [read("y"), fence(), read("x")]


def test_a_flag_may_overtake_its_data_unless_both_sides_fence() -> None:
    overtaken = ((), (1, 0))
    assert overtaken not in litmus(SENDING, RECEIVING, Interleaved())
    assert overtaken in litmus(SENDING, RECEIVING, Weak())
    assert overtaken in litmus(FENCED_SENDING, RECEIVING, Weak())
    assert overtaken in litmus(SENDING, FENCED_RECEIVING, Weak())
    assert overtaken not in litmus(FENCED_SENDING, FENCED_RECEIVING, Weak())


def test_two_threads_may_each_miss_the_others_write_unless_both_fence() -> None:
    first, second = [write("x", 1), read("y")], [write("y", 1), read("x")]
    missed = ((0,), (0,))
    assert missed not in litmus(first, second, Interleaved())
    assert missed in litmus(first, second, Weak())
    fenced = [[steps[0], fence(), steps[1]] for steps in (first, second)]
    assert missed in litmus(fenced[0], second, Weak())
    assert missed not in litmus(fenced[0], fenced[1], Weak())


def test_an_atomic_step_in_between_passes_on_what_was_fenced_before_it() -> None:
    def sending() -> Steps:
        yield write("x", 1)
        yield fence()
        yield atomic("add(y, 1)", "y", lambda old: old + 1)

    def passing_on() -> Steps:
        yield atomic("add(y, 1)", "y", lambda old: old + 1)

    def receiving() -> Steps:
        both = (yield read("y")) == 2
        yield fence()
        if both:
            yield write("seen", (yield read("x")))

    threads = {"A": sending, "B": passing_on, "C": receiving}
    seen = {end[2] for end in ends(threads, {"x": 0, "y": 0, "seen": None}, Weak())}
    assert seen == {None, 1}


def test_no_thread_sees_a_word_go_back() -> None:
    seen = {answers for _none, answers in litmus(SENDING, [read("x"), read("x")], Weak())}
    assert seen == {(0, 0), (0, 1), (1, 1)}


def test_what_weak_memory_allows_includes_all_that_taking_turns_does() -> None:
    for first in (SENDING, RECEIVING, FENCED_SENDING):
        for second in (SENDING, RECEIVING, FENCED_RECEIVING):
            assert litmus(first, second, Interleaved()) <= litmus(first, second, Weak())


def test_a_step_is_judged_by_what_it_changes() -> None:
    def grows(before: dict[Any, Any], after: dict[Any, Any]) -> str | None:
        return None if after["x"] >= before["x"] else f"x fell from {before['x']} to {after['x']}"

    outcome = explore({"A": writer("x", [1, 3]), "B": writer("x", [2])}, {"x": 0}, at_step=grows)
    assert outcome.counterexample is not None
    assert str(outcome.counterexample).splitlines() == [
        "x fell from 2 to 1",
        "  B  write(x, 2)",
        "  A  write(x, 1)",
        "in the end: x=1",
    ]


def test_the_example_in_the_docstring_gives_what_it_says() -> None:
    failed, tried = doctest.testmod(interleavings)
    assert tried
    assert not failed


def test_threads_that_wait_forever_are_stopped_with_a_sentence() -> None:
    def waiting() -> Steps:
        while not (yield read("flag")):
            pass

    with pytest.raises(InvalidArgument, match="at most most_states=50 states: use fewer threads"):
        explore({"A": waiting}, {"flag": 0}, most_states=50)


@pytest.mark.parametrize(
    ("access", "sentence"),
    [
        (read("y"), r"threads\['A'\] must access one of the words x, not 'y'"),
        (5, r"threads\['A'\] must yield accesses such as read\('x'\), not 5"),
    ],
)
def test_a_thread_that_accesses_no_word_of_memory_is_refused(access: Any, sentence: str) -> None:
    def steps() -> Steps:
        yield access

    with pytest.raises(InvalidArgument, match=sentence):
        explore({"A": steps}, {"x": 0})
