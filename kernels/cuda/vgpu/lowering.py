"""`lower`: a kernel's flow becomes one LLVM function that runs a warp up to its next effect, and the effects' table.

The function has the state of one warp in memory (`effects.py`). It picks the first block at which any lane that may run
stands, runs it for all lanes that stand there, all 32 lanes at a time in vectors, and goes on until an effect is due.
Registers are values of LLVM within a block; those that live on are written to their slots at its end, for the lanes
that ran. Parameters and what names the thread are the same all along and are loaded where they are used.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from grapin.kernels.cuda.vgpu import effects as at
from grapin.kernels.cuda.vgpu.arithmetic import (
    LOWERINGS,
    bits,
    immediate,
    integers,
    is_float,
    is_signed,
    splat,
    vector,
)
from grapin.kernels.cuda.vgpu.effects import (
    ATOMICS,
    COLUMNS,
    LANES,
    MATCHES,
    SHUFFLES,
    VOTES,
    Column,
    Effect,
    Order,
    Space,
)
from grapin.kernels.cuda.vgpu.flow import Block, Flow, operands_in
from grapin.kernels.cuda.vgpu.ptx import BYTES, Instruction, Module, UnsupportedPtx

STEP = "step"
"""The function's name."""
_ORDERS = {
    "volatile": Order.RELAXED, "relaxed": Order.RELAXED, "acquire": Order.ACQUIRE, "release": Order.RELEASE,
    "acq_rel": Order.BOTH, "sc": Order.BOTH, "mmio": Order.RELAXED,
}  # fmt: skip
_UNIFORM = {
    **{f"%ctaid.{axis}": ("warp", at.BLOCK + 4 * place) for place, axis in enumerate("xyz")},
    **{f"%ntid.{axis}": ("launch", 8 * (at.BLOCK_SHAPE + place)) for place, axis in enumerate("xyz")},
    **{f"%nctaid.{axis}": ("launch", 8 * (at.GRID_SHAPE + place)) for place, axis in enumerate("xyz")},
    "%warpid": ("warp", at.WARP_OF_BLOCK),
    "%smid": ("warp", at.PROCESSOR),
    "%clock": ("launch", 8 * at.INSTRUCTIONS),
    "%clock_hi": ("launch", 8 * at.INSTRUCTIONS + 4),
    "%clock64": ("launch", 8 * at.INSTRUCTIONS),
    "%globaltimer": ("launch", 8 * at.INSTRUCTIONS),
    "%total_smem_size": ("launch", 8 * at.SHARED_BYTES),
}
"""Registers that all lanes of a warp see alike, and where they lie."""
_LONG = ("%clock64", "%globaltimer")
_BY_LANE = {
    "%laneid": list(range(LANES)),
    "%lanemask_eq": [1 << lane for lane in range(LANES)],
    "%lanemask_lt": [(1 << lane) - 1 for lane in range(LANES)],
    "%lanemask_le": [(2 << lane) - 1 for lane in range(LANES)],
    "%lanemask_ge": [(-1 << lane) & 0xFFFFFFFF for lane in range(LANES)],
    "%lanemask_gt": [(-2 << lane) & 0xFFFFFFFF for lane in range(LANES)],
}
_CONSTANT = {"WARP_SZ": LANES, "%nwarpid": 64, "%gridid": 0, **{f"%tid.{axis}": -1 for axis in "xyz"}}


@dataclass(frozen=True)
class Lowered:
    """What is compiled, and what the executor has to know of it."""

    code: str
    """LLVM's language."""
    effects: list[list[int]]
    """One row an effect, see `Column`."""
    warp_bytes: int
    shared_bytes: int
    local_bytes: int
    """Of one lane."""
    parameters: list[tuple[int, int]]
    """Offset and size of each."""
    variables: list[str]
    """Names of the module's variables, in the order of their addresses."""
    rank_lines: list[int]
    """The PTX line of each block, for messages."""


def lower(module: Module, name: str) -> Lowered:
    """Lower one kernel of a module."""
    return _Lowering(module, Flow(module.kernel(name))).lowered()


class _Lowering:
    def __init__(self, module: Module, flow: Flow) -> None:
        self.flow = flow
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}
        self.effects: list[list[int]] = []
        self._count = 0
        shared = [one for one in module.variables.values() if one.space == "shared"]
        own = list(flow.kernel.variables.values())
        self._shared, self.shared_bytes = _placed([*shared, *(one for one in own if one.space == "shared")])
        self._local, self.local_bytes = _placed([one for one in own if one.space == "local"])
        self.variables = [one.name for one in module.variables.values() if one.space in ("global", "const")]
        self._widths = {1: 4, 2: 2, 4: 4, 8: 8}
        self._begins: dict[int, int] = {}
        begin = at.SLOTS
        for width in (8, 4, 2, 1):
            used = [slot for one, slot in flow.slots.items() if flow.width(one) == width]
            self._begins[width] = begin
            begin += (max(used) + 1 if used else 0) * (4 if width == 1 else width * LANES)
            begin = -(-begin // 64) * 64
        self.warp_bytes = begin

    def lowered(self) -> Lowered:
        """Lower all blocks."""
        self._head()
        for rank, block in enumerate(self.flow.blocks):
            _BlockLowering(self, rank, block).lower()
        code = "\n".join([*self.lines, "}", *sorted(self.declared.values())])
        parameters = [(self.flow.parameters[one.name], one.size) for one in self.flow.kernel.parameters]
        lines = [next((one.line for one in (*block.instructions, block.effect, block.branch) if one), 0)
                 for block in self.flow.blocks]  # fmt: skip
        return Lowered(
            code,
            self.effects,
            self.warp_bytes,
            self.shared_bytes,
            self.local_bytes,
            parameters,
            self.variables,
            lines,
        )

    def slot(self, register: str) -> int | None:
        """Return where a register lies between blocks, None when it does not live so long."""
        if register not in self.flow.slots:
            return None
        width = self.flow.width(register)
        return self._begins[width] + self.flow.slots[register] * (4 if width == 1 else width * LANES)

    def variable(self, name: str) -> tuple[Space, int] | None:
        """Return where a name of memory lies: in the block's shared, the lane's local or global memory."""
        if name in self._shared:
            return Space.SHARED, self._shared[name]
        if name in self._local:
            return Space.LOCAL, self._local[name]
        if name in self.variables:
            return Space.GLOBAL, self.variables.index(name)
        return None

    def new(self, text: str) -> str:
        """Add an instruction and return the name of its result."""
        self._count += 1
        self.lines.append(f"  %v{self._count} = {text}")
        return f"%v{self._count}"

    def _head(self) -> None:
        cases = " ".join(f"i32 {rank}, label %b{rank}" for rank in range(len(self.flow.blocks)))
        lanes = integers(1)
        self.declared["umin"] = f"declare i32 @llvm.vector.reduce.umin.v{LANES}i32({integers(32)})"
        self.declared["popcount"] = "declare i32 @llvm.ctpop.i32(i32)"
        self.lines += [
            f"define i32 @{STEP}(ptr noalias %warp, ptr noalias %launch) {{",
            f"  %places = getelementptr i8, ptr %warp, i64 {at.PLACES}",
            f"  %active_at = getelementptr i8, ptr %warp, i64 {at.ACTIVE}",
            f"  %mask_at = getelementptr i8, ptr %warp, i64 {at.MASK}",
            "  br label %pick",
            "pick:",
            "  %runnable = load i32, ptr %warp",
            "  %idle = icmp eq i32 %runnable, 0",
            "  br i1 %idle, label %nothing, label %choose",
            "nothing:",
            f"  ret i32 {at.NOTHING}",
            "tired:",
            f"  ret i32 {at.TIRED}",
            "choose:",
            f"  %standing = load {integers(32)}, ptr %places",
            f"  %may = bitcast i32 %runnable to {lanes}",
            f"  %here = select {lanes} %may, {integers(32)} %standing, {integers(32)} {splat(-1, 32)}",
            f"  %first = call i32 @llvm.vector.reduce.umin.v{LANES}i32({integers(32)} %here)",
            f"  %one = insertelement {integers(32)} poison, i32 %first, i32 0",
            f"  %all = shufflevector {integers(32)} %one, {integers(32)} poison, {integers(32)} zeroinitializer",
            f"  %there = icmp eq {integers(32)} %here, %all",
            f"  %chosen = bitcast {lanes} %there to i32",
            "  %active = and i32 %chosen, %runnable",
            "  store i32 %active, ptr %active_at",
            f"  switch i32 %first, label %nothing [ {cases} ]",
        ]


class _BlockLowering:
    """Lowers one block; this is the `Emitter` of `arithmetic.py`."""

    def __init__(self, whole: _Lowering, rank: int, block: Block) -> None:
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
        if name in _UNIFORM:
            count = 64 if name in _LONG else 32
            place = self._place(*_UNIFORM[name])
            return self._all(self.new(f"load i{count}, ptr {place}"), count), count
        if name in _BY_LANE:
            numbers = ", ".join(f"i32 {number}" for number in _BY_LANE[name])
            return f"<{numbers}>", 32
        if name.startswith("%tid."):
            place = self._place("warp", at.THREADS + 4 * LANES * "xyz".index(name[-1]))
            return self.new(f"load {integers(32)}, ptr {place}"), 32
        if name in _CONSTANT:
            return splat(_CONSTANT[name], 32), 32
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
        row, addresses, operands = _Effect(self, one).row()
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


class _Effect:
    """Makes the row of one effect, and says which operands it has."""

    def __init__(self, emitter: _BlockLowering, one: Instruction) -> None:
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


def _placed(variables: list[object]) -> tuple[dict[str, int], int]:
    """Lay variables out one after the other; what has no size, the launch's own shared memory, comes last."""
    places: dict[str, int] = {}
    end = 0
    for one in sorted(variables, key=lambda one: one.size == 0):  # type: ignore[attr-defined]
        alignment = max(one.alignment, 16)  # type: ignore[attr-defined]
        end = -(-end // alignment) * alignment
        places[one.name] = end  # type: ignore[attr-defined]
        end += one.size  # type: ignore[attr-defined]
    return places, -(-end // 16) * 16
