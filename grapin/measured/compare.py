"""Predicted beside measured, kind by kind, with the error of each.

Find out what wrote a file of measurements, and read it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grapin.counters import REQUEST_SIZES
from grapin.errors import InvalidFile
from grapin.measured.measured import KINDS, Measured, read_nsight_compute, read_nsight_systems, read_run
from grapin.sim.machine import Machine
from grapin.sim.path import port_bytes
from grapin.sim.prediction import Prediction
from grapin.trace import Trace
from grapin.units import SECTOR


@dataclass(frozen=True)
class Row:
    """One kind as one instrument saw it."""

    kind: str
    predicted: float
    measured: float
    source: str

    @property
    def error(self) -> float | None:
        """By which part of the measured value the prediction is above it; None where none was measured."""
        if self.measured:
            return self.predicted / self.measured - 1
        return None if self.predicted else 0.0

    def record(self) -> dict[str, Any]:
        """Return plain values, for a JSON file."""
        return {
            "kind": self.kind,
            "unit": KINDS[self.kind],
            "predicted": self.predicted,
            "measured": self.measured,
            "error": self.error,
            "source": self.source,
        }


def predicted(prediction: Prediction, machine: Machine, trace: Trace) -> Mapping[str, float]:
    """Return what the model says of each kind."""
    total, counters = prediction.total, prediction.total.counters
    received, sent = port_bytes(total, machine.link)
    return {
        "edges": counters.edges,
        "lists": counters.lists,
        "pages touched": counters.pages,
        "distinct pages": trace.distinct_pages(),
        **{f"requests of {size} bytes": counters.requests[size] for size in REQUEST_SIZES},
        "payload": total.bytes,
        "cache loads": counters.load_bytes,
        "cache patches": counters.patch_bytes,
        "sectors read": (counters.bytes + counters.patch_bytes) // SECTOR,
        "received": received,
        "sent": sent,
        "faults": total.faults,
        "migrated": total.migrated_bytes,
        "evicted": total.evicted_bytes,
        "time in kernels": total.seconds.total - total.seconds.launches,
        "time of batches": prediction.batches.seconds.total,
    }


def compare(
    prediction: Prediction, machine: Machine, trace: Trace, measured: Sequence[Measured]
) -> list[Row]:
    """Lay everything that was measured of a run beside what is predicted from its trace, kinds in their order."""
    expected = predicted(prediction, machine, trace)
    rows = [
        Row(kind, expected[kind], total, one.source) for one in measured for kind, total in one.totals.items()
    ]
    order = list(KINDS)
    return sorted(rows, key=lambda row: order.index(row.kind))


_SQLITE = b"SQLite format 3\x00"  # the first bytes of every such file (sqlite.org/fileformat2.html)


def read_measured(path: str | Path) -> Measured:
    """Read a run's record (`grapin run --json`), an Nsight Systems export (sqlite) or Nsight Compute's CSV."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            head = file.read(len(_SQLITE))
    except FileNotFoundError:
        raise InvalidFile(f"{path}: there is no such file") from None
    if head == _SQLITE:
        return read_nsight_systems(path)
    return read_run(path) if head.lstrip().startswith(b"{") else read_nsight_compute(path)
