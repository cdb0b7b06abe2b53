"""The compiled PTX as a backend: what a GPU would be given, executed warp by warp on the CPU.

The interpreter lies beside the checkout, in shared/tools/ptxsim, and needs g++. Its `seed` and `quantum` choose one of
many interleavings of warps and blocks; memory is checked for bounds and alignment at every access.
"""

import shutil
import sys
import warnings
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

from numba import typeof

from experiments.lib.assembly import ENTRY, to_ptx
from grapin.kernels.cuda.backend import Shape
from grapin.kernels.cuda.compiled import Compiler
from grapin.kernels.cuda.simulator import Simulator
from grapin.kernels.rules import rebind

INTERPRETER = Path(__file__).resolve().parents[3] / "shared" / "tools" / "ptxsim"
CAPABILITY = (8, 0)
MOST_STEPS = 20_000_000
"""A launch of a test that takes so many steps will never end."""


def missing() -> str | None:
    """Say why PTX cannot be executed here; None when it can."""
    if not INTERPRETER.is_dir():
        return "the folder shared/tools/ptxsim is not beside the checkout"
    if shutil.which("g++") is None:
        return "g++ is not installed, which ptxsim needs"
    return None


@cache
def interpreter() -> Any:
    """Return the module that executes PTX."""
    sys.path.append(str(INTERPRETER))
    module = import_module("ptxsim")
    # At every launch it reads its own sources, to find what it built by their digest; here they do not change.
    module.translate.build = cache(module.translate.build)
    return module


class Ptx(Simulator):
    """Kernels as the compiler left them; arrays are NumPy's, as in the simulator."""

    name = "ptxsim"

    def __init__(self, *, shape: Shape | None = None) -> None:
        super().__init__(warp=32, shape=shape or Shape(2, 64))
        self.seed, self.quantum = 1, 8
        """Which interleaving: every launch takes another seed; a warp makes up to `quantum` accesses in a row."""
        self.launched: dict[FunctionType, dict[tuple[Any, ...], str]] = {}
        """The PTX of every kernel that was launched, by the types of its arguments."""
        self.kernels: list[FunctionType] = []

    def function(self, plain: Any, **names: Any) -> Any:
        """Compile a function that kernels call."""
        return Compiler().function(plain, **names)

    def kernel(self, plain: Any, variant: str, **names: Any) -> FunctionType:
        """Keep the kernel until its arguments are known."""
        self.kernels.append(rebind(plain, variant, **names))
        return self.kernels[-1]

    def launch(self, kernel: FunctionType, *arguments: Any, shape: Shape | None = None) -> None:
        """Compile the kernel for these arguments and execute it."""
        shape = shape or self.shape
        types = tuple(map(typeof, arguments))
        known = self.launched.setdefault(kernel, {})
        if types not in known:
            known[types] = to_ptx(kernel, types, CAPABILITY)
        self.seed += 1
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", ResourceWarning
            )  # the interpreter leaves files to be closed for it
            said = interpreter().run(
                known[types],
                ENTRY,
                grid=(shape.blocks,),
                block=(shape.threads,),
                args=arguments,
                seed=self.seed,
                quantum=self.quantum,
                maxsteps=MOST_STEPS,
                opt="-O0",  # building takes longer than running
                race=True,
            )
        assert not said["shared_races"], said["race"]
        assert not said["warn_divergent_barrier"], f"{kernel.__name__}: warps part before a barrier"
        assert not said["warn_shfl_inactive"], f"{kernel.__name__}: a lane reads from one that is not there"
