"""Numbers: what PTX's arithmetic computes, as LLVM instructions on vectors of 32 lanes.

Results are those of a GPU bit for bit, but for `div.full`, `.approx` and functions like sine, which are rounded as the
CPU does it, and better.
"""

from grapin.kernels.cuda.vgpu.emitter import (
    Emitter,
    bits,
    check_rounding,
    constant,
    element,
    flushed,
    integers,
    is_float,
    is_signed,
    lowers,
    saturated,
    splat,
    vector,
)
from grapin.kernels.cuda.vgpu.ptx import Instruction, UnsupportedPtx


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
            check_rounding(one)
        left, right = (flushed(e, one, e.value(operand, kind), kind) for operand in one.operands[1:3])
        value = e.new(f"f{one.opcode} {vector(kind)} {left}, {right}")
        e.write(one.operands[0], kind, saturated(e, one, flushed(e, one, value, kind), kind))
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
    check_rounding(one)
    kind = one.type
    values = [(element(kind), flushed(e, one, e.value(operand, kind), kind)) for operand in one.operands[1:4]]
    value = e.call("llvm.fma", element(kind), *values)
    e.write(one.operands[0], kind, saturated(e, one, flushed(e, one, value, kind), kind))


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


@lowers("neg")
def _negate(e: Emitter, one: Instruction) -> None:
    kind = one.type
    value = e.value(one.operands[1], kind)
    if is_float(kind):
        e.write(one.operands[0], kind, flushed(e, one, e.new(f"fneg {vector(kind)} {value}"), kind))
    else:
        e.write(one.operands[0], kind, e.new(f"sub {vector(kind)} zeroinitializer, {value}"))


@lowers("abs")
def _absolute(e: Emitter, one: Instruction) -> None:
    kind = one.type
    value = e.value(one.operands[1], kind)
    if is_float(kind):
        found = flushed(e, one, e.call("llvm.fabs", element(kind), (element(kind), value)), kind)
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
    left, right = (flushed(e, one, value, kind) for value in (left, right))
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


@lowers("sad")
def _add_difference(e: Emitter, one: Instruction) -> None:
    kind = one.type
    left, right, onto = (e.value(operand, kind) for operand in one.operands[1:4])
    order = f"icmp {'s' if is_signed(kind) else 'u'}lt {vector(kind)}"
    less = e.new(f"{order} {left}, {right}")
    up, down = (e.new(f"sub {vector(kind)} {a}, {b}") for a, b in ((right, left), (left, right)))
    apart = e.new(f"select {integers(1)} {less}, {vector(kind)} {up}, {vector(kind)} {down}")
    e.write(one.operands[0], kind, e.new(f"add {vector(kind)} {onto}, {apart}"))


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
        check_rounding(one)
    value = flushed(e, one, e.value(one.operands[1], kind), kind)
    if one.opcode != "rcp":
        value = e.call(_FUNCTIONS.get(one.opcode, "llvm.sqrt"), element(kind), (element(kind), value))
    if one.opcode in ("rcp", "rsqrt"):
        value = e.new(f"fdiv {vector(kind)} {constant(e, 1.0, kind)}, {value}")
    e.write(one.operands[0], kind, flushed(e, one, value, kind))


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
