"""`Measured`: what one instrument saw of a run, as totals by kind; among them its own counters and the driver's."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from grapin.counters import REQUEST_SIZES
from grapin.errors import DeviceUnavailable, InvalidFile
from grapin.sim.probe import open_nvml
from grapin.system import Unified, find_system
from grapin.validation import check_choice

Unit = Literal["", "bytes", "seconds"]

KINDS: dict[str, Unit] = {
    "edges": "",
    "lists": "",
    "pages touched": "",
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
    except (KeyError, TypeError, ValueError, UnicodeDecodeError) as error:
        raise InvalidFile(f"{path}: is not what grapin run --json writes ({error!r})") from None


_FIELDS = {"received": "NVML_FI_DEV_PCIE_COUNT_RX_BYTES", "sent": "NVML_FI_DEV_PCIE_COUNT_TX_BYTES"}
_WRAPS = 2**32
"""nvml.h: the values can be wrapped. A run that moves more than this past a 32-bit counter cannot be told from one that
moves less; GPUs with 64 bits are read without that doubt."""


class PortCounts:
    """What passed the port while a block ran; filled in when it ends."""

    def __init__(self) -> None:
        self.measured = Measured("NVML", {})


@contextmanager
def count_port(index: int = 0) -> Iterator[PortCounts]:
    """Read the counters of GPU number `index` around a block. Whatever else uses the GPU is counted too."""
    counts = PortCounts()
    with open_nvml() as nvml:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        before = _read(nvml, handle)
        yield counts
        after = _read(nvml, handle)
    totals = {kind: (after[kind] - count) % _modulus(after[kind], count) for kind, count in before.items()}
    counts.measured = Measured("NVML", totals)


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
