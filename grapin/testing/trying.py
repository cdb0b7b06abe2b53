"""`Setup`: what is held against the reference, and what became of it on one case."""

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
        program = self.kind(list(sources)) if self.has_sources else self.kind()  # type: ignore[call-arg]
        return Engine(
            graph, program, device=self.device, system=self.system, cache=self.cache, threads=threads
        )


def find_complaint(setup: Setup, case: Case) -> str | None:
    """Return what went wrong in the course of a case, the kind of error first; None if every answer was right.

    A case without an answer tells nothing: batches that a graph refuses, values that do not fit.
    """
    try:
        engine = setup.engine(Graph.from_edges(**case.start()), case.sources, case.threads)
        verify_engine(engine)
        for mutations in case.batches:
            engine.apply(Batch(**batch_parts(mutations)))
            verify_engine(engine)
    except (InvalidBatch, ValueOverflow):
        return None
    except Exception as error:  # noqa: BLE001  (what a device does wrong it does in its own way)
        return f"{type(error).__name__}: {error}"
    return None
