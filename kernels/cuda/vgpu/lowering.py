"""`lower`: a kernel's flow becomes one LLVM function that runs a warp up to its next effect, and the effects' table.

The function has the state of one warp in memory (`effects.py`). It picks the first block at which any lane that may run
stands, runs it for all lanes that stand there, all 32 lanes at a time in vectors, and goes on until an effect is due.
Registers are values of LLVM within a block; those that live on are written to their slots at its end, for the lanes
that ran. Parameters and what names the thread are the same all along and are loaded where they are used.
"""

from dataclasses import dataclass

from grapin.kernels.cuda.vgpu import effects as at
from grapin.kernels.cuda.vgpu.blocks import BlockLowering
from grapin.kernels.cuda.vgpu.effects import LANES, Space
from grapin.kernels.cuda.vgpu.emitter import integers, splat
from grapin.kernels.cuda.vgpu.flow import Flow
from grapin.kernels.cuda.vgpu.ptx import Module

STEP = "step"
"""The function's name."""


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
    return Lowering(module, Flow(module.kernel(name))).lowered()


class Lowering:
    """One kernel as it becomes a function: its text so far, its effects, and where its registers and memory lie."""

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
            BlockLowering(self, rank, block).lower()
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
