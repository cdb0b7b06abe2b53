"""The device `cpu`: always there, and the default where there is no GPU."""

from typing import Any

from grapin.cache import CacheSettings
from grapin.device import Query
from grapin.errors import InvalidArgument
from grapin.kernels.cpu.accumulative.query import AccumulativeQuery
from grapin.kernels.cpu.copies import HostCache
from grapin.kernels.cpu.monotone.query import MonotoneQuery
from grapin.kernels.cpu.triangles import TriangleQuery
from grapin.programs import Accumulative, Monotone, Program, Triangles
from grapin.system import System

name = "cpu"


def unavailable() -> str | None:
    """Return None: every machine has a CPU."""
    return None


def query(program: Program, system: System, *, weight_dtype: Any, directed: bool, threads: int) -> Query:
    """Prepare one program for graphs with these weights."""
    if isinstance(program, Monotone):
        return MonotoneQuery(program, system, weight_dtype=weight_dtype, directed=directed, threads=threads)
    if isinstance(program, Accumulative):
        return AccumulativeQuery(program, system, weight_dtype=weight_dtype, threads=threads)
    if isinstance(program, Triangles):
        return TriangleQuery(program, system)
    raise InvalidArgument(f"program={program!r} must be a Monotone or an Accumulative program")


def cache(settings: CacheSettings, system: System, *, arrays: int, weight_dtype: Any) -> HostCache:  # noqa: ARG001
    """Return an empty cache; how the system moves data makes no difference to a second array."""
    return HostCache(settings, arrays=arrays, weight_dtype=weight_dtype)
