"""`Session`: an engine and the batches that come to it; the one loop that applies them, whoever wants it run."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from time import thread_time
from typing import Any, Self

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


class BatchFailed(GrapinError):
    """A batch of a session could not be applied; the message says which and why, and the cause is its error."""


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

    def __init__(self, engine: Engine, batches: Iterable[Batch | NamedBatch]) -> None:
        self.engine = engine
        self.reports: list[Report] = []
        """What each batch did."""
        self.edges = [engine.graph.edges]
        """Edges in the graph before the first batch, and after each."""
        self.processor_seconds: list[float] = []
        """By batch, of the thread that applies it, whatever else the machine does."""
        self._batches = iter(batches)

    @classmethod
    def warmed_up(
        cls, graph: Graph, programs: Sequence[Program], batches: Iterable[Batch | NamedBatch], **settings: Any
    ) -> Self:
        """Return a session on a new engine, with everything compiled that it will call; `settings` are the engine's."""
        with progress(f"Compiling {settings.get('system', '')}".rstrip(), STEPS) as advance:
            warm_up(graph, programs, **settings | {"trace": bool(settings.get("trace"))}, advance=advance)
        with progress("Computing the first values"):
            return cls(Engine(graph, programs, **settings), batches)

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

    def _apply(self, batch: Batch | NamedBatch) -> Report:
        begin = thread_time()
        try:
            report = self.engine.apply(batch)
        except GrapinError as error:
            raise BatchFailed(f"batch {len(self.reports) + 1}: {error}") from error
        self.processor_seconds.append(thread_time() - begin)
        self.reports.append(report)
        self.edges.append(self.engine.graph.edges)
        return report
