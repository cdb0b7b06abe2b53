"""The device `reference`: every answer from scratch after every batch, in plain Python and NumPy.

It executes a program's own functions as they are written, edge by edge, so it judges compiled devices on programs of
the user's as well. It reads every edge and counts nothing.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.counters import Work
from grapin.device import Query
from grapin.errors import InvalidArgument, WrongAnswer
from grapin.graph.change import Applied
from grapin.graph.snapshot import Lists, Snapshot
from grapin.programs.accumulative import Accumulative
from grapin.programs.program import Monotone, Program
from grapin.programs.starting import LARGEST, UNREACHED, starting_values
from grapin.programs.triangles import Triangles
from grapin.reference.accumulative import accumulate
from grapin.reference.graph import Arcs
from grapin.reference.programs import triangles
from grapin.reference.verify import NO_PARENT
from grapin.system import System

name = "reference"
traces = False
"""No list is read by itself, so there is nothing that a trace could hold."""


def unavailable() -> str | None:
    """Return None: NumPy is always there."""
    return None


def query(program: Program, system: System, *, weight_dtype: Any, directed: bool, threads: int) -> Query:  # noqa: ARG001  (every device has this signature)
    """Prepare one program; the reference has one way to compute, whatever the system."""
    if isinstance(program, Monotone):
        return ReferenceMonotone(program, real=_real(program, weight_dtype))
    if isinstance(program, Accumulative):
        return ReferenceAccumulative(program)
    if isinstance(program, Triangles):
        return ReferenceTriangles(program)
    raise InvalidArgument(f"program={program!r} must be a Monotone or an Accumulative program")


class _FromScratch:
    """A query that forgets everything between batches."""

    def __init__(self) -> None:
        self._values: NDArray[Any] = np.empty(0)
        self._parents: NDArray[np.int32] = np.empty(0, np.int32)

    def start(self, snapshot: Snapshot, *, tracing: bool) -> Work:  # noqa: ARG002  (nothing to trace)
        """Compute the values from scratch."""
        before, self._values, self._parents = self._values, *self._compute(snapshot)
        known = min(len(before), len(self._values))
        changed = int(np.count_nonzero(before[:known] != self._values[:known])) + len(self._values) - known
        return Work(changed=changed, dense=True)

    def repair(self, snapshot: Snapshot, applied: Applied, *, tracing: bool) -> Work:  # noqa: ARG002  (it starts again)
        """Compute the values from scratch."""
        return self.start(snapshot, tracing=tracing)

    def values(self) -> NDArray[Any]:
        """Return the value of each vertex."""
        return self._values.copy()

    def parents(self) -> NDArray[np.int32]:
        """Return the vertex each value came from, -1 for none."""
        return self._parents.copy()

    def memory(self) -> dict[str, int]:
        """Return the bytes of the values."""
        return {"values": self._values.nbytes, "parents": self._parents.nbytes}

    def _compute(self, snapshot: Snapshot) -> tuple[NDArray[Any], NDArray[np.int32]]:
        raise NotImplementedError


class ReferenceMonotone(_FromScratch):
    """The best value over all paths: every arc makes its offer until no vertex takes one."""

    def __init__(self, program: Monotone, *, real: bool) -> None:
        super().__init__()
        self.program = program
        self._real = real
        self._larger = program.better == "larger"
        self._given = starting_values(program, real=real)
        self._nothing: Any = 0 if self._larger else (float("inf") if real else UNREACHED)

    def reached(self, vertex: int) -> bool:
        """Tell whether a vertex has a value."""
        return bool(self._values[vertex] != self._nothing)

    def check_parents(self, snapshot: Snapshot, values: NDArray[Any], parents: NDArray[np.int32]) -> None:
        """Raise `WrongAnswer` unless each value is its vertex's own start or what an edge from its parent offers."""
        legal = [{self._nothing, start} for start in self._starts(snapshot)]
        for child in np.flatnonzero(parents != NO_PARENT):
            legal[child] = set()
        for source, target, weight in self._rows(snapshot):
            if parents[target] == source and values[source] != self._nothing:
                legal[target].add(self._edge(values[source], weight))
        for vertex, value in enumerate(values.tolist()):
            if value not in legal[vertex]:
                raise WrongAnswer(
                    f"vertex {vertex} has {value}, expected what its parent {parents[vertex]} offers "
                    f"({', '.join(map(str, sorted(legal[vertex]))) or 'nothing'})"
                )

    def _compute(self, snapshot: Snapshot) -> tuple[NDArray[Any], NDArray[np.int32]]:
        values = self._starts(snapshot)
        parents = [NO_PARENT] * snapshot.bound
        rows = self._rows(snapshot)
        while True:
            before = list(values)
            for source, target, weight in rows:
                if values[source] != self._nothing:
                    offered = self._edge(values[source], weight)
                    if self._better(offered, values[target]):
                        values[target], parents[target] = offered, source
            if values == before:
                dtype = np.float32 if self._real else np.int64
                return np.array(values, dtype), np.array(parents, np.int32)

    def _rows(self, snapshot: Snapshot) -> list[tuple[int, int, Any]]:
        """Return source, target and weight of each edge that values travel over."""
        arcs = _arcs(snapshot)
        if self.program.both_ways:
            arcs = arcs.both_ways()
        return list(zip(arcs.source.tolist(), arcs.target.tolist(), self._weights(arcs), strict=True))

    def _edge(self, value: Any, weight: Any) -> Any:
        if self._real:
            return np.float32(type(self.program).edge(value, weight))
        # To a rule for whole numbers infinity is the largest of them, where larger is better, and the other way round.
        offered = int(type(self.program).edge(min(value, LARGEST), weight))
        return UNREACHED if self._larger and offered == LARGEST else offered

    def _better(self, one: Any, other: Any) -> bool:
        return bool(one > other) if self._larger else bool(one < other)

    def _starts(self, snapshot: Snapshot) -> list[Any]:
        values: list[Any] = [self._nothing] * snapshot.bound
        own = type(self.program).start
        started: dict[int, Any] = self._given
        if own is not None:
            started = {int(vertex): own(int(vertex)) for vertex in np.flatnonzero(snapshot.alive)}
        for vertex, value in started.items():
            if vertex < snapshot.bound and snapshot.alive[vertex]:
                values[vertex] = np.float32(value) if self._real else int(min(value, UNREACHED))
        return values

    def _weights(self, arcs: Arcs) -> list[Any]:
        if arcs.weight is None:
            return [1] * len(arcs.source)
        return list(arcs.weight) if self._real else [int(weight) for weight in arcs.weight]


class ReferenceAccumulative(_FromScratch):
    """Sums to machine precision."""

    def __init__(self, program: Accumulative) -> None:
        super().__init__()
        self.program = program

    def reached(self, vertex: int) -> bool:
        """Tell whether a vertex has a value."""
        return bool(self._values[vertex] > 0)

    def _compute(self, snapshot: Snapshot) -> tuple[NDArray[Any], NDArray[np.int32]]:
        values = accumulate(_arcs(snapshot), self.program)
        return values, np.full(snapshot.bound, NO_PARENT, np.int32)


class ReferenceTriangles(_FromScratch):
    """Every triangle, counted at its corners."""

    def __init__(self, program: Triangles) -> None:
        super().__init__()
        self.program = program

    def reached(self, vertex: int) -> bool:
        """Every vertex has a count."""
        return vertex < len(self._values)

    def _compute(self, snapshot: Snapshot) -> tuple[NDArray[Any], NDArray[np.int32]]:
        return triangles(_arcs(snapshot)), np.full(snapshot.bound, NO_PARENT, np.int32)


def _real(program: Monotone, weight_dtype: Any) -> bool:
    return program.values == "float" or (program.values == "weight" and weight_dtype == np.float32)


def _arcs(snapshot: Snapshot) -> Arcs:
    lists: Lists = snapshot.out
    source = np.repeat(np.arange(snapshot.bound), lists.degrees)
    within = np.arange(len(source)) - np.repeat(np.cumsum(lists.degrees) - lists.degrees, lists.degrees)
    places = np.repeat(lists.starts, lists.degrees) + within
    weight = lists.weights[places] if len(lists.weights) else None
    return Arcs(source, lists.neighbours[places], weight, snapshot.bound, np.array(snapshot.alive))
