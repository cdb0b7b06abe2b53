"""The search behind `grapin check`: random streams until an answer is wrong, then the smallest stream that shows it.

Streams are drawn here, one after the other, and may be tried elsewhere: drawing takes milliseconds, trying one on a
simulated device or on a graph with hubs many times that. The failure with the lowest number is the one that is
reported, so where and in which order streams are tried makes no difference.

The same seed draws the same cases in every process.

Hypothesis also draws numbers that it reads in the sources of loaded modules, but for installed ones. What a search
draws in a checkout of Grapin, or beside modules of the user's own, would hang on what else has been imported.

`Shipped`: a setup with the user's own files in it, for workers that cannot read them where they are.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from time import monotonic
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers

from grapin.errors import WorkersLost, WrongAnswer
from grapin.interrupts import remembered_interrupts
from grapin.pool import map_tasks
from grapin.testing.case import Case, Setup, judge
from grapin.testing.shrink import reproduction, shrink
from grapin.testing.strategies import mutation_streams
from grapin.testing.weights import Weights
from grapin.user_code import file_of, is_user_code


def quiet_search(examples: int, *phases: Phase) -> settings:
    """Return how a search draws: so many examples by its seed alone, with nothing kept from earlier ones or printed."""
    return settings(
        max_examples=examples,
        phases=phases,
        database=None,
        deadline=None,
        derandomize=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )


@contextmanager
def same_everywhere() -> Iterator[None]:
    """While open, draw no numbers from sources. There is no public way; where ours leads nowhere, nothing happens."""
    found: Any = providers
    known = getattr(getattr(found, "CONSTANTS_CACHE", None), "cache", None)
    if known is None or not hasattr(found, "_get_local_constants"):
        yield
        return
    known.clear()
    try:
        with patch.object(found, "_get_local_constants", found.Constants):
            yield
    finally:
        known.clear()


_NAMES = ("program", "device")
"""The parts of a setup that may be `FILE.py:NAME`."""


@dataclass(frozen=True)
class Shipped:
    """A setup, and the text of each file that it names, by the part that names it."""

    setup: Setup
    texts: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, setup: Setup) -> "Shipped":
        """Read the files."""
        given = ((name, getattr(setup, name)) for name in _NAMES)
        return cls(setup, tuple((name, file_of(one).read_text()) for name, one in given if is_user_code(one)))

    def unpacked(self) -> Setup:
        """Return the setup with copies of the files, on this computer, in place of the files."""
        names: dict[str, Any] = {}
        for name, text in self.texts:
            given = getattr(self.setup, name)
            path = file_of(given)
            names[name] = f"{_written(path.name, text)}{given.removeprefix(str(path))}"
        return replace(self.setup, **names)


@lru_cache
def _folder() -> "TemporaryDirectory[str]":
    """One for as long as the process lives."""
    return TemporaryDirectory(prefix="grapin-")


@lru_cache
def _written(name: str, text: str) -> Path:
    """Write a file once in a process, so that it is also run and compiled once."""
    folder = Path(_folder().name) / sha256(text.encode()).hexdigest()
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


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


@dataclass(frozen=True)
class Searched:
    """What a search came to."""

    failure: Failure | None
    """The first, shrunk; None if there is none."""
    examples: int
    """How many were tried."""
    unanswered: int
    """Of those, how many have no answer, because a value outgrows 32 bits: they tell nothing."""


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    weights: Sequence[Weights] = ANY_WEIGHTS,
    start: dict[str, Any] | None = None,
    hubs: bool = True,
    max_batches: int = 5,
    growing: bool = False,
    sourced: bool = True,
) -> Case:
    """Draw a stream, where programs start from, and the number of threads; every weight within its range.

    Streams that are `growing` start from graphs without edges, most of them from a few vertices. There is a vertex
    to start from, unless the program is not `sourced`.
    """
    kind = draw(st.sampled_from(list(weights)))
    if growing:
        start = draw(_graphs_without_edges(kind.kind))
    stream = draw(mutation_streams(start=start, weights=kind, hubs=hubs, max_batches=max_batches))
    bound = stream.reference().bound
    sources = draw(st.lists(st.integers(0, max(bound - 1, 0)), min_size=1, max_size=2, unique=True))
    case = Case.of(stream, sources=tuple(sources), threads=draw(st.sampled_from([1, 2])))
    if not bound and sourced:
        case = replace(case, vertices=1)
    return case.with_rows(kind.fit)


@st.composite
def _graphs_without_edges(draw: st.DrawFn, weights: str) -> dict[str, Any]:
    return {
        "source": (),
        "target": (),
        "vertices": draw(st.integers(0, 12)),
        "directed": draw(st.booleans()),
        "weights": weights,
    }


def find_failure(setup: Setup, **options: Any) -> Failure | None:
    """Return the first failure among drawn cases, shrunk; None if there is none. Options are those of `search`."""
    return search(setup, **options).failure


def search(
    setup: Setup,
    *,
    weights: Sequence[Weights] = ANY_WEIGHTS,
    start: dict[str, Any] | None = None,
    growing: bool = False,
    hubs: bool = True,
    examples: int = 500,
    random_seed: int = 0,
    processes: int = 1,
    cluster: str | None = None,
    advance: Advance = lambda _amount: None,
    shrinking: Callable[[], None] = lambda: None,
) -> Searched:
    """Look for the first failure among so many drawn cases (see `cases`).

    With more than one of `processes`, others help with a search that takes long; a `cluster` tries all cases (see
    `grapin.pool.map_tasks`). Neither makes a difference to what is found. `advance` is told of each example,
    `shrinking` when the search is over and the failure is made smaller.
    """
    trying = _Trying(setup, processes, cluster, advance)

    @seed(random_seed)
    @quiet_search(examples, Phase.generate)  # what is found is shrunk row by row, see shrinking.py
    @given(cases(weights=weights, start=start, growing=growing, hubs=hubs, sourced=setup.has_sources))
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
    failure = None
    if trying.found is not None:
        shrinking()
        least = {each.kind: each.low for each in sorted(weights, key=lambda each: -each.low)}
        failure = _smallest(setup, *trying.found, least)
    return Searched(failure, trying.drawn, trying.unanswered)


class _Trying:
    """Cases as they are drawn, and the first of them that failed.

    Each is tried at once, until it pays to have help. From then on those drawn within a while are tried together, so
    that a failure does not wait until all others are drawn; each while is longer than the one before.
    """

    def __init__(self, setup: Setup, processes: int, cluster: str | None, advance: Advance) -> None:
        self.found: Found | None = None
        self.lost: WorkersLost | None = None
        self.drawn = 0
        self.unanswered = 0
        self._setup, self._processes, self._cluster = setup, processes, cluster
        self._advance = advance
        self._left: list[tuple[int, Case]] = []
        self._helped = processes > 1 or cluster is not None
        self._alone_until = monotonic() + (HEAD_START if cluster is None else 0)
        self._while = ROUND
        self._round_ends = self._alone_until + self._while

    def take(self, case: Case) -> None:
        """Try the next case, now or with those that follow."""
        if self.found is not None or self.lost is not None:
            return
        self.drawn += 1
        if self._helped and monotonic() > self._alone_until:
            self._left.append((self.drawn, case))
            if monotonic() > self._round_ends:
                self.end_round()
            return
        self._advance(1)
        self._learn(_try(self._setup, [(self.drawn, case)]))

    def end_round(self) -> None:
        """Try those that were drawn since the last time."""
        left, self._left = self._left, []
        if self.found is None and left:
            try:
                for tried in _try_elsewhere(self._setup, left, self._processes, self._cluster, self._advance):
                    self._learn(tried)
            except WorkersLost as lost:
                self.lost = lost
                raise
        self._while *= 2
        self._round_ends = monotonic() + self._while

    def _learn(self, tried: "_Tried") -> None:
        self.found = tried.found
        self.unanswered += tried.unanswered


@dataclass(frozen=True)
class _Tried:
    """What became of some cases, up to the first that failed."""

    found: Found | None
    unanswered: int


def _try(setup: Setup, cases: Iterable[tuple[int, Case]]) -> _Tried:
    unanswered = 0
    for number, case in cases:
        verdict = judge(setup, case)
        if verdict.complaint is not None:
            return _Tried((number, case, verdict.complaint), unanswered)
        unanswered += not verdict.answered
    return _Tried(None, unanswered)


def _try_elsewhere(
    setup: Setup, left: Sequence[tuple[int, Case]], processes: int, cluster: str | None, advance: Advance
) -> list[_Tried]:
    """Try these cases in other processes or on a cluster, up to the first that fails."""
    tasks = [_Stretch(tuple(left[begin : begin + TOGETHER])) for begin in range(0, len(left), TOGETHER)]
    return map_tasks(
        _try_stretch,
        tasks,
        shared=(setup if cluster is None else Shipped.of(setup),),
        processes=processes,
        cluster=cluster,
        advance=lambda _task: advance(len(left) / len(tasks)),
        until=lambda tried: tried.found is not None,
    )


@dataclass(frozen=True)
class _Stretch:
    """Cases that are tried together, each with its number."""

    cases: tuple[tuple[int, Case], ...]

    def __str__(self) -> str:
        return f"one of examples {self.cases[0][0]} to {self.cases[-1][0]}"


_one_at_a_time = Lock()
"""A worker may have several threads; a device need not bear that."""


def _try_stretch(stretch: _Stretch, sent: Setup | Shipped) -> _Tried:
    with _one_at_a_time:
        return _try(sent.unpacked() if isinstance(sent, Shipped) else sent, stretch.cases)


def _smallest(setup: Setup, examples: int, found: Case, complaint: str, least: dict[str, float]) -> Failure:
    verdicts = [judge(setup, found) for _ in range(REPETITIONS)]
    failing = sum(verdict.complaint is not None for verdict in verdicts)
    tries = 1 if failing == REPETITIONS else REPETITIONS
    kind = complaint.partition(":")[0]
    device = next((verdict.device for verdict in verdicts if verdict.device is not None), setup.device)
    complaints = {found: (complaint, device)}

    def fails(case: Case) -> bool:
        """Tell whether a case fails in the same way, in any of the runs that it may take."""
        for _ in range(tries):
            verdict = judge(setup, case)
            heard = verdict.complaint
            if heard is not None and heard.partition(":")[0] == kind:
                complaints[case] = heard, verdict.device or setup.device
                return True
        return False

    smallest = shrink(found, fails, least_weight=least[found.weights])
    heard, device = complaints[smallest]
    shown = replace(setup, device=device, interleavings=0)
    return Failure(shown, smallest, heard, examples, found, failing / REPETITIONS)
