"""What an edge may be given: numbers that fit 32 bits, and one of several rows for one edge.

Weights and times: checked, and brought to the types that graphs and streams use.

Weights are int32 when the file has whole numbers, float32 otherwise, and never negative or NaN: programs
that keep shortest or widest paths have no answer for those. `weights="absolute"` takes their size, `"shift"`
moves all so that the least becomes 0, `"ignore"` drops them.

No whole number becomes another one unasked: one that neither type can hold is refused, and so is one that only
float32 could, because sums of the others would be rounded then too. `"float32"` asks for that type, and `"round"`
for the nearest number in it. Numbers that are not whole are rounded to float32 as a matter of course.

Self loops and repeated edges: counted, and dropped or merged if asked.

In an undirected list (u, v) and (v, u) are one edge. Where rows have times, "first" and "last" go by time,
and rows of one time by their order in the file.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.batch import edge_keys
from grapin.edges import EdgeList, VertexArray, WeightArray, check_exact, lost_in_float32
from grapin.errors import InvalidArgument
from grapin.files.rows import Request, Rows, first_row

WEIGHTS = ("keep", "ignore", "absolute", "shift", "float32", "round")
_STRICT = ("keep", "float32", "round")
"""Those that refuse negative weights."""
_LARGEST_INT = np.iinfo(np.int32).max
_LARGEST_FLOAT = float(np.finfo(np.float32).max)
_REMEDY = "; weights='ignore' (or 'absolute', or 'shift') would accept the file"


def normalise_weights(request: Request, rows: Rows, weights: str) -> tuple[WeightArray | None, list[str]]:
    """Return the weights by the rules above, and notes about what was done to them."""
    if rows.weight is None:
        return None, []
    if weights == "ignore":
        return None, ["Weights were ignored."]
    _check_finite(request, rows, "weight")
    values: NDArray[Any] = rows.weight.to_numpy()
    notes = []
    least = values.min(initial=0) if weights != "shift" or not len(values) else values.min()
    if least < 0 and weights in _STRICT:
        row = int(np.argmax(values < 0))
        request.refuse(rows.locate(row), f"the weight {values[row]} must not be negative{_REMEDY}")
    if least < 0 and weights == "absolute":
        notes.append(f"Weights made positive: {int((values < 0).sum()):,}.")
        whole = values.dtype.kind == "i"
        values = (
            np.where(values < 0, _distance(values, 0), values.astype(np.uint64)) if whole else np.abs(values)
        )
    if least != 0 and weights == "shift":
        notes.append(f"Weights were shifted: {least} became 0.")
        values = _distance(least, values) if values.dtype.kind == "i" else values - least
    return _narrow(request, rows, values, weights, notes), notes


def normalise_times(request: Request, rows: Rows) -> NDArray[np.int64] | NDArray[np.float64] | None:
    """Return the times as int64 or float64."""
    if rows.time is None:
        return None
    _check_finite(request, rows, "time")
    times: NDArray[np.int64] | NDArray[np.float64] = rows.time.to_numpy()
    return times


def _check_finite(request: Request, rows: Rows, name: str) -> None:
    column = getattr(rows, name)
    row = first_row(column, lambda values: ~np.isfinite(values))
    if row is not None:
        remedy = "; weights='ignore' would accept the file" if name == "weight" else ""
        request.refuse(rows.locate(row), f"the {name} {column[row]} must be a finite number{remedy}")


def _distance(low: Any, high: Any) -> NDArray[np.uint64]:
    """Return how far apart whole numbers are: up to 64 bits, which only unsigned ones can hold."""
    wide: NDArray[np.uint64] = np.asarray(high, np.int64).view(np.uint64) - np.asarray(low, np.int64).view(
        np.uint64
    )
    return wide


def _narrow(
    request: Request, rows: Rows, values: NDArray[Any], weights: str, notes: list[str]
) -> WeightArray:
    """Return weights in the type they are kept in; `values` are not negative."""

    def refuse_first(bad: NDArray[np.bool_], must: str) -> None:
        if bad.any():
            row = int(np.argmax(bad))
            request.refuse(rows.locate(row), f"the weight {values[row]} must {must}")

    asked = weights in {"float32", "round"}
    if values.dtype.kind != "f" and not asked:
        remedy = "; weights='float32' takes larger ones, 'round' rounds them" if weights == "keep" else ""
        refuse_first(values > _LARGEST_INT, f"be at most {_LARGEST_INT} as a whole number{remedy}")
        return values.astype(np.int32, copy=False)
    refuse_first(values > _LARGEST_FLOAT, "fit into a 32-bit float")
    lost = lost_in_float32(values)
    if weights != "round":
        remedy = "weights='round' rounds it" if weights in _STRICT else "it is too long"
        refuse_first(lost, f"be exact as a 32-bit float, which it is not: {remedy}")
    narrow: NDArray[np.float32] = values.astype(np.float32, copy=False)
    if asked and lost.any():
        row = int(np.argmax(lost))
        notes.append(
            f"Whole numbers rounded to 32-bit floats: {int(lost.sum()):,}, the first from {values[row]} to "
            f"{int(narrow[row])}."
        )
    return narrow


SELF_LOOPS = ("keep", "drop")
DUPLICATES = ("keep", "first", "last", "min", "max", "sum")
_BLOCK = 2**15
_FOLDS: dict[str, np.ufunc] = {"min": np.minimum, "max": np.maximum, "sum": np.add}


def merge_repeats(edges: EdgeList, self_loops: str, duplicates: str) -> EdgeList:
    """Return the list with self loops and repetitions treated as asked, and notes that say so."""
    edges = _drop_loops(edges, self_loops)
    if duplicates != "keep":
        merged = merge(edges, duplicates)
        return _noted(merged, len(edges) - len(merged), f"repeated rows merged ({duplicates})")
    return _noted(edges, _count_repeats(edges), "rows that repeat an edge kept")


def select(edges: EdgeList, rows: NDArray[Any]) -> EdgeList:
    """Return the chosen rows (indices or a mask), all columns alike."""
    columns: dict[str, Any] = {
        name: None if getattr(edges, name) is None else getattr(edges, name)[rows]
        for name in ("source", "target", "weight", "time", "removed")
    }
    return replace(edges, **columns)


def merge(edges: EdgeList, rule: str) -> EdgeList:
    """Keep one row per edge: its first or last one, or the last with the least, greatest or summed weight."""
    if edges.removed is not None and rule in _FOLDS:
        raise InvalidArgument(f"duplicates={rule!r} must be first or last where rows may delete edges")
    if _is_ascending(edges):
        return edges
    keys = _keys(edges.source, edges.target, directed=edges.directed)
    order = np.argsort(keys, kind="stable") if edges.time is None else np.lexsort((edges.time, keys))
    keys = keys[order]
    begins = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    ends = np.append(begins[1:], len(keys)) - 1
    chosen = order[begins if rule == "first" else ends]
    in_file_order = np.argsort(chosen)
    merged = select(edges, chosen[in_file_order])
    if edges.weight is None or rule not in _FOLDS:
        return merged
    return replace(merged, weight=_folded(edges.weight[order], begins, rule)[in_file_order])


def _folded(weights: NDArray[Any], begins: NDArray[np.int64], rule: str) -> NDArray[Any]:
    wide = np.int64 if weights.dtype.kind == "i" else np.float64
    folded = _FOLDS[rule].reduceat(weights.astype(wide), begins)
    most = np.iinfo(np.int32).max if wide is np.int64 else np.finfo(np.float32).max
    if folded.max() > most:
        raise InvalidArgument(
            f"duplicates={rule!r} must not lead beyond {weights.dtype}, as {folded.max()} does"
        )
    if rule == "sum" and weights.dtype.kind == "f":
        check_exact(folded, f"duplicates={rule!r}", InvalidArgument)
    return folded.astype(weights.dtype)


def _drop_loops(edges: EdgeList, self_loops: str) -> EdgeList:
    loops = edges.source == edges.target
    count = int(loops.sum())
    if count and self_loops == "drop":
        return _noted(select(edges, ~loops), count, "self loops dropped")
    return _noted(edges, count, "self loops kept")


def _noted(edges: EdgeList, count: int, what: str) -> EdgeList:
    note = f"{what[0].upper()}{what[1:]}: {count:,}."
    return replace(edges, notes=(*edges.notes, note)) if count else edges


def _keys(source: VertexArray, target: VertexArray, *, directed: bool) -> NDArray[np.int64]:
    if directed:
        return edge_keys(source, target)
    return edge_keys(np.minimum(source, target), np.maximum(source, target))


def _is_ascending(edges: EdgeList) -> bool:
    """Whether rows are sorted without repetition, as most files are; looked at in cached blocks."""
    for begin in range(0, len(edges), _BLOCK):
        block = slice(begin, begin + _BLOCK + 1)
        keys = _keys(edges.source[block], edges.target[block], directed=edges.directed)
        if not (keys[1:] > keys[:-1]).all():
            return False
    return True


def _count_repeats(edges: EdgeList) -> int:
    if _is_ascending(edges):
        return 0
    ordered = np.sort(_keys(edges.source, edges.target, directed=edges.directed))
    return int((ordered[1:] == ordered[:-1]).sum())
