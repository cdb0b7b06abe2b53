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
from grapin.graph.packed import PAGE_BYTES, Allocate, whole_pages
from grapin.kernels.cuda.device import unavailable
from grapin.units import format_bytes
from grapin.validation import check_choice

UNREGISTERED, MANAGED = 0, 3
"""`cudaMemoryType`, CUDA Runtime API, 'Data types used by CUDA Runtime'."""
REGISTER_PORTABLE, REGISTER_MAPPED = 1, 2
"""`cudaHostRegister` flags, CUDA Runtime API, 'Data types used by CUDA Runtime'."""
READ_MOSTLY = 1
"""`cudaMemAdviseSetReadMostly`, CUDA Runtime API, 'Data types used by CUDA Runtime'; it overrides a preferred location
('cudaMemAdvise'), so none is given."""
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
        self._pinned: WeakValueDictionary[int, _Pinned] = WeakValueDictionary()
        """By the address on the host: two programs that read an array share what pins it, as CUDA pins a page once."""

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
        """Allocate managed memory of which GPUs keep copies of the pages they read."""
        runtime, size = self._runtime, _size(count, dtype)
        try:
            address = runtime.mallocManaged(size)
        except Exception as error:
            raise _refused("managed", size, error) from error
        array = _array(address, size, dtype, runtime.free)  # from here on its end frees the memory
        try:
            runtime.memAdvise(address, size, READ_MOSTLY, runtime.getDevice())
        except Exception as error:
            raise _refused("managed", size, error) from error
        return array

    def visible(self, array: NDArray[Any]) -> "DeviceView":
        """Return an array as a GPU reads it request by request; ordinary memory is pinned for as long as it is read."""
        if not array.nbytes:
            return DeviceView(array, 0, array)
        address = array.ctypes.data
        pinned = self._pinned.get(address)
        if pinned is None or pinned.size < array.nbytes:
            pinned = _Pinned(self._runtime, array)
            self._pinned[address] = pinned
        return DeviceView(array, pinned.device_address, pinned)

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
    """An array whose pages are pinned as long as this lives."""

    def __init__(self, runtime: Any, array: NDArray[Any]) -> None:
        address, self.size = array.ctypes.data, array.nbytes
        seen = runtime.pointerGetAttributes(address)
        if seen.type == UNREGISTERED:
            if address % PAGE_BYTES:
                raise InvalidArgument(
                    f"graph's edge arrays must begin with a page of {PAGE_BYTES} bytes to be read by a GPU: "
                    "leave allocate= out, or let it return memory that shares no page"
                )
            try:
                runtime.hostRegister(address, whole_pages(self.size), REGISTER_PORTABLE | REGISTER_MAPPED)
            except Exception as error:
                raise _refused("pinned", self.size, error) from error
            finalize(self, _release, runtime, address, array)
            seen = runtime.pointerGetAttributes(address)
        self.device_address: int = seen.devicePointer
        """Where the GPU finds it, which need not be where the host does."""


def _release(runtime: Any, address: int, array: NDArray[Any]) -> None:  # noqa: ARG001 - kept until its pages are let go
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
