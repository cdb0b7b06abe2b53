"""From a program's plain functions to rules on keys, the form in which every device executes them.

A value becomes a 32-bit key whose order is 'better first': a whole number is its own code, a non-negative
float its bit pattern (IEEE 754 orders those like the numbers), and where larger is better the code is taken from
`WORST_KEY` downwards. `offer(key, weight)` decodes, applies the program's `edge`, and encodes again; a result that
does not fit becomes `TOO_LARGE`, which devices report instead of wrapping around.

One 64-bit word a vertex: its key above its parent, so that both change in one atomic step.

A key is an order-preserving code of the value, smaller is better; see `rules.py`. Among words, a smaller key
wins whatever the parent. Two parents are no vertices: `NO_PARENT` marks a root, `PENDING` a vertex whose
support was taken away and whose fate is not decided yet.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.errors import InvalidArgument
from grapin.programs.program import Monotone
from grapin.programs.starting import UNREACHED as UNREACHED_VALUE

NO_KEY = np.uint32(0xFFFFFFFF)
"""The key of a vertex that nothing reaches; every real key is smaller."""
WORST_KEY = np.uint32(0xFFFFFFFE)
NO_PARENT = np.uint32(0xFFFFFFFF)
PENDING = np.uint32(0xFFFFFFFE)
UNREACHED = np.uint64(0xFFFFFFFFFFFFFFFF)
"""No key, no parent."""
SHIFT = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)


_PACKAGE = f"{__name__.partition('.')[0]}."
_STEP = "Failed in nopython mode pipeline"
"""So begins each line that says only at which step of compilation an error came up."""

TOO_LARGE = 0x1FFFFFFFF
"""An offer outside 32 bits; larger than any key, so it never wins before it is reported."""


@dataclass(frozen=True)
class Coding:
    """How values of one program on one graph become keys."""

    real: bool
    """Values are 32-bit floats, not whole numbers."""
    larger: bool
    """Larger values are better; then nothing is 0, and a value of 0 is nothing."""

    def encode(self, values: NDArray[Any]) -> NDArray[np.uint32]:
        """Code an array of starting values; the largest whole number and infinity are the widest there is."""
        if self.real:
            raw = values.astype(np.float32).view(np.uint32)
        else:
            raw = np.minimum(values, int(WORST_KEY)).astype(np.uint32)
        return WORST_KEY - raw if self.larger else raw

    def decode(self, keys: NDArray[np.uint32]) -> NDArray[Any]:
        """Turn keys back into values, int64 or float32; nothing is `UNREACHED`, infinity or 0."""
        raw = WORST_KEY - keys if self.larger else keys
        values: NDArray[Any] = raw.view(np.float32).copy() if self.real else raw.astype(np.int64)
        if self.larger:
            values[keys == NO_KEY] = 0
            if not self.real:
                values[keys == 0] = UNREACHED_VALUE
        else:
            values[keys == NO_KEY] = np.inf if self.real else UNREACHED_VALUE
        return values


def coding(program: Monotone, weight_dtype: np.dtype[Any] | None) -> Coding:
    """Choose the code for a program's values on a graph with these weights."""
    real = program.values == "float" or (program.values == "weight" and weight_dtype == np.float32)
    return Coding(real=real, larger=program.better == "larger")


def make_offer(program: Monotone, code: Coding, compile_: Callable[[Any], Any]) -> Any:
    """Build `offer(key, weight) -> int64` for a device whose compiler is `compile_`."""
    edge = compile_(_adopted(type(program).edge))
    encode = _make_encode(code, compile_)
    worst, larger = np.int64(WORST_KEY), code.larger

    if code.real:

        def offer(key: Any, weight: Any) -> Any:
            raw = worst - np.int64(key) if larger else np.int64(key)
            return encode(edge(np.uint32(raw).view(np.float32), np.float32(weight)))

    else:

        def offer(key: Any, weight: Any) -> Any:
            raw = worst - np.int64(key) if larger else np.int64(key)
            return encode(edge(raw, np.int64(weight)))

    return compile_(offer)


def _make_encode(code: Coding, compile_: Callable[[Any], Any]) -> Any:
    worst, none, too_large = np.int64(WORST_KEY), np.int64(NO_KEY), np.int64(TOO_LARGE)
    larger = code.larger

    if code.real:

        def encode(value: Any) -> Any:
            # Adding zero makes 0.0 of -0.0, whose bit pattern would be the worst of all keys.
            number = np.float32(np.float32(value) + np.float32(0))
            if not number >= 0 or (number == np.inf and not larger):
                return too_large
            if larger and number == 0:
                return none
            raw = np.int64(number.view(np.uint32))
            return worst - raw if larger else raw

    else:

        def encode(value: Any) -> Any:
            raw = np.int64(value)
            if raw < 0 or raw > worst:
                return too_large
            if larger and raw == 0:
                return none
            return worst - raw if larger else raw

    return compile_(encode)


def make_start(program: Monotone, code: Coding, compile_: Callable[[Any], Any]) -> Any:
    """Build `start_key(vertex, roots, root_keys) -> int64`: the key a vertex has on its own, or NO_KEY."""
    none = np.int64(NO_KEY)
    own = type(program).start
    if own is not None:
        rule = compile_(_adopted(own))
        encode = _make_encode(code, compile_)

        def start_key(vertex: Any, roots: Any, root_keys: Any) -> Any:  # noqa: ARG001  (one signature)
            return encode(rule(np.int64(vertex)))

    else:

        def start_key(vertex: Any, roots: Any, root_keys: Any) -> Any:
            low, high = 0, roots.size
            while low < high:  # by hand: not every compiler knows NumPy's search
                middle = (low + high) // 2
                if roots[middle] < vertex:
                    low = middle + 1
                else:
                    high = middle
            if low < roots.size and roots[low] == vertex:
                return np.int64(root_keys[low])
            return none

    return compile_(start_key)


def _adopted(function: Any) -> FunctionType:
    """Return a copy of a user's function that belongs to this module.

    Numba writes down which module a function is from, to import it when machine code is read back from disk; a user's
    file, notebook or script cannot be imported by name.
    """
    code, names = function.__code__, function.__globals__
    copy = FunctionType(code, names, function.__name__, function.__defaults__, function.__closure__)
    copy.__module__ = __name__
    return copy


def digest(program: Monotone, code: Coding) -> str:
    """Name a program's compiled form: equal rules share machine code on disk, different ones never do."""
    parts = [fingerprint(type(program).edge, {}), repr(code)]
    if type(program).start is not None:
        parts.append(fingerprint(type(program).start, {}))
    parts.append(repr((program.weighted, program.both_ways)))
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:12]


def rebind(kernel: Any, name: str, **rules: Any) -> FunctionType:
    """Return a copy of a plain function in which the given global names are these rules.

    Numba finds machine code on disk by qualified name and line, so each binding gets a name of its own.
    """
    function = FunctionType(
        kernel.__code__,
        {**kernel.__globals__, **rules},
        f"{kernel.__name__}_{name}",
        kernel.__defaults__,
        kernel.__closure__,
    )
    function.__qualname__ = function.__name__
    function.__module__ = kernel.__module__
    return function


def fingerprint(function: Any, names: Mapping[str, Any]) -> str:
    """Name a function by its code and by what it finds under the names it uses, where `names` come before its own.

    A compiled function counts by its qualified name: where that holds its own fingerprint, all that it calls counts.
    """
    known = {**function.__globals__, **names}
    used = [known[each] for each in function.__code__.co_names if each in known]
    closed = [cell.cell_contents for cell in function.__closure__ or ()]
    constants = [each for each in function.__code__.co_consts if not isinstance(each, CodeType)]
    parts = (function.__code__.co_code, *map(_told, used + closed + constants))
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def _told(value: Any) -> str:
    """Write down a value that code uses; two that are not the same are never written alike."""
    value = getattr(value, "py_func", value)
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, FunctionType) and not value.__module__.startswith(_PACKAGE):
        return f"{value.__qualname__}{fingerprint(value, {})}"  # what is ours, `grapin.compiled.SOURCES` stands for
    if isinstance(value, FunctionType | BuiltinFunctionType | type):
        return f"{value.__module__}.{value.__qualname__}"
    return repr(value)


def does_not_compile(program: Monotone, error: Exception) -> InvalidArgument:
    """Return what to say when Numba cannot compile a program's `edge`: the line of its message that gives the cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if not line.startswith(_STEP)] or [type(error).__name__]
    # "... found for signature:" is followed by the call that has no compiled form.
    reason = " ".join(causes[: 2 if causes[0].endswith(":") else 1])
    return InvalidArgument(
        f"{type(program).__name__}.edge must compile: plain arithmetic on its two arguments ({reason}); "
        "device='reference' runs it as it is"
    )
