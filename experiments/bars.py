"""Bars: a figure, the limit it must keep, and the verdict; printed line by line, kept as JSON Lines."""

import argparse
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from grapin.bench.surroundings import processor

RECORDS = Path(__file__).resolve().parents[1] / "records"
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
"""Real graphs, where they lie beside the checkout."""


@dataclass(frozen=True)
class Bar:
    """One thing that was measured; without a limit it is there to be compared with."""

    name: str
    figure: float
    unit: str = "x"
    limit: float | None = None
    remark: str = ""

    @property
    def verdict(self) -> str:
        """`pass` or `FAIL`, and nothing without a limit."""
        if self.limit is None:
            return ""
        return "pass" if self.figure <= self.limit else "FAIL"


def print_bars(title: str, bars: Iterable[Bar]) -> None:
    """Print each bar in two lines: verdict, figure, limit and name; then the remark."""
    print(title)
    for bar in bars:
        limit = "" if bar.limit is None else f"(at most {bar.limit:g})"
        print(f"{bar.verdict:4} {bar.figure:7.3g} {bar.unit:11} {limit:14} {bar.name}")
        if bar.remark:
            print(f"{'':40}{bar.remark}")


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


def measure_bars(
    experiment: str,
    title: str,
    measure: Callable[..., list[Bar]],
    explanation: str | None,
    **configuration: Any,
) -> int:
    """Measure as the command line says, print, record; return 1 if a bar is missed in earnest."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=explanation, formatter_class=form)
    parser.add_argument("--quick", action="store_true", help="small and short, to see that it runs")
    quick = parser.parse_args().quick
    measured = measure(quick=quick)
    print_bars(title, measured)
    path = record_bars(experiment, {"quick": quick, **configuration}, measured)
    print(f"recorded in records/{path.name}")
    return int(not quick and any(bar.verdict == "FAIL" for bar in measured))


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
