"""The row of the table that says what an effect is, and the operands that compiled code leaves for it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from grapin.kernels.cuda.vgpu.effects import (
    ATOMICS,
    COLUMNS,
    MATCHES,
    SHUFFLES,
    VOTES,
    Column,
    Effect,
    Order,
    Space,
)
from grapin.kernels.cuda.vgpu.emitter import integers, is_float, is_signed, splat
from grapin.kernels.cuda.vgpu.flow import operands_in
from grapin.kernels.cuda.vgpu.ptx import BYTES, Instruction, UnsupportedPtx

if TYPE_CHECKING:
    from grapin.kernels.cuda.vgpu.blocks import BlockLowering

_ORDERS = {
    "volatile": Order.RELAXED, "relaxed": Order.RELAXED, "acquire": Order.ACQUIRE, "release": Order.RELEASE,
    "acq_rel": Order.BOTH, "sc": Order.BOTH, "mmio": Order.RELAXED,
}  # fmt: skip


class EffectRow:
    """Makes the row of one effect, and says which operands it has."""

    def __init__(self, emitter: "BlockLowering", one: Instruction) -> None:
        self._emitter, self._one = emitter, one
        self._row = [0] * COLUMNS
        for place in range(4):
            self._row[Column.TO + place] = -1
        self._row[Column.FLAG_TO] = -1
        self._row[Column.LINE] = one.line

    def row(self) -> tuple[list[int], str | None, list[str]]:
        """Return the row, addresses and operands."""
        opcode = self._one.opcode
        if opcode in ("ld", "ldu", "st", "atom", "red"):
            return self._memory()
        operands = (
            list(self._together()) if opcode in ("shfl", "vote", "match", "redux") else list(self._other())
        )
        return self._row, None, operands

    def _memory(self) -> tuple[list[int], str | None, list[str]]:
        one, row = self._one, self._row
        kinds = set(one.modifiers)
        access = {"st": Effect.STORE, "atom": Effect.ATOMIC, "red": Effect.ATOMIC}.get(
            one.opcode, Effect.LOAD
        )
        place = {"st": 0, "red": 0}.get(one.opcode, 1)
        addresses, space = self._emitter.address(one.operands[place])
        kind = one.type
        if kind not in BYTES or kind in ("pred", "f16"):
            raise UnsupportedPtx("its type")
        row[Column.KIND] = access
        row[Column.SPACE] = self._space(kinds, space)
        row[Column.SIZE], row[Column.TYPE] = BYTES[kind], 2 if is_float(kind) else int(is_signed(kind))
        row[Column.COUNT] = next((int(name[1:]) for name in ("v2", "v4", "v8") if name in kinds), 1)
        row[Column.ORDER] = next((order for name, order in _ORDERS.items() if name in kinds), Order.WEAK)
        row[Column.PAST_L1] = bool(kinds & {"volatile", "relaxed", "acquire", "cg", "cv", "mmio"})
        if row[Column.COUNT] > 4:
            raise UnsupportedPtx("vectors have four elements at most")
        if access is Effect.LOAD:
            self._results(operands_in(one.operands[0]))
            return row, addresses, []
        if access is Effect.STORE:
            return row, addresses, [self._emitter.long(value, kind) for value in operands_in(one.operands[1])]
        operation = next(name for name in one.modifiers if name in ATOMICS)
        row[Column.OPERATION] = ATOMICS.index(operation)
        if row[Column.COUNT] > 1 or BYTES[kind] < 4:
            raise UnsupportedPtx("atomics are known for one number of 32 or 64 bits")
        if one.opcode == "atom":
            self._results([one.operands[0]])
        values = one.operands[place + 1 :]
        return (
            row,
            addresses,
            [self._emitter.long(value, kind) for value in values[: 1 + (operation == "cas")]],
        )

    def _space(self, kinds: set[str], named: Space | None) -> Space:
        spaces = {name.split("::")[0] for name in kinds}
        if named is not None:
            return named
        for name, space in (("shared", Space.SHARED), ("local", Space.LOCAL), ("global", Space.GLOBAL)):
            if name in spaces:
                return space
        return Space.GLOBAL if "const" in spaces else Space.GENERIC

    def _results(self, targets: list[str], kind: str | None = None) -> None:
        for place, target in enumerate(targets):
            self._row[Column.TO + place] = self._emitter.written_at(target)
            self._row[Column.WIDTH] = (
                self._emitter.width(target) if target != "_" else self._row[Column.WIDTH] or 8
            )
            if kind == "pred":
                self._row[Column.WIDTH] = 1

    def _together(self) -> Iterator[str]:
        """Operands of what the lanes of a warp do together: the mask of lanes last."""
        one, row, long = self._one, self._row, self._emitter.long
        targets = one.operands[0].split("|")
        if len(targets) > 1:
            row[Column.FLAG_TO] = self._emitter.written_at(targets[1].strip())
        predicate = one.opcode == "vote" and one.modifiers[-1] == "pred"
        self._results([targets[0].strip()], "pred" if predicate else None)
        row[Column.TYPE] = int(is_signed(one.type))
        if one.opcode == "shfl":
            row[Column.KIND], row[Column.OPERATION] = Effect.SHUFFLE, SHUFFLES.index(one.modifiers[1])
            yield long(one.operands[1], "b32")
            choice = self._emitter.value(one.operands[2], "b32")
            clamp = self._emitter.value(one.operands[3], "b32")
            low = self._emitter.half(choice, 32, 64, signed=False)
            wide = self._emitter.half(clamp, 32, 64, signed=False)
            high = self._emitter.new(f"shl {integers(64)} {wide}, {splat(32, 64)}")
            yield self._emitter.new(f"or {integers(64)} {low}, {high}")
        elif one.opcode == "vote":
            row[Column.KIND], row[Column.OPERATION] = Effect.VOTE, VOTES.index(one.modifiers[1])
            yield long(one.operands[1], "pred")
        elif one.opcode == "match":
            row[Column.KIND], row[Column.OPERATION] = Effect.MATCH, MATCHES.index(one.modifiers[0])
            yield long(one.operands[1], one.type)
        else:
            row[Column.KIND] = Effect.REDUCE
            row[Column.OPERATION] = ATOMICS.index(next(name for name in one.modifiers if name in ATOMICS))
            yield long(one.operands[1], one.type)
        if "sync" not in one.modifiers:
            raise UnsupportedPtx("operations of a warp without .sync ended with compute capability 7.0")
        if one.opcode != "shfl":
            yield "zeroinitializer"
        yield long(one.operands[-1], "b32")

    def _other(self) -> Iterator[str]:
        one, row, long = self._one, self._row, self._emitter.long
        opcode, kinds = one.opcode, one.modifiers
        if opcode in ("membar", "fence", "nanosleep"):
            row[Column.KIND] = Effect.FENCE
            row[Column.ORDER] = Order.BLOCK if "cta" in kinds else Order.BOTH
            if opcode == "nanosleep":
                row[Column.ORDER] = Order.WEAK
            if "proxy" in kinds:
                raise UnsupportedPtx("other memory proxies")
        elif opcode in ("ret", "exit", "trap"):
            row[Column.KIND] = Effect.TRAP if opcode == "trap" else Effect.EXIT
        elif opcode == "gridbarrier":
            row[Column.KIND] = Effect.GRID_BARRIER
        elif "warp" in kinds:
            row[Column.KIND] = Effect.MEET
            yield "zeroinitializer"
            yield "zeroinitializer"
            yield long(one.operands[0], "b32")
        else:
            row[Column.KIND] = Effect.BARRIER
            row[Column.ALIGNED] = opcode == "bar" or "aligned" in kinds
            if not {"sync", "red"} & set(kinds):
                raise UnsupportedPtx("barriers that are arrived at and not waited for")
            operands = list(one.operands)
            row[Column.OPERATION] = 0
            if "red" in kinds:
                row[Column.OPERATION] = 1 + ("popc", "and", "or").index(
                    next(k for k in kinds if k in ("popc", "and", "or"))
                )
                self._results([operands[0]], "pred" if kinds[-1] == "pred" else None)
                del operands[0]
            given = operands.pop() if "red" in kinds else None
            yield long(operands[0], "b32")
            yield long(operands[1], "b32") if len(operands) > 1 else "zeroinitializer"
            if given is not None:
                yield long(given, "pred")
