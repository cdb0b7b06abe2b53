"""Where edges live: host memory that a GPU reads over the link, or pages that migrate to it.

Zero-copy needs memory that is pinned and mapped. A graph in ordinary memory is pinned where it lies when a device first
reads it, so nothing special is needed; unified memory has to be asked for when the graph is made:

    graph = grapin.load("graph.txt", allocate=grapin.edge_memory("unified"))

CUDA's own functions are used through CuPy's `cupy.cuda.runtime`, here called the runtime.
"""

import ctypes
import os
from typing import Any
from weakref import WeakValueDictionary, finalize

import numpy as np
from numpy.typing import NDArray

from grapin.errors import DeviceUnavailable, InvalidArgument
from grapin.graph.allocation import Allocate
from grapin.kernels.cuda.device import unavailable
from grapin.units import format_bytes
from grapin.validation import check_choice

UNREGISTERED, MANAGED = 0, 3
"""`cudaMemoryType`, CUDA Runtime API, 'Data types used by CUDA Runtime'."""
REGISTER_PORTABLE, REGISTER_MAPPED = 1, 2
"""`cudaHostRegister` flags, CUDA Runtime API, 'Data types used by CUDA Runtime'."""
READ_MOSTLY, PREFERRED_LOCATION, ACCESSED_BY, HOST = 1, 3, 5, -1
"""`cudaMemoryAdvise` and `cudaCpuDeviceId`, CUDA Runtime API, 'Data types used by CUDA Runtime'."""
PAGE = 4096
"""Bytes of a page of host memory; where pages are larger, so is what shares them, and only the counts are finer."""
PAGEABLE_ACCESS = 88
"""`cudaDevAttrPageableMemoryAccess`, CUDA Runtime API, 'Data types used by CUDA Runtime'."""


def edge_memory(kind: str) -> Allocate:
    """Return what allocates edge arrays for `Graph` and `load`: "zero-copy" (pinned, mapped) or "unified" (managed)."""
    check_choice("memory", kind, ("zero-copy", "unified"))
    reason = unavailable()
    if reason is not None:
        raise DeviceUnavailable(f"memory={kind!r} cannot be had here: {reason}")
    from cupy.cuda import runtime

    memory = EdgeMemory(runtime)
    return memory.pinned if kind == "zero-copy" else memory.managed


class EdgeMemory:
    """Edge arrays in memory that a GPU can read."""

    def __init__(self, runtime: Any) -> None:
        self._runtime = runtime
        self._pinned: WeakValueDictionary[tuple[int, int], _Pinned] = WeakValueDictionary()
        self._shared: dict[int, int] = {}
        """How many arrays need a page that none of them fills; CUDA pins a page once."""

    def pinned(self, count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Allocate pinned memory that is mapped into the address space of every GPU."""
        runtime, size = self._runtime, _size(count, dtype)
        flags = runtime.hostAllocMapped | runtime.hostAllocPortable
        try:
            address = runtime.hostAlloc(size, flags)
        except Exception as error:
            raise _refused("pinned", size, error) from error
        return _array(address, size, dtype, runtime.freeHost)

    def managed(self, count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Allocate managed memory whose home is the host, and of which GPUs keep copies of the pages they read."""
        runtime, size = self._runtime, _size(count, dtype)
        try:
            address = runtime.mallocManaged(size)
        except Exception as error:
            raise _refused("managed", size, error) from error
        device = runtime.getDevice()
        runtime.memAdvise(address, size, PREFERRED_LOCATION, HOST)
        runtime.memAdvise(address, size, READ_MOSTLY, device)
        return _array(address, size, dtype, runtime.free)

    def visible(self, array: NDArray[Any]) -> "DeviceView":
        """Return an array as a GPU reads it request by request; ordinary memory is pinned for as long as it is read."""
        place = array.ctypes.data, array.nbytes
        if place not in self._pinned:
            pinned = _Pinned(self._runtime, self._shared, array)
            self._pinned[place] = pinned
        return DeviceView(array, place[0] if array.nbytes else 0, self._pinned[place])

    def migrating(self, array: NDArray[Any]) -> "DeviceView":
        """Return an array as a GPU reads it page by page: managed memory, or any where the GPU shares page tables."""
        runtime, address = self._runtime, array.ctypes.data
        managed = not array.nbytes or runtime.pointerGetAttributes(address).type == MANAGED
        if not managed and not runtime.deviceGetAttribute(PAGEABLE_ACCESS, runtime.getDevice()):
            raise InvalidArgument(
                "graph must be in managed memory to be read through unified memory: "
                'make it with allocate=grapin.edge_memory("unified")'
            )
        return DeviceView(array, address if array.nbytes else 0, array)


class DeviceView:
    """Memory at an address of the device, for whoever knows the CUDA array interface."""

    def __init__(self, array: NDArray[Any], address: int, owner: Any) -> None:
        self.owner = owner
        """Keeps the memory, and what made it visible."""
        self.__cuda_array_interface__: dict[str, Any] = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (address, False),
            "strides": None,
            "version": 3,
        }


class _Pinned:
    """An array whose pages are pinned as long as this lives: those it fills at once, those it shares one by one."""

    def __init__(self, runtime: Any, shared: dict[int, int], array: NDArray[Any]) -> None:
        first, last = array.ctypes.data, array.ctypes.data + array.nbytes
        inner, end = -(-first // PAGE) * PAGE, last // PAGE * PAGE
        edges = {page * PAGE for page in (first // PAGE, (last - 1) // PAGE) if array.nbytes}
        ranges = [(page, PAGE) for page in sorted(edges) if not inner <= page < end]
        ranges += [(inner, end - inner)] if inner < end else []
        done: list[int] = []
        # The array is kept until its pages are let go.
        finalize(self, _release, runtime, shared, done, array)
        for address, size in ranges:
            if address not in shared:
                if runtime.pointerGetAttributes(address).type != UNREGISTERED:
                    continue  # allocated as pinned memory
                try:
                    runtime.hostRegister(address, size, REGISTER_PORTABLE | REGISTER_MAPPED)
                except Exception as error:
                    raise _refused("pinned", array.nbytes, error) from error
            shared[address] = shared.get(address, 0) + 1
            done.append(address)


def _release(runtime: Any, shared: dict[int, int], addresses: list[int], array: NDArray[Any]) -> None:  # noqa: ARG001
    """Let pages go that no other array needs."""
    for address in addresses:
        shared[address] -= 1
        if not shared[address]:
            del shared[address]
            runtime.hostUnregister(address)


def _size(count: int, dtype: np.dtype[Any]) -> int:
    return max(count * dtype.itemsize, 1)  # CUDA refuses to allocate nothing


def _array(address: int, size: int, dtype: np.dtype[Any], free: Any) -> NDArray[Any]:
    """Return memory as an array that frees it at its end."""
    memory = (ctypes.c_uint8 * size).from_address(address)
    finalize(memory, free, address)
    raw: NDArray[np.uint8] = np.ctypeslib.as_array(memory)
    return raw[: size - size % dtype.itemsize].view(dtype)


def _refused(kind: str, size: int, error: Exception) -> DeviceUnavailable:
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return DeviceUnavailable(
        f"{format_bytes(size)} of edges cannot be put into {kind} memory, {format_bytes(free)} of the host's are free "
        f"({error}): free some, or read from a smaller graph"
    )
