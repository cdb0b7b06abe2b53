"""Which query keeps which kind of program up to date, on any backend."""

from typing import Any

from grapin.device import Query
from grapin.errors import InvalidArgument
from grapin.kernels.cuda.backend import Backend
from grapin.kernels.cuda.monotone.query import MonotoneQuery
from grapin.kernels.cuda.pagerank.query import PageRankQuery
from grapin.programs import Monotone, PageRank, Program
from grapin.system import System


def make_query(
    backend: Backend, program: Program, system: System, *, weight_dtype: Any, directed: bool
) -> Query:
    """Prepare one program for graphs with these weights."""
    if isinstance(program, Monotone):
        return MonotoneQuery(backend, program, system, weight_dtype=weight_dtype, directed=directed)
    if isinstance(program, PageRank):
        return PageRankQuery(backend, program, system)
    raise InvalidArgument(f"program={program!r} must be a Monotone program or PageRank on this device")
