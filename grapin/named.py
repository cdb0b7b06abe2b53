"""`NamedBatch`: mutations by the names that vertices have outside; a graph with labels makes a `Batch` of them.

Who a name belongs to is known only when the batch meets its graph: a name that is new becomes a vertex there, under the
smallest id that is free.
"""

import math
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.batch import Batch
from grapin.edges import Labels, VertexArray
from grapin.errors import InvalidBatch
from grapin.tables import arrow_parts

NamedEdges = Iterable[Any]
"""Rows `[("ann", "bob"), ...]` with or without a weight, an array of such rows, or columns in a tuple."""
Columns = tuple[list[Any], list[Any], Any]
"""Sources, targets and weights; None for no weights."""


class NamedBatch:
    """What a `Batch` is, with names in place of ids.

    A name that an insertion mentions for the first time is a new vertex; a name that nobody has, in a deletion or a
    re-weighting, leaves nothing to do, which is counted as ignored, or refused by a strict graph.

    >>> graph = grapin.Graph.empty(labels=grapin.Labels())
    >>> graph.apply(NamedBatch(insert=[("ann", "bob"), ("bob", "cy")]))
    Applied(version=1, inserted=2, inserted_vertices=3)
    >>> graph.apply(NamedBatch(delete=[("ann", "bob"), ("ann", "dee")]))
    Applied(version=2, deleted=1, ignored=1)
    """

    def __init__(
        self,
        insert: NamedEdges = (),
        delete: NamedEdges = (),
        reweight: NamedEdges = (),
        insert_vertices: Iterable[Any] = (),
        delete_vertices: Iterable[Any] = (),
    ) -> None:
        given = {"insert": insert, "delete": delete, "reweight": reweight}
        self._edges = {name: _columns(name, edges) for name, edges in given.items()}
        self._arriving = _names("insert_vertices", insert_vertices)
        self._leaving = _names("delete_vertices", delete_vertices)

    @classmethod
    def from_arrow(
        cls, table: Any = None, *, insert: Any = None, delete: Any = None, reweight: Any = None
    ) -> "NamedBatch":
        """Make a batch of tables with the Arrow interface, as `Batch.from_arrow` does, of vertices by name."""
        return cls(
            **arrow_parts(table, {"insert": insert, "delete": delete, "reweight": reweight}, named=True)
        )

    @property
    def size(self) -> int:
        """How many mutations this batch holds."""
        edges = sum(len(sources) for sources, _, _ in self._edges.values())
        return edges + len(self._arriving) + len(self._leaving)

    def __repr__(self) -> str:
        return f"NamedBatch({self.size} mutations)"

    def resolve(
        self, labels: Labels, free: Callable[[int], VertexArray], *, strict: bool
    ) -> tuple[Batch, int]:
        """Return the batch by ids, and how many mutations are left out of it; `free` returns unused ids."""
        came = self._newcomers(labels)
        ids = free(len(came))
        fresh = dict(zip(came, ids.tolist(), strict=True))
        parts: dict[str, Any] = {}
        ignored = 0
        for name, (sources, targets, weights) in self._edges.items():
            ends = [_found(labels, column, fresh) for column in (sources, targets)]
            known = (ends[0] >= 0) & (ends[1] >= 0)
            if not known.all():
                row = int(np.argmin(known))
                _complain(f"edge ({sources[row]!r}, {targets[row]!r}) in {name}", strict=strict)
                ignored += int(np.count_nonzero(~known))
                ends = [column[known] for column in ends]
                weights = None if weights is None else np.asarray(weights)[known]
            parts[name] = (*ends,) if weights is None else (*ends, weights)
        leaving = _found(labels, self._leaving, fresh)
        if (leaving < 0).any():
            _complain(f"vertex {self._leaving[int(np.argmin(leaving))]!r} in delete_vertices", strict=strict)
            ignored += int(np.count_nonzero(leaving < 0))
        present = _found(labels, self._arriving, {})
        present = present[present >= 0]
        names = [*came, *(labels.name(vertex) for vertex in present.tolist())]
        batch = Batch(
            **parts,
            insert_vertices=np.concatenate((ids, present)),
            delete_vertices=leaving[leaving >= 0],
            names=names,
        )
        return batch, ignored

    def _newcomers(self, labels: Labels) -> list[Any]:
        """Return the names that insertions mention and nobody has, each once, in the order in which they come."""
        sources, targets, _ = self._edges["insert"]
        wanted = [end for edge in zip(sources, targets, strict=True) for end in edge] + self._arriving
        missing = np.flatnonzero(labels.find(wanted) < 0)
        return list(dict.fromkeys(labels.spelt(wanted[place]) for place in missing.tolist()))


def _found(labels: Labels, names: list[Any], fresh: dict[Any, int]) -> NDArray[np.int32]:
    found = labels.find(names)
    for place in np.flatnonzero(found < 0).tolist() if fresh else ():
        found[place] = fresh.get(labels.spelt(names[place]), -1)
    return found


def _complain(culprit: str, *, strict: bool) -> None:
    if strict:
        raise InvalidBatch(f"{culprit} must be about vertices with these names: the graph is strict")


def _columns(name: str, given: NamedEdges) -> Columns:
    if isinstance(given, np.ndarray):
        if given.ndim != 2 or given.shape[1] not in {2, 3}:
            raise InvalidBatch(f"{name} must have shape (n, 2) or (n, 3), not {given.shape}")
        columns: list[Any] = [given[:, place] for place in range(given.shape[1])]
    elif isinstance(given, tuple) and given:
        columns = list(given)
    else:
        rows = _rows(name, given)
        columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[], []]
    lengths = {len(column) for column in columns}
    if len(columns) not in {2, 3} or len(lengths) > 1:
        raise InvalidBatch(f"{name} must have columns of one length: sources, targets and perhaps weights")
    source, target = (_names(name, column) for column in columns[:2])
    return source, target, columns[2] if len(columns) == 3 else None


def _rows(name: str, given: NamedEdges) -> list[tuple[Any, ...]]:
    rows = list(given)
    if any(isinstance(row, str) or not isinstance(row, Iterable) for row in rows):
        raise InvalidBatch(f"{name} must be rows (source, target[, weight]), not {rows[0]!r:.60}")
    rows = [tuple(row) for row in rows]
    if {len(row) for row in rows} not in (set(), {2}, {3}):
        raise InvalidBatch(f"{name} must have rows (source, target) or (source, target, weight), all alike")
    return rows


def _names(name: str, given: Any) -> list[Any]:
    """Return names as Python has them, or refuse what is none."""
    if isinstance(given, (str, bytes)):
        raise InvalidBatch(f"{name} must hold names, one for each vertex, not the single text {given!r:.60}")
    listed = given.tolist() if hasattr(given, "tolist") else list(given)
    for one in listed:
        if (
            one is None
            or one == ""
            or (isinstance(one, float) and math.isnan(one))
            or not isinstance(one, Hashable)
        ):
            raise InvalidBatch(f"{name} must hold names, such as text or whole numbers, not {one!r:.60}")
    return listed
