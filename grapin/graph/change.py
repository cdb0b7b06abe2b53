"""`Change`: a request resolved against the lists: which arcs come, go or get another weight, and where.

Existence is decided once, in the out-direction. What is found there is the same set of arcs for the
in-direction, which only needs to know their places in its own lists.

The arguments of `Graph.from_edges`, checked and brought into the store's types.

Turning arcs round: from the order of one direction's lists to the order of the other's.

Arcs that come sorted by owner and neighbour leave sorted by neighbour and owner. They are dealt out by one digit of
the neighbour after another, the last digit first, each time keeping the order they had. This takes as many passes as
the largest vertex has digits, two for a million vertices, where comparing takes one for each doubling of the batch.

`Applied`: what a batch really changed, so that engines and caches repair just that.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grapin.batch import Edges
from grapin.compiled import inlined, kernel
from grapin.edges import MOST_VERTICES, VertexArray, WeightArray
from grapin.errors import InvalidArgument
from grapin.graph.adjacency import Adjacency
from grapin.graph.lists import commit, look_up_all
from grapin.graph.packed import Column, Patterns, Positions, Wants, new_wants, wide
from grapin.graph.request import Arcs, Request, freeze, patterns
from grapin.validation import check_choice, check_integer

_DIGIT_BITS = 11  # counts for one digit, 16 KiB, stay in the cache nearest to the processor
_DIGITS = 1 << _DIGIT_BITS


def turned(
    owner: Column, neighbour: Column, weights: Patterns, bound: int
) -> tuple[Column, Column, Patterns, Positions]:
    """Return the columns of arcs between vertices below `bound` turned round, and an array with room for positions."""
    count = len(owner)
    columns = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(len(weights), np.int32)
    keys, room = np.empty(count, np.int64), np.empty(count, np.int64)
    _turn((owner, neighbour, weights), columns, keys, room, np.empty(_DIGITS, np.int64), bound)
    return (*columns, room)


@kernel
def _turn(
    arcs: tuple[Column, Column, Patterns],
    columns: tuple[Column, Column, Patterns],
    keys: Positions,
    dealt: Positions,
    places: NDArray[np.int64],
    bound: int,
) -> None:
    owner, neighbour, weights = arcs
    for row in range(len(keys)):
        keys[row] = (wide(neighbour[row]) << 32) | row  # the row travels in the lower half
    shift = 32
    while (bound - 1) >> (shift - 32) > 0:
        _deal(keys, dealt, shift, places)
        keys, dealt = dealt, keys
        shift += _DIGIT_BITS
    for place in range(len(keys)):
        row = keys[place] & 0xFFFFFFFF
        columns[0][place] = neighbour[row]
        columns[1][place] = owner[row]
        if len(weights):
            columns[2][place] = weights[row]


@inlined
def _deal(keys: Positions, dealt: Positions, shift: int, places: NDArray[np.int64]) -> None:
    """Write keys in the order of one digit, keys of equal digits in the order they have."""
    places[:] = 0
    for key in keys:
        places[(key >> shift) & (_DIGITS - 1)] += 1
    before = 0
    for digit in range(_DIGITS):
        count = places[digit]
        places[digit] = before
        before += count
    for key in keys:
        digit = (key >> shift) & (_DIGITS - 1)
        dealt[places[digit]] = key
        places[digit] += 1


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
        commit(
            lists.lists,
            lists.bound,
            (same.owner, same.positions, same.weights),
            (old.owner, old.neighbour, old.positions),
            (new.owner, new.neighbour, new.weights),
        )
        lists.follow(new.owner, (old.owner, old.positions), (same.owner, same.positions))


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
    there = look_up_all(out.lists, arcs, True, wants)
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
    look_up_all(in_.lists, arcs, False, wants)
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


_LARGEST_FLOAT = float(np.finfo(np.float32).max)
_WEIGHT_TYPES: dict[str, np.dtype[Any] | None] = {
    "none": None,
    "int32": np.dtype(np.int32),
    "float32": np.dtype(np.float32),
}


@dataclass(frozen=True, eq=False)
class EdgeColumns:
    """Edges in the store's types; `patterns` has length 0 when the graph has no weights."""

    source: VertexArray
    target: VertexArray
    patterns: Patterns
    vertices: int
    weight_dtype: np.dtype[Any] | None


def edge_columns(
    source: ArrayLike,
    target: ArrayLike,
    weight: ArrayLike | None,
    *,
    vertices: int | None,
    weights: str | None,
) -> EdgeColumns:
    """Check columns of edges; int32 columns are used as they are, without a copy."""
    tails, heads = _vertex_column("source", source), _vertex_column("target", target)
    if len(tails) != len(heads):
        raise InvalidArgument(f"source and target must have one length, not {len(tails)} and {len(heads)}")
    least = 1 + int(max(tails.max(), heads.max())) if len(tails) else 0
    if vertices is None:
        vertices = least
    vertices = check_integer("vertices", vertices, least=0, most=MOST_VERTICES)
    if vertices < least:
        raise InvalidArgument(
            f"vertices={vertices} must be at least {least}: an edge ends at vertex {least - 1}"
        )
    dtype, weight_patterns = _weight_column(weight, len(tails), weights)
    return EdgeColumns(tails, heads, weight_patterns, vertices, dtype)


def refuse_self_loops(columns: EdgeColumns) -> None:
    """Raise `InvalidArgument` if an edge starts and ends at the same vertex."""
    loops = np.flatnonzero(columns.source == columns.target)
    if len(loops):
        vertex = columns.source[loops[0]]
        raise InvalidArgument(
            f"edge ({vertex}, {vertex}) must not be a self loop; self_loops= says what to do with it"
        )


def _vertex_column(name: str, given: ArrayLike) -> VertexArray:
    column = np.asarray(given)
    if column.ndim != 1:
        raise InvalidArgument(f"{name} must have one dimension, not {column.ndim}")
    if not column.size:
        return np.empty(0, np.int32)
    if column.dtype.kind not in "iu":
        raise InvalidArgument(f"{name} must hold whole numbers as vertices, not {column.dtype}")
    least, most = column.min(), column.max()
    if least < 0 or most >= MOST_VERTICES:
        culprit = least if least < 0 else most
        raise InvalidArgument(f"vertex {culprit} in {name} must be at least 0 and below {MOST_VERTICES}")
    return np.ascontiguousarray(column, np.int32)


def _weight_column(
    given: ArrayLike | None, count: int, weights: str | None
) -> tuple[np.dtype[Any] | None, Patterns]:
    if weights is not None:
        check_choice("weights", weights, _WEIGHT_TYPES)
    if weights == "none" or (weights is None and given is None):
        return None, np.empty(0, np.int32)
    column = np.asarray(() if given is None else given)
    if given is not None and not column.size:
        column = column.astype(np.int32) if column.dtype.kind not in "iuf" else column
    if column.shape != (count,):
        raise InvalidArgument(
            f"weight must have one number for each of {count} edges, not shape {column.shape}"
        )
    if not count:
        column = column.astype(np.int32) if weights == "int32" else column
    _check_weights(column, weights)
    dtype = _WEIGHT_TYPES[weights or ("float32" if column.dtype.kind == "f" else "int32")]
    assert dtype is not None
    return dtype, patterns(column, dtype, "weight", InvalidArgument)


def _check_weights(column: NDArray[Any], weights: str | None) -> None:
    if not column.size:
        return
    huge = column.dtype == object and all(type(one) is int for one in column)  # beyond 64 bits
    if column.dtype.kind not in "iuf" and not huge:
        raise InvalidArgument(f"weight must hold numbers, not {column.dtype}")
    least, most = column.min(), column.max()
    whole = column.dtype.kind != "f"
    limit = _LARGEST_FLOAT if not whole or weights == "float32" else np.iinfo(np.int32).max
    # A NaN anywhere makes the minimum NaN, which fails the comparison as well.
    if not (least >= 0 and most <= limit):
        culprit = most if least >= 0 else least
        larger = whole and least >= 0 and most <= _LARGEST_FLOAT
        remedy = "; larger ones need a graph of 32-bit floats, weights='float32'" if larger else ""
        raise InvalidArgument(f"weight {culprit} must be a number from 0 to {limit}{remedy}")


@dataclass(frozen=True, eq=False)
class Applied:
    """What one batch did; edges are arcs as stored, so an undirected edge appears in both directions."""

    version: int
    """How many batches have been applied, this one included."""
    inserted: Edges
    """Arcs that were not there before."""
    deleted: Edges
    """Arcs that are gone, with the weight they had, those of deleted vertices included."""
    reweighted: Edges
    """Arcs whose weight is another now, with the new weight, be it by re-weighting or by insertion."""
    old_weights: WeightArray
    """Beside `reweighted`: the weight before."""
    inserted_vertices: VertexArray
    deleted_vertices: VertexArray
    ignored: int
    """Deletions and re-weightings of what is not there, and insertions of vertices that are."""
    unchanged: int
    """Insertions and re-weightings of arcs that had that weight already."""

    def __repr__(self) -> str:
        columns = ("inserted", "deleted", "reweighted", "inserted_vertices", "deleted_vertices")
        counts = {name: len(getattr(self, name)) for name in columns}
        counts |= {"ignored": self.ignored, "unchanged": self.unchanged}
        parts = [f"{name}={count}" for name, count in counts.items() if count]
        return f"Applied({', '.join([f'version={self.version}', *parts])})"
