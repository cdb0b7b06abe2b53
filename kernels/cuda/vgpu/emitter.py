"""What instructions are written with: LLVM's vectors of 32 lanes, PTX's types, immediates, and what lowers each opcode.

What lowers an opcode takes an `Emitter`, which reads and writes registers, and one instruction.
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


def flushed(e: Emitter, one: Instruction, value: str, kind: str) -> str:
    """Make subnormal numbers zero where `.ftz` asks for it."""
    if "ftz" not in one.modifiers or kind != "f32":
        return value
    pattern = e.new(f"bitcast {vector('f32')} {value} to {integers(32)}")
    exponent = e.new(f"and {integers(32)} {pattern}, {splat(0x7F800000, 32)}")
    small = e.new(f"icmp eq {integers(32)} {exponent}, zeroinitializer")
    sign = e.new(f"and {integers(32)} {pattern}, {splat(1 << 31, 32)}")
    chosen = e.new(f"select {integers(1)} {small}, {integers(32)} {sign}, {integers(32)} {pattern}")
    return e.new(f"bitcast {integers(32)} {chosen} to {vector('f32')}")


def check_rounding(one: Instruction) -> None:
    """Refuse a rounding other than to the nearest."""
    if DIRECTED & set(one.modifiers):
        raise UnsupportedPtx("only rounding to the nearest is known")


def saturated(e: Emitter, one: Instruction, value: str, kind: str) -> str:
    """Clamp floats to 0 and 1 where `.sat` asks for it."""
    if "sat" not in one.modifiers:
        return value
    one_ = constant(e, 1.0, kind)
    low = e.new(f"fcmp ogt {vector(kind)} {value}, zeroinitializer")  # not a number becomes 0
    value = e.new(f"select {integers(1)} {low}, {vector(kind)} {value}, {vector(kind)} zeroinitializer")
    high = e.new(f"fcmp ogt {vector(kind)} {value}, {one_}")
    return e.new(f"select {integers(1)} {high}, {vector(kind)} {one_}, {vector(kind)} {value}")


def constant(e: Emitter, number: float, kind: str) -> str:
    """Return a float in all lanes."""
    count = bits(kind)
    return e.new(f"bitcast {integers(count)} {splat(_pattern(number, kind), count)} to {vector(kind)}")
