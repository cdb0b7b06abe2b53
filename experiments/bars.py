"""Bars: a figure, the limit it must keep, and the verdict; printed line by line, kept as JSON Lines."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from grapin.bench.machine import processor

RECORDS = Path(__file__).resolve().parents[1] / "records"
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
"""Real graphs, where they lie beside the checkout."""


Record = Mapping[str, Any]
"""What a run found and all it hangs on, as `experiments/records.py` keeps it."""


class Place(NamedTuple):
    """Where a bar stands in a figure of lines or groups (`experiments/panels.py`)."""

    panel: str
    line: str
    x: float | str
    """A number on an axis, or what a group is called."""


@dataclass(frozen=True)
class Bar:
    """One thing that was measured; without a limit it is there to be compared with."""

    name: str
    figure: float
    unit: str = "x"
    limit: float | None = None
    remark: str = ""
    published: float | None = None
    """What others measured or stated of the same, in the same unit."""
    place: Place | None = None

    @property
    def ratio(self) -> float | None:
        """Ours over the published; None where nothing is, or nothing but 0."""
        return self.figure / self.published if self.published else None

    @property
    def verdict(self) -> str:
        """`pass` or `FAIL`, and nothing without a limit."""
        if self.limit is None:
            return ""
        return "pass" if self.figure <= self.limit else "FAIL"


def bars_of(record: Record) -> list[Bar]:
    """Return the rows of a record."""
    fields = ("name", "unit", "limit", "remark", "published")
    return [
        Bar(
            figure=math.nan if row["figure"] is None else row["figure"],
            place=Place(*row["place"]) if row.get("place") else None,
            **{name: row[name] for name in fields},
        )
        for row in record["bars"]
    ]


def print_bars(title: str, bars: Iterable[Bar], rival: str = "published") -> None:
    """Print two lines a bar: verdict, figure, limit and name; then the rival's figure, the ratio, the remark."""
    print(title)
    for bar in bars:
        limit = "" if bar.limit is None else f"(at most {bar.limit:g})"
        print(f"{bar.verdict:4} {bar.figure:7.3g} {bar.unit:11} {limit:14} {bar.name}")
        beside = "" if bar.published is None else f"{bar.published:7.3g} {rival}"
        if bar.ratio is not None:
            beside += f", ours {bar.ratio:.3g} times"
        if beside or bar.remark:
            print(f"{'':5}{beside:34} {bar.remark}".rstrip())


def record_bars(experiment: str, configuration: dict[str, Any], bars: Iterable[Bar]) -> Path:
    """Append one record with all bars and what they were measured with."""
    RECORDS.mkdir(exist_ok=True)
    path = RECORDS / f"{experiment}.jsonl"
    record = {
        "experiment": experiment,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": processor(),
        "versions": {name: _version(name) for name in ("grapin", "numba", "numpy", "scipy", "networkit")},
        "configuration": configuration,
        "bars": [asdict(bar) | {"verdict": bar.verdict} for bar in bars],
    }
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")
    return path


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
