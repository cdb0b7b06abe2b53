"""`Session`: an engine and the batches that come to it; the one loop that applies them, whoever wants it run."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from time import perf_counter, thread_time
from typing import Any, Self

import numpy as np

from grapin.batch import Batch
from grapin.engine import Engine, Report
from grapin.engine.verify import verify_answer
from grapin.engine.warmup import STEPS, warm_up
from grapin.errors import GrapinError, WrongAnswer
from grapin.graph import Graph
from grapin.interrupts import Interrupts
from grapin.named import NamedBatch
from grapin.programs.program import Program
from grapin.progress import Advance, progress
from grapin.stream import Arrived


class BatchFailed(GrapinError):
    """A batch of a session could not be applied; the message says which and why, and the cause is its error."""


class Latencies:
    """Durations in buckets, each 1 % wider than the one before: percentiles of any number of them in 16 KB."""

    LEAST, WIDTH, BUCKETS = 1e-6, 1.01, 2080
    """From a microsecond to a quarter of an hour; what is beyond counts in the last bucket."""

    def __init__(self) -> None:
        self._counts = np.zeros(self.BUCKETS, np.int64)
        self.largest = 0.0

    def __len__(self) -> int:
        return int(self._counts.sum())

    def add(self, seconds: float) -> None:
        """Count one duration."""
        place = math.ceil(math.log(max(seconds, self.LEAST) / self.LEAST, self.WIDTH))
        self._counts[min(place, self.BUCKETS - 1)] += 1
        self.largest = max(self.largest, seconds)

    def percentile(self, rank: float) -> float:
        """Return a duration that this many in a hundred do not exceed, at most 1 % above the least such."""
        wanted = max(1, math.ceil(len(self) * rank / 100))
        place = int(np.searchsorted(np.cumsum(self._counts), wanted))
        return min(self.LEAST * self.WIDTH**place, self.largest)

    def to_dict(self) -> dict[str, float]:
        """Return the percentiles that are reported, in seconds."""
        if not len(self):
            return {}
        return {f"p{rank:g}": self.percentile(rank) for rank in (50, 99, 99.9)} | {"max": self.largest}


class Session:
    """Batches on their way into an engine, one after the other, until there are no more or somebody says stop.

    >>> engine = Engine(grapin.Graph.from_edges([0, 1], [1, 2]), grapin.BFS(source=0))
    >>> session = Session(engine, [Batch(insert=[(0, 2)]), Batch(delete=[(0, 2)])])
    >>> [report.edges_read for report in session.run()]
    [1, 4]
    >>> session.edges
    [2, 3, 2]

    What was done stays readable when the loop ends early, by an error or a signal, and running goes on behind it.
    """

    def __init__(
        self, engine: Engine, batches: Iterable[Batch | NamedBatch | Arrived], *, keep: int | None = None
    ) -> None:
        """Take batches from anywhere; of a stream without an end, `keep` only the reports of the last batches."""
        self.engine = engine
        self.applied = 0
        """How many batches were applied."""
        self.latencies = Latencies()
        """From the arrival of a batch's first row until answers were fresh, where batches say when that was."""
        self._keep = keep
        self.reports: list[Report] = []
        """What each batch did."""
        self.edges = [engine.graph.edges]
        """Edges in the graph before the first batch, and after each."""
        self.processor_seconds: list[float] = []
        """By batch, of the thread that applies it, whatever else the machine does."""
        self._batches = iter(batches)

    @classmethod
    def warmed_up(
        cls,
        graph: Graph,
        programs: Sequence[Program],
        batches: Iterable[Batch | NamedBatch | Arrived],
        *,
        keep: int | None = None,
        **settings: Any,
    ) -> Self:
        """Return a session on a new engine, with everything compiled that it will call; `settings` are the engine's."""
        with progress(f"Compiling {settings.get('system', '')}".rstrip(), STEPS) as advance:
            warm_up(graph, programs, **settings | {"trace": bool(settings.get("trace"))}, advance=advance)
        with progress("Computing the first values"):
            return cls(Engine(graph, programs, **settings), batches, keep=keep)

    def __iter__(self) -> Iterator[Report]:
        """Apply the batches that are left, each when its report is asked for."""
        for batch in self._batches:
            yield self._apply(batch)

    def run(self, *, advance: Advance = lambda _: None, interrupts: Interrupts | None = None) -> list[Report]:
        """Apply the batches that are left, or those before a signal that was noted; return all reports so far."""
        reports = iter(self)
        while interrupts is None or not interrupts.seen:
            if next(reports, None) is None:
                break
            advance(1)
        return self.reports

    def verify(self, before: Callable[[str], None] = lambda _: None) -> None:
        """Raise `WrongAnswer` unless every answer is the reference's; `before` is told which program comes next."""
        for answer in self.engine.answers:
            before(answer.program.name)
            try:
                verify_answer(answer, self.engine.graph)
            except WrongAnswer as error:
                if len(self.engine.answers) == 1:
                    raise
                raise WrongAnswer(f"{answer.program.name}: {error}") from error

    def _apply(self, batch: Batch | NamedBatch | Arrived) -> Report:
        begin = thread_time()
        given, when, mark = batch if isinstance(batch, Arrived) else (batch, None, None)
        try:
            report = self.engine.apply(given) if mark is None else self.engine.apply(given, mark=mark)
        except GrapinError as error:
            raise BatchFailed(f"batch {self.applied + 1}: {error}") from error
        if when is not None:
            self.latencies.add(perf_counter() - when)
        self.applied += 1
        self.processor_seconds.append(thread_time() - begin)
        self.reports.append(report)
        self.edges.append(self.engine.graph.edges)
        if self._keep is not None and len(self.reports) > self._keep:
            del self.reports[0], self.processor_seconds[0], self.edges[0]
        return report
