"""The search behind `grapin check`: random streams until an answer is wrong, then the smallest stream that shows it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st

from grapin.errors import WrongAnswer
from grapin.testing.case import Case
from grapin.testing.script import reproduction
from grapin.testing.shrinking import shrink
from grapin.testing.strategies import mutation_streams
from grapin.testing.trying import Setup, find_complaint
from grapin.testing.weights import Weights

ANY_WEIGHTS = (Weights("none"), Weights("int32"), Weights("float32"))
REPETITIONS = 10
"""So often a failing case is executed again, to see whether it always fails."""

Advance = Callable[[float], None]


@dataclass(frozen=True)
class Failure:
    """What was found: the smallest case that fails, and how it was come by."""

    setup: Setup
    case: Case
    complaint: str
    examples: int
    """How many examples it took."""
    found: Case
    """The case as it was found, before it was shrunk."""
    failing: float
    """In which part of further runs the found case failed; less than 1 hints at a race."""

    def script(self) -> str:
        """Return a script that reproduces the failure."""
        return reproduction(self.setup, self.case, self.complaint)


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    weights: Sequence[Weights] = ANY_WEIGHTS,
    start: dict[str, Any] | None = None,
    hubs: bool = True,
    max_batches: int = 5,
) -> Case:
    """Draw a stream, where programs start from, and the number of threads; every weight within its range."""
    kind = draw(st.sampled_from(list(weights)))
    stream = draw(mutation_streams(start=start, weights=kind.kind, hubs=hubs, max_batches=max_batches))
    bound = stream.reference().bound
    sources = draw(st.lists(st.integers(0, max(bound - 1, 0)), min_size=1, max_size=2, unique=True))
    case = Case.of(stream, sources=tuple(sources), threads=draw(st.sampled_from([1, 2])))
    if not bound:
        case = replace(case, vertices=1)
    return case.with_rows(kind.fit)


def find_failure(
    setup: Setup,
    *,
    weights: Sequence[Weights] = ANY_WEIGHTS,
    start: dict[str, Any] | None = None,
    hubs: bool = True,
    examples: int = 500,
    random_seed: int = 0,
    advance: Advance = lambda _amount: None,
    shrinking: Callable[[], None] = lambda: None,
) -> Failure | None:
    """Return the first failure among so many drawn cases (see `cases`), shrunk; None if there is none.

    `advance` is told of each example, `shrinking` when the search is over and the failure is made smaller.
    """
    tried = 0
    failed: list[tuple[int, Case, str]] = []

    @seed(random_seed)
    @settings(
        max_examples=examples,
        phases=[Phase.generate],  # what is found is shrunk row by row, see shrinking.py
        database=None,
        deadline=None,
        derandomize=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @given(cases(weights=weights, start=start, hubs=hubs))
    def hold(case: Case) -> None:
        nonlocal tried
        tried += 1
        advance(1)
        complaint = find_complaint(setup, case)
        if complaint is not None:
            failed.append((tried, case, complaint))
            raise WrongAnswer(complaint)

    try:
        hold()
    except Exception:
        # Hypothesis runs a failing example again, and says so in its own way if it does not fail then.
        if not failed:
            raise
    if not failed:
        return None
    shrinking()
    least = {each.kind: each.low for each in sorted(weights, key=lambda each: -each.low)}
    return _smallest(setup, *failed[0], least)


def _smallest(setup: Setup, examples: int, found: Case, complaint: str, least: dict[str, float]) -> Failure:
    failing = sum(find_complaint(setup, found) is not None for _ in range(REPETITIONS))
    tries = 1 if failing == REPETITIONS else REPETITIONS
    kind = complaint.partition(":")[0]
    complaints = {found: complaint}

    def fails(case: Case) -> bool:
        """Tell whether a case fails in the same way, in any of the runs that it may take."""
        for _ in range(tries):
            heard = find_complaint(setup, case)
            if heard is not None and heard.partition(":")[0] == kind:
                complaints[case] = heard
                return True
        return False

    smallest = shrink(found, fails, least_weight=least[found.weights])
    return Failure(setup, smallest, complaints[smallest], examples, found, failing / REPETITIONS)
