"""The one place where Python becomes code for a GPU, as `grapin.compiled` is for the CPU.

Functions that kernels call are inlined while Numba still sees them as Python: a call to a compiled function asks for
the current device, and then nothing could be compiled, looked at or tested where there is none.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import cuda

from grapin.kernels.cuda.backend import LAUNCH_BOUNDS
from grapin.kernels.rules import rebind

F = TypeVar("F", bound=Callable[..., Any])


def device_function(function: F) -> F:
    """Compile a function that kernels call, wherever it is called."""
    return cast("F", cuda.jit(device=True, inline="always")(function))


class Compiler:
    """How every backend that runs compiled code makes it."""

    warp = 32

    @property
    def compiler(self) -> Any:
        """Return the backend itself, which has kernels of its own."""
        return self

    def function(self, plain: Any, **names: Any) -> Any:
        """Compile a function that kernels call, with these global names bound."""
        return device_function(rebind(plain, "bound", **names) if names else plain)

    def kernel(self, plain: Any, variant: str, **names: Any) -> Any:
        """Compile a kernel, when it is first launched and its arguments are known, with these global names bound."""
        return cuda.jit(rebind(plain, variant, **names), launch_bounds=LAUNCH_BOUNDS)
