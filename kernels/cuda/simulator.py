"""The simulator as a backend: kernels stay plain Python, arrays are NumPy's, lanes take turns (`lanes.py`)."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from grapin.kernels.cuda.backend import Shape, Transfer
from grapin.kernels.cuda.lanes import Block, operations
from grapin.kernels.rules import rebind


class Simulator:
    """Runs kernels one lane at a time; a warp of few lanes and a small shape make it fast enough for tests.

    A warp of 4 has all the cases that one of 32 has, on lists of ten neighbours instead of a hundred.
    """

    name = "cudasim"

    def __init__(self, *, warp: int = 32, shape: Shape | None = None, seed: int = 0) -> None:
        self.warp = warp
        self.shape = shape or Shape(1, 2 * warp)
        self._block = Block(warp, seed)
        self._operations = operations(self._block)

    def function(self, plain: Any, **names: Any) -> Any:
        """Return the function with these global names bound; rules are closures, and need none of ours."""
        return plain if plain.__closure__ else rebind(plain, "bound", **self._operations, **names)

    def kernel(self, plain: Any, variant: str, **names: Any) -> Any:
        """Return the kernel with these global names bound."""
        return rebind(plain, variant, **self._operations, **names)

    def launch(self, kernel: Any, *arguments: Any, shape: Shape | None = None) -> None:
        """Run block after block."""
        shape = shape or self.shape
        for index in range(shape.blocks):
            self._block.run(lambda: kernel(*arguments), index, shape.blocks, shape.threads)

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

    def edges(self, array: NDArray[Any], transfer: Transfer) -> NDArray[Any]:
        """Return the store's own array, or a copy of it where the device is to have one."""
        return array.copy() if transfer == "resident" else array

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
