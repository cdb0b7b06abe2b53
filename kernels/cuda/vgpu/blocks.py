"""One block of a kernel as LLVM instructions: registers are values within it, and go to their slots at its end."""

from typing import TYPE_CHECKING

from grapin.kernels.cuda.vgpu import arithmetic, bitwise, conversion  # noqa: F401  # they register what they lower
from grapin.kernels.cuda.vgpu import effects as at
from grapin.kernels.cuda.vgpu.effect_rows import EffectRow
from grapin.kernels.cuda.vgpu.effects import LANES, Space
from grapin.kernels.cuda.vgpu.emitter import (
    LOWERINGS,
    bits,
    immediate,
    integers,
    is_float,
    is_signed,
    splat,
    vector,
)
from grapin.kernels.cuda.vgpu.flow import Block, operands_in
from grapin.kernels.cuda.vgpu.ptx import BYTES, Instruction, UnsupportedPtx

if TYPE_CHECKING:
    from grapin.kernels.cuda.vgpu.lowering import Lowering


class BlockLowering:
    """Lowers one block; this is the `Emitter` of `emitter.py`."""

    def __init__(self, whole: "Lowering", rank: int, block: Block) -> None:
        self._whole, self._rank, self._block = whole, rank, block
        self._flow = whole.flow
        self._values: dict[str, str] = {}
        self._guard: str | None = None
        self._written: dict[str, None] = {}
        self.new = whole.new

    def lower(self) -> None:
        """Add the block to the function."""
        count = len(self._block.instructions) + bool(self._block.effect) + bool(self._block.branch)
        self._line(f"b{self._rank}:", indent=False)
        self._active = self.new("load i32, ptr %active_at")
        self._lanes = self.new(f"bitcast i32 {self._active} to {integers(1)}")
        if count:
            lanes = self.new(f"call i32 @llvm.ctpop.i32(i32 {self._active})")
            wide = self.new(f"zext i32 {lanes} to i64")
            self._tally(at.INSTRUCTIONS, str(count))
            self._tally(at.LANE_INSTRUCTIONS, self.new(f"mul i64 {wide}, {count}"))
        for one in self._block.instructions:
            self._lower(one)
        if self._block.effect is not None:
            with_mask = self._mask(self._block.effect)
            self._named(self._block.effect, lambda one: self._effect(one, with_mask))
        elif self._block.branch is not None:
            self._named(self._block.branch, self._branch)
        else:
            self._keep()
            self._go(self._block.next)

    # What instructions are written with.

    def value(self, operand: str, kind: str) -> str:
        """Return an operand as a vector of numbers of a PTX type."""
        operand = operand.strip()
        number = immediate(operand, kind)
        if number is not None:
            constant = splat(number, bits(kind))
            if is_float(kind):
                return self.new(f"bitcast {integers(bits(kind))} {constant} to {vector(kind)}")
            return constant
        if operand.startswith("!"):
            return self.new(f"xor {integers(1)} {self._read(operand[1:].strip())}, {splat(-1, 1)}")
        if operand.startswith("-"):
            operation = f"fneg {vector(kind)}" if is_float(kind) else f"sub {vector(kind)} zeroinitializer,"
            return self.new(f"{operation} {self.value(operand[1:], kind)}")
        if operand in self._flow.registers:
            whole, count = self._read(operand), bits(self._flow.registers[operand])
        else:
            whole, count = self._special(operand)
        if count != bits(kind):
            whole = self.half(whole, count, bits(kind), signed=False)
        return (
            self.new(f"bitcast {integers(bits(kind))} {whole} to {vector(kind)}") if is_float(kind) else whole
        )

    def condition(self, operand: str) -> str:
        """Return a predicate."""
        return self.value(operand, "pred")

    def write(self, operand: str, kind: str, value: str) -> None:
        """Set a register; a type narrower than the register is widened by its sign."""
        operand = operand.strip()
        if operand == "_":
            return
        if operand == "%carry":
            self._flow.registers.setdefault(operand, "pred")
        if operand not in self._flow.registers:
            raise UnsupportedPtx(f"{operand} is no register")
        count = bits(self._flow.registers[operand])
        if is_float(kind):
            value = self.new(f"bitcast {vector(kind)} {value} to {integers(bits(kind))}")
        value = self.half(value, bits(kind), count, signed=is_signed(kind))
        if self._guard is not None:
            before = self._read(operand)
            value = self.new(
                f"select {integers(1)} {self._guard}, {integers(count)} {value}, {integers(count)} {before}"
            )
        self._values[operand] = value
        self._written[operand] = None

    def half(self, value: str, source: int, target: int, *, signed: bool) -> str:
        """Return integers with another number of bits."""
        if source == target:
            return value
        operation = "trunc" if target < source else "sext" if signed else "zext"
        return self.new(f"{operation} {integers(source)} {value} to {integers(target)}")

    def call(self, name: str, result: str, *arguments: tuple[str, str]) -> str:
        """Call a function of LLVM on vectors, given as type of an element and value."""

        def kind(one: str) -> str:
            return {"flag": "i1", "class": "i32"}.get(one, f"<{LANES} x {one}>")

        def suffix(one: str) -> str:
            return f"v{LANES}" + {"float": "f32", "double": "f64"}.get(one, one)

        full = f"{name}.{suffix(result)}" if result != "i1" else name
        if "fpto" in name or result == "i1":
            full += f".{suffix(arguments[0][0])}"
        types = ", ".join(kind(one) for one, _ in arguments)
        self._whole.declared[full] = f"declare {kind(result)} @{full}({types})"
        given = ", ".join(f"{kind(one)} {value}" for one, value in arguments)
        return self.new(f"call {kind(result)} @{full}({given})")

    # Registers.

    def _read(self, register: str) -> str:
        if register not in self._flow.registers:
            raise UnsupportedPtx(f"{register} is no register")
        if register not in self._values:
            self._values[register] = self._loaded(register)
        return self._values[register]

    def _loaded(self, register: str) -> str:
        constant = self._flow.constants.get(register)
        if constant is not None:
            count = 8 * self._flow.width(register)
            value = self._parameter(constant.operands[1], constant.type)
            return self.half(value, bits(constant.type), count, signed=is_signed(constant.type))
        slot = self._whole.slot(register)
        if slot is None:  # read before it is written: any value will do
            return "zeroinitializer"
        place = self._place("warp", slot)
        if self._flow.registers[register] == "pred":
            return self.new(f"bitcast i32 {self.new(f'load i32, ptr {place}')} to {integers(1)}")
        return self.new(f"load {vector(f'b{8 * self._flow.width(register)}')}, ptr {place}, align 64")

    def _parameter(self, operand: str, kind: str) -> str:
        """Load a parameter of the kernel and give it to all lanes."""
        name, _, offset = operand[1:-1].replace(" ", "").partition("+")
        if name not in self._flow.parameters:
            raise UnsupportedPtx(f"{name} is no parameter")
        base = self.new(f"load i64, ptr {self._place('launch', 8 * at.PARAMETERS)}")
        address = self.new(f"inttoptr i64 {base} to ptr")
        place = self.new(
            f"getelementptr i8, ptr {address}, i64 {self._flow.parameters[name] + int(offset or '0', 0)}"
        )
        return self._all(self.new(f"load i{bits(kind)}, ptr {place}, align 1"), bits(kind))

    def _special(self, name: str) -> tuple[str, int]:
        """Return what is no register of the kernel, and its bits."""
        if name in at.UNIFORM:
            count = 64 if name in at.LONG else 32
            place = self._place(*at.UNIFORM[name])
            return self._all(self.new(f"load i{count}, ptr {place}"), count), count
        if name in at.BY_LANE:
            numbers = ", ".join(f"i32 {number}" for number in at.BY_LANE[name])
            return f"<{numbers}>", 32
        if name.startswith("%tid."):
            place = self._place("warp", at.THREADS + 4 * LANES * "xyz".index(name[-1]))
            return self.new(f"load {integers(32)}, ptr {place}"), 32
        if name in at.CONSTANT:
            return splat(at.CONSTANT[name], 32), 32
        if name == "%dynamic_smem_size":
            whole = self._special("%total_smem_size")[0]
            return self.new(f"sub {integers(32)} {whole}, {splat(self._whole.shared_bytes, 32)}"), 32
        base, _, offset = name.replace("generic(", "").rstrip(")").replace(" ", "").partition("+")
        found = self._whole.variable(base)
        if found is None:
            raise UnsupportedPtx(f"{name} is not known")
        space, number = found
        if space is Space.GLOBAL:
            address = self._all(
                self.new(f"load i64, ptr {self._place('launch', 8 * (at.VARIABLES + number))}"), 64
            )
        elif space is Space.SHARED:
            address = splat(number, 64)
        else:
            address = self._own(number)
        return self._plus(address, offset), 64

    def _own(self, offset: int) -> str:
        """Return the address of each lane's own local memory."""
        base = self._all(self.new(f"load i64, ptr {self._place('warp', at.LOCAL_BASE)}"), 64)
        each = ", ".join(f"i64 {lane * self._whole.local_bytes + offset}" for lane in range(LANES))
        return self.new(f"add {integers(64)} {base}, <{each}>")

    def _plus(self, address: str, offset: str) -> str:
        return self.new(f"add {integers(64)} {address}, {splat(int(offset, 0), 64)}") if offset else address

    def _all(self, scalar: str, count: int) -> str:
        one = self.new(f"insertelement {integers(count)} poison, i{count} {scalar}, i32 0")
        return self.new(
            f"shufflevector {integers(count)} {one}, {integers(count)} poison, {integers(32)} zeroinitializer"
        )

    def _place(self, base: str, offset: int) -> str:
        return self.new(f"getelementptr i8, ptr %{base}, i64 {offset}")

    # Instructions.

    def _line(self, text: str, *, indent: bool = True) -> None:
        self._whole.lines.append(f"  {text}" if indent else text)

    def _named(self, one: Instruction, lower: object) -> None:
        try:
            lower(one)  # type: ignore[operator]
        except (UnsupportedPtx, KeyError, IndexError, ValueError) as error:
            raise UnsupportedPtx(
                f"kernel {self._flow.kernel.name}, PTX line {one.line}: the virtual GPU does not know "
                f"{str(one)!r} ({error})"
            ) from error

    def _lower(self, one: Instruction) -> None:
        self._guard = self._guarded(one)
        self._named(one, self._compute)
        self._guard = None

    def _guarded(self, one: Instruction) -> str | None:
        return None if one.guard is None else self.value(one.guard, "pred")

    def _compute(self, one: Instruction) -> None:
        if one.opcode in ("ld", "ldu"):  # a parameter
            name, _, offset = one.operands[1][1:-1].replace(" ", "").partition("+")
            for place, target in enumerate(operands_in(one.operands[0])):
                where = f"[{name}+{int(offset or '0', 0) + place * BYTES[one.type]}]"
                self.write(target, one.type, self._parameter(where, one.type))
        elif one.opcode == "cvta":
            base = self.value(one.operands[1], one.type)
            if "shared" in one.modifiers or "shared::cta" in one.modifiers:
                shared = self._all(self.new(f"load i64, ptr {self._place('warp', at.SHARED_BASE)}"), 64)
                operation = "sub" if "to" in one.modifiers else "add"
                base = self.new(f"{operation} {integers(64)} {base}, {shared}")
            self.write(one.operands[0], one.type, base)
        elif one.opcode == "activemask":
            self.write(one.operands[0], "b32", self._all(self._active, 32))
        elif one.opcode in ("prefetch", "prefetchu", "discard", "applypriority", "pmevent"):
            pass
        else:
            LOWERINGS[one.opcode](self, one)

    def _tally(self, counter: int, amount: str) -> None:
        place = self._place("launch", 8 * counter)
        total = self.new(f"add i64 {self.new(f'load i64, ptr {place}')}, {amount}")
        self._line(f"store i64 {total}, ptr {place}")

    # Ends of blocks.

    def _keep(self) -> None:
        """Write registers that live on to their slots, for the lanes that ran."""
        for register in self._written:
            slot = self._whole.slot(register)
            if slot is None or register not in self._block.live_out:
                continue
            place, value = self._place("warp", slot), self._values[register]
            if self._flow.registers[register] == "pred":
                new = self.new(f"bitcast {integers(1)} {value} to i32")
                old = self.new(f"load i32, ptr {place}")
                others = self.new(f"and i32 {old}, {self.new(f'xor i32 {self._active}, -1')}")
                ours = self.new(f"and i32 {new}, {self._active}")
                self._line(f"store i32 {self.new(f'or i32 {others}, {ours}')}, ptr {place}")
            else:
                self._store(f"i{8 * self._flow.width(register)}", value, place, 64)

    def _store(self, kind: str, value: str, place: str, alignment: int) -> None:
        name = f"llvm.masked.store.v{LANES}{kind}.p0"
        whole = f"<{LANES} x {kind}>"
        self._whole.declared[name] = f"declare void @{name}({whole}, ptr, i32 immarg, {integers(1)})"
        self._line(
            f"call void @{name}({whole} {value}, ptr {place}, i32 {alignment}, {integers(1)} {self._lanes})"
        )

    def _stand(self, lanes: str, rank: int | None) -> None:
        """Note at which block lanes stand."""
        before, self._lanes = self._lanes, lanes
        self._store("i32", splat(rank or 0, 32), "%places", 64)
        self._lanes = before

    def _go(self, rank: int | None) -> None:
        """Let the active lanes go on at a block: at once if no other lane may run, and if fuel is left."""
        if rank is None:
            raise UnsupportedPtx(f"kernel {self._flow.kernel.name} ends without ret")
        together = self.new(f"icmp eq i32 {self._active}, {self.new('load i32, ptr %warp')}")
        number = self._whole._count  # noqa: SLF001  # unique
        self._line(f"br i1 {together}, label %on{number}, label %part{number}")
        self._line(f"part{number}:", indent=False)
        self._stand(self._lanes, rank)
        if rank <= self._rank:
            self._burn("pick")
        else:
            self._line("br label %pick")
        self._line(f"on{number}:", indent=False)
        if rank <= self._rank:
            self._stand(self._lanes, rank)
            self._burn(f"b{rank}")
        else:
            self._line(f"br label %b{rank}")

    def _burn(self, to: str) -> None:
        place = self._place("launch", 8 * at.FUEL)
        left = self.new(f"sub i64 {self.new(f'load i64, ptr {place}')}, 1")
        self._line(f"store i64 {left}, ptr {place}")
        empty = self.new(f"icmp slt i64 {left}, 0")
        self._line(f"br i1 {empty}, label %tired, label %{to}")

    def _branch(self, one: Instruction) -> None:
        if one.opcode == "brx":
            self._branch_by_number(one)
            return
        (target,) = self._block.targets
        if one.guard is None:
            self._keep()
            self._go(target)
            return
        taken = self.new(f"bitcast {integers(1)} {self._guarded(one)} to i32")
        taken = self.new(f"and i32 {taken}, {self._active}")
        self._keep()
        self._tally(at.BRANCHES, "1")
        all_, none = (self.new(f"icmp eq i32 {taken}, {other}") for other in (self._active, "0"))
        number = self._whole._count  # noqa: SLF001
        self._line(f"br i1 {all_}, label %taken{number}, label %some{number}")
        self._line(f"some{number}:", indent=False)
        self._line(f"br i1 {none}, label %passed{number}, label %parted{number}")
        self._line(f"parted{number}:", indent=False)
        self._tally(at.DIVERGED, "1")
        lanes = self.new(f"bitcast i32 {taken} to {integers(1)}")
        next_ = splat(self._block.next or 0, 32)
        places = self.new(
            f"select {integers(1)} {lanes}, {integers(32)} {splat(target, 32)}, {integers(32)} {next_}"
        )
        self._store("i32", places, "%places", 64)
        if min(target, self._block.next or 0) <= self._rank:
            self._burn("pick")
        else:
            self._line("br label %pick")
        for name, rank in (("taken", target), ("passed", self._block.next)):
            self._line(f"{name}{number}:", indent=False)
            self._go(rank)

    def _branch_by_number(self, one: Instruction) -> None:
        index = self.value(one.operands[0], "u32")
        places = splat(self._block.targets[-1], 32)
        for number, target in enumerate(self._block.targets[:-1]):
            here = self.new(f"icmp eq {integers(32)} {index}, {splat(number, 32)}")
            places = self.new(
                f"select {integers(1)} {here}, {integers(32)} {splat(target, 32)}, {integers(32)} {places}"
            )
        if one.guard is not None:
            taken, next_ = self._guarded(one), splat(self._block.next or 0, 32)
            places = self.new(
                f"select {integers(1)} {taken}, {integers(32)} {places}, {integers(32)} {next_}"
            )
        self._keep()
        self._store("i32", places, "%places", 64)
        self._burn("pick")

    def _mask(self, one: Instruction) -> str:
        guard = self._guarded(one)
        if guard is None:
            return self._active
        return self.new(f"and i32 {self.new(f'bitcast {integers(1)} {guard} to i32')}, {self._active}")

    def _effect(self, one: Instruction, mask: str) -> None:
        row, addresses, operands = EffectRow(self, one).row()
        if one.guard is not None:
            number = self._whole._count  # noqa: SLF001
            self._keep()
            due = self.new(f"icmp ne i32 {mask}, 0")
            self._line(f"br i1 {due}, label %due{number}, label %undue{number}")
            self._line(f"undue{number}:", indent=False)
            self._go(self._block.next)
            self._line(f"due{number}:", indent=False)
        else:
            self._keep()
        for place, value in enumerate(([addresses] if addresses else []) + operands):
            offset = at.ADDRESSES + 8 * LANES * (place + (not addresses))
            self._line(f"store {integers(64)} {value}, ptr {self._place('warp', offset)}, align 64")
        self._line(f"store i32 {mask}, ptr %mask_at")
        self._stand(self._lanes, self._block.next)
        self._line(f"ret i32 {len(self._whole.effects)}")
        self._whole.effects.append(row)

    def written_at(self, operand: str) -> int:
        """Return where an effect writes a register, -1 when nobody reads it afterwards."""
        slot = self._whole.slot(operand) if operand in self._block.live_out else None
        return -1 if slot is None else slot

    def width(self, operand: str) -> int:
        """Return the bytes of a register."""
        return self._flow.width(operand) if operand in self._flow.registers else 8

    def long(self, operand: str, kind: str) -> str:
        """Return an operand as 64 bits without a sign."""
        pattern = kind if kind == "pred" else f"b{max(bits(kind), 16) if bits(kind) == 8 else bits(kind)}"
        return self.half(self.value(operand, pattern), bits(pattern), 64, signed=False)

    def address(self, operand: str) -> tuple[str, Space | None]:
        """Return addresses, and the space if a name says which."""
        base, _, offset = operand[1:-1].replace(" ", "").partition("+")
        if base in self._flow.registers:
            address = self.value(base, f"b{bits(self._flow.registers[base])}")
            address = self.half(address, bits(self._flow.registers[base]), 64, signed=False)
            return self._plus(address, offset), None
        number = immediate(base, "u64")
        if number is not None:
            return splat(number, 64), None
        return self._special(operand[1:-1])[0], (self._whole.variable(base) or (None,))[0]
