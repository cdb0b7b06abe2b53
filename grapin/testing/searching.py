"""The search behind `grapin check`: random streams until an answer is wrong, then the smallest stream that shows it.

Streams are drawn here, one after the other, and may be tried elsewhere: drawing takes milliseconds, trying one on a
simulated device or on a graph with hubs many times that. The failure with the lowest number is the one that is
reported, so where and in which order streams are tried makes no difference.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from time import monotonic
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st

from grapin.errors import WorkersLost, WrongAnswer
from grapin.spread import find_first
from grapin.testing.case import Case
from grapin.testing.interrupted import remembered_interrupts
from grapin.testing.reproducible import same_everywhere
from grapin.testing.script import reproduction
from grapin.testing.shipping import Shipped
from grapin.testing.shrinking import shrink
from grapin.testing.strategies import mutation_streams
from grapin.testing.trying import Setup, find_complaint
from grapin.testing.weights import Weights

ANY_WEIGHTS = (Weights("none"), Weights("int32"), Weights("float32"))
REPETITIONS = 10
"""So often a failing case is executed again, to see whether it always fails."""

HEAD_START = 5.0
"""So many seconds of a search pass here before other processes are asked; they take a part of that to begin."""
ROUND = 2.0
"""For so many seconds cases are drawn before the first of them are tried elsewhere."""
TOGETHER = 8
"""So many cases are tried by one task, which takes milliseconds to be sent."""

Advance = Callable[[float], None]
Found = tuple[int, Case, str]
"""The number of a case that failed, the case, and what was wrong."""


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
    processes: int = 1,
    cluster: str | None = None,
    advance: Advance = lambda _amount: None,
    shrinking: Callable[[], None] = lambda: None,
) -> Failure | None:
    """Return the first failure among so many drawn cases (see `cases`), shrunk; None if there is none.

    With more than one of `processes`, others help with a search that takes long; a `cluster` tries all cases (see
    `grapin.spread.spread`). Neither makes a difference to what is returned. `advance` is told of each example,
    `shrinking` when the search is over and the failure is made smaller.
    """
    trying = _Trying(setup, processes, cluster, advance)

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
        repeat_interrupt()
        trying.take(case)
        if trying.found is not None:
            raise WrongAnswer(trying.found[-1])

    try:
        with same_everywhere(), remembered_interrupts() as repeat_interrupt:
            hold()
            repeat_interrupt()
    except Exception:
        # Hypothesis runs a failing example again, and says so in its own way if it does not fail then.
        if trying.lost is not None:
            raise trying.lost from None
        if trying.found is None:
            raise
    trying.end_round()
    if trying.found is None:
        return None
    shrinking()
    least = {each.kind: each.low for each in sorted(weights, key=lambda each: -each.low)}
    return _smallest(setup, *trying.found, least)


class _Trying:
    """Cases as they are drawn, and the first of them that failed.

    Each is tried at once, until it pays to have help. From then on those drawn within a while are tried together, so
    that a failure does not wait until all others are drawn; each while is longer than the one before.
    """

    def __init__(self, setup: Setup, processes: int, cluster: str | None, advance: Advance) -> None:
        self.found: Found | None = None
        self.lost: WorkersLost | None = None
        self._setup, self._processes, self._cluster = setup, processes, cluster
        self._advance = advance
        self._drawn = 0
        self._left: list[tuple[int, Case]] = []
        self._helped = processes > 1 or cluster is not None
        self._alone_until = monotonic() + (HEAD_START if cluster is None else 0)
        self._while = ROUND
        self._round_ends = self._alone_until + self._while

    def take(self, case: Case) -> None:
        """Try the next case, now or with those that follow."""
        if self.found is not None or self.lost is not None:
            return
        self._drawn += 1
        if self._helped and monotonic() > self._alone_until:
            self._left.append((self._drawn, case))
            if monotonic() > self._round_ends:
                self.end_round()
            return
        self._advance(1)
        complaint = find_complaint(self._setup, case)
        if complaint is not None:
            self.found = self._drawn, case, complaint

    def end_round(self) -> None:
        """Try those that were drawn since the last time."""
        left, self._left = self._left, []
        if self.found is None and left:
            try:
                self.found = _find_elsewhere(self._setup, left, self._processes, self._cluster, self._advance)
            except WorkersLost as lost:
                self.lost = lost
                raise
        self._while *= 2
        self._round_ends = monotonic() + self._while


def _find_elsewhere(
    setup: Setup, left: Sequence[tuple[int, Case]], processes: int, cluster: str | None, advance: Advance
) -> Found | None:
    """Return the first of these cases that fails, tried in other processes or on a cluster."""
    tasks = [_Stretch(tuple(left[begin : begin + TOGETHER])) for begin in range(0, len(left), TOGETHER)]
    return find_first(
        _first_failing,
        tasks,
        shared=(setup if cluster is None else Shipped.of(setup),),
        processes=processes,
        cluster=cluster,
        advance=lambda _task: advance(len(left) / len(tasks)),
    )


@dataclass(frozen=True)
class _Stretch:
    """Cases that are tried together, each with its number."""

    cases: tuple[tuple[int, Case], ...]

    def __str__(self) -> str:
        return f"one of examples {self.cases[0][0]} to {self.cases[-1][0]}"


_one_at_a_time = Lock()
"""A worker may have several threads; a device need not bear that."""


def _first_failing(stretch: _Stretch, sent: Setup | Shipped) -> Found | None:
    with _one_at_a_time:
        setup = sent.unpacked() if isinstance(sent, Shipped) else sent
        for number, case in stretch.cases:
            complaint = find_complaint(setup, case)
            if complaint is not None:
                return number, case, complaint
    return None


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
