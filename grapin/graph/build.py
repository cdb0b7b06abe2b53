"""Building both directions from edges in any order, in three passes of counting sort.

Edges that come in order, each once, as generators and most files have them, are copied straight into the
out-lists. Others are grouped by target; walking the groups in order then fills the out-lists sorted by
target, which puts repetitions of an edge next to each other, in the order they were given, so that they are
merged on the way. Walking the out-lists in order fills the in-lists. Nothing but one grouped copy of the
edges is needed beside the finished arrays. Columns are checked and brought into the store's types before.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grapin.compiled import kernel
from grapin.edges import COUNTED_BY_FLOATS, MOST_VERTICES, VertexArray
from grapin.errors import InvalidArgument
from grapin.graph.adjacency import Adjacency
from grapin.graph.packed import Allocate, Column, PackedLists, Patterns, Positions, patterns, prefetch, wide
from grapin.validation import check_choice, check_integer

DUPLICATE_RULES = ("last", "first", "min", "max", "sum", "refuse")
_LAST, _FIRST, _MIN, _MAX, _SUM, _REFUSE = range(6)
_MOST = 2**31 - 1
_NO_VERTEX = -1
_ROWS_AHEAD = 16
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


def _refuse_self_loops(columns: EdgeColumns) -> None:
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


class Ordered:
    """Distinct directed edges that come sorted by source and target: nothing has to be moved twice."""

    def __init__(self, source: Column, target: Column, weights: Patterns, bound: int) -> None:
        self.target = target
        self.weights = weights
        self.out_degrees = np.zeros(bound, np.int32)
        self.in_degrees = np.zeros(bound, np.int32)
        _count_ends(source, target, self.out_degrees, self.in_degrees)

    def fill(self, out: PackedLists, _rule: str, _weight_dtype: np.dtype[Any] | None) -> None:
        """Fill the out-lists, whose starts are laid out for `out_degrees`."""
        _copy_rows(self.target, self.weights, out)


class Grouped:
    """Edges grouped by target, and how many distinct ones each vertex has in either direction."""

    def __init__(
        self, source: Column, target: Column, weights: Patterns, bound: int, *, both: bool, loops: bool
    ) -> None:
        """Group edges, each also the other way round if `both`, self loops only if `loops`."""
        self.ends = np.zeros(bound + 1, np.int64)
        _count_by_target(source, target, bound, both, loops, self.ends)
        count = int(self.ends[bound])
        self.source = np.empty(count, np.int32)
        self.weights = np.empty(count if len(weights) else 0, np.int32)
        _group(source, target, weights, both, loops, self.ends, self.source, self.weights)
        self.out_degrees = np.zeros(bound, np.int32)
        self.in_degrees = np.zeros(bound, np.int32)
        latest = np.full(bound, _NO_VERTEX, np.int32)
        _count_distinct(self.ends, self.source, latest, self.out_degrees, self.in_degrees)

    def fill(self, out: PackedLists, rule: str, weight_dtype: np.dtype[Any] | None) -> None:
        """Fill the out-lists, whose starts are laid out for `out_degrees`, merging repeated edges."""
        code = DUPLICATE_RULES.index(rule)
        real = weight_dtype is not None and weight_dtype.kind == "f"
        source, target = _fill_out(self.ends, self.source, self.weights, out, code, real)
        if source == _NO_VERTEX:
            return
        if rule == "refuse":
            raise InvalidArgument(
                f"edge ({source}, {target}) must not be given twice; duplicates= says what to do with it"
            )
        exactly = ", exactly where it is whole" if real else ""
        raise InvalidArgument(
            f"the weights of edge ({source}, {target}) must have a sum that fits into 32 bits{exactly}"
        )


def _grouped(
    source: Column, target: Column, weights: Patterns, bound: int, *, both: bool, loops: bool
) -> Ordered | Grouped:
    """Return edges ready to fill lists with: each also the other way round if `both`, self loops if `loops`."""
    if not both and loops and _ascending(source, target):
        return Ordered(source, target, weights, bound)
    return Grouped(source, target, weights, bound, both=both, loops=loops)


@kernel
def _ascending(source: Column, target: Column) -> bool:
    """Return whether every edge comes after the one before it, by source and then by target."""
    for row in range(1, len(source)):
        before, here = source[row - 1], source[row]
        if before > here or (before == here and target[row - 1] >= target[row]):
            return False
    return True


@kernel
def _count_ends(source: Column, target: Column, out_degrees: Column, in_degrees: Column) -> None:
    for row in range(len(source)):
        out_degrees[source[row]] += 1
        in_degrees[target[row]] += 1


@kernel
def _copy_rows(target: Column, weights: Patterns, out: PackedLists) -> None:
    row = 0
    for vertex in range(len(out.degrees)):
        start, degree = out.starts[vertex], wide(out.degrees[vertex])
        for place in range(degree):
            out.neighbours[start + place] = target[row + place]
        if len(weights):
            for place in range(degree):
                out.weights[start + place] = weights[row + place]
        row += degree


@kernel
def _count_by_target(
    source: Column, target: Column, bound: int, both: bool, loops: bool, ends: Positions
) -> None:
    """Write to `ends[v]` where the group of target `v` is to begin."""
    for row in range(len(source)):
        if source[row] == target[row]:
            ends[target[row] + 1] += loops
        else:
            ends[target[row] + 1] += 1
            if both:
                ends[source[row] + 1] += 1
    for vertex in range(bound):
        ends[vertex + 1] += ends[vertex]


@kernel
def _group(
    source: Column,
    target: Column,
    weights: Patterns,
    both: bool,
    loops: bool,
    ends: Positions,
    grouped_source: Column,
    grouped_weights: Patterns,
) -> None:
    """Scatter the edges; `ends[v]` is where group `v` begins at first and where it ends afterwards."""
    for row in range(len(source)):
        if row + 2 * _ROWS_AHEAD < len(source):
            prefetch(ends, wide(target[row + 2 * _ROWS_AHEAD]))
            prefetch(grouped_source, ends[target[row + _ROWS_AHEAD]])
            if len(weights):
                prefetch(grouped_weights, ends[target[row + _ROWS_AHEAD]])
        tail, head = source[row], target[row]
        if tail == head and not loops:
            continue
        place = ends[head]
        ends[head] += 1
        grouped_source[place] = tail
        if len(weights):
            grouped_weights[place] = weights[row]
        if both and tail != head:
            place = ends[tail]
            ends[tail] += 1
            grouped_source[place] = head
            if len(weights):
                grouped_weights[place] = weights[row]


@kernel
def _count_distinct(
    ends: Positions, source: Column, latest: Column, out_degrees: Column, in_degrees: Column
) -> None:
    place = 0
    for target in range(len(in_degrees)):
        while place < ends[target]:
            tail = source[place]
            if latest[tail] != target:
                latest[tail] = target
                out_degrees[tail] += 1
                in_degrees[target] += 1
            place += 1


@kernel
def _prefetch_tail(out: PackedLists, far: int, near: int) -> None:
    """Ask for where the list of `far` ends, and for the end of the list of `near`, which was asked for before."""
    prefetch(out.starts, wide(far))
    prefetch(out.degrees, wide(far))
    end = out.starts[near] + out.degrees[near]
    prefetch(out.neighbours, end)
    if len(out.weights):
        prefetch(out.weights, end)


@kernel
def _fill_out(
    ends: Positions, source: Column, weights: Patterns, out: PackedLists, rule: int, real: bool
) -> tuple[int, int]:
    """Fill the out-lists; return the edge that the rule refuses, or no vertices."""
    bound = len(ends) - 1
    for vertex in range(bound):
        out.degrees[vertex] = 0
    place = 0
    for target in range(bound):
        while place < ends[target]:
            if place + 2 * _ROWS_AHEAD < len(source):
                _prefetch_tail(out, source[place + 2 * _ROWS_AHEAD], source[place + _ROWS_AHEAD])
            tail = source[place]
            slot = out.starts[tail] + out.degrees[tail]
            if out.degrees[tail] and out.neighbours[slot - 1] == target:
                if rule == _REFUSE or (
                    len(weights) and not _merge(out, slot - 1, weights, place, rule, real)
                ):
                    return wide(tail), wide(target)
            else:
                out.neighbours[slot] = target
                if len(weights):
                    out.weights[slot] = weights[place]
                out.degrees[tail] += 1
            place += 1
    return wide(_NO_VERTEX), wide(_NO_VERTEX)


@kernel
def _merge(out: PackedLists, slot: int, weights: Patterns, place: int, rule: int, real: bool) -> bool:
    """Merge one more weight into the edge at `slot`; return False if the sum does not fit."""
    if rule == _LAST:
        out.weights[slot] = weights[place]
    elif rule == _MIN:
        out.weights[slot] = min(out.weights[slot], weights[place])
    elif rule == _MAX:
        out.weights[slot] = max(out.weights[slot], weights[place])
    elif rule == _SUM and real:
        sum_ = np.float64(out.weights.view(np.float32)[slot]) + np.float64(weights.view(np.float32)[place])
        rounded = np.float32(sum_)
        out.weights.view(np.float32)[slot] = rounded
        # As in `lost_in_float32`: a whole sum that a float cannot hold would be another one.
        lost = sum_ < COUNTED_BY_FLOATS and sum_ == np.trunc(sum_) and np.float64(rounded) != sum_
        return bool(np.isfinite(rounded) and not lost)
    elif rule == _SUM:
        total = wide(out.weights[slot]) + weights[place]
        out.weights[slot] = min(total, _MOST)
        return bool(total <= _MOST)
    return True


@kernel
def fill_in(out: PackedLists, in_: PackedLists, bound: int, ends: Positions) -> None:
    """Fill the in-lists, whose starts are laid out, from the out-lists; `ends` is room for a number per vertex."""
    for vertex in range(bound):
        ends[vertex] = in_.starts[vertex]
    for vertex in range(bound):
        first = out.starts[vertex]
        last = first + out.degrees[vertex]
        for place in range(first, last):
            prefetch(ends, wide(out.neighbours[min(place + 2 * _ROWS_AHEAD, last - 1)]))
            near = ends[out.neighbours[min(place + _ROWS_AHEAD, last - 1)]]
            prefetch(in_.neighbours, near)
            if len(in_.weights):
                prefetch(in_.weights, near)
            head = out.neighbours[place]
            slot = ends[head]
            ends[head] = slot + 1
            in_.neighbours[slot] = vertex
            if len(in_.weights):
                in_.weights[slot] = out.weights[place]
    for vertex in range(bound):
        in_.degrees[vertex] = ends[vertex] - in_.starts[vertex]


def build(
    columns: EdgeColumns,
    *,
    directed: bool,
    in_direction: bool,
    duplicates: str,
    self_loops: str,
    aligned: bool,
    allocate: Allocate | None,
) -> tuple[Adjacency, Adjacency | None]:
    """Return out- and in-lists of these edges; in-lists are None if not wanted, and the out-lists if undirected."""
    check_choice("duplicates", duplicates, DUPLICATE_RULES)
    check_choice("self_loops", self_loops, ("keep", "drop", "refuse"))
    if self_loops == "refuse":
        _refuse_self_loops(columns)
    dtype = columns.weight_dtype
    found = _grouped(
        columns.source,
        columns.target,
        columns.patterns,
        columns.vertices,
        both=not directed,
        loops=self_loops != "drop",
    )
    out = Adjacency(found.out_degrees, weight_dtype=dtype, aligned=aligned, allocate=allocate)
    found.fill(out.lists, duplicates, dtype)
    in_degrees = found.in_degrees
    del found  # it is as large as the edges
    in_ = None if directed else out
    if directed and in_direction:
        in_ = Adjacency(in_degrees, weight_dtype=dtype, aligned=aligned, allocate=allocate)
        fill_in(out.lists, in_.lists, columns.vertices, np.empty(columns.vertices, np.int64))
    for lists in {id(lists): lists for lists in (out, in_) if lists is not None}.values():
        lists.index_hubs()
    return out, in_
