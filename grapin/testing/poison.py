"""Poisoned memory: fresh arrays hold garbage, so that reading what nobody wrote shows in the answer.

Fresh memory from the system is mostly zero, which is often the value that was forgotten. Inside
`poisoned_memory` it is filled with 0xA5 bytes: a large negative int32, a tiny negative float32, no valid
vertex, offset or weight.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from typing import Any

import numpy as np

POISON = 0xA5
"""The byte that fresh memory is filled with."""

_M_PERTURB = -6  # malloc.h of the GNU C library: fill fresh memory with the complement of this byte


class _Poisoned:
    """An allocating function of NumPy that fills what it allocates.

    It equals the function it stands for, by which Numba finds how to compile a call of it.
    """

    def __init__(self, allocate: Callable[..., Any]) -> None:
        self._allocate = allocate
        update_wrapper(self, allocate)

    def __call__(self, *args: Any, **options: Any) -> Any:
        array = self._allocate(*args, **options)
        if isinstance(array, np.ndarray) and array.dtype != object:
            np.copyto(array.view(np.ndarray), _garbage(array.dtype))
        return array

    def __eq__(self, other: object) -> bool:
        return other is self or bool(other == self._allocate)

    def __hash__(self) -> int:
        return hash(self._allocate)


@contextmanager
def poisoned_memory() -> Iterator[None]:
    """Fill memory from `np.empty` and `np.empty_like` with garbage while the block runs.

    With the GNU C library this reaches allocations of compiled code too, from about a kilobyte up.
    """
    originals = {name: getattr(np, name) for name in ("empty", "empty_like")}
    _perturb_allocator(~POISON & 0xFF)
    try:
        for name, allocate in originals.items():
            setattr(np, name, _Poisoned(allocate))
        yield
    finally:
        for name, allocate in originals.items():
            setattr(np, name, allocate)
        _perturb_allocator(0)


def _garbage(dtype: np.dtype[Any]) -> Any:
    return np.frombuffer(bytes([POISON]) * dtype.itemsize, dtype=dtype)[0] if dtype.itemsize else dtype.type()


def _perturb_allocator(byte: int) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_PERTURB, byte)
