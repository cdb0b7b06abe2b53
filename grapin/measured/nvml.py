"""NVML: the driver's own count of what passed a GPU's port, read before a run and after it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from grapin.errors import DeviceUnavailable
from grapin.measured.measured import Measured
from grapin.sim.probe import open_nvml

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
