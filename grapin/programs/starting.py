"""Starting values: which vertices a monotone program starts from, and what each may start with.

They are checked twice by the same rule: when the program is made, as far as the program alone tells, and against the
type of the weights when something executes it, where values are what the weights are.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grapin.edges import COUNTED_BY_FLOATS, MOST_VERTICES
from grapin.validation import check_integer, refuse

if TYPE_CHECKING:
    from grapin.programs.program import Monotone

UNREACHED = 2**63 - 1
"""The value of a vertex that nothing reaches when smaller is better; infinity where values are floats."""
LARGEST = 2**32 - 2
"""The largest whole number that is a value."""
_LARGEST_FLOAT = float(np.finfo(np.float32).max)
_LEAST_FLOAT = float(np.finfo(np.float32).smallest_subnormal)


def read_sources(given: Any, kind: "type[Monotone]") -> dict[int, float]:
    """Return the vertices that a caller names, each with its starting value, or refuse them."""
    if isinstance(given, (str, bytes)):
        refuse("source", given, "be a vertex, several, or a mapping from vertex to starting value")
    if isinstance(given, Mapping):
        pairs, values = list(given.items()), "source[{}]"
    else:
        pairs, values = (
            [(vertex, kind.source_value) for vertex in _listed(given)],
            f"{kind.__name__}.source_value",
        )
    if not pairs:
        refuse("source", given, "hold at least one vertex")
    real = {"int": False, "float": True, "weight": None}[kind.values]
    return {
        vertex: starting_value(values.format(vertex), start, larger=kind.better == "larger", real=real)
        for vertex, start in ((_vertex(one), value) for one, value in pairs)
    }


def starting_values(program: "Monotone", *, real: bool) -> dict[int, float]:
    """Return what each source starts with where values are floats, or whole numbers; refuse what is no such value."""
    if type(program).start is not None:
        return {}
    larger = program.better == "larger"
    return {
        vertex: starting_value(f"source[{vertex}]", value, larger=larger, real=real)
        for vertex, value in program.sources.items()
    }


def source_arrays(program: "Monotone", *, real: bool) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the sources in ascending order with their starting values."""
    values = starting_values(program, real=real)
    vertices = sorted(values)
    return np.array(vertices, np.int32), np.array([values[v] for v in vertices], np.float64)


def starting_value(name: str, value: Any, *, larger: bool, real: bool | None) -> float:
    """Return a value that a vertex may start with, or refuse it; `real` is None while the weights' type is unknown.

    Whole numbers that 32-bit floats cannot hold are refused, where they are no floats of 2**53 and more, which are
    rounded numbers already; other numbers are rounded.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        refuse(name, value, "be a number")
    plain: float = value.item() if isinstance(value, np.generic) else value
    if larger and (plain == float("inf") or (real is False and plain == UNREACHED)):
        return float("inf")  # where values are whole numbers, it is shown as the largest of 64 bits
    if real is False:
        return _whole(name, plain, larger=larger)
    least = _LEAST_FLOAT if larger else 0.0
    # Whatever is not a number fails the comparison as well.
    if not least <= plain <= _LARGEST_FLOAT:
        refuse(
            name, plain, f"be a number from {least:.2g} to {_LARGEST_FLOAT:.2g}{_or_infinity(larger=larger)}"
        )
    if real is None:
        return plain
    stored = float(np.float32(plain))
    counted = isinstance(plain, int) or (plain < COUNTED_BY_FLOATS and plain.is_integer())
    if counted and stored != plain:
        refuse(name, plain, "be exact as a 32-bit float, as values are on this graph")
    return stored + 0.0  # -0.0 is 0.0, whose bit pattern orders before all others


def _whole(name: str, value: float, *, larger: bool) -> int:
    least, most = (1, LARGEST - 1) if larger else (0, LARGEST)
    if not least <= value <= most or value != int(value):
        refuse(name, value, f"be a whole number from {least} to {most}{_or_infinity(larger=larger)}")
    return int(value)


def _or_infinity(*, larger: bool) -> str:
    return ", or infinity" if larger else ""


def _listed(given: Any) -> list[Any]:
    """Return one vertex or several as a list; an array of no dimensions is one."""
    if isinstance(given, Iterable) and getattr(given, "ndim", 1) > 0:
        return list(given)
    return [given]


def _vertex(given: Any) -> int:
    return check_integer("source", given, least=0, most=MOST_VERTICES - 1)
