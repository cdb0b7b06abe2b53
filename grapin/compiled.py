"""The one place where Python becomes machine code for the CPU.

Numba is used because it compiles the same plain functions for the CPU and for CUDA, needs no build step on
the user's machine, and caches what it compiled. It carries no types, so this module gives its decorators some.

Numba keeps machine code on disk until the file of the function itself changes; that a function it calls has
changed in another file goes unnoticed, and the old code would go on running, on arrays of another shape perhaps. So
machine code is kept here only as long as every source file with code compiled for the CPU stays as it is.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])

_PACKAGE = Path(__file__).parent
_WITH_COMPILED_CODE = (
    "compiled.py",
    "graph/**/*.py",
    "cache/**/*.py",
    "kernels/*.py",
    "kernels/cpu/**/*.py",
)


_OPTIONS = (
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "DISABLE_INTEL_SVML",
    "EXTEND_VARIABLE_LIFETIMES",
    "LLVM_REFPRUNE_FLAGS",
    "LLVM_REFPRUNE_PASS",
    "LOOP_VECTORIZE",
    "NRT_STATS",
    "OPT",
    "SLP_VECTORIZE",
)
"""Settings of Numba that change the machine code and that its own cache does not ask for."""


def _digest_of_sources(patterns: tuple[str, ...]) -> str:
    digest = hashlib.sha256(repr([(name, getattr(numba.config, name, None)) for name in _OPTIONS]).encode())
    for pattern in patterns:
        for path in sorted(_PACKAGE.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()


SOURCES = _digest_of_sources(_WITH_COMPILED_CODE)
"""Stands for the content of all source files with code compiled for the CPU, and for how Numba is to compile it."""
SOURCES_OF_MODEL = _digest_of_sources(("compiled.py", "sim/**/*.py"))
"""The same for the model, whose compiled code calls none but its own: a change to it leaves the kernels as they are."""


def _compile(function: F, **options: Any) -> F:
    dispatcher: Any = numba.njit(cache=True, nogil=True, error_model="numpy", **options)(function)
    # Machine code on disk is valid for these sources, in place of the function's own file; there is no public way.
    stamp = SOURCES_OF_MODEL if function.__module__.startswith("grapin.sim.") else SOURCES
    dispatcher._cache._cache_file._source_stamp = stamp  # noqa: SLF001
    return cast("F", dispatcher)


def compiled(function: F) -> F:
    """Compile `function` on its first call; the machine code is kept on disk for the next process.

    The GIL is released while it runs, and division follows NumPy (no exception inside a kernel).
    """
    return _compile(function)


def kernel(function: F) -> F:
    """Compile a function that works only on arrays it is given and makes none of its own.

    In return the arrays' references are not counted inside. Counting them is most of what a call between
    compiled functions costs when a tuple of arrays is passed along: 100 ns, against 5 ns for scanning a
    short list. `_nrt` is Numba's name for the run-time part that allocates and counts.
    """
    return _compile(function, _nrt=False)


def inlined(function: F) -> F:
    """Compile a small kernel into every kernel that calls it.

    Left to itself the compiler calls it: then all arrays of a tuple are handed over on the stack, some seventy numbers
    for one direction of a graph, which for a batch is a quarter of the time.
    """
    return _compile(function, _nrt=False, forceinline=True)


def compiled_parallel(function: F) -> F:
    """Compile a function whose `numba.prange` loops are shared among threads."""
    return _compile(function, parallel=True)
