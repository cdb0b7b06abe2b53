"""Find out what wrote a file of measurements, and read it."""

from pathlib import Path

from grapin.errors import InvalidFile
from grapin.measured.measured import Measured
from grapin.measured.nsight_compute import read_nsight_compute
from grapin.measured.nsight_systems import read_nsight_systems
from grapin.measured.run_record import read_run

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
