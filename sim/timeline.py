"""`Timeline`: what happened when, as a file that Perfetto (ui.perfetto.dev) and chrome://tracing open.

Two kinds of tracks. A track of slices shows single things with a beginning and an end: requests, launches, iterations,
copies. A track of levels shows how much of something there was: tags in use, how busy a wire is. Both stay small
however long a run is: of slices every second one is dropped each time there are too many, and levels are means over
intervals that double in width each time the run outgrows them. Nothing is random, so that equal runs give equal files.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grapin.validation import check_integer

TICKS_PER_MICROSECOND = 1_000_000_000
"""A tick of the model is a femtosecond; the file counts microseconds."""
_FIRST_WIDTH = 1_000_000
"""Intervals of levels are a nanosecond at first: no request is shorter."""


class Timeline:
    """Collects slices and levels of one run; times are whole femtoseconds."""

    def __init__(self, slices: int = 4096, intervals: int = 1024) -> None:
        self._most_slices = check_integer("slices", slices, least=2)
        self._intervals = check_integer("intervals", intervals, least=2)
        self._slices: dict[str, _Slices] = {}
        self._levels: dict[str, _Levels] = {}

    def slice(self, track: str, name: str, begin: int, end: int) -> None:
        """Show one thing that lasted from `begin` to `end`; those of one track may overlap."""
        if track not in self._slices:
            self._slices[track] = _Slices(self._most_slices)
        self._slices[track].add(name, begin, end)

    def level(self, track: str, begin: int, end: int, value: float = 1.0) -> None:
        """Say that something was at `value` from `begin` to `end`; what overlaps adds up."""
        if track not in self._levels:
            self._levels[track] = _Levels(self._intervals)
        self._levels[track].add(begin, end, value)

    def events(self) -> list[dict[str, Any]]:
        """Return all tracks as events of the Chrome trace format."""
        found: list[dict[str, Any]] = []
        for process, (track, slices) in enumerate(self._slices.items(), 1):
            title = track if slices.step == 1 else f"{track} (one of {slices.step})"
            found.append(_named("process_name", process, 0, title))
            found += slices.events(process)
        for track, levels in self._levels.items():
            found += [
                {
                    "ph": "C",
                    "name": track,
                    "pid": 0,
                    "tid": 0,
                    "ts": _microseconds(begin),
                    "args": {"mean": value},
                }
                for begin, value in levels.means()
            ]
        return [_named("process_name", 0, 0, "levels"), *found]

    def save(self, path: str | Path) -> None:
        """Write the file."""
        Path(path).write_text(json.dumps({"displayTimeUnit": "ns", "traceEvents": self.events()}) + "\n")


class _Slices:
    """Slices of one track, thinned out when there are too many."""

    def __init__(self, most: int) -> None:
        self.step = 1
        self._most = most
        self._seen = 0
        self._kept: list[tuple[str, int, int]] = []

    def add(self, name: str, begin: int, end: int) -> None:
        if self._seen % self.step == 0:
            self._kept.append((name, begin, end))
            if len(self._kept) > self._most:
                del self._kept[1::2]
                self.step *= 2
        self._seen += 1

    def events(self, process: int) -> Iterator[dict[str, Any]]:
        """Lay slices that overlap into rows of their own: a row of the format shows one thing at a time."""
        ends: list[int] = []
        for name, begin, end in sorted(self._kept, key=lambda one: (one[1], one[2])):
            row = next((row for row, free in enumerate(ends) if free <= begin), len(ends))
            if row == len(ends):
                ends.append(end)
                yield _named("thread_name", process, row, f"row {row}")
            ends[row] = end
            times = {"ts": _microseconds(begin), "dur": _microseconds(end - begin)}
            yield {"ph": "X", "name": name, "pid": process, "tid": row, **times}


class _Levels:
    """Sums of value times duration, in intervals of equal width from the beginning on."""

    def __init__(self, intervals: int) -> None:
        self._width = _FIRST_WIDTH
        self._most = intervals
        self._sums: list[float] = []

    def add(self, begin: int, end: int, value: float) -> None:
        while end > self._width * self._most:
            self._double()
        last = max(begin, end - 1) // self._width
        while len(self._sums) <= last:
            self._sums.append(0.0)
        for place in range(begin // self._width, last + 1):
            left = place * self._width
            self._sums[place] += value * (min(end, left + self._width) - max(begin, left))

    def _double(self) -> None:
        if len(self._sums) % 2:
            self._sums.append(0.0)
        self._sums = [one + other for one, other in zip(self._sums[::2], self._sums[1::2], strict=True)]
        self._width *= 2

    def means(self) -> Iterator[tuple[int, float]]:
        """Return when each interval begins and the mean over it; the last says that all is over."""
        for place, total in enumerate(self._sums):
            yield place * self._width, total / self._width
        yield len(self._sums) * self._width, 0.0


def _named(kind: str, process: int, row: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": process, "tid": row, "args": {"name": name}}


def _microseconds(ticks: int) -> float:
    return ticks / TICKS_PER_MICROSECOND
