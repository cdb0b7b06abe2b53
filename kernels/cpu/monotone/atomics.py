"""Atomic steps on array elements: what threads may do to the same word at the same time.

Each is one instruction of the processor, made by an intrinsic because Numba has none for the CPU. Changes are
sequentially consistent; a load is an acquire: what the program reads after it is not read before it.
"""

from typing import Any

from numba.core import types

from grapin.compiled import kernel
from grapin.graph.packed import intrinsic

_WORD_BYTES = 8


def _element(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(array.data, [arguments[1]])


def _lower_plainly(array: Any, index: Any, value: Any) -> Any:
    before = array[index]
    array[index] = min(before, value)
    return before


def _add_plainly(array: Any, index: Any, value: Any) -> Any:
    before = array[index]
    array[index] += value
    return before


def _load_plainly(array: Any, index: Any) -> Any:
    return array[index]


def _changing(operation: str, plain: Any) -> Any:
    """Make an intrinsic that changes one 64-bit element and returns what it was."""

    def step(_typing: Any, array: Any, _index: Any, _value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address = _element(context, builder, signature, arguments)
            return builder.atomic_rmw(operation, address, arguments[2], "seq_cst")

        return array.dtype(array, types.intp, array.dtype), generate

    return intrinsic(plain)(step)


_minimum = _changing("umin", _lower_plainly)
_sum = _changing("add", _add_plainly)


@intrinsic(_load_plainly)
def _load(_typing: Any, array: Any, _index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _element(context, builder, signature, arguments)
        return builder.load_atomic(address, "acquire", _WORD_BYTES)

    return array.dtype(array, types.intp), generate


@kernel
def atomic_load(words: Any, index: int) -> Any:
    """Return one 64-bit element, read whole and before anything that is read later."""
    return _load(words, index)


@kernel
def atomic_minimum(words: Any, index: int, word: Any) -> Any:
    """Lower one uint64 element to `word` unless it is smaller already. Return what it was."""
    return _minimum(words, index, word)


@kernel
def atomic_add(counters: Any, index: int, amount: int) -> Any:
    """Add to one int64 element. Return what it was."""
    return _sum(counters, index, amount)
