"""Records: one JSON object a line and a case, with the time of every repetition and all that the times depend on.

What a time depends on besides the code: the commit, the machine, the libraries, the GPU and its link.
"""

import json
import os
import platform
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from grapin.bench.measure import Measurement
from grapin.bench.suite import MOST_REPETITIONS, Case, Suite
from grapin.errors import InvalidFile

_LIBRARIES = ("numpy", "numba", "numba-cuda", "scipy", "networkit", "python-graphblas")
_CHECKOUT = Path(__file__).resolve().parents[2]
_FOUND = ("experiments/answers", "experiments/README.md", "records")
"""What runs themselves write into the checkout: no change of the code that the next one runs."""
CHANGES = "+changes"


def surroundings() -> dict[str, Any]:
    """Return what every record of a run says of where it was made."""
    return {
        "grapin": _version("grapin"),
        "commit": commit(),
        "machine": {
            "processor": processor(),
            "cores": os.cpu_count(),
            "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "system": f"{platform.system()} {platform.release()}",
            "python": platform.python_version(),
            "libraries": {name: found for name in _LIBRARIES if (found := _version(name)) is not None},
        },
    }


def gpu(device: str) -> dict[str, str] | None:
    """Return what the GPU tells of itself and of its link; None where none executes."""
    if device != "cuda":
        return None
    from grapin.kernels.cuda.gpu import describe

    return describe()


def commit() -> str | None:
    """Return the commit of the checkout that is running, `+changes` behind it where code differs; None outside one.

    Answers and records that earlier runs wrote are no such difference; a Python file that is not committed is.
    """
    # An installed package may lie within somebody else's checkout, whose commit says nothing of ours.
    if not (_CHECKOUT / ".git").exists():
        return None
    found = _git("rev-parse", "--short=12", "HEAD")
    changed = _git(
        "status", "--porcelain", "--untracked-files=no", "--", ".", *(f":!{path}" for path in _FOUND)
    )
    new = _git("ls-files", "--others", "--exclude-standard", "--", "*.py")
    return None if found is None else found + (CHANGES if changed or new else "")


def processor() -> str:
    """Return the processor's name as the system knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603 - the arguments are ours
            ("git", "-C", str(_CHECKOUT), *arguments),  # noqa: S607 - git is where the user has it
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


_SECONDS = (1e-12, 1e9)
"""No run takes less or more: of times beyond these not even the ratio could be told."""
_KINDS = {"commit": str | None, "grapin": str | None, "machine": dict, "configuration": dict}

FIGURES = ("start", "batch")
"""What is timed: the first values from scratch, and the mean batch."""


@dataclass(frozen=True)
class Summary:
    """The middle of a sample and how far its middle half spreads: neither is moved by one slow repetition."""

    median: float
    lower: float
    upper: float

    @property
    def relative_iqr(self) -> float:
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
    """Write one line per record."""
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
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise InvalidFile(f"{path}, line {number}: is not a record of grapin bench ({error})") from None
    if not found:
        raise InvalidFile(f"{path}: has no records")
    return found


def _checked(one: dict[str, Any]) -> dict[str, Any]:
    """Refuse a record that lacks what comparisons look at."""
    for figure in FIGURES if one["case"]["system"] is not None else FIGURES[:1]:
        seconds = one[figure]["seconds"]
        if not isinstance(seconds, list) or not 1 <= len(seconds) <= MOST_REPETITIONS:
            raise ValueError(f"{figure} must have 1 to {MOST_REPETITIONS} times")
        least, most = _SECONDS
        if not all(isinstance(number, float) and least <= number <= most for number in seconds):
            raise ValueError(f"the seconds of {figure} must be numbers from {least:g} to {most:g}")
    for name, kind in _KINDS.items():
        if not isinstance(one[name], kind):
            raise TypeError(f"{name} must not be {one[name]!r:.40}")
    return one
