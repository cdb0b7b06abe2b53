"""Records: one JSON object a line and a case, with every repetition's time and all that the times depend on."""

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from grapin.bench.measure import Measurement
from grapin.bench.suite import Case, Suite
from grapin.errors import InvalidFile

FIGURES = ("start", "batch")
"""What is timed: the first values from scratch, and the mean batch."""


@dataclass(frozen=True)
class Summary:
    """The middle of a sample and how far its middle half spreads: neither is moved by one slow repetition."""

    median: float
    lower: float
    upper: float

    @property
    def spread(self) -> float:
        """The interquartile range as a part of the median."""
        return (self.upper - self.lower) / self.median

    @classmethod
    def of(cls, seconds: Iterable[float]) -> "Summary":
        """Summarise at least one number."""
        lower, median, upper = np.quantile(np.fromiter(seconds, float), (0.25, 0.5, 0.75)).tolist()
        return cls(median, lower, upper)


def record(
    suite: Suite, measurement: Measurement, surroundings: dict[str, Any], gpu: dict[str, str] | None
) -> dict[str, Any]:
    """Return one measurement as plain values."""
    case = measurement.case
    found: dict[str, Any] = {
        "suite": suite.name,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        **surroundings,
        "device": case.device,
        "gpu": gpu,
        "link": None if gpu is None else gpu.get("link"),
        "seed": suite.seed,
        "case": asdict(case),
        "configuration": suite.configuration(),
        "repetitions": len(measurement.start),
        "graph": {"vertices": measurement.vertices, "edges": measurement.edges},
        "start": _figure(measurement.start),
    }
    if case.system is None:
        return found
    counters = measurement.counters
    return found | {
        "batch": _figure(measurement.batch),
        "device_batch": _figure(measurement.device_batch) if measurement.device_batch else None,
        "edges_read": counters.edges / suite.batches,
        "link_bytes": counters.link_bytes / suite.batches,
    }


def _figure(seconds: list[float]) -> dict[str, Any]:
    return {**asdict(Summary.of(seconds)), "seconds": seconds}


def write_records(records: Iterable[dict[str, Any]], path: Path) -> None:
    """Write one line a record."""
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")


def read_records(path: str) -> dict[Case, dict[str, Any]]:
    """Read a file of records by case; where a case was measured twice, its last record counts."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise InvalidFile(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidFile(f"{path}: cannot be read ({error})") from None
    found: dict[Case, dict[str, Any]] = {}
    for number, line in enumerate(lines, start=1):
        try:
            one = json.loads(line)
            found[Case(**one["case"])] = _checked(one)
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidFile(f"{path}, line {number}: is not a record of grapin bench ({error})") from None
    if not found:
        raise InvalidFile(f"{path}: has no records")
    return found


def _checked(one: dict[str, Any]) -> dict[str, Any]:
    """Refuse a record that lacks what comparisons look at."""
    for figure in FIGURES if one["case"]["system"] is not None else FIGURES[:1]:
        seconds = one[figure]["seconds"]
        if not seconds or not all(isinstance(number, float) and 0 < number < math.inf for number in seconds):
            raise ValueError(f"the seconds of {figure} must be positive numbers")
    for name in ("commit", "grapin", "machine", "configuration"):
        _ = one[name]
    return one
