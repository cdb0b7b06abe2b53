"""Does `grapin check` find bugs? Streams until each of the planted ones shows, rows that reproduce it.

The bugs live beside the tests, in `tests/testing/planted`: five in real devices, one in the rule of a program.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from experiments.lib.bars import Bar, figures, kept, sentence, span, told
from experiments.lib.experiment import Experiment
from grapin.testing import Setup, Weights, find_failure
from grapin.user_code import load_user_code

PLANTED = Path(__file__).resolve().parents[1] / "tests" / "testing" / "planted"
DEVICES = {
    "non-atomic minimum": "non_atomic_minimum",
    "stale parent": "stale_parent",
    "lost deletion": "lost_deletion",
    "off-by-one list end": "short_lists",
}
CACHED = "cached list not patched"
RULE = "rule monotone below 100 only"
PROGRAM = "sssp"
WEIGHTS = "0:9"
RULE_WEIGHTS = "0:1000"
"""Values from 100 on need weights that lead there."""
EXAMPLES = 500
MOST_ROWS = 10


def bars(*, quick: bool) -> Iterator[Bar]:
    """Search for each bug; a quick run searches for one."""
    for bug in [CACHED] if quick else [*DEVICES, CACHED, RULE]:
        yield from search(bug)


def search(bug: str) -> list[Bar]:
    """Return how many streams it took to find one bug, and how many rows reproduce it."""
    weights = Weights.read(RULE_WEIGHTS if bug == RULE else WEIGHTS)
    with _planted(bug):
        failure = find_failure(_setup(bug), weights=[weights], hubs=False, examples=EXAMPLES)
    if failure is None:
        return [Bar(f"{bug}: not found", float("inf"), "streams", EXAMPLES)]
    edges, mutations = len(failure.case.edges), failure.case.mutations
    return [
        Bar(f"{bug}: found", failure.examples, "streams", EXAMPLES, failure.complaint),
        Bar(
            f"{bug}: reproduced",
            edges + mutations,
            "rows",
            MOST_ROWS,
            f"{edges} edges, {mutations} mutations",
        ),
    ]


def _setup(bug: str) -> Setup:
    if bug == CACHED:
        return Setup(PROGRAM, "cpu", cache="adaptive:100%")
    if bug == RULE:
        return Setup(f"{PLANTED / 'bent_rule.py'}:BentRule", "cpu")
    return Setup(PROGRAM, _device(bug))


def _device(bug: str) -> str:
    return str(PLANTED / f"{DEVICES[bug]}.py")


def _planted(bug: str) -> Any:
    if bug != CACHED:
        return nullcontext()
    return load_user_code("planted", f"{PLANTED / 'unpatched_copies.py'}:unpatched_copies")()


def _answer(bars: Sequence[Bar]) -> str:
    streams, rows = figures(bars, ": found"), figures(bars, ": reproduced")
    planted = len(streams) + len(figures(bars, ": not found"))
    return sentence(
        f"{len(streams)} of {planted} planted bugs are found"
        + told(", after {} streams, and reproduced by {} rows", span(streams), span(rows)),
        kept(bars),
    )


EXPERIMENT = Experiment(
    name="planted_bugs",
    question="How many streams until `grapin check` finds a planted bug, and how many rows reproduce it?",
    measure=bars,
    answer=_answer,
    configuration={"examples": EXAMPLES, "weights": WEIGHTS, "program": PROGRAM},
)
