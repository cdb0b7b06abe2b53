# ruff: noqa: N802, N815  (functions that stand for CUDA's have the names of CUDA's)
"""Edge arrays are pinned while a device reads them, whole pages of their own, and let go before their memory is."""

import ctypes
import gc
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grapin
from grapin.errors import DeviceUnavailable, InvalidArgument
from grapin.graph.packed import PAGE_BYTES, aligned_empty
from grapin.kernels.cuda.memory import MANAGED, UNREGISTERED, EdgeMemory

WORD = np.dtype(np.int32)


ELSEWHERE = 1 << 40
"""So far from its place on the host a device finds memory, where it does not use the same addresses."""


class FakeRuntime:
    """What CUDA does with host memory, as far as its documentation says: a page is registered once at most."""

    hostAllocMapped, hostAllocPortable = 2, 1

    def __init__(
        self, *, limit: int = 1 << 30, pageable: bool = False, moved: int = 0, advisable: bool = True
    ) -> None:
        self.moved, self.advisable = moved, advisable
        self.registered: dict[int, int] = {}
        self.allocated: dict[int, tuple[ctypes.Array[ctypes.c_uint8], int]] = {}
        self.advised: list[int] = []
        self.limit, self.pageable = limit, pageable

    def hostRegister(self, address: int, size: int, flags: int) -> None:
        if size > self.limit:
            raise MemoryError("cudaErrorMemoryAllocation: out of memory")
        assert address % PAGE_BYTES == size % PAGE_BYTES == 0, "pages are pinned in part"
        assert not any(self._covered(page) for page in range(address, address + size, PAGE_BYTES))
        self.registered[address] = size

    def hostUnregister(self, address: int) -> None:
        del self.registered[address]

    def _covered(self, address: int) -> bool:
        return any(low <= address < low + size for low, size in self.registered.items())

    def covers(self, address: int, size: int) -> bool:
        """Tell whether every byte from here on is registered, by one call."""
        return any(
            low <= address and address + size <= low + length for low, length in self.registered.items()
        )

    def copies(self, array: np.ndarray) -> bool:
        """Tell whether a plain copy works: its memory must be registered whole or not at all."""
        first, last = array.ctypes.data, array.ctypes.data + array.nbytes - 1
        return self._covered(first) == self._covered(last)

    def pointerGetAttributes(self, address: int) -> SimpleNamespace:
        for low, (memory, kind) in self.allocated.items():
            if low <= address < low + len(memory):
                return SimpleNamespace(type=kind, devicePointer=address + self.moved)
        if not self._covered(address):
            return SimpleNamespace(type=UNREGISTERED, devicePointer=0)
        return SimpleNamespace(type=1, devicePointer=address + self.moved)

    def hostAlloc(self, size: int, flags: int) -> int:
        return self._allocate(size, 1)

    def mallocManaged(self, size: int) -> int:
        return self._allocate(size, MANAGED)

    def _allocate(self, size: int, kind: int) -> int:
        if size > self.limit:
            raise MemoryError("cudaErrorMemoryAllocation: out of memory")
        memory = (ctypes.c_uint8 * (size + PAGE_BYTES))()
        address = -(-ctypes.addressof(memory) // PAGE_BYTES) * PAGE_BYTES
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
        if not self.advisable or device < 0:  # CUDA 13 has no device -1
            raise RuntimeError("cudaErrorInvalidDevice: invalid device ordinal")
        self.advised.append(advice)


@given(sizes=st.lists(st.integers(0, 3 * PAGE_BYTES // 4), min_size=1, max_size=6), drops=st.randoms())
def test_an_array_is_pinned_in_one_piece_with_nothing_else_on_its_pages(
    sizes: list[int], drops: np.random.Generator
) -> None:
    runtime = FakeRuntime(moved=ELSEWHERE)
    memory = EdgeMemory(runtime)
    arrays, others = [], []
    for size in sizes:  # the allocator puts what is small next to each other
        arrays.append(aligned_empty(size, WORD))
        others.append(np.zeros(size + 1, WORD))
    views = [memory.visible(array) for array in arrays]
    assert all(runtime.copies(other) for other in others)
    while views:
        for view in views:
            seen = view.__cuda_array_interface__
            (size,) = seen["shape"]
            assert not size or runtime.covers(seen["data"][0] - ELSEWHERE, 4 * size)
        views.pop(drops.randrange(len(views)))  # type: ignore[attr-defined]
    del view
    gc.collect(1)  # the young ones: all that other tests left behind takes seconds
    assert not runtime.registered


def test_memory_that_shares_a_page_is_refused_with_the_remedy() -> None:
    array = aligned_empty(3 * PAGE_BYTES, WORD)[32:]
    with pytest.raises(InvalidArgument, match=r"must begin with a page of \d+ bytes to be read by a GPU"):
        EdgeMemory(FakeRuntime()).visible(array)


def test_managed_memory_that_cannot_be_advised_is_freed_and_the_error_is_a_sentence() -> None:
    runtime = FakeRuntime(advisable=False)
    with pytest.raises(DeviceUnavailable, match="managed memory"):
        EdgeMemory(runtime).managed(100, WORD)
    gc.collect()
    assert not runtime.allocated


def test_an_array_that_two_programs_read_stays_pinned_for_the_second() -> None:
    runtime = FakeRuntime()
    memory = EdgeMemory(runtime)
    array = aligned_empty(5000, WORD)
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
        memory.visible(aligned_empty(1 << 20, WORD))
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
