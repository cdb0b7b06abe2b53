"""Does the published update of result and parent keep both together, whatever the order of its threads' steps?

The paper (Algorithm 1) lowers a result with one atomic, then writes its parent with a loop of swaps. Here threads offer
different values to one vertex, in every order that their steps can have (`grapin.testing.explore`): how many of the
memories that they may leave behind hold one thread's result with another's parent? Beside it, result and parent in the
one word that our kernels lower (`kernels/cuda/monotone/forward.py`). A quick run leaves the third thread out.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from typing import Any

from experiments.lib.bars import Bar, kept, percents, sentence
from experiments.lib.experiment import Experiment
from grapin.testing import compare_and_swap, explore, minimum, read
from grapin.testing.interleavings import Access

OFFERS = {"A": 5, "B": 3, "C": 4}
UNREACHED = 9
MOST_STATES = 5_000_000
LOST = "endings with a lost parent"

Steps = Generator[Access, Any, None]


def published(me: str, offered: int) -> Steps:
    """Lower the result, then swap the parent until it is ours or the result is another's: two words."""
    if offered < (yield minimum("result", offered)):
        seen = yield read("parent")
        while True:
            seen = yield compare_and_swap("parent", seen, me)
            if offered != (yield read("result")) or me == (yield read("parent")):
                return


def packed(me: str, offered: int) -> Steps:
    """Lower result and parent in one word."""
    yield minimum("both", (offered, me))


PROTOCOLS: dict[str, tuple[Callable[[str, int], Steps], dict[str, Any]]] = {
    "published": (published, {"result": UNREACHED, "parent": ""}),
    "packed": (packed, {"both": (UNREACHED, "")}),
}


def belongs(memory: dict[Any, Any], offers: dict[str, int]) -> bool:
    """Tell whether the result left behind is the best, and its parent the one who offered it."""
    result, parent = memory["both"] if "both" in memory else (memory["result"], memory["parent"])
    return bool(result == min(offers.values()) and offers.get(parent) == result)


def bars(*, quick: bool) -> Iterator[Bar]:
    """Explore each protocol with two threads and with three."""
    for count in (2,) if quick else (2, 3):
        offers = dict(list(OFFERS.items())[:count])
        for name, (thread, words) in PROTOCOLS.items():
            threads = {me: partial(thread, me, offered) for me, offered in offers.items()}
            found = explore(threads, words, most_states=MOST_STATES)
            wrong = [memory for memory in found.endings if not belongs(memory, offers)]
            example = f", such as {_shown(wrong[0])}" if wrong else ""
            remark = f"{len(wrong)} of {len(found.endings)} in {found.states:,} states{example}"
            part = len(wrong) / len(found.endings)
            limit = 0.0 if name == "packed" else None
            yield Bar(f"{name}, {count} threads: {LOST}", part, "of all", limit, remark)


def _shown(memory: dict[Any, Any]) -> str:
    return f"result {memory['result']} with parent {memory['parent']}, who offered {OFFERS[memory['parent']]}"


def _answer(bars: Sequence[Bar]) -> str:
    def lost(protocol: str) -> str:
        parts = {bar.name.split()[1]: bar.figure for bar in bars if bar.name.startswith(protocol)}
        endings = (
            f"in {percents([part])} of the distinct endings of {count} threads"
            for count, part in parts.items()
        )
        return " and ".join(endings) if any(parts.values()) else "never"

    return sentence(
        f"one thread's result is left with another's parent {lost('published')} by the published update, "
        f"{lost('packed')} where both are one word",
        kept(bars),
    )


EXPERIMENT = Experiment(
    name="lost_parent",
    question="Does the published update keep a result and its parent together in every order of its threads' steps?",
    source="Grapin, Algorithm 1",
    measure=bars,
    difference=(
        "the published loop stops when the result is no longer its own, which may be after it has "
        "swapped its parent in; with both in one word there is no step between them."
    ),
    answer=_answer,
    configuration={"offers": OFFERS},
)
