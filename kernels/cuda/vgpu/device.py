"""The device `vgpu`: the kernels of `cuda` as compiled for a GPU, executed warp by warp on any CPU and measured.

Behind a colon stands an interleaving, as in `vgpu:7`: a number that says who runs when, in launches of which shape, and
what memory promises. The same number is the same run.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache as once
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from grapin.cache import CacheSettings
from grapin.compiled import PLAIN
from grapin.device import Cache, Query
from grapin.kernels.cuda.assembly import missing
from grapin.programs.program import Program
from grapin.system import System
from grapin.validation import refuse

name = "vgpu"
stages = True
MOST_INTERLEAVINGS = 1 << 32


def unavailable() -> str | None:
    """Say what to install where there is no CUDA compiler."""
    if PLAIN:
        return "NUMBA_DISABLE_JIT=1 keeps everything Python, and PTX has to be compiled: unset it"
    return missing()


@dataclass(frozen=True)
class VirtualDevice:
    """The virtual GPU under one interleaving; 0 is the plain schedule."""

    interleaving: int = 0
    stages: ClassVar[bool] = stages

    @property
    def name(self) -> str:
        """By which `open_device` finds it."""
        return f"{name}:{self.interleaving}" if self.interleaving else name

    def unavailable(self) -> str | None:
        """Say what to install where there is no CUDA compiler."""
        return unavailable()

    def configured(self, setting: str) -> "VirtualDevice":
        """Return the device under another interleaving."""
        if not setting.isdecimal() or int(setting) >= MOST_INTERLEAVINGS:
            refuse(
                "device", f"{name}:{setting}", f"name an interleaving from 0 to {MOST_INTERLEAVINGS - 1:,}"
            )
        return VirtualDevice(int(setting))

    def query(
        self, program: Program, system: System, *, weight_dtype: Any, directed: bool, threads: int
    ) -> Query:
        """Prepare one program for graphs with these weights; one thread executes all warps."""
        del threads
        from grapin.kernels.cuda.programs import make_query

        made = backend().interleaved(self.interleaving)
        return make_query(made, program, system, weight_dtype=weight_dtype, directed=directed)

    def cache(self, settings: CacheSettings, system: System, *, arrays: int, weight_dtype: Any) -> Cache:
        """Return an empty cache in the device's memory."""
        from grapin.kernels.cuda.cache import CudaCache

        made = backend().interleaved(self.interleaving)
        return CudaCache(made, settings, system.transfer, arrays=arrays, weight_dtype=weight_dtype)


@once
def backend() -> Any:
    """Return the backend that all programs of the process share, with the kernels translated so far."""
    from grapin.kernels.cuda.vgpu.backend import VirtualBackend

    return VirtualBackend()


@dataclass
class Executed:
    """What launches read of host memory, as the lanes of their warps asked for it."""

    launches: int = 0
    uncached: NDArray[np.int64] = field(default_factory=lambda: np.zeros(4, np.int64))
    """Requests of 32, 64, 96 and 128 bytes, one for each stretch of sectors of one instruction."""
    behind_l1: NDArray[np.int64] = field(default_factory=lambda: np.zeros(4, np.int64))
    """Requests for the sectors that no L1 held."""
    behind_l2: NDArray[np.int64] = field(default_factory=lambda: np.zeros(4, np.int64))
    """Requests for those that the L2 did not hold either."""
    lanes: int = 0
    """Elements that lanes loaded from host or unified memory."""
    pages: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """Pages of host or unified memory that were touched, each once."""


@contextmanager
def count_executed() -> Iterator[Executed]:
    """Count what all launches on this device read of host memory, until the block ends."""
    from grapin.kernels.cuda.vgpu.gpu import Launched
    from grapin.kernels.cuda.vgpu.traffic import Count, Home

    executed = Executed()

    def watch(launched: Launched) -> None:
        host, managed = launched.total(Home.HOST), launched.total(Home.MANAGED)
        executed.launches += 1
        executed.uncached += host[Count.UNCACHED : Count.UNCACHED + 4]
        executed.behind_l1 += host[Count.AFTER_L1 : Count.AFTER_L1 + 4]
        executed.behind_l2 += host[Count.AFTER_L2 : Count.AFTER_L2 + 4]
        executed.lanes += int(host[Count.LANES] + managed[Count.LANES])
        executed.pages = np.union1d(executed.pages, launched.pages)

    watchers = backend().watchers
    watchers.append(watch)
    try:
        yield executed
    finally:
        watchers.remove(watch)


_usual = VirtualDevice()
configured, query, cache = _usual.configured, _usual.query, _usual.cache
