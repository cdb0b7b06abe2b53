"""The device `vgpu`: the kernels of `cuda` as compiled for a GPU, executed warp by warp on any CPU and measured."""

from functools import cache as once
from typing import Any

from grapin.cache import CacheSettings
from grapin.compiled import PLAIN
from grapin.device import Cache, Query
from grapin.kernels.cuda.assembly import missing
from grapin.programs.program import Program
from grapin.system import System

name = "vgpu"
stages = True


def unavailable() -> str | None:
    """Say what to install where there is no CUDA compiler."""
    if PLAIN:
        return "NUMBA_DISABLE_JIT=1 keeps everything Python, and PTX has to be compiled: unset it"
    return missing()


def query(program: Program, system: System, *, weight_dtype: Any, directed: bool, threads: int) -> Query:  # noqa: ARG001
    """Prepare one program for graphs with these weights; one thread executes all warps."""
    from grapin.kernels.cuda.programs import make_query

    return make_query(backend(), program, system, weight_dtype=weight_dtype, directed=directed)


def cache(settings: CacheSettings, system: System, *, arrays: int, weight_dtype: Any) -> Cache:
    """Return an empty cache in the device's memory."""
    from grapin.kernels.cuda.cache import CudaCache

    return CudaCache(backend(), settings, system.transfer, arrays=arrays, weight_dtype=weight_dtype)


@once
def backend() -> Any:
    """Return the backend that all programs of the process share, with the kernels translated so far."""
    from grapin.kernels.cuda.vgpu.backend import VirtualBackend

    return VirtualBackend()
