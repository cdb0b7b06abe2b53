# ruff: noqa: N802, N815  (functions that stand for CUDA's have the names of CUDA's)
"""Edge arrays are pinned while a device reads them, each page once, and let go before their memory is."""

import ctypes
import gc
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grapin
from grapin.errors import DeviceUnavailable, InvalidArgument
from grapin.graph.allocation import aligned_empty
from grapin.kernels.cuda.memory import MANAGED, PAGE, UNREGISTERED, EdgeMemory

WORD = np.dtype(np.int32)


class FakeRuntime:
    """What CUDA does with host memory, as far as its documentation says: a page is registered once at most."""

    hostAllocMapped, hostAllocPortable = 2, 1

    def __init__(self, *, limit: int = 1 << 30, pageable: bool = False) -> None:
        self.registered: dict[int, int] = {}
        self.allocated: dict[int, tuple[ctypes.Array[ctypes.c_uint8], int]] = {}
        self.advised: list[int] = []
        self.limit, self.pageable = limit, pageable

    def hostRegister(self, address: int, size: int, flags: int) -> None:
        if size > self.limit:
            raise MemoryError("cudaErrorMemoryAllocation: out of memory")
        pages = set(range(address // PAGE, -(-(address + size) // PAGE)))
        assert not any(self._covered(page * PAGE) for page in pages), "cudaErrorHostMemoryAlreadyRegistered"
        self.registered[address] = size

    def hostUnregister(self, address: int) -> None:
        del self.registered[address]

    def _covered(self, address: int) -> bool:
        return any(low <= address < low + size for low, size in self.registered.items())

    def covers(self, address: int, size: int) -> bool:
        """Tell whether every byte from here on is registered, by one call or by several that adjoin."""
        end = address + size
        for low, length in sorted(self.registered.items()):
            if low <= address:
                address = max(address, low + length)
        return address >= end

    def pointerGetAttributes(self, address: int) -> SimpleNamespace:
        for low, (memory, kind) in self.allocated.items():
            if low <= address < low + len(memory):
                return SimpleNamespace(type=kind)
        return SimpleNamespace(type=1 if self._covered(address) else UNREGISTERED)

    def hostAlloc(self, size: int, flags: int) -> int:
        return self._allocate(size, 1)

    def mallocManaged(self, size: int) -> int:
        return self._allocate(size, MANAGED)

    def _allocate(self, size: int, kind: int) -> int:
        if size > self.limit:
            raise MemoryError("cudaErrorMemoryAllocation: out of memory")
        memory = (ctypes.c_uint8 * (size + PAGE))()
        address = -(-ctypes.addressof(memory) // PAGE) * PAGE
        self.allocated[address] = memory, kind
        return address

    def freeHost(self, address: int) -> None:
        del self.allocated[address]

    free = freeHost

    def getDevice(self) -> int:
        return 0

    def deviceGetAttribute(self, attribute: int, device: int) -> int:
        return int(self.pageable)

    def memAdvise(self, address: int, size: int, advice: int, device: int) -> None:
        self.advised.append(advice)


@given(sizes=st.lists(st.integers(0, 3 * PAGE // 4), min_size=1, max_size=6), drops=st.randoms())
def test_arrays_that_share_pages_are_pinned_together_and_let_go_one_by_one(
    sizes: list[int], drops: np.random.Generator
) -> None:
    runtime = FakeRuntime()
    memory = EdgeMemory(runtime)
    whole = np.zeros(sum(sizes) + 1, WORD)
    ends = np.cumsum(sizes)
    views = [memory.visible(whole[end - size : end]) for size, end in zip(sizes, ends, strict=True)]
    while views:
        for view in views:
            address, size = (
                view.__cuda_array_interface__["data"][0],
                view.__cuda_array_interface__["shape"][0],
            )
            assert runtime.covers(address, 4 * size)
        views.pop(drops.randrange(len(views)))  # type: ignore[attr-defined]
    del view
    gc.collect()
    assert not runtime.registered


def test_an_array_that_two_programs_read_stays_pinned_for_the_second() -> None:
    runtime = FakeRuntime()
    memory = EdgeMemory(runtime)
    array = np.zeros(5000, WORD)
    first, second = memory.visible(array), memory.visible(array)
    del first
    assert runtime.registered
    del second
    assert not runtime.registered


@pytest.mark.parametrize("kind", ["pinned", "managed"])
def test_a_graph_can_be_made_in_memory_that_a_device_reads(kind: str) -> None:
    runtime = FakeRuntime()
    memory = EdgeMemory(runtime)
    graph = grapin.Graph.from_edges([0, 1, 2], [1, 2, 0], [5, 6, 7], allocate=getattr(memory, kind))
    graph.check()
    assert len(runtime.allocated) == 4
    neighbours = graph.snapshot().out.neighbours
    view = memory.visible(neighbours) if kind == "pinned" else memory.migrating(neighbours)
    assert view.__cuda_array_interface__["data"][0] == neighbours.ctypes.data
    assert not runtime.registered  # it is visible already
    assert bool(runtime.advised) == (kind == "managed")
    del graph, neighbours, view
    gc.collect()
    assert not runtime.allocated


def test_memory_that_cannot_be_pinned_is_an_error_with_sizes() -> None:
    memory = EdgeMemory(FakeRuntime(limit=1 << 20))
    with pytest.raises(
        DeviceUnavailable, match=r"4 MiB of edges cannot be put into pinned memory, .* are free"
    ):
        memory.visible(np.zeros(1 << 20, WORD))
    with pytest.raises(DeviceUnavailable, match=r"4 MiB of edges cannot be put into managed memory"):
        memory.managed(1 << 20, WORD)


def test_ordinary_memory_is_refused_as_unified_memory_with_the_remedy() -> None:
    array = aligned_empty(100, WORD)
    with pytest.raises(InvalidArgument, match=r"allocate=grapin.edge_memory\(\"unified\"\)"):
        EdgeMemory(FakeRuntime()).migrating(array)
    assert EdgeMemory(FakeRuntime(pageable=True)).migrating(array).owner is array


def test_edge_memory_says_what_to_install() -> None:
    with pytest.raises(InvalidArgument, match="memory='pined' must be one of unified, zero-copy"):
        grapin.edge_memory("pined")
    with pytest.raises(
        DeviceUnavailable, match=r"memory='unified' cannot be had here: .* is missing: pip install"
    ):
        grapin.edge_memory("unified")
