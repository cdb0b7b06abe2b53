"""Weights and times: checked, and brought to the types that graphs and streams use.

Weights are int32 when the file has whole numbers, float32 otherwise, and never negative or NaN: programs
that keep shortest or widest paths have no answer for those. `weights="absolute"` takes their size, `"shift"`
moves all so that the least becomes 0, `"ignore"` drops them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.edges import WeightArray
from grapin.files.rows import Request, Rows, first_row

WEIGHTS = ("keep", "ignore", "absolute", "shift")
_REMEDY = "; weights='ignore' (or 'absolute', or 'shift') would accept the file"


def settle_weights(request: Request, rows: Rows, weights: str) -> tuple[WeightArray | None, list[str]]:
    """Return the weights by the rules above, and notes about what was done to them."""
    if rows.weight is None:
        return None, []
    if weights == "ignore":
        return None, ["Weights were ignored."]
    _check_finite(request, rows, "weight")
    values: NDArray[Any] = rows.weight.to_numpy()
    notes = []
    least = values.min(initial=0) if weights != "shift" or not len(values) else values.min()
    if least < 0 and weights == "keep":
        row = int(np.argmax(values < 0))
        request.refuse(rows.locate(row), f"the weight {values[row]} must not be negative{_REMEDY}")
    if least < 0 and weights == "absolute":
        notes.append(f"Weights made positive: {int((values < 0).sum()):,}.")
        values = np.abs(_with_room(values))
    if least != 0 and weights == "shift":
        notes.append(f"Weights were shifted: {least} became 0.")
        values = _with_room(values) - least
    return _narrow(request, rows, values, notes), notes


def settle_times(request: Request, rows: Rows) -> NDArray[np.int64] | NDArray[np.float64] | None:
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


def _with_room(values: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers as floats if their sizes or differences could overflow 64 bits."""
    wide = values.dtype.kind == "i" and max(-int(values.min()), int(values.max())) >= 2**62
    return values.astype(np.float64) if wide else values


def _narrow(request: Request, rows: Rows, values: NDArray[Any], notes: list[str]) -> WeightArray:
    if values.dtype.kind == "i" and (not len(values) or values.max() <= np.iinfo(np.int32).max):
        return values.astype(np.int32)
    if values.dtype.kind == "i":
        notes.append("Weights beyond 32-bit integers were rounded to 32-bit floats.")
    large = values > np.finfo(np.float32).max
    if large.any():
        row = int(np.argmax(large))
        request.refuse(rows.locate(row), f"the weight {values[row]} must fit into a 32-bit float")
    return values.astype(np.float32)
