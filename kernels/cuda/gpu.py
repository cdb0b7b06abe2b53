"""A GPU as a backend: Numba compiles and launches, CuPy owns memory, sorts and selects, all on one stream.

What there is to know of the GPU at hand is here too: its name, its driver, its link, and how fast the link really is.
NVML knows the link (`pip install nvidia-ml-py`); everything else comes from CuPy.
"""

from contextlib import suppress
from importlib import import_module
from typing import Any

import cupy
import numpy as np
from numba import cuda
from numpy.typing import DTypeLike, NDArray

from grapin.errors import DeviceUnavailable
from grapin.kernels.cuda.backend import BLOCKS_PER_MULTIPROCESSOR, THREADS, Shape
from grapin.kernels.cuda.compiled import Compiler
from grapin.kernels.cuda.memory import EdgeMemory
from grapin.system import Resident, Transfer, Unified
from grapin.units import format_bytes

# Some launches are of one warp on purpose, and Numba would warn of each; newer releases of numba-cuda have their own
# settings.
for _home in ("numba.core.config", "numba.cuda.core.config"):
    with suppress(ModuleNotFoundError):
        import_module(_home).CUDA_LOW_OCCUPANCY_WARNINGS = 0  # type: ignore[attr-defined]


class Gpu(Compiler):
    """The current GPU. Arrays are Numba's, which kernels take fastest; CuPy sees the same memory."""

    name = "cuda"

    def __init__(self) -> None:
        processors = cuda.get_current_device().MULTIPROCESSOR_COUNT
        self.shape = Shape(BLOCKS_PER_MULTIPROCESSOR * processors, THREADS)
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._launching = cuda.external_stream(self._stream.ptr)
        self._copying = cupy.cuda.Stream(non_blocking=True)
        self._memory = EdgeMemory(cupy.cuda.runtime)

    def launch(self, kernel: Any, *arguments: Any, shape: Shape | None = None) -> None:
        """Put a kernel behind all that was launched before."""
        shape = shape or self.shape
        kernel[shape.blocks, shape.threads, self._launching](*arguments)

    def empty(self, count: int, dtype: DTypeLike) -> Any:
        """Return an uninitialised array on the device."""
        return self._made(lambda: cupy.empty(count, dtype), count * np.dtype(dtype).itemsize)

    def full(self, count: int, value: Any, dtype: DTypeLike) -> Any:
        """Return an array on the device filled with one value."""
        return self._made(lambda: cupy.full(count, value, dtype), count * np.dtype(dtype).itemsize)

    def upload(self, array: NDArray[Any]) -> Any:
        """Return a copy on the device."""
        return self._made(lambda: cupy.array(np.ascontiguousarray(array)), array.nbytes)

    def download(self, array: Any) -> NDArray[Any]:
        """Return a copy on the host, when all that was launched before is done."""
        copy: NDArray[Any] = _seen(array).get(stream=self._stream)
        self._stream.synchronize()
        return copy

    def part(self, array: Any, start: int, stop: int) -> Any:
        """Return a view of a stretch of an array."""
        return cuda.as_cuda_array(_seen(array)[start:stop], sync=False)

    def copy(self, target: Any, source: Any) -> None:
        """Overwrite one device array by another, or by a host array."""
        if not len(source):
            return
        with self._stream:
            if isinstance(source, np.ndarray):
                _seen(target).set(source, stream=self._stream)
            else:
                cupy.copyto(_seen(target), _seen(source))

    def fill(self, array: Any, value: Any) -> None:
        """Overwrite a device array by one value."""
        with self._stream:
            _seen(array).fill(value)

    def host_memory(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """Return pinned memory, which the copy engine reads by itself."""
        return self._memory.pinned(count, np.dtype(dtype))

    def send(self, target: Any, source: NDArray[Any], after: Any) -> Any:
        """Copy pinned memory on a stream of its own."""
        if after is not None:
            self._copying.wait_event(after)
        if len(source):
            _seen(target).set(source, stream=self._copying)
        done = self._copying.record(cupy.cuda.Event(disable_timing=True))
        self._stream.wait_event(done)
        return done

    def mark(self) -> Any:
        """Record an event behind what was launched."""
        return self._stream.record(cupy.cuda.Event(disable_timing=True))

    def wait(self, what: Any) -> None:
        """Let the host wait for an event."""
        if what is not None:
            what.synchronize()

    def edges(self, array: NDArray[Any], transfer: Transfer) -> Any:
        """Return one of the store's edge arrays as kernels read it."""
        self._stream.synchronize()  # what is replaced by this may still be read, and is about to go
        if isinstance(transfer, Resident):
            copy = self.upload(array)
            self._stream.synchronize()
            cupy.get_default_pinned_memory_pool().free_all_blocks()  # it went by way of as much pinned memory
            return copy
        view = self._memory.migrating(array) if isinstance(transfer, Unified) else self._memory.visible(array)
        return cuda.as_cuda_array(view, sync=False)

    def sort(self, array: Any) -> Any:
        """Return the elements in ascending order."""
        return self._made(lambda: cupy.sort(_seen(array)), array.nbytes)

    def distinct(self, array: Any) -> Any:
        """Return the elements in ascending order, each once."""
        return self._made(lambda: cupy.unique(_seen(array)), array.nbytes)

    def running_sum(self, array: Any) -> Any:
        """Return the sums up to and including each element."""
        return self._made(lambda: cupy.cumsum(_seen(array)), array.nbytes)

    def select(self, array: Any, flags: Any) -> Any:
        """Return the elements beside a true flag, in their order."""
        return self._made(lambda: _seen(array)[_seen(flags).astype(cupy.bool_)], array.nbytes)

    def _made(self, make: Any, size: int) -> Any:
        """Make an array on our stream; say so when the device has no room for it."""
        try:
            with self._stream:
                return cuda.as_cuda_array(make(), sync=False)
        except cupy.cuda.memory.OutOfMemoryError as error:
            free, total = cupy.cuda.runtime.memGetInfo()
            raise DeviceUnavailable(
                f"{format_bytes(size)} do not fit into the GPU's memory, of which {format_bytes(free)} of "
                f"{format_bytes(total)} are free: keep edges in host memory (a system that is not resident), "
                "or fewer programs at once"
            ) from error


def _seen(array: Any) -> Any:
    """Return the array as CuPy's, without a copy; CuPy refuses to see memory of no size, which has no address."""
    return cupy.asarray(array) if array.size else cupy.empty(0, array.dtype)


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
