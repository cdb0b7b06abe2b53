"""The simulated GPU with a planted bug: a minimum reads, lets other lanes go on, and writes by what it read."""

from typing import Any

from grapin.device import Query
from grapin.kernels.cuda.backend import Shape
from grapin.kernels.cuda.programs import make_query
from grapin.kernels.cuda.simulator import Simulator, _Atomic
from grapin.programs.program import Program
from grapin.system import System

name = "non-atomic minimum"


def unavailable() -> str | None:
    return None


def query(program: Program, system: System, *, weight_dtype: Any, directed: bool, threads: int) -> Query:
    simulator = Simulator(warp=4, shape=Shape(1, 8))
    simulator._block.cuda._atomic = InTwoSteps(simulator._block)
    return make_query(simulator, program, system, weight_dtype=weight_dtype, directed=directed)


class InTwoSteps(_Atomic):
    def min(self, array: Any, index: Any, value: Any) -> Any:
        before = array[index]
        for _ in range(8):
            self._block.pause()
        if value < before:
            array[index] = value
        return before
