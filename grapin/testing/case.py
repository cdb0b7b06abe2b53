"""`Case`: a start graph and batches in plain rows, which can be cut down row by row and printed as a script.

`Setup`: what is held against the reference; `Verdict`: what became of it on one case.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from grapin.batch import Batch
from grapin.engine import Engine
from grapin.engine.verify import verify_engine
from grapin.errors import InvalidBatch, ValueOverflow
from grapin.graph import Graph
from grapin.programs import find_program
from grapin.programs.program import Program
from grapin.reference.graph import ReferenceGraph

if TYPE_CHECKING:
    from grapin.testing.strategies import MutationStream

Row = tuple[Any, ...]
"""Source and target of an edge, and its weight where there are weights; or one vertex."""
Mutation = tuple[str, Row]
"""Which part of a `Batch` it belongs to, and the row in it."""

_EDGE_PARTS = ("insert", "delete", "reweight")
_VERTEX_PARTS = ("insert_vertices", "delete_vertices")


@dataclass(frozen=True)
class Case:
    """One stream, and from where a program starts on it."""

    directed: bool
    weights: str
    """`none`, `int32` or `float32`."""
    vertices: int
    edges: tuple[Row, ...]
    batches: tuple[tuple[Mutation, ...], ...]
    sources: tuple[int, ...] = (0,)
    threads: int = 1

    @classmethod
    def of(cls, stream: "MutationStream", **options: Any) -> "Case":
        """Write a stream down in rows; of edges that its start repeats, those that the graph keeps."""
        start = stream.reference()
        return cls(
            directed=start.directed,
            weights=start.weights,
            vertices=start.bound,
            edges=_edge_rows(start),
            batches=tuple(mutations_of(batch) for batch in stream.batches),
            **options,
        )

    @property
    def mutations(self) -> int:
        """How many there are in all batches."""
        return sum(len(batch) for batch in self.batches)

    def rows(self) -> list[Row]:
        """Return all edges of the start, then those and the vertices of the batches."""
        return [*self.edges, *(row for batch in self.batches for _, row in batch)]

    def with_rows(self, change: Callable[[Row], Row]) -> "Case":
        """Return the case with another row in place of each, in the order of `rows`."""
        return replace(
            self,
            edges=tuple(map(change, self.edges)),
            batches=tuple(tuple((part, change(row)) for part, row in batch) for batch in self.batches),
        )

    def columns(self) -> list[list[Any]]:
        """Return the edges as columns: source, target and, where there are weights, weight."""
        width = 2 if self.weights == "none" else 3
        return [[row[place] for row in self.edges] for place in range(width)]

    def start(self) -> dict[str, Any]:
        """Return the graph that the stream starts from as the arguments of `Graph.from_edges`."""
        source, target, *weight = self.columns()
        return {
            "source": np.array(source, np.int32),
            "target": np.array(target, np.int32),
            "weight": np.array(weight[0], self.weights) if weight else None,
            "vertices": self.vertices,
            "directed": self.directed,
            "weights": self.weights,
        }


def mutations_of(batch: Batch) -> tuple[Mutation, ...]:
    """Return the mutations of a batch one by one."""
    edges = [(part, tuple(row)) for part in _EDGE_PARTS for row in getattr(batch, part).rows()]
    vertices = [(part, (vertex,)) for part in _VERTEX_PARTS for vertex in getattr(batch, part).tolist()]
    return (*edges, *vertices)


def batch_parts(mutations: Sequence[Mutation]) -> dict[str, list[Any]]:
    """Return the arguments of a `Batch`, without the empty ones."""
    parts: dict[str, list[Any]] = {}
    for part, row in mutations:
        parts.setdefault(part, []).append(row[0] if part in _VERTEX_PARTS else row)
    return parts


def _edge_rows(graph: ReferenceGraph) -> tuple[Row, ...]:
    """Return each edge once, an undirected one from its smaller end."""
    return tuple(
        (*arc, *(() if weight is None else (weight,)))
        for arc, weight in sorted(graph.arcs.items())
        if graph.directed or arc[0] <= arc[1]
    )


_find_program = lru_cache(find_program)
"""A class is found once: to run its file again would compile its rule again."""


@dataclass(frozen=True)
class Setup:
    """A program on a device under a system, perhaps with a cache; each as `grapin run` takes it."""

    program: str
    device: str = "auto"
    system: str = "bounded"
    cache: str | None = None
    interleavings: int = 0
    """How many interleavings of the virtual GPU each case is tried under, besides the plain schedule."""

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
        return self.kind.has_sources()

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
    device: str | None = None
    """The device on which it went wrong, with its interleaving."""
    answered: bool = True
    """Whether it has an answer that could be right: a case with values that do not fit tells nothing."""


def judge(setup: Setup, case: Case) -> Verdict:
    """Keep an answer fresh in the course of a case, and hold it against the reference after every batch.

    Under several interleavings, the first that fails counts.
    """
    verdict = _judge(setup, case)
    for number in range(1, setup.interleavings + 1):
        if verdict.complaint is not None or not verdict.answered:
            break
        verdict = _judge(replace(setup, device=f"{setup.device}:{number}"), case)
    return verdict


def _judge(setup: Setup, case: Case) -> Verdict:
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
        return Verdict(f"{type(error).__name__}: {error}", setup.device)
    return Verdict()
