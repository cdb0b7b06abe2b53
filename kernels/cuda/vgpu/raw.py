"""What Python has no word for: memory at an address, a call of compiled code, the lowest lane of a mask.

Numba reads the names of an intrinsic's arguments, whether or not it looks at their types.
"""

import ctypes
from typing import Any

from llvmlite import ir
from numba.core import cgutils as code
from numba.core import types

from grapin.graph.packed import intrinsic

_C = {1: ctypes.c_uint8, 2: ctypes.c_uint16, 4: ctypes.c_uint32, 8: ctypes.c_int64}


def _reader(size: int) -> Any:
    def plain(address: Any) -> Any:
        return _C[size].from_address(int(address)).value

    def read(_typing: Any, address: Any) -> Any:  # noqa: ARG001
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            number = ir.IntType(8 * size)
            found = builder.load(builder.inttoptr(arguments[0], number.as_pointer()))
            return found if size == 8 else builder.zext(found, ir.IntType(64))

        return types.int64(types.int64), generate

    return intrinsic(plain)(read)


def _writer(size: int) -> Any:
    def plain(address: Any, value: Any) -> None:
        _C[size].from_address(int(address)).value = int(value) & ((1 << 8 * size) - 1)

    def write(_typing: Any, address: Any, value: Any) -> Any:  # noqa: ARG001
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            number = ir.IntType(8 * size)
            value = arguments[1] if size == 8 else builder.trunc(arguments[1], number)
            builder.store(value, builder.inttoptr(arguments[0], number.as_pointer()))
            return context.get_dummy_value()

        return types.none(types.int64, types.int64), generate

    return intrinsic(plain)(write)


read_1, read_2, read_4, read_8 = (_reader(size) for size in _C)
write_1, write_2, write_4, write_8 = (_writer(size) for size in _C)


def _call_plainly(function: Any, warp: Any, launch: Any) -> Any:
    made = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
    return made(int(function))(int(warp), int(launch))


@intrinsic(_call_plainly)
def call(_typing: Any, function: Any, warp: Any, launch: Any) -> Any:  # noqa: ARG001
    """Call a kernel's compiled code with a warp's and the launch's memory, all given as addresses."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        byte = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.IntType(32), [byte, byte])
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        found = builder.call(function, [builder.inttoptr(one, byte) for one in arguments[1:]])
        return builder.sext(found, ir.IntType(64))

    return types.int64(types.int64, types.int64, types.int64), generate


def _prefetch_plainly(address: Any) -> None:
    pass


@intrinsic(_prefetch_plainly)
def prefetch(_typing: Any, address: Any) -> Any:  # noqa: ARG001
    """Ask for the CPU's cache line of an address; harmless whatever it is."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        insert: Any = code.get_or_insert_function
        function = insert(builder.module, kind, "llvm.prefetch.p0")
        read, keep, data = word(0), word(3), word(1)
        builder.call(function, [builder.inttoptr(arguments[0], byte), read, keep, data])
        return context.get_dummy_value()

    return types.none(types.int64), generate


def _lowest_plainly(mask: Any) -> Any:
    return (int(mask) & -int(mask)).bit_length() - 1


@intrinsic(_lowest_plainly)
def lowest(_typing: Any, mask: Any) -> Any:  # noqa: ARG001
    """Return the lowest lane of a mask that is not empty."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


def _count_plainly(mask: Any) -> Any:
    return int(mask).bit_count()


@intrinsic(_count_plainly)
def count_lanes(_typing: Any, mask: Any) -> Any:  # noqa: ARG001
    """Return how many lanes a mask has."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate
