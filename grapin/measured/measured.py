"""`Measured`: what one instrument saw of a run, as totals by kind.

The instruments are the run's own counters, the driver (NVML), and NVIDIA's profilers.

Nsight Compute says what passed the GPU's port, kernel by kernel, in the CSV that `ncu --csv` prints: a row per metric
(`--page details`), or a row per kernel with a column per metric and a row of units below the header (`--page raw`).
Lines of the profiled program may stand before. Only base units are taken: others are rounded.

Nsight Systems says faults, migrations and kernel times, in the file that `nsys export --type sqlite` writes. Its tables
come into being with their first row, so one that is absent says that nothing of the kind happened or that nobody asked
for it; both leave the kind out. Times are nanoseconds.
"""

import csv
import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Literal, NamedTuple

from grapin.counters import REQUEST_SIZES
from grapin.errors import DeviceUnavailable, InvalidFile
from grapin.sim.probe import open_nvml
from grapin.system import Unified, find_system
from grapin.units import SECTOR
from grapin.validation import check_choice

Unit = Literal["", "bytes", "seconds"]

KINDS: dict[str, Unit] = {
    "edges": "",
    "lists": "",
    "pages touched": "",
    "distinct pages": "",
    **{f"requests of {size} bytes": "" for size in REQUEST_SIZES},
    "payload": "bytes",
    "cache loads": "bytes",
    "cache patches": "bytes",
    "sectors read": "",
    "received": "bytes",
    "sent": "bytes",
    "faults": "",
    "migrated": "bytes",
    "evicted": "bytes",
    "time in kernels": "seconds",
    "time of batches": "seconds",
}
"""What can be measured and predicted, in the order in which it is shown; `docs/counters.md` says what each is."""
MOST_COUNTED = 2**63
"""No counter, and no sum of counters of a run, has more."""


@dataclass(frozen=True)
class Measured:
    """One instrument's account of one run; a kind that it does not see is absent, which is not 0."""

    source: str
    """What measured: a file, `counters of the run`, or `NVML`."""
    totals: Mapping[str, float]
    """By kind, over all phases."""
    seconds: tuple[float, ...] = ()
    """How long each batch took on a GPU, in order; empty where that was not measured."""

    def __post_init__(self) -> None:
        for kind in self.totals:
            check_choice("kind", kind, KINDS)
        for kind, value in (*self.totals.items(), *(("a batch's time", value) for value in self.seconds)):
            if not 0 <= value <= MOST_COUNTED:
                raise InvalidFile(f"{self.source}: {kind} is {value}, which nothing can have counted")


_NAMES = {
    "edges": "edges_read",
    "lists": "lists_read",
    "pages touched": "pages",
    "payload": "link_bytes",
    "cache loads": "load_bytes",
    "cache patches": "patch_bytes",
}


def from_record(record: Mapping[str, Any], source: str = "counters of the run") -> Measured:
    """Sum what start and batches read.

    Where pages cross the link, the payload is left out: the engine sees what it touches, not what that brings along.
    Times are left out unless a GPU took them, and the start's always: it compiles.
    """
    phases = [record["initial"], *record["batches"]]
    totals: dict[str, float] = {kind: sum(phase[name] for phase in phases) for kind, name in _NAMES.items()}
    for size in REQUEST_SIZES:
        totals[f"requests of {size} bytes"] = sum(phase["requests"][str(size)] for phase in phases)
    if isinstance(find_system(record["system"]).transfer, Unified):
        del totals["payload"]
    seconds: tuple[float, ...] = ()
    if record["device"] == "cuda":
        seconds = tuple(float(batch["compute_seconds"]) for batch in record["batches"])
    if seconds:
        totals["time of batches"] = sum(seconds)
    return Measured(source, totals, seconds)


def read_run(path: Path) -> Measured:
    """Read the file of one run."""
    try:
        return from_record(json.loads(path.read_text(encoding="utf-8")), path.name)
    except InvalidFile:
        raise
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise InvalidFile(f"{path}: is not what grapin run --json writes ({error!r})") from None


class Counts:
    """What instruments counted while a block ran; filled in when it ends."""

    def __init__(self) -> None:
        self.measured: tuple[Measured, ...] = ()


@contextmanager
def count_executed() -> Iterator[Counts]:
    """Count what the kernels that run on the virtual GPU in a block ask of host memory, behind each of its caches."""
    from grapin.kernels.cuda.vgpu import device

    counts = Counts()
    with device.count_executed() as executed:
        yield counts
    behind_l1 = _of_requests(executed.behind_l1.tolist())
    if any(behind_l1.values()):
        counts.measured = (
            Measured("executed, behind L1", behind_l1),
            Measured("executed, behind L2", _of_requests(executed.behind_l2.tolist())),
        )
    elif len(executed.pages):
        counts.measured = (Measured("executed", {"distinct pages": len(executed.pages)}),)


def _of_requests(counted: Sequence[int]) -> Mapping[str, float]:
    numbers = dict(zip(REQUEST_SIZES, counted, strict=True))
    sectors = sum(size // SECTOR * number for size, number in numbers.items())
    return {f"requests of {size} bytes": number for size, number in numbers.items()} | {
        "sectors read": sectors
    }


_FIELDS = {"received": "NVML_FI_DEV_PCIE_COUNT_RX_BYTES", "sent": "NVML_FI_DEV_PCIE_COUNT_TX_BYTES"}
_WRAPS = 2**32
"""nvml.h: the values can be wrapped. A run that moves more than this past a 32-bit counter cannot be told from one that
moves less; GPUs with 64 bits are read without that doubt."""


@contextmanager
def count_port(index: int = 0) -> Iterator[Counts]:
    """Read the counters of GPU number `index` around a block. Whatever else uses the GPU is counted too."""
    counts = Counts()
    with open_nvml() as nvml:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        before = _read(nvml, handle)
        yield counts
        after = _read(nvml, handle)
    totals = {kind: (after[kind] - count) % _modulus(after[kind], count) for kind, count in before.items()}
    counts.measured = (Measured("NVML", totals),)


def _read(nvml: Any, handle: Any) -> Mapping[str, int]:
    values = nvml.nvmlDeviceGetFieldValues(handle, [getattr(nvml, name) for name in _FIELDS.values()])
    found = {}
    for kind, value in zip(_FIELDS, values, strict=True):
        if value.nvmlReturn != nvml.NVML_SUCCESS:
            raise DeviceUnavailable(
                f"the driver does not count the bytes {kind} by this GPU's port: measure with Nsight Compute instead"
            )
        wide = value.valueType == nvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG
        found[kind] = int(value.value.ullVal if wide else value.value.uiVal)
    return found


def _modulus(after: int, before: int) -> int:
    return 2**64 if max(after, before) >= _WRAPS else _WRAPS


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
_HEADER = ("Metric Name", "Metric Unit", "Metric Value")
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
    if set(_HEADER) <= set(header):
        places = [header.index(name) for name in _HEADER]
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
    if not value.is_finite() or not 0 <= value <= MOST_COUNTED:
        raise InvalidFile(f"{path}: {name} is {text!r}, which nothing can have counted: {_AGAIN}")
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


def _strays(question: str) -> str:
    """Ask how many of what a question adds up are no whole numbers: SQLite adds text and bytes up as zeros."""
    return question.replace("SUM(", "SUM(typeof(", 1).replace(
        ") FROM", ") NOT IN ('integer', 'null')) FROM", 1
    )


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
            for kind, question in _QUESTIONS.items():
                if kind in totals and export.execute(_strays(question)).fetchone()[0]:
                    raise InvalidFile(
                        f"{path}: {kind} must be whole numbers: export it again with nsys export"
                    )
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
