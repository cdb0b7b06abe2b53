"""Which pairs of neighbours a batch makes and parts: what every device counts triangles from.

A pair has a number, so that a triangle of which a batch changes several sides is counted at the first of them only:
the other two sides must be as they were, or of the same kind and of a higher number. What a batch makes is looked for
in the graph after it, and what it parts in the graph before it, which is the one after it without the one and with the
other. So both are the same search, in lists to which parted neighbours are added, and no earlier graph is kept.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.batch import edge_keys
from grapin.compiled import kernel
from grapin.graph.change import Applied
from grapin.graph.snapshot import Lists, Snapshot

MADE, PARTED = 1, -1
"""What a pair's triangles are added with."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs that became neighbours, or are none any more, each from both ends and sorted by the end that is first."""

    ends: NDArray[np.int32]
    others: NDArray[np.int32]
    numbers: NDArray[np.int32]
    """The same from both ends."""
    signs: NDArray[np.int32]
    """`MADE` or `PARTED`."""

    def __len__(self) -> int:
        return len(self.ends) // 2

    def groups(self, sizes: NDArray[Any]) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
        """Return the rows in which the longer of two lists is that of `ends`, and where a new end begins among them.

        `sizes` has the length of each vertex's list; of two equally long ones it is that of the larger id.
        """
        here, there = sizes[self.ends].astype(np.int64), sizes[self.others].astype(np.int64)
        rows = np.flatnonzero((here > there) | ((here == there) & (self.ends > self.others)))
        ends = self.ends[rows]
        begins = np.flatnonzero(np.concatenate(([True], ends[1:] != ends[:-1]))) if len(rows) else rows
        return rows, np.append(begins, len(rows))


def changed_pairs(snapshot: Snapshot, applied: Applied) -> Pairs:
    """Return the pairs that a batch made and parted, given the graph after it."""
    sides = []
    for edges in (applied.inserted, applied.deleted):
        low, high = np.minimum(edges.source, edges.target), np.maximum(edges.source, edges.target)
        sides.append((low, high, edges.source == low, low != high))
    low, high, forward, proper = (np.concatenate(column) for column in zip(*sides, strict=True))
    signs = np.repeat(np.array([MADE, PARTED], np.int32), [len(applied.inserted), len(applied.deleted)])
    one_list = snapshot.in_ is None or snapshot.in_ is snapshot.out
    kept = proper & forward if one_list else proper
    low, high, forward, signs = low[kept], high[kept], forward[kept], signs[kept]
    keys, inverse = np.unique(edge_keys(low, high), return_inverse=True)
    changes = np.bincount(inverse, weights=signs, minlength=len(keys)).astype(np.int32)
    if not one_list:
        assert snapshot.in_ is not None
        alone = (
            np.bincount(inverse, minlength=len(keys)) == 1
        )  # of its two edges, one is as it was: there or not
        rows = np.flatnonzero(alone[inverse])
        source, target = np.where(forward, high, low)[rows], np.where(forward, low, high)[rows]
        stays = np.empty(len(rows), np.bool_)
        _find_edges(source, target, _columns(snapshot.out), _columns(snapshot.in_), stays)
        changes[inverse[rows[stays]]] = 0
        changes = np.sign(changes)
    keys, changes = keys[changes != 0], changes[changes != 0]
    return _from_both_ends((keys >> 32).astype(np.int32), keys.astype(np.int32), changes)


def _from_both_ends(low: NDArray[np.int32], high: NDArray[np.int32], signs: NDArray[np.int32]) -> Pairs:
    ends, others = np.concatenate((low, high)), np.concatenate((high, low))
    order = np.argsort(edge_keys(ends, others))
    numbers = np.tile(np.arange(len(low), dtype=np.int32), 2)
    return Pairs(ends[order], others[order], numbers[order], np.tile(signs.astype(np.int32), 2)[order])


def _columns(lists: Lists) -> tuple[Any, ...]:
    return lists.starts, lists.degrees, lists.neighbours


@kernel
def _find_edges(sources: Any, targets: Any, out: Any, in_: Any, found: Any) -> None:
    """Tell of each edge whether it is there, by the shorter of the two lists it is in."""
    for row in range(len(sources)):
        vertex, other, lists = sources[row], targets[row], out
        if in_[1][other] < out[1][vertex]:
            vertex, other, lists = other, vertex, in_
        found[row] = False
        for place in range(lists[0][vertex], lists[0][vertex] + lists[1][vertex]):
            if lists[2][place] == other:
                found[row] = True
                break
