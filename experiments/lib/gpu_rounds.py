"""What a GPU reads to keep a monotone program fresh as Grapin does it: whole frontiers at once, in no order.

Our CPU device takes vertices by key, in many small rounds, and so reads fewer lists. The published systems take all of
a frontier at once, and whoever improved is the next one. Here are those rounds, for the published repair (correction
along parents, then every vertex that has a value pushes once) and for computing from scratch. They must end with the
values of the engine.

Breadth-first search is shortest paths with weights of one, components are shortest paths with weights of nothing that
start everywhere: `frontiers.rounds` serves all three. Components need a graph that is undirected, because
labels travel both ways.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.lib.frontiers import rounds, rows_of
from grapin.batch import Batch
from grapin.engine import Engine
from grapin.graph.snapshot import Lists
from grapin.trace import Trace

Numbers = NDArray[np.int64]
Values = NDArray[np.float64]
Rows = dict[str, NDArray[Any]]

SYSTEMS = {"published": "grapin-zc", "recompute": "grapin-recomp"}


@dataclass(frozen=True, eq=False)
class Rule:
    """A monotone program as rounds see it."""

    name: str
    start: Values
    """The value each vertex has by itself; infinite where none."""
    arrays: int
    """How many arrays of a list are read: neighbours, and perhaps weights."""

    @classmethod
    def of(cls, name: str, vertices: int, source: int) -> "Rule":
        """Return `sssp`, `bfs` or `cc`."""
        if name == "cc":
            return cls(name, np.arange(vertices, dtype=np.float64), 1)
        start = np.full(vertices, np.inf)
        start[source] = 0
        return cls(name, start, 2 if name == "sssp" else 1)

    def lists(self, lists: Lists) -> Lists:
        """Return lists with what travelling an edge adds as their weights."""
        if self.name == "sssp":
            return lists
        return replace(lists, weights=np.full(len(lists.neighbours), float(self.name == "bfs")))


class Rounds:
    """What one run reads under the published repair, or from scratch; told about every batch, in order."""

    def __init__(self, rule: Rule, engine: Engine, repair: str) -> None:
        self._rule, self._engine, self._repair = rule, engine, repair
        self._reads: list[Rows] = []
        self._from_scratch()
        self._before = self._values(), engine.parents

    def follow(self, batch: Batch) -> None:
        """Add what a batch made this repair read; the engine has applied it already."""
        if self._repair == "recompute":
            self._from_scratch()
        else:
            self._published(batch)
        self._before = self._values(), self._engine.parents

    def trace(self) -> Trace:
        """Return what was read, in the engine's trace of the same run."""
        skeleton = self._engine.trace
        reads = {name: np.concatenate([one[name] for one in self._reads]) for name in self._reads[0]}
        about = skeleton.about | {"repair": self._repair, "system": SYSTEMS[self._repair]}
        return Trace(reads, skeleton.phases, skeleton.changes, about)

    def _from_scratch(self) -> None:
        self._settle([], self._rule.start.copy())

    def _published(self, batch: Batch) -> None:
        values, parents = self._before
        levels = _lost(parents, batch, both_ways=not self._engine.graph.directed)
        distance = values.copy()
        for level in levels:
            distance[level] = self._rule.start[level]
        self._settle(levels, distance)

    def _settle(self, levels: Sequence[Numbers], distance: Values) -> None:
        """Read the lists of lost vertices, level by level, then let all that have a value push, and who improves."""
        lists = self._engine.graph.snapshot().out
        some = lists.degrees > 0
        first = np.flatnonzero(np.isfinite(distance) & some)
        frontiers = [level[some[level]] for level in levels]
        frontiers += rounds(self._rule.lists(lists), distance, first)
        assert np.array_equal(distance, self._values())
        rows = rows_of(len(self._reads), [*frontiers, first[:0]], lists.starts, lists)
        rows["arrays"][:] = np.where(rows["iteration"] < len(levels), 1, self._rule.arrays)
        self._reads.append(rows)

    def _values(self) -> Values:
        values = self._engine.values
        return np.where(values == np.iinfo(values.dtype).max, np.inf, values.astype(np.float64))


def _lost(parents: NDArray[np.int32], batch: Batch, *, both_ways: bool) -> list[Numbers]:
    """Return the vertices that lose their value with the edges a batch deletes, by how far below such an edge."""
    sources, targets = batch.delete.source, batch.delete.target
    if both_ways:
        sources, targets = np.concatenate((sources, targets)), np.concatenate((targets, sources))
    level = np.unique(targets[parents[targets] == sources]).astype(np.int64)
    lost = np.zeros(len(parents) + 1, np.bool_)  # the last stands for no parent
    levels = []
    while len(level):
        levels.append(level)
        below = np.zeros_like(lost)
        below[level] = lost[level] = True
        level = np.flatnonzero(below[parents] & ~lost[:-1])
    return levels
