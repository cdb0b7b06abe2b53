"""`Change`: a request resolved against the lists: which arcs come, go or get another weight, and where.

Existence is decided once, in the out-direction. What is found there is the same set of arcs for the
in-direction, which only needs to know their places in its own lists.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.edges import VertexArray
from grapin.graph import mutate
from grapin.graph.adjacency import Adjacency
from grapin.graph.packed import Patterns, Positions, Wants, new_wants
from grapin.graph.request import Arcs, Request, freeze
from grapin.graph.turning import turned


@dataclass(frozen=True, eq=False)
class Found:
    """Arcs of one direction in the order of the lists they are in, and what is there."""

    owner: VertexArray
    neighbour: VertexArray
    weights: Patterns
    """The weights they are to have."""
    positions: Positions
    """Where in their lists they are, -1 for nowhere; undefined until looked up."""
    stored: Patterns
    """The weights they have where they are; undefined where not, length 0 when nobody asks or there are none."""

    def __len__(self) -> int:
        return len(self.owner)

    @classmethod
    def of(cls, owner: VertexArray, neighbour: VertexArray, weights: Patterns, *, stored: bool) -> "Found":
        """Return arcs that are yet to be looked up, with room for the weights they are `stored` with."""
        count = len(owner)
        room = np.empty(count, np.int32) if stored else _NO_ROOM
        return cls(owner, neighbour, weights, np.empty(count, np.int64), room)

    @property
    def columns(self) -> tuple[VertexArray, VertexArray, Positions, Patterns]:
        """The columns as a look-up takes them."""
        return self.owner, self.neighbour, self.positions, self.stored

    def chosen(self, rows: NDArray[Any]) -> "Found":
        """Return the arcs of these rows, given by number or by a truth value each."""
        weights = self.weights[rows] if len(self.weights) else self.weights
        stored = self.stored[rows] if len(self.stored) else self.stored
        owner, neighbour = self.owner[rows], self.neighbour[rows]
        freeze(owner, neighbour, weights)
        return Found(owner, neighbour, weights, self.positions[rows], stored)

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
_NO_ROOM = np.empty(
    0, np.int32
)  # apart, because it may be written to, which makes it another type when compiled
_NOTHING = Found.of(_NO_COLUMN, _NO_COLUMN, _NO_COLUMN, stored=False)


@dataclass(frozen=True, eq=False)
class Change:
    """What is to happen to the lists of one direction."""

    inserted: Found
    deleted: Found
    reweighted: Found
    wants: Wants
    """What of room that asks for, at most."""
    searching: bool
    """Whether the lists are searched for arcs to be inserted."""

    def reserve(self, lists: Adjacency) -> None:
        """Make sure that `commit` has all the room it needs."""
        owners = self.inserted.owner, self.deleted.owner, self.reweighted.owner
        lists.reserve(self.wants, *owners, searching=self.searching)

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
    ignored: Arcs
    """What was to be deleted or re-weighted but is not there."""
    unchanged: int


def resolve(request: Request, out: Adjacency) -> Resolved:
    """Look up every arc of a request."""
    weighted = out.weight_dtype is not None
    inserts, deletes, reweights = (
        Found.of(arcs.source, arcs.target, arcs.weights, stored=weighted) if len(arcs) else _NOTHING
        for arcs in (request.insert, request.delete, request.reweight)
    )
    wants = new_wants()
    arcs = inserts.columns, deletes.columns, reweights.columns
    there = mutate.look_up_all(out.lists, arcs, True, wants)
    inserted, present = inserts.split(there[0])
    absent, deleted = deletes.split(there[1])
    unknown, known = reweights.split(there[2])
    reweighted, unchanged = _really_reweighted(_together(present, known), weighted=weighted)
    return Resolved(
        change=Change(inserted, deleted, reweighted, wants, searching=True),
        ignored=_arcs(_together(absent, unknown)),
        unchanged=unchanged,
    )


def mirrored(change: Change, in_: Adjacency) -> Change:
    """Return the same change for the in-lists."""
    inserted, deleted, reweighted = (
        _turned(arcs, in_.bound) for arcs in (change.inserted, change.deleted, change.reweighted)
    )
    wants = new_wants()
    arcs = inserted.columns, deleted.columns, reweighted.columns
    mutate.look_up_all(in_.lists, arcs, False, wants)
    return Change(inserted, deleted, reweighted, wants, searching=False)


def _really_reweighted(arcs: Found, *, weighted: bool) -> tuple[Found, int]:
    """Return the arcs that get a weight other than they have, and how many do not."""
    if not len(arcs) or not weighted:
        return _NOTHING, len(arcs)
    reweighted = arcs.chosen(arcs.stored != arcs.weights)
    return reweighted, len(arcs) - len(reweighted)


def _turned(arcs: Found, bound: int) -> Found:
    """Turn arcs round and sort them by their new owner."""
    if not len(arcs):
        return arcs
    owner, neighbour, weights, positions = turned(arcs.owner, arcs.neighbour, arcs.weights, bound)
    freeze(owner, neighbour, weights)
    return Found(owner, neighbour, weights, positions, _NO_ROOM)


def _together(one: Found, other: Found) -> Found:
    """Merge two disjoint sets of arcs in order."""
    if not len(other):
        return one
    if not len(one):
        return other
    owner, neighbour, weights, positions, stored = (
        np.concatenate((getattr(one, column.name), getattr(other, column.name))) for column in fields(Found)
    )
    if len(weights) < len(owner):
        weights = _NO_COLUMN  # deletions have none, and neither has what is to be ignored
    both = Found(owner, neighbour, weights, positions, stored)
    return both.chosen(np.lexsort((neighbour, owner)))


def _arcs(found: Found) -> Arcs:
    return Arcs(found.owner, found.neighbour, found.weights[:0])
