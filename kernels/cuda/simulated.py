"""The device `cudasim`: the kernels of `cuda` in Numba's simulator, on any machine; for tests, not for speed."""

from importlib.util import find_spec
from typing import Any

from grapin.cache import CacheSettings
from grapin.device import Cache, Query
from grapin.programs.program import Program
from grapin.system import System

name = "cudasim"
stages = True


def unavailable() -> str | None:
    """Say what to install, where Numba's CUDA target is not."""
    if find_spec("numba_cuda") is None:
        return "numba-cuda is missing: pip install 'grapin[cudasim]'"
    return None


def query(program: Program, system: System, *, weight_dtype: Any, directed: bool, threads: int) -> Query:  # noqa: ARG001
    """Prepare one program for graphs with these weights; `threads` is of no use here."""
    from grapin.kernels.cuda.programs import make_query
    from grapin.kernels.cuda.simulator import Simulator

    return make_query(Simulator(), program, system, weight_dtype=weight_dtype, directed=directed)


def cache(settings: CacheSettings, system: System, *, arrays: int, weight_dtype: Any) -> Cache:
    """Return an empty cache in the device's memory."""
    from grapin.kernels.cuda.cache import CudaCache
    from grapin.kernels.cuda.simulator import Simulator

    return CudaCache(Simulator(), settings, system.transfer, arrays=arrays, weight_dtype=weight_dtype)
