"""Bits: logic, shifts, fields, permutations and counts, as LLVM instructions on vectors of 32 lanes."""

from grapin.kernels.cuda.vgpu.emitter import (
    Emitter,
    bits,
    element,
    immediate,
    integers,
    is_signed,
    lowers,
    splat,
    vector,
)
from grapin.kernels.cuda.vgpu.ptx import Instruction, UnsupportedPtx


@lowers("and", "or", "xor")
def _logic(e: Emitter, one: Instruction) -> None:
    kind = one.type
    left, right = (e.value(operand, kind) for operand in one.operands[1:3])
    e.write(one.operands[0], kind, e.new(f"{one.opcode} {vector(kind)} {left}, {right}"))


@lowers("not")
def _complement(e: Emitter, one: Instruction) -> None:
    kind = one.type
    value = e.value(one.operands[1], kind)
    e.write(one.operands[0], kind, e.new(f"xor {vector(kind)} {value}, {splat(-1, bits(kind))}"))


@lowers("cnot")
def _is_zero(e: Emitter, one: Instruction) -> None:
    kind = one.type
    zero = e.new(f"icmp eq {vector(kind)} {e.value(one.operands[1], kind)}, zeroinitializer")
    e.write(one.operands[0], kind, e.new(f"zext {integers(1)} {zero} to {vector(kind)}"))


@lowers("shl", "shr")
def _shift(e: Emitter, one: Instruction) -> None:
    kind, count = one.type, bits(one.type)
    value, amount = e.value(one.operands[1], kind), e.value(one.operands[2], "u32")
    if one.opcode == "shr" and is_signed(kind):
        least = e.call("llvm.umin", "i32", ("i32", amount), ("i32", splat(count - 1, 32)))
        by = e.half(least, 32, count, signed=False)
        e.write(one.operands[0], kind, e.new(f"ashr {vector(kind)} {value}, {by}"))
        return
    far = e.new(f"icmp uge {integers(32)} {amount}, {splat(count, 32)}")
    least = e.new(f"select {integers(1)} {far}, {integers(32)} zeroinitializer, {integers(32)} {amount}")
    by = e.half(least, 32, count, signed=False)
    moved = e.new(f"{'shl' if one.opcode == 'shl' else 'lshr'} {vector(kind)} {value}, {by}")
    e.write(
        one.operands[0],
        kind,
        e.new(f"select {integers(1)} {far}, {vector(kind)} zeroinitializer, {vector(kind)} {moved}"),
    )


@lowers("shf")
def _funnel(e: Emitter, one: Instruction) -> None:
    low, high, amount = (e.value(operand, "u32") for operand in one.operands[1:4])
    if "wrap" in one.modifiers:
        amount = e.new(f"and {integers(32)} {amount}, {splat(31, 32)}")
    else:
        amount = e.call("llvm.umin", "i32", ("i32", amount), ("i32", splat(32, 32)))
    low, high, by = (e.half(value, 32, 64, signed=False) for value in (low, high, amount))
    both = e.new(f"or {integers(64)} {low}, {e.new(f'shl {integers(64)} {high}, {splat(32, 64)}')}")
    left = "l" in one.modifiers
    moved = e.new(f"{'shl' if left else 'lshr'} {integers(64)} {both}, {by}")
    if left:
        moved = e.new(f"lshr {integers(64)} {moved}, {splat(32, 64)}")
    e.write(one.operands[0], "b32", e.half(moved, 64, 32, signed=False))


def _ones(e: Emitter, length: str, count: int) -> str:
    """Return numbers with the lowest `length` bits set, all for `count` or more."""
    all_ = e.new(f"icmp uge {integers(count)} {length}, {splat(count, count)}")
    safe = e.new(
        f"select {integers(1)} {all_}, {integers(count)} zeroinitializer, {integers(count)} {length}"
    )
    power = e.new(f"shl {integers(count)} {splat(1, count)}, {safe}")
    some = e.new(f"sub {integers(count)} {power}, {splat(1, count)}")
    return e.new(
        f"select {integers(1)} {all_}, {integers(count)} {splat(-1, count)}, {integers(count)} {some}"
    )


def _byte(e: Emitter, operand: str, count: int) -> str:
    low = e.new(f"and {integers(32)} {e.value(operand, 'u32')}, {splat(255, 32)}")
    return e.half(low, 32, count, signed=False)


def _moved(e: Emitter, operation: str, value: str, by: str, count: int) -> str:
    """Shift, by any amount."""
    if operation == "ashr":
        least = e.call("llvm.umin", f"i{count}", (f"i{count}", by), (f"i{count}", splat(count - 1, count)))
        return e.new(f"ashr {integers(count)} {value}, {least}")
    far = e.new(f"icmp uge {integers(count)} {by}, {splat(count, count)}")
    safe = e.new(f"select {integers(1)} {far}, {integers(count)} zeroinitializer, {integers(count)} {by}")
    moved = e.new(f"{operation} {integers(count)} {value}, {safe}")
    return e.new(f"select {integers(1)} {far}, {integers(count)} zeroinitializer, {integers(count)} {moved}")


@lowers("bfe")
def _extract(e: Emitter, one: Instruction) -> None:
    kind, count = one.type, bits(one.type)
    value = e.value(one.operands[1], kind)
    place, length = (_byte(e, operand, count) for operand in one.operands[2:4])
    found = _moved(e, "ashr" if is_signed(kind) else "lshr", value, place, count)
    if is_signed(kind):
        least = e.call("llvm.umin", f"i{count}", (f"i{count}", length), (f"i{count}", splat(count, count)))
        left = e.new(f"sub {integers(count)} {splat(count, count)}, {least}")
        found = _moved(e, "ashr", _moved(e, "shl", found, left, count), left, count)
        none = e.new(f"icmp eq {integers(count)} {length}, zeroinitializer")
        found = e.new(f"select {integers(1)} {none}, {vector(kind)} zeroinitializer, {vector(kind)} {found}")
    else:
        found = e.new(f"and {integers(count)} {found}, {_ones(e, length, count)}")
    e.write(one.operands[0], kind, found)


@lowers("bfi")
def _insert(e: Emitter, one: Instruction) -> None:
    kind, count = one.type, bits(one.type)
    part, whole = (e.value(operand, kind) for operand in one.operands[1:3])
    place, length = (_byte(e, operand, count) for operand in one.operands[3:5])
    mask = _moved(e, "shl", _ones(e, length, count), place, count)
    moved = e.new(f"and {integers(count)} {_moved(e, 'shl', part, place, count)}, {mask}")
    others = e.new(f"xor {integers(count)} {mask}, {splat(-1, count)}")
    kept = e.new(f"and {integers(count)} {whole}, {others}")
    e.write(one.operands[0], kind, e.new(f"or {integers(count)} {kept}, {moved}"))


@lowers("bfind")
def _find_highest(e: Emitter, one: Instruction) -> None:
    kind, count = one.type, bits(one.type)
    value = e.value(one.operands[1], kind)
    if is_signed(kind):
        sign = e.new(f"ashr {vector(kind)} {value}, {splat(count - 1, count)}")
        value = e.new(f"xor {vector(kind)} {value}, {sign}")
    zeros = e.call("llvm.ctlz", element(kind), (element(kind), value), ("flag", "false"))
    place = e.half(zeros, count, 32, signed=False)
    if "shiftamt" in one.modifiers:
        none = e.new(f"icmp eq {vector(kind)} {value}, zeroinitializer")
        place = e.new(f"select {integers(1)} {none}, {integers(32)} {splat(-1, 32)}, {integers(32)} {place}")
    else:
        place = e.new(f"sub {integers(32)} {splat(count - 1, 32)}, {place}")
    e.write(one.operands[0], "u32", place)


@lowers("clz", "popc", "brev")
def _count_bits(e: Emitter, one: Instruction) -> None:
    kind = one.type
    name = {"clz": "llvm.ctlz", "popc": "llvm.ctpop", "brev": "llvm.bitreverse"}[one.opcode]
    more = [("flag", "false")] if one.opcode == "clz" else []
    found = e.call(name, element(kind), (element(kind), e.value(one.operands[1], kind)), *more)
    if one.opcode == "brev":
        e.write(one.operands[0], kind, found)
    else:
        e.write(one.operands[0], "u32", e.half(found, bits(kind), 32, signed=False))


@lowers("lop3")
def _any_logic(e: Emitter, one: Instruction) -> None:
    values = [e.value(operand, "b32") for operand in one.operands[1:4]]
    opposites = [e.new(f"xor {integers(32)} {value}, {splat(-1, 32)}") for value in values]
    table = immediate(one.operands[4], "u32") or 0
    found = "zeroinitializer"
    for row in range(8):
        if table >> row & 1:
            a, b, c = (values[i] if row >> 2 - i & 1 else opposites[i] for i in range(3))
            both = e.new(f"and {integers(32)} {a}, {b}")
            found = e.new(f"or {integers(32)} {found}, {e.new(f'and {integers(32)} {both}, {c}')}")
    e.write(one.operands[0], "b32", found)


@lowers("prmt")
def _permute(e: Emitter, one: Instruction) -> None:
    if one.modifiers != ("b32",):
        raise UnsupportedPtx("bytes are permuted in the plain mode only")
    low, high, choice = (e.value(operand, "u32") for operand in one.operands[1:4])
    low, high = (e.half(value, 32, 64, signed=False) for value in (low, high))
    both = e.new(f"or {integers(64)} {low}, {e.new(f'shl {integers(64)} {high}, {splat(32, 64)}')}")
    choice = e.half(choice, 32, 64, signed=False)
    found = "zeroinitializer"
    for place in range(4):
        nibble = e.new(f"lshr {integers(64)} {choice}, {splat(4 * place, 64)}")
        index = e.new(f"and {integers(64)} {nibble}, {splat(7, 64)}")
        by = e.new(f"shl {integers(64)} {index}, {splat(3, 64)}")
        byte = e.new(f"and {integers(64)} {e.new(f'lshr {integers(64)} {both}, {by}')}, {splat(255, 64)}")
        sign = e.new(f"lshr {integers(64)} {byte}, {splat(7, 64)}")
        signs = e.new(f"mul {integers(64)} {sign}, {splat(255, 64)}")
        wanted = e.new(f"and {integers(64)} {nibble}, {splat(8, 64)}")
        replicate = e.new(f"icmp ne {integers(64)} {wanted}, zeroinitializer")
        byte = e.new(f"select {integers(1)} {replicate}, {integers(64)} {signs}, {integers(64)} {byte}")
        found = e.new(
            f"or {integers(64)} {found}, {e.new(f'shl {integers(64)} {byte}, {splat(8 * place, 64)}')}"
        )
    e.write(one.operands[0], "b32", e.half(found, 64, 32, signed=False))
