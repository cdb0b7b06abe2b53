"""Building both directions from edges in any order, in three passes of counting sort.

Edges are grouped by target; walking the groups in order then fills the out-lists sorted by target, which puts
repetitions of an edge next to each other, in the order they were given, so that they are merged on the way;
walking the out-lists in order fills the in-lists. Nothing but one grouped copy of the edges is needed beside
the finished arrays.
"""

from typing import Any

import numpy as np

from grapin.compiled import kernel
from grapin.errors import InvalidArgument
from grapin.graph.packed import Column, PackedLists, Patterns, Positions, wide

DUPLICATE_RULES = ("last", "first", "min", "max", "sum", "refuse")
_LAST, _FIRST, _MIN, _MAX, _SUM, _REFUSE = range(6)
_MOST = 2**31 - 1
_NO_VERTEX = -1


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
        raise InvalidArgument(
            f"the weights of edge ({source}, {target}) must have a sum that fits into 32 bits"
        )


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
def _fill_out(
    ends: Positions, source: Column, weights: Patterns, out: PackedLists, rule: int, real: bool
) -> tuple[int, int]:
    """Fill the out-lists; return the edge that the rule refuses, or no vertices."""
    for vertex in range(len(out.degrees)):
        out.degrees[vertex] = 0
    place = 0
    for target in range(len(out.degrees)):
        while place < ends[target]:
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
        total = out.weights.view(np.float32)[slot] + weights.view(np.float32)[place]
        out.weights.view(np.float32)[slot] = total
        return bool(np.isfinite(total))
    elif rule == _SUM:
        total = wide(out.weights[slot]) + weights[place]
        out.weights[slot] = min(total, _MOST)
        return bool(total <= _MOST)
    return True


@kernel
def fill_in(out: PackedLists, in_: PackedLists, bound: int) -> None:
    """Fill the in-lists, whose starts are laid out, from the out-lists."""
    for vertex in range(len(in_.degrees)):
        in_.degrees[vertex] = 0
    for vertex in range(bound):
        start = out.starts[vertex]
        for place in range(start, start + out.degrees[vertex]):
            head = out.neighbours[place]
            slot = in_.starts[head] + in_.degrees[head]
            in_.neighbours[slot] = vertex
            if len(in_.weights):
                in_.weights[slot] = out.weights[place]
            in_.degrees[head] += 1
