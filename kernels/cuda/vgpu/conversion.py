"""Comparisons, choices and conversions between types, as LLVM instructions on vectors of 32 lanes."""

from grapin.kernels.cuda.vgpu.emitter import (
    ROUNDINGS,
    Emitter,
    bits,
    check_rounding,
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
    left, right = (flushed(e, one, value, kind) if is_float(kind) else value for value in (left, right))
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
        value = flushed(e, one, value, source)
        if modes:
            value = e.call(f"llvm.{modes[0]}", element(source), (element(source), value))
        if is_float(to):
            check_rounding(one)
            if bits(to) != bits(source):
                operation = "fpext" if bits(to) > bits(source) else "fptrunc"
                value = e.new(f"{operation} {vector(source)} {value} to {vector(to)}")
            value = saturated(e, one, flushed(e, one, value, to), to)
        else:
            if not modes:
                raise UnsupportedPtx("a float becomes an integer by .rni, .rzi, .rmi or .rpi")
            value = _to_integer(e, value, source, to)
    elif is_float(to):
        check_rounding(one)
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
