"""Nsight Compute: what passed the GPU's port, kernel by kernel, from the CSV that `ncu --csv` prints.

It prints either a row a metric (`--page details`) or a row a kernel with a column a metric and a row of units below the
header (`--page raw`); lines of the profiled program may stand before. Only base units are taken: others are rounded.

Nsight Systems: faults, migrations and kernel times from the file that `nsys export --type sqlite` writes.

Its tables come into being with their first row, so one that is absent says that nothing of the kind happened or that
nobody asked for it; both leave the kind out. Times are nanoseconds.
"""

import csv
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import NamedTuple

from grapin.errors import InvalidFile
from grapin.measured.measured import Measured


class _Metric(NamedTuple):
    kind: str
    units: tuple[str, ...]
    """The base unit; older releases spell it out."""
    scale: float = 1


_METRICS = {
    "pcie__read_bytes.sum": _Metric("received", ("byte",)),
    "pcie__write_bytes.sum": _Metric("sent", ("byte",)),
    "lts__t_sectors_aperture_sysmem_op_read.sum": _Metric("sectors read", ("sector",)),
    "gpu__time_duration.sum": _Metric("time in kernels", ("ns", "nsecond"), 1e-9),
}
_NAMES = ("Metric Name", "Metric Unit", "Metric Value")
_AGAIN = "print it again with ncu --import REPORT --csv --page raw --print-units base"


def read_nsight_compute(path: Path) -> Measured:
    """Sum the metrics that say something of the link over all kernels of one file."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        lines = []
    begin = next((number for number, line in enumerate(lines) if line.startswith('"ID"')), None)
    if begin is None:
        raise InvalidFile(
            f"{path}: is neither a record of grapin run --json nor an export of nsys (sqlite) nor the CSV of ncu, "
            'whose header begins with "ID"'
        )
    totals: defaultdict[str, Decimal] = defaultdict(Decimal)
    for name, unit, text in _values(list(csv.reader(lines[begin:]))):
        if name in _METRICS and text:
            totals[name] += _number(path, name, unit, text)
    if not totals:
        raise InvalidFile(
            f"{path}: has none of {', '.join(_METRICS)}: profile with ncu --metrics and their names"
        )
    return Measured(path.name, {_METRICS[name].kind: _scaled(name, total) for name, total in totals.items()})


def _values(rows: list[list[str]]) -> Iterator[tuple[str, str, str]]:
    header, *rest = rows
    rest = [row for row in rest if len(row) == len(header)]
    if set(_NAMES) <= set(header):
        places = [header.index(name) for name in _NAMES]
        yield from ((row[places[0]], row[places[1]], row[places[2]]) for row in rest)
        return
    units, *kernels = rest or [header]
    for row in kernels:
        yield from zip(header, units, row, strict=True)


def _number(path: Path, name: str, unit: str, text: str) -> Decimal:
    if unit not in _METRICS[name].units:
        raise InvalidFile(f"{path}: {name} is in {unit!r}, not in {_METRICS[name].units[0]!r}: {_AGAIN}")
    try:
        value = Decimal(text.replace(",", ""))
    except InvalidOperation:
        raise InvalidFile(f"{path}: {name} is {text!r}, which is no number: {_AGAIN}") from None
    if value != value.to_integral_value():
        raise InvalidFile(f"{path}: {name} is {text!r}, which is not whole: {_AGAIN}")
    return value


def _scaled(name: str, total: Decimal) -> float:
    scale = _METRICS[name].scale
    return int(total) if scale == 1 else int(total) * scale


_COPIES = "SELECT SUM(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind = {}"
_QUESTIONS = {
    "faults": "SELECT SUM(numberOfPageFaults) FROM CUDA_UM_GPU_PAGE_FAULT_EVENTS",
    "migrated": _COPIES.format(11),  # ENUM_CUDA_MEMCPY_OPER: CUDA_MEMCPY_KIND_UVM_HTOD
    "evicted": _COPIES.format(12),  # CUDA_MEMCPY_KIND_UVM_DTOH
    "time in kernels": 'SELECT SUM("end" - start) FROM CUPTI_ACTIVITY_KIND_KERNEL',
}
_TABLES = ("CUPTI_ACTIVITY_KIND_MEMCPY", "CUDA_UM_GPU_PAGE_FAULT_EVENTS", "CUPTI_ACTIVITY_KIND_KERNEL")
_NANOSECOND = 1e-9


def read_nsight_systems(path: Path) -> Measured:
    """Read one export."""
    try:
        # As a URI, so that a missing file is not made, and nothing in the export is changed.
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as export:
            there = {name for (name,) in export.execute("SELECT name FROM sqlite_master")}
            totals = {
                kind: export.execute(question).fetchone()[0]
                for kind, question in _QUESTIONS.items()
                if any(table in question and table in there for table in _TABLES)
            }
    except sqlite3.Error as error:
        raise InvalidFile(f"{path}: is not what nsys export --type sqlite writes ({error})") from None
    totals = {kind: total for kind, total in totals.items() if total is not None}
    if not totals:
        raise InvalidFile(
            f"{path}: has no kernels, copies or faults: profile with nsys profile --trace=cuda "
            "--cuda-um-gpu-page-faults=true, then nsys export --type sqlite"
        )
    if "time in kernels" in totals:
        totals["time in kernels"] *= _NANOSECOND
    return Measured(path.name, totals)
