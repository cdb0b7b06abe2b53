"""What each PTX instruction computes, as LLVM instructions on vectors of 32 lanes.

Every function takes an `Emitter`, which reads and writes registers, and one instruction. Results are those of a GPU bit
for bit, but for `div.full`, `.approx` and functions like sine, which are rounded as the CPU does it, and better.
"""

import struct
from collections.abc import Callable
from typing import Any, Protocol

from grapin.kernels.cuda.vgpu.effects import LANES
from grapin.kernels.cuda.vgpu.ptx import BYTES, Instruction, UnsupportedPtx

LOWERINGS: dict[str, Callable[["Emitter", Instruction], None]] = {}
"""By opcode."""
ROUNDINGS = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
DIRECTED = frozenset(("rz", "rm", "rp", "rna", "rs"))
"""Roundings other than to the nearest: none of them is known."""


class Emitter(Protocol):
    """Where instructions go."""

    def value(self, operand: str, kind: str) -> str:
        """Return an operand as a vector of numbers of a PTX type."""

    def write(self, operand: str, kind: str, value: str) -> None:
        """Set a register; a type narrower than the register is widened by its sign."""

    def new(self, text: str) -> str:
        """Add an instruction and return the name of its result."""

    def call(self, name: str, result: str, *arguments: tuple[str, str]) -> str:
        """Call a function of LLVM on vectors, given as type of an element and value."""

    def condition(self, operand: str) -> str:
        """Return a predicate."""

    def half(self, value: str, source: int, target: int, *, signed: bool) -> str:
        """Return integers with another number of bits."""


def lowers(*opcodes: str) -> Callable[[Any], Any]:
    """Register what lowers some opcodes."""

    def register(function: Any) -> Any:
        LOWERINGS.update(dict.fromkeys(opcodes, function))
        return function

    return register


def bits(kind: str) -> int:
    """Return the bits of a PTX type."""
    return 1 if kind == "pred" else 8 * BYTES[kind]


def element(kind: str) -> str:
    """Return the LLVM type of one lane's number."""
    return {"f32": "float", "f64": "double"}.get(kind, f"i{bits(kind)}")


def vector(kind: str) -> str:
    """Return the LLVM type of all lanes' numbers."""
    return f"<{LANES} x {element(kind)}>"


def integers(count: int) -> str:
    """Return the LLVM type of integers of so many bits."""
    return f"<{LANES} x i{count}>"


def splat(number: int, count: int) -> str:
    """Return a constant in all lanes."""
    number &= (1 << count) - 1
    return "zeroinitializer" if not number else f"splat (i{count} {number})"


def is_float(kind: str) -> bool:
    """Tell floats from integers."""
    return kind in ("f32", "f64")


def is_signed(kind: str) -> bool:
    """Tell signed integers from others."""
    return kind.startswith("s")


def immediate(text: str, kind: str) -> int | None:
    """Return the bits of a number written in PTX; None when it is no number."""
    body, sign = (text[1:], -1) if text.startswith("-") else (text, 1)
    if not body[:1].isdigit():
        return None
    if body[:2].lower() in ("0f", "0d") and len(body) in (10, 18):
        form = ("<I", "<f") if len(body) == 10 else ("<Q", "<d")
        (number,) = struct.unpack(form[1], struct.pack(form[0], int(f"0x{body[2:]}", 16)))
        if not is_float(kind):
            return int(f"0x{body[2:]}", 16)
        return _pattern(sign * number, kind)
    if "." in body:
        return _pattern(sign * float(body), kind)
    body = body.rstrip("uU")
    octal = len(body) > 1 and body[0] == "0" and body.isdigit()
    number = sign * int(body, 8 if octal else 0)
    return _pattern(float(number), kind) if is_float(kind) else number & ((1 << max(bits(kind), 8)) - 1)


def _pattern(number: float, kind: str) -> int:
    form = ("<f", "<I") if kind == "f32" else ("<d", "<Q")
    (found,) = struct.unpack(form[1], struct.pack(form[0], number))
    return int(found)


def _flushed(e: Emitter, one: Instruction, value: str, kind: str) -> str:
    """Make subnormal numbers zero where `.ftz` asks for it."""
    if "ftz" not in one.modifiers or kind != "f32":
        return value
    pattern = e.new(f"bitcast {vector('f32')} {value} to {integers(32)}")
    exponent = e.new(f"and {integers(32)} {pattern}, {splat(0x7F800000, 32)}")
    small = e.new(f"icmp eq {integers(32)} {exponent}, zeroinitializer")
    sign = e.new(f"and {integers(32)} {pattern}, {splat(1 << 31, 32)}")
    chosen = e.new(f"select {integers(1)} {small}, {integers(32)} {sign}, {integers(32)} {pattern}")
    return e.new(f"bitcast {integers(32)} {chosen} to {vector('f32')}")


def _check_rounding(one: Instruction) -> None:
    if DIRECTED & set(one.modifiers):
        raise UnsupportedPtx("only rounding to the nearest is known")


def _saturated(e: Emitter, one: Instruction, value: str, kind: str) -> str:
    if "sat" not in one.modifiers:
        return value
    one_ = _constant(e, 1.0, kind)
    low = e.new(f"fcmp ogt {vector(kind)} {value}, zeroinitializer")  # not a number becomes 0
    value = e.new(f"select {integers(1)} {low}, {vector(kind)} {value}, {vector(kind)} zeroinitializer")
    high = e.new(f"fcmp ogt {vector(kind)} {value}, {one_}")
    return e.new(f"select {integers(1)} {high}, {vector(kind)} {one_}, {vector(kind)} {value}")


def _constant(e: Emitter, number: float, kind: str) -> str:
    count = bits(kind)
    return e.new(f"bitcast {integers(count)} {splat(_pattern(number, kind), count)} to {vector(kind)}")


@lowers("mov")
def _move(e: Emitter, one: Instruction) -> None:
    target, source = one.operands
    kind = one.type
    if target.startswith("{"):
        parts = [part.strip() for part in target[1:-1].split(",")]
        count = bits(kind) // len(parts)
        whole = e.value(source, f"b{bits(kind)}")
        for place, part in enumerate(parts):
            if part != "_":
                moved = e.new(f"lshr {vector(kind)} {whole}, {splat(place * count, bits(kind))}")
                e.write(part, f"b{count}", e.half(moved, bits(kind), count, signed=False))
        return
    if source.startswith("{"):
        parts = [part.strip() for part in source[1:-1].split(",")]
        count = bits(kind) // len(parts)
        whole = "zeroinitializer"
        for place, part in enumerate(parts):
            wide = e.half(e.value(part, f"b{count}"), count, bits(kind), signed=False)
            moved = e.new(f"shl {vector(kind)} {wide}, {splat(place * count, bits(kind))}")
            whole = e.new(f"or {vector(kind)} {whole}, {moved}")
        e.write(target, kind, whole)
        return
    e.write(target, kind, e.value(source, kind))


@lowers("add", "sub", "mul", "div")
def _calculate(e: Emitter, one: Instruction) -> None:
    kind = one.type
    if is_float(kind):
        if one.opcode != "div" or "rn" in one.modifiers:
            _check_rounding(one)
        left, right = (_flushed(e, one, e.value(operand, kind), kind) for operand in one.operands[1:3])
        value = e.new(f"f{one.opcode} {vector(kind)} {left}, {right}")
        e.write(one.operands[0], kind, _saturated(e, one, _flushed(e, one, value, kind), kind))
        return
    if one.opcode == "div":
        _divide(e, one)
        return
    if one.opcode == "mul":
        e.write(one.operands[0], *_product(e, one))
        return
    left, right = (e.value(operand, kind) for operand in one.operands[1:3])
    if "cc" in one.modifiers:
        _carry(e, one)
    elif "sat" in one.modifiers:
        e.write(
            one.operands[0], kind, e.call(f"llvm.s{one.opcode}.sat", "i32", ("i32", left), ("i32", right))
        )
    else:
        e.write(one.operands[0], kind, e.new(f"{one.opcode} {vector(kind)} {left}, {right}"))


def _product(e: Emitter, one: Instruction) -> tuple[str, str]:
    """Return type and value of an integer product: low half, high half, or both."""
    kind, count = one.type, bits(one.type)
    left, right = (e.value(operand, kind) for operand in one.operands[1:3])
    if "lo" in one.modifiers:
        return kind, e.new(f"mul {vector(kind)} {left}, {right}")
    signed = is_signed(kind)
    wide = [e.half(value, count, 2 * count, signed=signed) for value in (left, right)]
    product = e.new(f"mul {integers(2 * count)} {wide[0]}, {wide[1]}")
    if "wide" in one.modifiers:
        return f"{kind[0]}{2 * count}", product
    if "hi" not in one.modifiers:
        raise UnsupportedPtx("a product must be .lo, .hi or .wide")
    high = e.new(f"lshr {integers(2 * count)} {product}, {splat(count, 2 * count)}")
    return kind, e.half(high, 2 * count, count, signed=False)


@lowers("mad")
def _multiply_add(e: Emitter, one: Instruction) -> None:
    if is_float(one.type):
        _fused(e, one)
        return
    if "cc" in one.modifiers:
        _carry(e, one)
        return
    kind, product = _product(e, one)
    e.write(one.operands[0], kind, e.new(f"add {vector(kind)} {product}, {e.value(one.operands[3], kind)}"))


@lowers("fma")
def _fused(e: Emitter, one: Instruction) -> None:
    _check_rounding(one)
    kind = one.type
    values = [
        (element(kind), _flushed(e, one, e.value(operand, kind), kind)) for operand in one.operands[1:4]
    ]
    value = e.call("llvm.fma", element(kind), *values)
    e.write(one.operands[0], kind, _saturated(e, one, _flushed(e, one, value, kind), kind))


@lowers("addc", "subc", "madc")
def _carry(e: Emitter, one: Instruction) -> None:
    kind, count = one.type, bits(one.type)
    wide = 2 * count
    if one.opcode.startswith("mad"):
        values = [_product(e, one)[1], e.value(one.operands[3], kind)]
    else:
        values = [e.value(operand, kind) for operand in one.operands[1:3]]
    left, right = (e.half(value, count, wide, signed=False) for value in values)
    operation = "sub" if one.opcode.startswith("sub") else "add"
    total = e.new(f"{operation} {integers(wide)} {left}, {right}")
    if one.opcode.endswith("c"):
        carried = e.new(f"zext {integers(1)} {e.condition('%carry')} to {integers(wide)}")
        total = e.new(f"{operation} {integers(wide)} {total}, {carried}")
    if "cc" in one.modifiers:
        above = e.new(f"lshr {integers(wide)} {total}, {splat(count, wide)}")
        e.write("%carry", "pred", e.new(f"icmp ne {integers(wide)} {above}, zeroinitializer"))
    e.write(one.operands[0], kind, e.half(total, wide, count, signed=False))


@lowers("rem")
def _divide(e: Emitter, one: Instruction) -> None:
    """Divide integers; by zero gives all ones, or the dividend as the remainder, as on a GPU."""
    kind, count = one.type, bits(one.type)
    left, right = (e.value(operand, kind) for operand in one.operands[1:3])
    zero = e.new(f"icmp eq {vector(kind)} {right}, zeroinitializer")
    unsafe = zero
    if is_signed(kind):  # the smallest number over -1 is itself, with nothing left
        least = e.new(f"icmp eq {vector(kind)} {left}, {splat(1 << count - 1, count)}")
        minus = e.new(f"icmp eq {vector(kind)} {right}, {splat(-1, count)}")
        unsafe = e.new(f"or {integers(1)} {zero}, {e.new(f'and {integers(1)} {least}, {minus}')}")
    safe = e.new(f"select {integers(1)} {unsafe}, {vector(kind)} {splat(1, count)}, {vector(kind)} {right}")
    operation = f"{'s' if is_signed(kind) else 'u'}{one.opcode}"
    value = e.new(f"{operation} {vector(kind)} {left}, {safe}")
    by_zero = splat(-1, count) if one.opcode == "div" else left
    value = e.new(f"select {integers(1)} {zero}, {vector(kind)} {by_zero}, {vector(kind)} {value}")
    e.write(one.operands[0], kind, value)


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


@lowers("neg")
def _negate(e: Emitter, one: Instruction) -> None:
    kind = one.type
    value = e.value(one.operands[1], kind)
    if is_float(kind):
        e.write(one.operands[0], kind, _flushed(e, one, e.new(f"fneg {vector(kind)} {value}"), kind))
    else:
        e.write(one.operands[0], kind, e.new(f"sub {vector(kind)} zeroinitializer, {value}"))


@lowers("abs")
def _absolute(e: Emitter, one: Instruction) -> None:
    kind = one.type
    value = e.value(one.operands[1], kind)
    if is_float(kind):
        found = _flushed(e, one, e.call("llvm.fabs", element(kind), (element(kind), value)), kind)
    else:
        negative = e.new(f"icmp slt {vector(kind)} {value}, zeroinitializer")
        other = e.new(f"sub {vector(kind)} zeroinitializer, {value}")
        found = e.new(f"select {integers(1)} {negative}, {vector(kind)} {other}, {vector(kind)} {value}")
    e.write(one.operands[0], kind, found)


@lowers("min", "max")
def _extreme(e: Emitter, one: Instruction) -> None:
    kind = one.type
    left, right = (e.value(operand, kind) for operand in one.operands[1:3])
    if not is_float(kind):
        name = f"llvm.{'s' if is_signed(kind) else 'u'}{one.opcode}"
        e.write(
            one.operands[0], kind, e.call(name, element(kind), (element(kind), left), (element(kind), right))
        )
        return
    if {"NaN", "xorsign"} & set(one.modifiers):
        raise UnsupportedPtx("a minimum or maximum of floats must be the plain one")
    left, right = (_flushed(e, one, value, kind) for value in (left, right))
    order = "olt" if one.opcode == "min" else "ogt"
    first = e.new(f"fcmp {order} {vector(kind)} {left}, {right}")
    nothing = e.new(f"fcmp uno {vector(kind)} {right}, zeroinitializer")
    first = e.new(f"or {integers(1)} {first}, {nothing}")
    chosen = e.new(f"select {integers(1)} {first}, {vector(kind)} {left}, {vector(kind)} {right}")
    # Equal numbers differ at most in the sign of zero, of which the minimum takes minus and the maximum plus.
    same = e.new(f"fcmp oeq {vector(kind)} {left}, {right}")
    whole = integers(bits(kind))
    patterns = [e.new(f"bitcast {vector(kind)} {value} to {whole}") for value in (left, right)]
    merged = e.new(f"{'or' if one.opcode == 'min' else 'and'} {whole} {patterns[0]}, {patterns[1]}")
    zero = e.new(f"bitcast {whole} {merged} to {vector(kind)}")
    e.write(
        one.operands[0],
        kind,
        e.new(f"select {integers(1)} {same}, {vector(kind)} {zero}, {vector(kind)} {chosen}"),
    )


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


@lowers("sad")
def _add_difference(e: Emitter, one: Instruction) -> None:
    kind = one.type
    left, right, onto = (e.value(operand, kind) for operand in one.operands[1:4])
    order = f"icmp {'s' if is_signed(kind) else 'u'}lt {vector(kind)}"
    less = e.new(f"{order} {left}, {right}")
    up, down = (e.new(f"sub {vector(kind)} {a}, {b}") for a, b in ((right, left), (left, right)))
    apart = e.new(f"select {integers(1)} {less}, {vector(kind)} {up}, {vector(kind)} {down}")
    e.write(one.operands[0], kind, e.new(f"add {vector(kind)} {onto}, {apart}"))


_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def _compared(e: Emitter, relation: str, kind: str, left: str, right: str) -> str:
    if is_float(kind):
        if relation in ("num", "nan"):
            return e.new(f"fcmp {'ord' if relation == 'num' else 'uno'} {vector(kind)} {left}, {right}")
        unordered = relation.endswith("u") and relation != "u"
        return e.new(
            f"fcmp {'u' if unordered else 'o'}{relation[:-1] if unordered else relation} "
            f"{vector(kind)} {left}, {right}"
        )
    relation = _UNSIGNED.get(relation, relation)
    if relation not in ("eq", "ne"):
        relation = ("s" if is_signed(kind) else "u") + relation
    return e.new(f"icmp {relation} {vector(kind)} {left}, {right}")


@lowers("setp", "set")
def _compare(e: Emitter, one: Instruction) -> None:
    kind = one.type
    left, right = (e.value(operand, kind) for operand in one.operands[1:3])
    left, right = (_flushed(e, one, value, kind) if is_float(kind) else value for value in (left, right))
    holds = _compared(e, one.modifiers[0], kind, left, right)
    opposite = e.new(f"xor {integers(1)} {holds}, {splat(-1, 1)}")
    if len(one.modifiers) > 1 and one.modifiers[1] in ("and", "or", "xor"):
        with_ = e.condition(one.operands[3])
        holds, opposite = (
            e.new(f"{one.modifiers[1]} {integers(1)} {both}, {with_}") for both in (holds, opposite)
        )
    if one.opcode == "set":
        result = one.modifiers[-2]
        if is_float(result):
            value = e.new(f"uitofp {integers(1)} {holds} to {vector(result)}")
        else:
            value = e.new(f"sext {integers(1)} {holds} to {vector(result)}")
        e.write(one.operands[0], result, value)
        return
    targets = [name.strip() for name in one.operands[0].split("|")]
    for name, value in zip(targets, (holds, opposite), strict=False):
        if name != "_":
            e.write(name, "pred", value)


@lowers("selp")
def _select(e: Emitter, one: Instruction) -> None:
    kind = one.type
    left, right = (e.value(operand, kind) for operand in one.operands[1:3])
    which = e.condition(one.operands[3])
    chosen = e.new(f"select {integers(1)} {which}, {vector(kind)} {left}, {vector(kind)} {right}")
    e.write(one.operands[0], kind, chosen)


@lowers("slct")
def _select_by_sign(e: Emitter, one: Instruction) -> None:
    kind, by = one.modifiers[-2:]
    left, right = (e.value(operand, kind) for operand in one.operands[1:3])
    which = _compared(e, "ge", by, e.value(one.operands[3], by), "zeroinitializer")
    chosen = e.new(f"select {integers(1)} {which}, {vector(kind)} {left}, {vector(kind)} {right}")
    e.write(one.operands[0], kind, chosen)


@lowers("cvt")
def _convert(e: Emitter, one: Instruction) -> None:
    to, source = one.modifiers[-2:]
    value = e.value(one.operands[1], source)
    modes = [ROUNDINGS[name] for name in one.modifiers[:-2] if name in ROUNDINGS]
    if is_float(source):
        value = _flushed(e, one, value, source)
        if modes:
            value = e.call(f"llvm.{modes[0]}", element(source), (element(source), value))
        if is_float(to):
            _check_rounding(one)
            if bits(to) != bits(source):
                operation = "fpext" if bits(to) > bits(source) else "fptrunc"
                value = e.new(f"{operation} {vector(source)} {value} to {vector(to)}")
            value = _saturated(e, one, _flushed(e, one, value, to), to)
        else:
            if not modes:
                raise UnsupportedPtx("a float becomes an integer by .rni, .rzi, .rmi or .rpi")
            value = _to_integer(e, value, source, to)
    elif is_float(to):
        _check_rounding(one)
        value = e.new(f"{'si' if is_signed(source) else 'ui'}tofp {vector(source)} {value} to {vector(to)}")
    elif "sat" in one.modifiers:
        value = _clamped(e, value, source, to)
    else:
        value = e.half(value, bits(source), bits(to), signed=is_signed(source))
    e.write(one.operands[0], to, value)


def _to_integer(e: Emitter, value: str, source: str, to: str) -> str:
    """Clamp to what the integer holds; what is not a number becomes 0, or the highest bit of 64."""
    name = f"llvm.fpto{'s' if is_signed(to) else 'u'}i.sat"
    found = e.call(name, element(to), (element(source), value))
    if bits(to) < 64:
        return found
    nothing = e.new(f"fcmp uno {vector(source)} {value}, zeroinitializer")
    return e.new(f"select {integers(1)} {nothing}, {vector(to)} {splat(1 << 63, 64)}, {vector(to)} {found}")


def _clamped(e: Emitter, value: str, source: str, to: str) -> str:
    wide = 128
    value = e.half(value, bits(source), wide, signed=is_signed(source))
    count = bits(to) - is_signed(to)
    for name, limit in (("smin", (1 << count) - 1), ("smax", -(1 << count) if is_signed(to) else 0)):
        value = e.call(f"llvm.{name}", "i128", ("i128", value), ("i128", splat(limit, wide)))
    return e.half(value, wide, bits(to), signed=False)


_FUNCTIONS = {
    "sqrt": "llvm.sqrt",
    "sin": "llvm.sin",
    "cos": "llvm.cos",
    "lg2": "llvm.log2",
    "ex2": "llvm.exp2",
}


@lowers("rcp", "rsqrt", *_FUNCTIONS)
def _function(e: Emitter, one: Instruction) -> None:
    kind = one.type
    if not is_float(kind):
        raise UnsupportedPtx("it is known for f32 and f64 only")
    if "approx" not in one.modifiers:
        _check_rounding(one)
    value = _flushed(e, one, e.value(one.operands[1], kind), kind)
    if one.opcode != "rcp":
        value = e.call(_FUNCTIONS.get(one.opcode, "llvm.sqrt"), element(kind), (element(kind), value))
    if one.opcode in ("rcp", "rsqrt"):
        value = e.new(f"fdiv {vector(kind)} {_constant(e, 1.0, kind)}, {value}")
    e.write(one.operands[0], kind, _flushed(e, one, value, kind))


@lowers("copysign")
def _copy_sign(e: Emitter, one: Instruction) -> None:
    kind = one.type
    sign, size = ((element(kind), e.value(operand, kind)) for operand in one.operands[1:3])
    e.write(one.operands[0], kind, e.call("llvm.copysign", element(kind), size, sign))


@lowers("testp")
def _test(e: Emitter, one: Instruction) -> None:
    kind = one.type
    mask = {"finite": 0b0111111000, "infinite": 0b1000000100, "number": 0b1111111100, "notanumber": 0b11,
            "normal": 0b0100001000, "subnormal": 0b0010010000}[one.modifiers[0]]  # fmt: skip
    found = e.call(
        "llvm.is.fpclass", "i1", (element(kind), e.value(one.operands[1], kind)), ("class", str(mask))
    )
    e.write(one.operands[0], "pred", found)
