"""The device `cuda`: an NVIDIA GPU, with edges in host memory and vertex state in its own."""

from functools import cache as once
from importlib.util import find_spec
from typing import Any

from grapin.cache import CacheSettings
from grapin.device import Cache, Query
from grapin.programs.program import Program
from grapin.system import System

name = "cuda"
stages = True


def unavailable() -> str | None:
    """Say what is missing: libraries, or a GPU that they can use."""
    libraries = {"numba_cuda": "numba-cuda", "cupy": "CuPy"}
    missing = [library for module, library in libraries.items() if find_spec(module) is None]
    if missing:
        are = "is" if len(missing) == 1 else "are"
        remedy = "pip install 'grapin[cuda12]' or 'grapin[cuda13]', as the driver is"
        return f"{' and '.join(missing)} {are} missing: {remedy}"
    return _unusable()


@once
def _unusable() -> str | None:
    import cupy
    from numba import cuda
    from numba.core import config

    if getattr(config, "ENABLE_CUDASIM", False):
        return "NUMBA_ENABLE_CUDASIM replaces the GPU by Numba's simulator: unset it, or use device='cudasim'"
    if not cuda.is_available() or len(cuda.gpus) == 0:
        reason = cuda.cuda_error() or "the driver finds none"
        return (
            f"there is no GPU that Numba can use ({' '.join(str(reason).split())}); device='cpu' needs none"
        )
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"CuPy cannot use the GPU ({error}): install the extra of the driver's CUDA version, cuda12 or cuda13"
    return None


def query(program: Program, system: System, *, weight_dtype: Any, directed: bool, threads: int) -> Query:  # noqa: ARG001
    """Prepare one program for graphs with these weights; `threads` is the CPU's affair."""
    from grapin.kernels.cuda.programs import make_query

    return make_query(_gpu(), program, system, weight_dtype=weight_dtype, directed=directed)


def cache(settings: CacheSettings, system: System, *, arrays: int, weight_dtype: Any) -> Cache:
    """Return an empty cache in the device's memory."""
    from grapin.kernels.cuda.cache import CudaCache

    return CudaCache(_gpu(), settings, system.transfer, arrays=arrays, weight_dtype=weight_dtype)


@once
def _gpu() -> Any:
    """Return the backend that all programs of the process share, with one stream and the kernels compiled so far."""
    from grapin.kernels.cuda.gpu import Gpu

    return Gpu()
