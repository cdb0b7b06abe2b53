"""Where edge arrays live: whole pages of memory, ours or supplied by the caller.

Each array of ours has its pages to itself. A GPU reads host memory where it lies, and for that its pages are pinned: if
something else lay on one of them, copying that would be an error of CUDA's, which wants memory pinned whole or not at
all, and the error would come and go with where the allocator puts things.

A caller who wants pinned, managed or memory-mapped edge arrays passes `allocate(count, dtype)`; what it
returns is checked before it is used, so that a wrong array is refused instead of corrupting the graph.
"""

import mmap
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.errors import InvalidArgument
from grapin.units import LINE

PAGE_BYTES = mmap.PAGESIZE
"""What the operating system maps, and CUDA pins, at a time."""

Allocate = Callable[[int, np.dtype[Any]], NDArray[Any]]
"""Returns an uninitialised one-dimensional array of at least `count` elements of `dtype`; a GPU can read it in place if
it begins with a page and nothing else lies on its last one."""


def aligned_empty(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an uninitialised array that begins with a page, and shares none."""
    size = count * dtype.itemsize
    room = np.empty(whole_pages(size) + PAGE_BYTES, np.uint8)
    skip = -room.ctypes.data % PAGE_BYTES
    return room[skip : skip + size].view(dtype)


def whole_pages(size: int) -> int:
    """Return the bytes of the pages that so many bytes take."""
    return -(-size // PAGE_BYTES) * PAGE_BYTES


def place(allocate: Allocate | None, count: int, dtype: np.dtype[Any], *, aligned: bool) -> NDArray[Any]:
    """Return room for `count` elements, from `allocate` if there is one, refusing what cannot be used."""
    if allocate is None:
        return aligned_empty(count, dtype)
    given = allocate(count, dtype)
    problem = _problem(given, count, dtype, aligned=aligned)
    if problem:
        raise InvalidArgument(f"allocate({count}, {dtype}) must return {problem}")
    return given.view(np.ndarray)[:count]


def _problem(given: Any, count: int, dtype: np.dtype[Any], *, aligned: bool) -> str | None:
    if not isinstance(given, np.ndarray):
        return f"a NumPy array, not {type(given).__name__}"
    if given.dtype != dtype:
        return f"an array of {dtype}, not of {given.dtype}"
    if given.ndim != 1 or not given.flags.c_contiguous:
        return "a contiguous array of one dimension"
    if not given.flags.writeable:
        return "an array that can be written to"
    if len(given) < count:
        return f"at least {count} elements, not {len(given)}"
    boundary = (
        LINE if aligned else dtype.itemsize
    )  # lists that start on a line are read in the fewest requests
    if given.ctypes.data % boundary:
        return f"memory that starts on a {boundary}-byte boundary"
    return None
