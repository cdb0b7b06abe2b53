"""Times or weights? What columns of numbers without names were taken for, told from all of their values.

Nothing in a row `1 2 978307260` says whether its last number is a weight or a moment. Times give themselves away: they
are moments since 1970, years, dates, or they grow from row to row though the sources do not. Whatever was decided is
said in a note, with the option that decides otherwise.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from grapin.files.rows import Request, Rows
from grapin.files.source import plain_name

GUESSED = "The third column was"
"""So begins every note about what columns were taken for."""
UNNAMED = "Vertices are numbered, not named:"
"""So begins every note about names that lie beside a file and do not fit it."""

_SINCE_1980 = 315_532_800
"""The first second of 1980, in seconds since 1970; in milliseconds and finer units, times are larger still."""
_LAST_MOMENT = 4.2e18
"""Nanoseconds since 1970 until 2103."""
_YEARS = (1800, 2100)
_LEAST_ROWS = 16
"""Of fewer rows and different values, order says nothing: one in so many weights may well be in order."""
_FEW_BACK = 1000
"""Of so many steps one may lead back: logs of several days or departments are put behind each other."""
_LEAST_SPAN = 1000
"""Over less than this, numbers that grow are ranks or classes by which rows were sorted."""


def tell_times(request: Request, rows: Rows, columns: int) -> Rows:
    """Return rows of which the third column, read as a weight so far, is what it seems to be, and a note that says so.

    Of two unnamed columns the first is the weight, and the second the time, unless they look the other way round.
    """
    if columns < 3 or rows.weight is None:
        return rows
    reason = why_times(plain_name(request.path), rows.weight, rows.source)
    if columns == 3:
        if reason is None:
            return _noted(rows, "weights; columns='source,target,time' takes it for times")
        rows = replace(rows, weight=None, time=rows.weight, columns=_renamed(rows, {"weight": "time"}))
        return _noted(rows, f"times, because {reason}; columns='source,target,weight' takes it for weights")
    if reason is None or rows.time is None or why_times("", rows.time, rows.source) is not None:
        other = "columns='source,target,time,weight' takes them the other way round"
        return _noted(rows, f"weights, and the fourth for times; {other}")
    swapped = _renamed(rows, {"weight": "time", "time": "weight"})
    rows = replace(rows, weight=rows.time, time=rows.weight, columns=swapped)
    other = "columns='source,target,weight,time' takes them the other way round"
    return _noted(rows, f"times, because {reason}, and the fourth for weights; {other}")


def _renamed(rows: Rows, roles: dict[str, str]) -> dict[str, str]:
    """Return what the file calls its columns by the roles that they really have."""
    return {roles.get(role, role): name for role, name in rows.columns.items()}


def guesses(notes: Sequence[str]) -> list[str]:
    """Return those of a file's notes that its user should see: what columns were taken for, names that do not fit."""
    return [note for note in notes if note.startswith((GUESSED, UNNAMED))]


def why_times(name: str, column: pa.ChunkedArray, source: pa.ChunkedArray) -> str | None:
    """Return why numbers in a file of this name are times, to go behind 'because'; None for weights."""
    if "temporal" in name or "timestamp" in name:
        return "the file's name says so"
    values: NDArray[Any] = column.to_numpy()
    if not len(values):
        return None
    least, most = values.min(), values.max()
    if not most <= _LAST_MOMENT:
        return None
    if least >= _SINCE_1980:
        return f"{least:.0f} and above are moments since 1970"
    if not (values == np.trunc(values)).all():
        return None
    if _YEARS[0] <= least < most <= _YEARS[1]:
        return f"{least:.0f} to {most:.0f} are years"
    if least >= _YEARS[0] * 10_000 and most < (_YEARS[1] + 1) * 10_000 and _are_dates(values):
        return f"{least:.0f} to {most:.0f} are dates"
    if least >= 0 and most - least >= _LEAST_SPAN and _grow(values) and not _are_sorted(source):
        return "they grow from row to row"
    return None


def _noted(rows: Rows, taken_for: str) -> Rows:
    return replace(rows, notes=(*rows.notes, f"{GUESSED} taken for {taken_for}."))


def _are_dates(values: NDArray[Any]) -> bool:
    """Tell whether numbers such as 20010911 all name a month and a day."""
    month, day = values // 100 % 100, values % 100
    return bool(((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())


def _grow(values: NDArray[Any]) -> bool:
    if len(values) < _LEAST_ROWS:
        return False
    steps = np.diff(values)
    return bool(
        np.count_nonzero(steps < 0) * _FEW_BACK <= len(steps) and np.count_nonzero(steps) >= _LEAST_ROWS - 1
    )


def _are_sorted(source: pa.ChunkedArray) -> bool:
    """Tell whether rows are in the order of their sources, which then explains another order; of names, assume it."""
    if not pa.types.is_integer(source.type):
        return True
    return bool((np.diff(source.to_numpy()) >= 0).all())
