"""`Change`: a request resolved against the lists: which arcs come, go or get another weight, and where.

Existence is decided once, in the out-direction. What is found there is the same set of arcs for the
in-direction, which only needs to know their places in its own lists.
"""

from dataclasses import dataclass

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

    def __post_init__(self) -> None:
        freeze(self.owner, self.neighbour, self.weights)

    def __len__(self) -> int:
        return len(self.owner)

    def __getitem__(self, chosen: NDArray[np.bool_]) -> "Found":
        if chosen.all():
            return self
        weights = self.weights[chosen] if len(self.weights) else self.weights
        return Found(self.owner[chosen], self.neighbour[chosen], weights, self.positions[chosen])


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
        packed = lists.lists
        inserted, deleted, reweighted = self.inserted, self.deleted, self.reweighted
        if len(reweighted):
            mutate.set_weights(packed, reweighted.owner, reweighted.positions, reweighted.weights)
        if len(deleted):
            mutate.delete_all(packed, deleted.owner, deleted.neighbour, deleted.positions)
        if len(inserted):
            mutate.append_all(packed, lists.bound, inserted.owner, inserted.neighbour, inserted.weights)


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
    insert, delete, reweight = _look_up(inserts, out), _look_up(deletes, out), _look_up(reweights, out)
    absent_delete, absent_reweight = delete.positions < 0, reweight.positions < 0
    deleted = delete[~absent_delete]
    inserted_before = insert.positions >= 0
    present = _together(insert[inserted_before], reweight[~absent_reweight])
    weighted = out.weight_dtype is not None
    if weighted:
        before = out.weights_at(present.owner, present.positions)
        differs = before != present.weights
        reweighted, old_weights = present[differs], before[differs]
        deleted_weights = out.weights_at(deleted.owner, deleted.positions)
    else:
        reweighted, old_weights = present[np.zeros(len(present), np.bool_)], present.weights[:0]
        deleted_weights = present.weights[:0]
    return Resolved(
        change=Change(inserted=insert[~inserted_before], deleted=deleted, reweighted=reweighted),
        old_weights=old_weights,
        deleted_weights=deleted_weights,
        ignored=_absent(delete[absent_delete], reweight[absent_reweight]),
        unchanged=len(present) - len(reweighted),
    )


def mirrored(change: Change, in_: Adjacency) -> Change:
    """Return the same change for the in-lists."""
    inserted, deleted = _by_neighbour(change.inserted), _by_neighbour(change.deleted)
    reweighted = _by_neighbour(change.reweighted)
    in_.reserve_indices(deleted.owner)
    in_.reserve_indices(reweighted.owner)
    in_.reserve_indices(inserted.owner, searched=False, growing=True)
    return Change(inserted, _located(deleted, in_), _located(reweighted, in_))


def _look_up(arcs: Arcs, lists: Adjacency) -> Found:
    return Found(arcs.source, arcs.target, arcs.weights, lists.find(arcs.source, arcs.target))


def _located(arcs: Found, lists: Adjacency) -> Found:
    positions = lists.find(arcs.owner, arcs.neighbour)
    return Found(arcs.owner, arcs.neighbour, arcs.weights, positions)


def _by_neighbour(arcs: Found) -> Found:
    """Turn arcs round and sort them by their new owner."""
    if not len(arcs):
        return arcs
    # The row travels in the lower half of the sorted number: cheaper than sorting indices by a key.
    keys = (arcs.neighbour.astype(np.int64) << 32) | np.arange(len(arcs))
    keys.sort()
    rows = keys & 0xFFFFFFFF
    weights = arcs.weights[rows] if len(arcs.weights) else arcs.weights
    return Found(arcs.neighbour[rows], arcs.owner[rows], weights, arcs.positions[rows])


def _together(one: Found, other: Found) -> Found:
    """Merge two disjoint sets of arcs in order."""
    if not len(other):
        return one
    if not len(one):
        return other
    owner = np.concatenate((one.owner, other.owner))
    neighbour = np.concatenate((one.neighbour, other.neighbour))
    order = np.lexsort((neighbour, owner))
    weights = np.concatenate((one.weights, other.weights))
    positions = np.concatenate((one.positions, other.positions))
    return Found(owner[order], neighbour[order], weights[order], positions[order])


def _absent(one: Found, other: Found) -> Arcs:
    if not len(other):
        return Arcs(one.owner, one.neighbour, one.weights[:0])
    source = np.concatenate((one.owner, other.owner))
    target = np.concatenate((one.neighbour, other.neighbour))
    return Arcs(source, target, one.weights[:0])
