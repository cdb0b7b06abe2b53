"""What there is to know of the GPU at hand: its name, its driver, its link, and how fast the link really is.

NVML knows the link (`pip install nvidia-ml-py`); everything else comes from CuPy.
"""

from typing import Any

import cupy
import numpy as np

from grapin.units import format_bytes

COPY_BYTES = 256 << 20
"""Long enough that starting a copy does not count, short enough for any GPU."""
COPIES = 5


def describe() -> dict[str, str]:
    """Return facts by name, as people read them."""
    runtime, device = cupy.cuda.runtime, cupy.cuda.Device()
    properties = runtime.getDeviceProperties(device.id)
    free, total = device.mem_info
    return {
        "GPU": properties["name"].decode(),
        "compute capability": f"{properties['major']}.{properties['minor']}",
        "multiprocessors": str(properties["multiProcessorCount"]),
        "memory": f"{format_bytes(total)}, {format_bytes(free)} free",
        "CUDA of the driver": _release(runtime.driverGetVersion()),
        "CUDA of CuPy": _release(runtime.runtimeGetVersion()),
        **_link(device.pci_bus_id),
        "pinned memory to GPU": f"{pinned_bandwidth() / 1e9:.2f} GB/s",
    }


def pinned_bandwidth() -> float:
    """Copy pinned memory to the GPU and return the bytes a second of the fastest copy."""
    pinned = cupy.cuda.alloc_pinned_memory(COPY_BYTES)
    host = np.frombuffer(pinned, np.uint8, COPY_BYTES)
    target = cupy.empty(COPY_BYTES, cupy.uint8)
    stream = cupy.cuda.Stream(non_blocking=True)
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    times = []
    for _ in range(COPIES):
        begin.record(stream)
        target.set(host, stream=stream)
        end.record(stream)
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end) / 1e3)
    return float(COPY_BYTES / min(times))


def _release(number: int) -> str:
    """CUDA writes 12.4 as 12040."""
    return f"{number // 1000}.{number % 1000 // 10}"


def _link(address: str) -> dict[str, str]:
    """Ask NVML for driver and link; say how to get it where it is missing."""
    try:
        import pynvml
    except ImportError:
        return {"link": "unknown: pip install nvidia-ml-py"}
    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByPciBusId(address)
        return {
            "driver": str(pynvml.nvmlSystemGetDriverVersion()),
            "link": f"PCIe {_now_and_most(pynvml, handle, 'Generation')}, "
            f"{_now_and_most(pynvml, handle, 'Width')} lanes",
        }
    except pynvml.NVMLError as error:
        return {"link": f"unknown: NVML says {error}"}


def _now_and_most(nvml: Any, handle: Any, what: str) -> str:
    """An idle GPU may lower its link; what it is capable of is said beside it."""
    now = getattr(nvml, f"nvmlDeviceGetCurrPcieLink{what}")(handle)
    most = getattr(nvml, f"nvmlDeviceGetMaxPcieLink{what}")(handle)
    return str(now) if now == most else f"{now} of {most}"
