"""`Change`: a request resolved against the lists: which arcs come, go or get another weight, and where.

Existence is decided once, in the out-direction. What is found there is the same set of arcs for the
in-direction, which only needs to know their places in its own lists.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.edges import VertexArray
from grapin.graph import mutate
from grapin.graph.adjacency import Adjacency
from grapin.graph.packed import Patterns
from grapin.graph.request import Arcs, Request, freeze


@dataclass(frozen=True, eq=False)
class Found:
    """Arcs of one direction in the order of the lists they are in, and their positions there."""

    owner: VertexArray
    neighbour: VertexArray
    weights: Patterns
    positions: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.owner)

    def chosen(self, rows: NDArray[Any]) -> "Found":
        """Return the arcs of these rows, given by number or by a truth value each."""
        weights = self.weights[rows] if len(self.weights) else self.weights
        owner, neighbour = self.owner[rows], self.neighbour[rows]
        freeze(owner, neighbour, weights)
        return Found(owner, neighbour, weights, self.positions[rows])

    def split(self, there: int) -> "tuple[Found, Found]":
        """Return the arcs that are not in their lists and those that are, of which there are so many.

        Nearly always it is all or none, and then nothing is copied.
        """
        if there == 0:
            return self, _NOTHING
        if there == len(self):
            return _NOTHING, self
        found = self.positions >= 0
        return self.chosen(~found), self.chosen(found)


_NO_COLUMN = np.empty(0, np.int32)
freeze(_NO_COLUMN)
_NOTHING = Found(_NO_COLUMN, _NO_COLUMN, _NO_COLUMN, np.empty(0, np.int64))


@dataclass(frozen=True, eq=False)
class Change:
    """What is to happen to the lists of one direction."""

    inserted: Found
    deleted: Found
    reweighted: Found

    def reserve(self, lists: Adjacency) -> None:
        """Make sure that `commit` has all the room it needs."""
        lists.reserve_arcs(self.inserted.owner)

    def commit(self, lists: Adjacency) -> None:
        """Change the lists; nothing can fail any more."""
        new, old, same = self.inserted, self.deleted, self.reweighted
        mutate.commit(
            lists.lists,
            lists.bound,
            (same.owner, same.positions, same.weights),
            (old.owner, old.neighbour, old.positions),
            (new.owner, new.neighbour, new.weights),
        )


@dataclass(frozen=True, eq=False)
class Resolved:
    """A request after looking every arc up in the out-lists."""

    change: Change
    old_weights: Patterns
    """Beside `change.reweighted`."""
    deleted_weights: Patterns
    ignored: Arcs
    """What was to be deleted or re-weighted but is not there."""
    unchanged: int


def resolve(request: Request, out: Adjacency) -> Resolved:
    """Look up every arc of a request."""
    inserts, deletes, reweights = request.insert, request.delete, request.reweight
    # Insertions last: an index made for a search is then widened for what is to be put into it.
    out.reserve_indices(deletes.source)
    out.reserve_indices(reweights.source)
    out.reserve_indices(inserts.source, growing=True)
    inserted, present = _look_up(inserts, out)
    absent, deleted = _look_up(deletes, out)
    unknown, known = _look_up(reweights, out)
    reweighted, old_weights, unchanged = _really_reweighted(_together(present, known), out)
    return Resolved(
        change=Change(inserted, deleted, reweighted),
        old_weights=old_weights,
        deleted_weights=_weights_of(deleted, out),
        ignored=_arcs(_together(absent, unknown)),
        unchanged=unchanged,
    )


def mirrored(change: Change, in_: Adjacency) -> Change:
    """Return the same change for the in-lists."""
    inserted, deleted = _by_neighbour(change.inserted), _by_neighbour(change.deleted)
    reweighted = _by_neighbour(change.reweighted)
    in_.reserve_indices(deleted.owner)
    in_.reserve_indices(reweighted.owner)
    in_.reserve_indices(inserted.owner, searched=False, growing=True)
    for arcs in (deleted, reweighted):
        in_.find(arcs.owner, arcs.neighbour, arcs.positions)
    return Change(inserted, deleted, reweighted)


def _look_up(arcs: Arcs, lists: Adjacency) -> tuple[Found, Found]:
    """Return the arcs that are not in the lists, and those that are."""
    if not len(arcs):
        return _NOTHING, _NOTHING
    found = Found(arcs.source, arcs.target, arcs.weights, np.empty(len(arcs), np.int64))
    return found.split(lists.find(found.owner, found.neighbour, found.positions))


def _weights_of(arcs: Found, lists: Adjacency) -> Patterns:
    if lists.weight_dtype is None:
        return _NO_COLUMN
    return lists.weights_at(arcs.owner, arcs.positions)


def _really_reweighted(arcs: Found, lists: Adjacency) -> tuple[Found, Patterns, int]:
    """Return the arcs that get a weight other than they have, the weights they have, and how many do not."""
    if not len(arcs) or lists.weight_dtype is None:
        return _NOTHING, _NO_COLUMN, len(arcs)
    before = _weights_of(arcs, lists)
    differs = before != arcs.weights
    reweighted = arcs.chosen(differs)
    return reweighted, before[differs], len(arcs) - len(reweighted)


def _by_neighbour(arcs: Found) -> Found:
    """Turn arcs round and sort them by their new owner."""
    if not len(arcs):
        return arcs
    # The row travels in the lower half of the sorted number: cheaper than sorting indices by a key.
    keys = (arcs.neighbour.astype(np.int64) << 32) | np.arange(len(arcs))
    keys.sort()
    turned = Found(arcs.neighbour, arcs.owner, arcs.weights, arcs.positions)
    return turned.chosen(keys & 0xFFFFFFFF)


def _together(one: Found, other: Found) -> Found:
    """Merge two disjoint sets of arcs in order."""
    if not len(other):
        return one
    if not len(one):
        return other
    owner = np.concatenate((one.owner, other.owner))
    neighbour = np.concatenate((one.neighbour, other.neighbour))
    weights = np.concatenate((one.weights, other.weights))
    positions = np.concatenate((one.positions, other.positions))
    if len(weights) < len(owner):
        weights = _NO_COLUMN  # deletions have none, and neither has what is to be ignored
    return Found(owner, neighbour, weights, positions).chosen(np.lexsort((neighbour, owner)))


def _arcs(found: Found) -> Arcs:
    return Arcs(found.owner, found.neighbour, found.weights[:0])
