"""Which query keeps which kind of program up to date, on any backend."""

from typing import Any

from grapin.device import Query
from grapin.errors import InvalidArgument
from grapin.kernels.cuda.accumulative.query import AccumulativeQuery
from grapin.kernels.cuda.backend import Backend
from grapin.kernels.cuda.monotone.query import MonotoneQuery
from grapin.kernels.cuda.triangles import TriangleQuery
from grapin.programs import Accumulative, Monotone, Program, Triangles
from grapin.system import Staged, System
from grapin.validation import refuse


def make_query(
    backend: Backend, program: Program, system: System, *, weight_dtype: Any, directed: bool
) -> Query:
    """Prepare one program for graphs with these weights."""
    if isinstance(program, Monotone):
        return MonotoneQuery(backend, program, system, weight_dtype=weight_dtype, directed=directed)
    if isinstance(system.transfer, Staged):
        refuse(
            "system",
            system.name,
            f"be one that copies nothing: {program.name} does not read staged lists yet",
        )
    if isinstance(program, Accumulative):
        return AccumulativeQuery(backend, program, system, weight_dtype=weight_dtype)
    if isinstance(program, Triangles):
        return TriangleQuery(backend, program, system)
    raise InvalidArgument(f"program={program!r} must be a Monotone or an Accumulative program, or Triangles")
