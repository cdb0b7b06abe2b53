"""Nsight Systems: faults, migrations and kernel times from the file that `nsys export --type sqlite` writes.

Its tables come into being with their first row, so one that is absent says that nothing of the kind happened or that
nobody asked for it; both leave the kind out. Times are nanoseconds.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from grapin.errors import InvalidFile
from grapin.measured.measured import Measured

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
