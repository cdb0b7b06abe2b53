"""`Backend`: all that differs between a GPU, the simulator and compiled code run by other means.

Kernels are plain functions over device arrays, written with Numba's `cuda` and the operations of `warp.py`. A backend
compiles them, launches them, in order, on one stream, and owns the arrays they work on. What drives the kernels sees
arrays only through it, so that the same code drives them wherever they run.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from grapin.system import Resident, Transfer

"""How kernels read edges: from the host's own arrays over the link, through migrating pages, from a copy."""

THREADS = 256
"""Threads a block has on a GPU: any shape is right, and this one fills a multiprocessor (`experiments.occupancy`)."""
BLOCKS_PER_MULTIPROCESSOR = 4
"""Blocks that run there at once. Its 65,536 registers are then 64 for each thread, which is enough for every kernel."""
LAUNCH_BOUNDS = (THREADS, BLOCKS_PER_MULTIPROCESSOR)
"""What the compiler is told, so that it takes no more registers than that."""


@dataclass(frozen=True)
class Shape:
    """How many threads a launch has; kernels take as many turns as there is work for, so any shape is right."""

    blocks: int
    threads: int
    """A block's threads, a multiple of the warp's."""


class Backend(Protocol):
    """Where kernels run."""

    name: str
    warp: int
    """Lanes a warp has: 32, but for a simulator that is asked for fewer."""
    shape: Shape
    """What launches use unless told otherwise."""

    @property
    def compiler(self) -> Any:
        """Return what compiles for it: backends that have it in common have kernels in common."""

    def function(self, plain: Any, **names: Any) -> Any:
        """Compile a function that kernels call, with these global names bound."""

    def kernel(self, plain: Any, variant: str, **names: Any) -> Any:
        """Compile a kernel with these global names bound; `variant` tells bindings of one kernel apart."""

    def launch(self, kernel: Any, *arguments: Any, shape: Shape | None = None) -> None:
        """Run a kernel after all that was launched before; arguments are arrays, named tuples of them, numbers."""

    def empty(self, count: int, dtype: DTypeLike) -> Any:
        """Return an uninitialised array on the device."""

    def full(self, count: int, value: Any, dtype: DTypeLike) -> Any:
        """Return an array on the device filled with one value."""

    def upload(self, array: NDArray[Any]) -> Any:
        """Return a copy on the device."""

    def download(self, array: Any) -> NDArray[Any]:
        """Return a copy on the host, when all that was launched before is done."""

    def part(self, array: Any, start: int, stop: int) -> Any:
        """Return a view of a stretch of an array."""

    def copy(self, target: Any, source: Any) -> None:
        """Overwrite one device array by another, or by a host array of the same length and type."""

    def fill(self, array: Any, value: Any) -> None:
        """Overwrite a device array by one value."""

    def host_memory(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """Return host memory that is sent from, uninitialised."""

    def send(self, target: Any, source: NDArray[Any], after: Any) -> Any:
        """Overwrite a device array by a host array while launches go on, once `after` has come about.

        What is launched later sees it. Returns what `wait` takes; until then the source must stay as it is.
        """

    def mark(self) -> Any:
        """Return what comes about when all that was launched so far is done."""

    def wait(self, what: Any) -> None:
        """Wait until this has come about."""

    def edges(self, array: NDArray[Any], transfer: Transfer) -> Any:
        """Return one of the store's edge arrays as kernels read it.

        Zero-copy and unified views show what the host writes later; a resident copy has to be refreshed by `copy`.
        """

    def sort(self, array: Any) -> Any:
        """Return the elements in ascending order."""

    def distinct(self, array: Any) -> Any:
        """Return the elements in ascending order, each once."""

    def running_sum(self, array: Any) -> Any:
        """Return the sums up to and including each element."""

    def select(self, array: Any, flags: Any) -> Any:
        """Return the elements beside a true flag, in their order."""


class HostArrays:
    """The arrays of a backend whose kernels the CPU executes: NumPy's."""

    @property
    def compiler(self) -> Any:
        """Return the backend itself, which has kernels of its own."""
        return self

    def empty(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """Return an uninitialised array."""
        return np.empty(count, dtype)

    def full(self, count: int, value: Any, dtype: DTypeLike) -> NDArray[Any]:
        """Return an array filled with one value."""
        return np.full(count, value, dtype)

    def upload(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return a copy."""
        return np.array(array)

    def download(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return a copy."""
        return array.copy()

    def part(self, array: NDArray[Any], start: int, stop: int) -> NDArray[Any]:
        """Return a view of a stretch of an array."""
        return array[start:stop]

    def copy(self, target: NDArray[Any], source: NDArray[Any]) -> None:
        """Overwrite one array by another."""
        target[:] = source

    def fill(self, array: NDArray[Any], value: Any) -> None:
        """Overwrite an array by one value."""
        array[:] = value

    def host_memory(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """Return an uninitialised array."""
        return np.empty(count, dtype)

    def send(self, target: NDArray[Any], source: NDArray[Any], after: None) -> None:  # noqa: ARG002
        """Overwrite one array by another, at once."""
        target[:] = source

    def mark(self) -> None:
        """All that was launched is done."""

    def wait(self, what: None) -> None:
        """It has come about."""

    def edges(self, array: NDArray[Any], transfer: Transfer) -> NDArray[Any]:
        """Return the store's own array, or a copy of it where the device is to have one."""
        return array.copy() if isinstance(transfer, Resident) else array

    def sort(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the elements in ascending order."""
        return np.sort(array)

    def distinct(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the elements in ascending order, each once."""
        return np.unique(array)

    def running_sum(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the sums up to and including each element."""
        return np.cumsum(array)

    def select(self, array: NDArray[Any], flags: NDArray[Any]) -> NDArray[Any]:
        """Return the elements beside a true flag."""
        return array[flags.astype(np.bool_)]


def bind_functions(backend: Backend, functions: Iterable[Any], **names: Any) -> dict[str, Any]:
    """Compile functions that kernels call with names bound, and return all names.

    A function sees those before it by their names, in place of what its file imported: so kernel files import and call
    each other's plain functions, and can be read and checked like any other.
    """
    bound = dict(names)
    for function in functions:
        bound[function.__name__] = backend.function(function, **bound)
    return bound


def bind(
    backend: Backend, variant: str, *, functions: Iterable[Any], kernels: Iterable[Any], **names: Any
) -> SimpleNamespace:
    """Compile kernels, with names and the functions they call bound, and return them by name."""
    bound = bind_functions(backend, functions, **names)
    return SimpleNamespace(**{one.__name__: backend.kernel(one, variant, **bound) for one in kernels})
