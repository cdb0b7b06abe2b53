"""The virtual GPU as a backend: compiled kernels over NumPy arrays, of which some are host or unified memory."""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from random import Random
from types import FunctionType
from typing import Any
from weakref import ref

import numpy as np
from numba import typeof
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from grapin.errors import InvalidArgument
from grapin.kernels.cuda.assembly import to_ptx
from grapin.kernels.cuda.backend import HostArrays, Shape
from grapin.kernels.cuda.compiled import Compiler
from grapin.kernels.cuda.vgpu.gpu import SCHEDULES, Launched, Options, Region, VirtualGpu
from grapin.kernels.cuda.vgpu.traffic import Home
from grapin.kernels.cuda.vgpu.translation import Translated, translate
from grapin.kernels.rules import rebind
from grapin.system import Resident, Transfer, Unified

CAPABILITY = (8, 0)
"""What kernels are compiled for."""
_SHAPES = (Shape(1, 32), Shape(2, 64), Shape(3, 128))
_MOST_STEPS = 50_000_000
"""A launch of so small a shape that takes so many will never end."""


@dataclass
class Copied:
    """What went over the link other than by kernels' own reads."""

    times: int = 0
    bytes: int = 0


class VirtualBackend(Compiler, HostArrays):
    """Kernels on a virtual GPU."""

    name = "vgpu"

    def __init__(self, gpu: VirtualGpu | None = None, *, shape: Shape | None = None) -> None:
        self.gpu = gpu or VirtualGpu()
        self.shape = shape or Shape(self.gpu.model.multiprocessors, 64)
        self.watchers: list[Callable[[Launched], None]] = []
        """Told of every launch."""
        self.to_device, self.to_host = Copied(), Copied()
        self._translated: dict[tuple[FunctionType, tuple[Any, ...]], Translated] = {}
        self._host: dict[int, tuple[ref[NDArray[Any]], Home]] = {}
        """Arrays of host memory that kernels were given, by address, as long as they live."""
        self._compiler = self

    @property
    def compiler(self) -> Any:
        """Return the backend that this one is an interleaving of, or itself."""
        return self._compiler

    def interleaved(self, number: int) -> "VirtualBackend":
        """Return a GPU of its own under an interleaving, with the kernels of this one; 0 is the plain schedule."""
        other = copy(self)
        other.gpu = VirtualGpu(self.gpu.model, self.gpu.options)
        if number:
            draw = Random(number)  # noqa: S311  # dice, not secrets
            other.shape = draw.choice(_SHAPES)
            other.gpu.options = Options(
                schedule=draw.choice(list(SCHEDULES)),
                seed=number,
                quantum=draw.choice([1, 8, 64]),
                weak=draw.random() < 1 / 2,
                most_steps=_MOST_STEPS,
            )
        return other

    def kernel(self, plain: Any, variant: str, **names: Any) -> FunctionType:
        """Keep the kernel until its arguments are known."""
        return rebind(plain, variant, **names)

    def launch(self, kernel: FunctionType, *arguments: Any, shape: Shape | None = None) -> None:
        """Compile the kernel for these arguments, once, and execute it."""
        shape = shape or self.shape
        key = kernel, tuple(map(_kind, arguments))
        if key not in self._translated:
            self._translated[key] = self._translate(kernel, tuple(map(typeof, arguments)))
        arrays = [array for array in _arrays(arguments) if array.nbytes]
        regions = [Region(array.ctypes.data, array.nbytes, self._home(array)) for array in arrays]
        parameters = list(_parameters(arguments))
        launched = self.gpu.launch(
            self._translated[key], (shape.blocks,), (shape.threads,), parameters, regions
        )
        for watcher in self.watchers:
            watcher(launched)

    def _translate(self, kernel: FunctionType, types: tuple[Any, ...]) -> Translated:
        try:
            ptx = to_ptx(kernel, types, CAPABILITY)
        except NumbaError as error:
            cause = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
            raise InvalidArgument(f"{kernel.__name__} must compile for CUDA: {cause}") from error
        return translate(ptx)._replace(name=kernel.__name__)

    def _home(self, array: NDArray[Any]) -> Home:
        address = array.ctypes.data
        for begin, (given, home) in self._host.items():
            whole = given()
            if whole is not None and begin <= address < begin + whole.nbytes:
                return home
        return Home.DEVICE

    def upload(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return a copy on the device."""
        self._note(self.to_device, array.nbytes)
        return np.array(array)

    def download(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return a copy on the host."""
        self._note(self.to_host, array.nbytes)
        return array.copy()

    def send(self, target: NDArray[Any], source: NDArray[Any], after: None) -> None:
        """Overwrite an array of the device by one of the host."""
        super().send(target, source, after)
        self._note(self.to_device, source.nbytes)

    def edges(self, array: NDArray[Any], transfer: Transfer) -> NDArray[Any]:
        """Return the store's own array as host or unified memory, or a copy where the device is to have one."""
        if isinstance(transfer, Resident):
            return self.upload(array)
        home = Home.MANAGED if isinstance(transfer, Unified) else Home.HOST
        for gone in [at for at, (given, _) in self._host.items() if given() is None]:
            del self._host[gone]
        self._host[array.ctypes.data] = ref(array), home
        return array

    def _note(self, copied: Copied, size: int) -> None:
        copied.times += 1
        copied.bytes += size


def _kind(one: Any) -> Any:
    """Return what a kernel has to be compiled again for; Numba's own types take a millisecond for a hundred arrays."""
    if isinstance(one, np.ndarray):
        return one.dtype, one.ndim, one.flags.c_contiguous, one.flags.writeable, one.flags.aligned
    if isinstance(one, tuple):
        return type(one), *map(_kind, one)
    return type(one)


def _arrays(arguments: Any) -> Iterator[NDArray[Any]]:
    for one in arguments:
        if isinstance(one, np.ndarray):
            yield one
        elif isinstance(one, tuple):
            yield from _arrays(one)


def _parameters(arguments: Any) -> Iterator[tuple[int, int]]:
    """Yield what Numba's kernels take for each argument: for an array seven numbers and more, else its own bytes."""
    for one in arguments:
        if isinstance(one, np.ndarray):
            for number in (0, 0, one.size, one.itemsize, one.ctypes.data, *one.shape, *one.strides):
                yield number, 8
        elif isinstance(one, tuple):
            yield from _parameters(one)
        else:
            content = np.asarray(one).tobytes()
            yield int.from_bytes(content, "little"), len(content)
