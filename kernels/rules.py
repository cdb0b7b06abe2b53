"""From a program's plain functions to rules on keys, the form in which every device executes them.

A value becomes a 32-bit key whose order is 'better first': a whole number is its own code, a non-negative
float its bit pattern (IEEE 754 orders those like the numbers), and where larger is better the code is taken from
`WORST_KEY` downwards. `offer(key, weight)` decodes, applies the program's `edge`, and encodes again; a result that
does not fit becomes `TOO_LARGE`, which devices report instead of wrapping around.
"""

import hashlib
import marshal
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.kernels.words import NO_KEY, WORST_KEY
from grapin.programs.program import Monotone

TOO_LARGE = 0x1FFFFFFFF
"""An offer outside 32 bits; larger than any key, so it never wins before it is reported."""


@dataclass(frozen=True)
class Coding:
    """How values of one program on one graph become keys."""

    real: bool
    """Values are 32-bit floats, not whole numbers."""
    larger: bool
    """Larger values are better."""
    unreached: float

    def encode(self, values: NDArray[Any]) -> NDArray[np.uint32]:
        """Code an array of values; infinity is the widest there is."""
        if self.real:
            raw = values.astype(np.float32).view(np.uint32)
        else:
            raw = np.minimum(values, float(WORST_KEY)).astype(np.uint32)
        return (WORST_KEY - raw) if self.larger else raw

    def decode(self, keys: NDArray[np.uint32]) -> NDArray[Any]:
        """Turn keys back into values: int64 or float32, with the program's mark where nothing reaches."""
        raw = (WORST_KEY - keys) if self.larger else keys
        values: NDArray[Any] = raw.view(np.float32).copy() if self.real else raw.astype(np.int64)
        values[keys == NO_KEY] = self.unreached
        return values


def coding(program: Monotone, weight_dtype: np.dtype[Any] | None) -> Coding:
    """Choose the code for a program's values on a graph with these weights."""
    real = program.values == "float" or (program.values == "weight" and weight_dtype == np.float32)
    return Coding(real=real, larger=program.better == "larger", unreached=program.unreached)


def make_offer(program: Monotone, code: Coding, compile_: Callable[[Any], Any]) -> Any:
    """Build `offer(key, weight) -> int64` for a device whose compiler is `compile_`."""
    edge = compile_(type(program).edge)
    worst, too_large = np.int64(WORST_KEY), np.int64(TOO_LARGE)
    larger = code.larger

    if not code.real:

        def offer(key: Any, weight: Any) -> Any:
            value = worst - np.int64(key) if larger else np.int64(key)
            result = np.int64(edge(value, np.int64(weight)))
            if result < 0 or result > worst:
                return too_large
            return worst - result if larger else result

    else:

        def offer(key: Any, weight: Any) -> Any:
            raw = worst - np.int64(key) if larger else np.int64(key)
            value = np.uint32(raw).view(np.float32)
            result = np.float32(edge(value, np.float32(weight)))
            if not result >= 0 or result == np.inf:
                return too_large
            code_ = np.int64(result.view(np.uint32))
            return worst - code_ if larger else code_

    return compile_(offer)


def make_start(program: Monotone, compile_: Callable[[Any], Any]) -> Any:
    """Build `start_key(vertex, roots, root_keys) -> int64`: the key a vertex has on its own, or NO_KEY."""
    none = np.int64(NO_KEY)
    own = type(program).start
    if own is not None:
        rule = compile_(own)

        def start_key(vertex: Any, roots: Any, root_keys: Any) -> Any:  # noqa: ARG001
            return np.int64(rule(np.int64(vertex)))

    else:

        def start_key(vertex: Any, roots: Any, root_keys: Any) -> Any:
            place = np.searchsorted(roots, vertex)
            if place < roots.size and roots[place] == vertex:
                return np.int64(root_keys[place])
            return none

    return compile_(start_key)


def digest(program: Monotone, code: Coding) -> str:
    """Name a program's compiled form: equal rules share machine code on disk, different ones never do."""
    parts = [marshal.dumps(_code(type(program).edge)), repr(code).encode()]
    if type(program).start is not None:
        parts.append(marshal.dumps(_code(type(program).start)))
    parts.append(repr((program.weighted, program.both_ways)).encode())
    return hashlib.sha256(b"|".join(parts)).hexdigest()[:12]


def _code(function: Any) -> tuple[object, ...]:
    code = function.__code__
    closure = tuple(repr(cell.cell_contents) for cell in function.__closure__ or ())
    names = tuple((name, repr(function.__globals__.get(name))) for name in code.co_names)
    constants = tuple(repr(constant) for constant in code.co_consts)
    return code.co_code, constants, names, closure


def rebind(kernel: Any, name: str, **rules: Any) -> FunctionType:
    """Return a copy of a kernel's plain function in which the given global names are these rules.

    Numba finds machine code on disk by qualified name and line, so each binding gets a name of its own.
    """
    function = FunctionType(
        kernel.__code__, {**kernel.__globals__, **rules}, f"{kernel.__name__}_{name}", kernel.__defaults__
    )
    function.__qualname__ = function.__name__
    function.__module__ = kernel.__module__
    return function
