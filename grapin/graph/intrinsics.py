"""Two machine instructions that Python has no word for: move memory that overlaps, and fetch a line ahead.

Each is one LLVM instruction inside compiled code. NumPy slices are no substitute: an assignment between
overlapping slices becomes a scalar loop, and there is no hint for the cache at all.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils as _code
from numba.core import types
from numba.extending import intrinsic as _intrinsic
from numpy.typing import NDArray

from grapin.compiled import PLAIN, inlined

# Neither carries types that a strict checker could use.
code: Any = _code


def intrinsic(plain: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make an instruction; where nothing is compiled, the Python function `plain` does what it would do."""

    def chosen(make: Callable[..., Any]) -> Callable[..., Any]:
        made: Callable[..., Any] = plain if PLAIN else _intrinsic(make)
        return made

    return chosen


def _element(context: Any, builder: Any, signature: Any, arguments: Any, index: int) -> Any:
    kind = signature.args[0]
    array = context.make_array(kind)(context, builder, arguments[0])
    place = context.cast(builder, arguments[index], signature.args[index], types.intp)
    return code.get_item_pointer(context, builder, kind, array, [place], wraparound=False)


def _move_plainly(array: Any, to: Any, start: Any, count: Any) -> None:
    array[to : to + count] = array[start : start + count].copy()


def _prefetch_nothing(_array: Any, _index: Any) -> None:
    pass


@intrinsic(_move_plainly)
def _move(_typing: Any, array: Any, to: Any, start: Any, count: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        destination = _element(context, builder, signature, arguments, 1)
        source = _element(context, builder, signature, arguments, 2)
        code.raw_memmove(builder, destination, source, arguments[3], np.dtype(np.int32).itemsize)
        return context.get_dummy_value()

    return types.none(array, to, start, count), generate


@intrinsic(_prefetch_nothing)
def _prefetch(_typing: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _element(context, builder, signature, arguments, 1)
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = code.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        read, keep, data = word(0), word(3), word(1)
        builder.call(function, [builder.bitcast(address, byte), read, keep, data])
        return context.get_dummy_value()

    return types.none(array, index), generate


@inlined
def move(array: NDArray[np.int32], to: int, start: int, count: int) -> None:
    """Move `count` elements from `start` to `to` within one array, correct where the two ranges overlap."""
    _move(array, to, start, count)


@inlined
def prefetch(array: NDArray[Any], index: int) -> None:
    """Ask for the cache line of one element; harmless whatever the index."""
    _prefetch(array, index)
