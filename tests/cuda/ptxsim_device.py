"""A device whose kernels are executed from their PTX: found by name, like any other, once a test lists it."""

from typing import Any

from ptxsim_backend import Ptx, missing

from grapin.cache import CacheSettings
from grapin.device import Cache, Query
from grapin.kernels.cuda.cache import CudaCache
from grapin.kernels.cuda.programs import make_query
from grapin.programs import Program
from grapin.system import System

name = "ptxsim"
unavailable = missing
BACKEND = Ptx()
"""One for all tests, so that each kernel is compiled once."""


def query(program: Program, system: System, *, weight_dtype: Any, directed: bool, threads: int) -> Query:
    return make_query(BACKEND, program, system, weight_dtype=weight_dtype, directed=directed)


def cache(settings: CacheSettings, system: System, *, arrays: int, weight_dtype: Any) -> Cache:
    return CudaCache(BACKEND, settings, system.transfer, arrays=arrays, weight_dtype=weight_dtype)
