"""The one place where Python becomes machine code for the CPU.

Numba is used because it compiles the same plain functions for the CPU and for CUDA, needs no build step on
the user's machine, and caches what it compiled. It carries no types, so this module gives its decorators some.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile `function` on its first call; the machine code is kept on disk for the next process.

    The GIL is released while it runs, and division follows NumPy (no exception inside a kernel).
    """
    return cast("F", numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def kernel(function: F) -> F:
    """Compile a function that works only on arrays it is given and makes none of its own.

    In return the arrays' references are not counted inside. Counting them is most of what a call between
    compiled functions costs when a tuple of arrays is passed along: 100 ns, against 5 ns for scanning a
    short list. `_nrt` is Numba's name for the run-time part that allocates and counts.
    """
    options: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}
    return cast("F", numba.njit(**options)(function))


def compiled_parallel(function: F) -> F:
    """Compile a function whose `numba.prange` loops are shared among threads."""
    parallel = numba.njit(cache=True, nogil=True, error_model="numpy", parallel=True)
    return cast("F", parallel(function))
