"""`Setup`: what is held against the reference; `Verdict`: what became of it on one case."""

from dataclasses import dataclass
from functools import lru_cache

from grapin.batch import Batch
from grapin.engine import Engine
from grapin.errors import InvalidBatch, ValueOverflow
from grapin.graph import Graph
from grapin.programs.finding import find_program
from grapin.programs.program import Monotone, Program
from grapin.testing.case import Case, batch_parts
from grapin.testing.verifying import verify_engine

_find_program = lru_cache(find_program)
"""A class is found once: to run its file again would compile its rule again."""


@dataclass(frozen=True)
class Setup:
    """A program on a device under a system, perhaps with a cache; each as `grapin run` takes it."""

    program: str
    device: str = "auto"
    system: str = "bounded"
    cache: str | None = None

    def __str__(self) -> str:
        cache = "" if self.cache is None else f" with a cache of {self.cache}"
        return f"{self.program} on {self.device} under {self.system}{cache}"

    @property
    def kind(self) -> type[Program]:
        """The program's class."""
        return _find_program(self.program)

    @property
    def has_sources(self) -> bool:
        """Whether the program starts from vertices that are given."""
        return issubclass(self.kind, Monotone) and self.kind.start is None

    def engine(self, graph: Graph, sources: tuple[int, ...], threads: int | None = None) -> Engine:
        """Make an engine for a graph."""
        return Engine(
            graph,
            self.program_from(sources),
            device=self.device,
            system=self.system,
            cache=self.cache,
            threads=threads,
        )

    def program_from(self, sources: tuple[int, ...]) -> Program:
        """Make the program, to start from these vertices if it starts from any that are given."""
        return self.kind(list(sources)) if self.has_sources else self.kind()  # type: ignore[call-arg]


@dataclass(frozen=True)
class Verdict:
    """What became of one case; as it is made, every answer was right."""

    complaint: str | None = None
    """What went wrong, the kind of error first."""
    answered: bool = True
    """Whether it has an answer that could be right: a case with values that do not fit tells nothing."""


def judge(setup: Setup, case: Case) -> Verdict:
    """Keep an answer fresh in the course of a case, and hold it against the reference after every batch."""
    try:
        engine = setup.engine(Graph.from_edges(**case.start()), case.sources, case.threads)
        verify_engine(engine)
        for mutations in case.batches:
            engine.apply(Batch(**batch_parts(mutations)))
            verify_engine(engine)
    except (
        InvalidBatch,
        ValueOverflow,
    ):  # the graph refuses a batch only when shrinking left out what it needs
        return Verdict(answered=False)
    except Exception as error:  # noqa: BLE001  (what a device does wrong it does in its own way)
        return Verdict(f"{type(error).__name__}: {error}")
    return Verdict()
