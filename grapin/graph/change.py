"""`Change`: what a batch does to the lists of one direction, and where; `Applied`: what it really changed.

A batch's edges become arcs as the store keeps them: an undirected edge is two, weights are the graph's 32-bit patterns,
and every end must be a vertex that exists or that the batch inserts. Arcs that cannot be are refused before anything is
looked up. Existence is then decided once, in the out-direction: what comes, goes or gets another weight is the same set
of arcs for the in-direction, which only needs to know their places in its own lists. Engines and caches repair what
`Applied` says, and no more.

For the other direction arcs are turned round: sorted by owner and neighbour they come, by neighbour and owner they
leave. They are dealt out by one digit of the neighbour after another, the last digit first, each time keeping the order
they had. This takes as many passes as the largest vertex has digits, two for a million vertices, where comparing takes
one for each doubling of the batch.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.batch import Batch, Edges, edge_keys
from grapin.compiled import inlined, kernel
from grapin.edges import VertexArray, WeightArray
from grapin.errors import InvalidBatch
from grapin.graph.adjacency import Adjacency
from grapin.graph.lists import commit, look_up_all
from grapin.graph.packed import Column, Patterns, Positions, Wants, new_wants, patterns, wide
from grapin.graph.snapshot import VertexChange, VertexSet

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
class Arcs:
    """Distinct arcs of one direction, in the order of the lists they are in, and what is there."""

    owner: VertexArray
    neighbour: VertexArray
    weights: Patterns
    """The weights they are to have; length 0 where there are none."""
    positions: Positions
    """Where in their lists they are, -1 for nowhere; undefined until looked up."""
    stored: Patterns
    """The weights they have where they are; undefined where not, length 0 when nobody asks or there are none."""

    def __len__(self) -> int:
        return len(self.owner)

    @classmethod
    def of(cls, owner: VertexArray, neighbour: VertexArray, weights: Patterns, *, stored: bool) -> "Arcs":
        """Return arcs that are yet to be looked up, with room for the weights they are `stored` with."""
        _freeze(owner, neighbour, weights)
        count = len(owner)
        room = np.empty(count, np.int32) if stored else _NO_ROOM
        return cls(owner, neighbour, weights, np.empty(count, np.int64), room)

    @property
    def keys(self) -> NDArray[np.int64]:
        """Owner and neighbour of each arc in one number, ascending."""
        return edge_keys(self.owner, self.neighbour)

    @property
    def columns(self) -> tuple[VertexArray, VertexArray, Positions, Patterns]:
        """The columns as a look-up takes them."""
        return self.owner, self.neighbour, self.positions, self.stored

    def chosen(self, rows: NDArray[Any]) -> "Arcs":
        """Return the arcs of these rows, given by number or by a truth value each."""
        weights = self.weights[rows] if len(self.weights) else self.weights
        stored = self.stored[rows] if len(self.stored) else self.stored
        owner, neighbour = self.owner[rows], self.neighbour[rows]
        _freeze(owner, neighbour, weights)
        return Arcs(owner, neighbour, weights, self.positions[rows], stored)

    def split(self, there: int) -> "tuple[Arcs, Arcs]":
        """Return the arcs that are not in their lists and those that are, of which there are so many.

        Nearly always it is all or none, and then nothing is copied.
        """
        if there == 0:
            return self, _NONE
        if there == len(self):
            return _NONE, self
        found = self.positions >= 0
        return self.chosen(~found), self.chosen(found)


def _freeze(*columns: NDArray[Any]) -> None:
    """Forbid writing: to compiled code a column that may be written is of another type, and compiled again."""
    for column in columns:
        column.flags.writeable = False


_NO_COLUMN = np.empty(0, np.int32)
_NO_ROOM = np.empty(0, np.int32)  # apart, because it may be written to, which makes it another type
_NONE = Arcs.of(_NO_COLUMN, _NO_COLUMN, _NO_COLUMN, stored=False)


Asked = tuple[Arcs, Arcs, Arcs]
"""The arcs that a batch wants inserted, deleted and re-weighted, before any is looked up."""
_PARTS = ("insert", "delete", "reweight")


def asked_for(
    batch: Batch, vertices: VertexSet, change: VertexChange, *, directed: bool, dtype: Any
) -> Asked:
    """Translate a batch for a graph with these vertices, direction and weights, or raise `InvalidBatch`."""
    if dtype is None and len(batch.reweight):
        raise InvalidBatch("reweight must be empty: the graph has no weights")
    insert, delete, reweight = (_arcs_of(name, getattr(batch, name), dtype) for name in _PARTS)
    for name, arcs in zip(_PARTS, (insert, delete, reweight), strict=True):
        if len(arcs):
            _check_ends(name, arcs, vertices, change)
    if not directed:
        insert, delete, reweight = (
            _both_ways(name, arcs) for name, arcs in zip(_PARTS, (insert, delete, reweight), strict=True)
        )
        _check_conflicts({"insert": insert, "delete": delete, "reweight": reweight})
    return insert, delete, reweight


def _arcs_of(name: str, edges: Edges, dtype: np.dtype[Any] | None) -> Arcs:
    if not len(edges):
        return _NONE
    weights = _NO_COLUMN if name == "delete" else _patterns(name, edges, dtype)
    return Arcs.of(edges.source, edges.target, weights, stored=dtype is not None)


def _patterns(name: str, edges: Edges, dtype: np.dtype[Any] | None) -> Patterns:
    if dtype is None:
        if edges.weight is not None:
            raise InvalidBatch(f"{name} must not give weights: the graph has none")
        return _NO_COLUMN
    if edges.weight is None:
        raise InvalidBatch(f"{name} must give a weight for each edge: the graph has weights")
    return patterns(edges.weight, dtype, name, InvalidBatch)


def _check_ends(name: str, arcs: Arcs, vertices: VertexSet, change: VertexChange) -> None:
    place = int(_first_unknown(arcs.owner, arcs.neighbour, vertices.alive, change.inserted))
    if place >= 0:
        row, end = divmod(place, 2)
        edge = arcs.owner[row], arcs.neighbour[row]
        raise InvalidBatch(
            f"edge ({edge[0]}, {edge[1]}) in {name} must end at vertices that exist or are inserted with it: "
            f"unknown vertex {edge[end]}"
        )


@kernel
def _first_unknown(
    source: VertexArray, target: VertexArray, alive: NDArray[np.bool_], inserted: VertexArray
) -> int:
    """Return twice the first row with an unknown end, plus one if only its target is unknown; -1 if none."""
    for row in range(len(source)):
        if not _is_known(source[row], alive, inserted):
            return 2 * row
        if not _is_known(target[row], alive, inserted):
            return 2 * row + 1
    return -1


@kernel
def _is_known(vertex: int, alive: NDArray[np.bool_], inserted: VertexArray) -> bool:
    if vertex < len(alive) and alive[vertex]:
        return True
    low, high = 0, len(inserted)
    while low < high:
        middle = (low + high) // 2
        if inserted[middle] < vertex:
            low = middle + 1
        else:
            high = middle
    return bool(low < len(inserted) and inserted[low] == vertex)


def _both_ways(name: str, arcs: Arcs) -> Arcs:
    if not len(arcs):
        return arcs
    keys = np.concatenate((arcs.keys, edge_keys(arcs.neighbour, arcs.owner)))
    order = np.argsort(keys)
    keys = keys[order]
    fresh = np.concatenate(([True], keys[1:] != keys[:-1]))
    weights = arcs.weights
    if len(weights):
        weights = np.concatenate((weights, weights))[order]
        differs = ~fresh[1:] & (weights[1:] != weights[:-1])
        if differs.any():
            source, target = divmod(int(keys[np.argmax(differs)]), 2**32)
            raise InvalidBatch(
                f"edge ({source}, {target}) in {name} must have one weight in both directions: "
                "the graph is undirected"
            )
        weights = weights[fresh]
    return _of_keys(keys[fresh], weights, stored=len(arcs.stored) > 0)


def _of_keys(keys: NDArray[np.int64], weights: Patterns, *, stored: bool) -> Arcs:
    return Arcs.of((keys >> 32).astype(np.int32), keys.astype(np.int32), weights, stored=stored)


def _check_conflicts(named: dict[str, Arcs]) -> None:
    for one, other in (("insert", "delete"), ("insert", "reweight"), ("delete", "reweight")):
        if len(named[one]) and len(named[other]):
            both = np.intersect1d(named[one].keys, named[other].keys, assume_unique=True)
            if len(both):
                source, target = divmod(int(both[0]), 2**32)
                raise InvalidBatch(
                    f"edge ({source}, {target}) must not stand in both {one} and {other}, in either direction"
                )


def and_delete(asked: Asked, keys: NDArray[np.int64], *, weighted: bool) -> Asked:
    """Ask for these arcs to be deleted too."""
    insert, delete, reweight = asked
    return insert, _of_keys(np.union1d(keys, delete.keys), _NO_COLUMN, stored=weighted), reweight


@dataclass(frozen=True, eq=False)
class Change:
    """What is to happen to the lists of one direction."""

    inserted: Arcs
    deleted: Arcs
    reweighted: Arcs
    wants: Wants
    """What of room that asks for, at most."""
    searching: bool
    """Whether the lists are searched for arcs to be inserted."""
    ignored: Arcs
    """What was to be deleted or re-weighted but is not there."""
    unchanged: int
    """How many arcs were to get the weight that they have."""

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


def resolve(asked: Asked, out: Adjacency) -> Change:
    """Look up in the out-lists every arc that a batch asks for."""
    inserts, deletes, reweights = asked
    wants = new_wants()
    there = look_up_all(out.lists, (inserts.columns, deletes.columns, reweights.columns), True, wants)
    inserted, present = inserts.split(there[0])
    absent, deleted = deletes.split(there[1])
    unknown, known = reweights.split(there[2])
    reweighted, unchanged = _really_reweighted(
        _together(present, known), weighted=out.weight_dtype is not None
    )
    ignored = _together(absent, unknown)
    return Change(inserted, deleted, reweighted, wants, searching=True, ignored=ignored, unchanged=unchanged)


def mirrored(change: Change, in_: Adjacency) -> Change:
    """Return the same change for the in-lists."""
    inserted, deleted, reweighted = (
        _turned(arcs, in_.bound) for arcs in (change.inserted, change.deleted, change.reweighted)
    )
    wants = new_wants()
    look_up_all(in_.lists, (inserted.columns, deleted.columns, reweighted.columns), False, wants)
    return Change(inserted, deleted, reweighted, wants, searching=False, ignored=_NONE, unchanged=0)


def _really_reweighted(arcs: Arcs, *, weighted: bool) -> tuple[Arcs, int]:
    """Return the arcs that get a weight other than they have, and how many do not."""
    if not len(arcs) or not weighted:
        return _NONE, len(arcs)
    reweighted = arcs.chosen(arcs.stored != arcs.weights)
    return reweighted, len(arcs) - len(reweighted)


def _turned(arcs: Arcs, bound: int) -> Arcs:
    """Turn arcs round and sort them by their new owner."""
    if not len(arcs):
        return arcs
    owner, neighbour, weights, positions = turned(arcs.owner, arcs.neighbour, arcs.weights, bound)
    _freeze(owner, neighbour, weights)
    return Arcs(owner, neighbour, weights, positions, _NO_ROOM)


def _together(one: Arcs, other: Arcs) -> Arcs:
    """Merge two disjoint sets of arcs in order."""
    if not len(other):
        return one
    if not len(one):
        return other
    owner, neighbour, weights, positions, stored = (
        np.concatenate((getattr(one, column.name), getattr(other, column.name))) for column in fields(Arcs)
    )
    if len(weights) < len(owner):
        weights = _NO_COLUMN  # deletions have none, and neither has what is to be ignored
    both = Arcs(owner, neighbour, weights, positions, stored)
    return both.chosen(np.lexsort((neighbour, owner)))


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

    def ignoring(self, more: int) -> "Applied":
        """Return the same with `more` that was ignored, such as deletions by names that nobody has."""
        columns = {field.name: getattr(self, field.name) for field in fields(Applied)}
        return Applied(**columns | {"ignored": self.ignored + more})

    def __repr__(self) -> str:
        columns = ("inserted", "deleted", "reweighted", "inserted_vertices", "deleted_vertices")
        counts = {name: len(getattr(self, name)) for name in columns}
        counts |= {"ignored": self.ignored, "unchanged": self.unchanged}
        parts = [f"{name}={count}" for name, count in counts.items() if count]
        return f"Applied({', '.join([f'version={self.version}', *parts])})"


def refuse_ignored(change: Change, vertices: VertexChange) -> None:
    """Refuse, for a strict graph, a change of which a part would be ignored."""
    if len(change.ignored):
        edge = f"({change.ignored.owner[0]}, {change.ignored.neighbour[0]})"
        raise InvalidBatch(f"edge {edge} must exist to be deleted or re-weighted: the graph is strict")
    if len(vertices.ignored):
        vertex = vertices.ignored[0]
        raise InvalidBatch(
            f"vertex {vertex} must not exist to be inserted and exist to be deleted: the graph is strict"
        )
