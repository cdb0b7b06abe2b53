"""`Flow`: a kernel as basic blocks, in an order that brings lanes together again, with what lives between them.

A warp executes the first block, in this order, at which any of its lanes stands. Blocks come before all that can only
be reached through them, and a loop's blocks before what follows the loop: so lanes that part ways meet again where
their ways first meet, at the immediate post-dominator, as compilers arrange it on a GPU.

A block ends where control may go elsewhere and at every effect: whatever reaches beyond the lane's own registers.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from grapin.kernels.cuda.vgpu.ptx import BYTES, Instruction, Kernel, UnsupportedPtx, Variable, split

_WITHOUT_RESULT = ("st", "red", "membar", "fence", "nanosleep", "gridbarrier", "ret", "exit", "trap")
EFFECTS = frozenset(
    ("ld", "ldu", "atom", "bar", "barrier", "shfl", "vote", "match", "redux", *_WITHOUT_RESULT)
)
"""Instructions that the executor carries out."""
WITHOUT_RESULT = frozenset(("bra", "brx", "prefetch", "prefetchu", *_WITHOUT_RESULT))
"""Instructions whose first operand is not written."""
_NAME = re.compile(r"[%$_A-Za-z][\w$%]*(?:\.[xyzw]\b)?")


@dataclass(eq=False)
class Block:
    """Instructions that lanes execute one after the other."""

    instructions: list[Instruction] = field(default_factory=list)
    effect: Instruction | None = None
    """What the executor does at its end, before the lanes go on to `next`."""
    branch: Instruction | None = None
    targets: list[int] = field(default_factory=list)
    """Where the branch may lead."""
    next: int | None = None
    """The block after it; None behind an unconditional branch."""
    live_in: set[str] = field(default_factory=set)
    live_out: set[str] = field(default_factory=set)

    @property
    def successors(self) -> list[int]:
        """Blocks that may follow."""
        return self.targets if self.next is None else [*self.targets, self.next]


class Flow:
    """A kernel's blocks in the order of their ranks, and where registers lie that live from block to block."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.registers = dict(kernel.registers)
        self.parameters = _offsets(kernel.parameters)
        instructions = self._plain(kernel.instructions)
        self.constants = self._constants(instructions)
        """Registers that hold a parameter of the kernel all along, and the instruction that loads it: they are loaded
        where they are read, and live nowhere."""
        blocks = self._blocks([one for one in instructions if not self._is_constant(one)])
        rank = {block: place for place, block in enumerate(_order([block.successors for block in blocks]))}
        self.blocks = [Block()] * len(rank)
        for place, block in enumerate(blocks):
            if place not in rank:
                continue  # nothing leads there
            block.targets = [rank[target] for target in block.targets]
            block.next = None if block.next is None else rank[block.next]
            self.blocks[rank[place]] = block
        self._live()
        self.slots = self._slots()
        """Number of each register that lives between blocks, among those of its width."""

    def width(self, register: str) -> int:
        """Return the bytes of a register; predicates have one."""
        return BYTES[self.registers[register]]

    def written(self, instruction: Instruction) -> list[str]:
        """Return the registers that an instruction writes."""
        return [name for name in self._written(instruction) if name not in self.constants]

    def _written(self, instruction: Instruction) -> list[str]:
        if instruction.opcode in WITHOUT_RESULT or not instruction.operands:
            return []
        if instruction.opcode in ("bar", "barrier") and "red" not in instruction.modifiers:
            return []
        return [name for name in _NAME.findall(instruction.operands[0]) if name in self.registers]

    def read(self, instruction: Instruction) -> list[str]:
        """Return the registers that an instruction reads."""
        written = self.written(instruction)
        operands = instruction.operands[1:] if written else instruction.operands
        names = [name for operand in operands for name in _NAME.findall(operand)]
        if instruction.guard:
            names += [instruction.guard.lstrip("!"), *written]
        return [name for name in names if name in self.registers and name not in self.constants]

    def _is_constant(self, one: Instruction) -> bool:
        return bool(one.operands) and one.operands[0] in self.constants

    def _constants(self, instructions: list[Instruction]) -> dict[str, Instruction]:
        times: dict[str, int] = {}
        for one in instructions:
            for name in self._written(one):
                times[name] = times.get(name, 0) + 1
        constants: dict[str, Instruction] = {}
        for one in instructions:
            if one.guard or not one.operands or times.get(one.operands[0]) != 1:
                continue
            if self._is_parameter(one) and one.operands[1][1:-1].split("+")[0].strip() in self.parameters:
                constants[one.operands[0]] = one
            elif one.opcode in ("cvta", "mov") and one.operands[1] in constants:
                space_kept = one.opcode == "mov" or "global" in one.modifiers
                same = self.width(one.operands[0]) == self.width(one.operands[1])
                if space_kept and same:
                    constants[one.operands[0]] = constants[one.operands[1]]
        return constants

    def _plain(self, instructions: Iterable[Instruction]) -> list[Instruction]:
        """Make the parameters of functions that were put in place registers like any other."""
        plain = []
        for one in instructions:
            if one.opcode in ("ld", "st") and "param" in one.modifiers:
                place = 1 if one.opcode == "ld" else 0
                name = re.sub(r"\s|\+0$", "", one.operands[place][1:-1])
                variable = self.kernel.variables.get(name.split("+")[0])
                if variable is not None:
                    values = [part.strip() for part in one.operands[1 - place].strip("{}").split(",")]
                    plain += self._moves(one, name, values)
                    continue
            plain.append(one)
        return plain

    def _moves(self, one: Instruction, name: str, values: list[str]) -> list[Instruction]:
        base, _, offset = name.partition("+")
        moves = []
        for place, value in enumerate(values):
            register = f"{base}$at{int(offset or 0) + place * BYTES[one.type]}"
            width = max(BYTES[one.type], 2) * 8
            if BYTES[self.registers.setdefault(register, f"b{width}")] * 8 != width:
                raise UnsupportedPtx(f"kernel {self.kernel.name}, PTX line {one.line}: {one}")
            pair = (value, register) if one.opcode == "ld" else (register, value)
            moves.append(Instruction("mov", (f"b{width}",), pair, one.guard, one.line))
        return moves

    def _blocks(self, instructions: list[Instruction]) -> list[Block]:
        blocks, labels = [Block()], {}
        links: list[tuple[Block, list[str]]] = []
        for one in instructions:
            last = blocks[-1]
            if one.opcode == ":":
                if last.instructions or last.effect or last.branch:
                    blocks.append(Block())
                labels[one.operands[0]] = len(blocks) - 1
            elif one.opcode in ("bra", "brx"):
                last.branch = one
                table = one.operands[-1]
                links.append((last, [table] if one.opcode == "bra" else self.kernel.tables[table]))
                blocks.append(Block())
            elif one.opcode in EFFECTS and not self._is_parameter(one):
                last.effect = one
                blocks.append(Block())
            else:
                last.instructions.append(one)
        for place, block in enumerate(blocks):
            left = block.branch is not None and block.branch.guard is None
            ended = (
                block.effect is not None and block.effect.opcode in ("ret", "exit") and not block.effect.guard
            )
            block.next = None if left or ended or place + 1 == len(blocks) else place + 1
        if blocks[-1].instructions or not blocks[-1].successors:
            blocks[-1].effect = blocks[-1].effect or Instruction("exit", (), ())
        for block, targets in links:
            block.targets = [labels[target] for target in targets]
        return blocks

    def _is_parameter(self, one: Instruction) -> bool:
        """Loading a kernel's parameter is no effect: it never changes."""
        return one.opcode in ("ld", "ldu") and "param" in one.modifiers

    def _live(self) -> None:
        generated, killed = [], []
        for block in self.blocks:
            uses: set[str] = set()
            kills: set[str] = set()
            tail = [one for one in (block.effect, block.branch) if one is not None]
            for one in (*block.instructions, *tail):
                uses |= {name for name in self.read(one) if name not in kills}
                if not one.guard:
                    kills |= set(self.written(one))
            generated.append(uses)
            killed.append(kills)
        changed = True
        while changed:
            changed = False
            for place in reversed(range(len(self.blocks))):
                block = self.blocks[place]
                out = set().union(*(self.blocks[one].live_in for one in block.successors))
                into = generated[place] | (out - killed[place])
                changed |= into != block.live_in
                block.live_in, block.live_out = into, out

    def _slots(self) -> dict[str, int]:
        """Give registers that are never alive together the same place: what a warp keeps stays small."""
        neighbours: dict[str, set[str]] = {}
        for block in self.blocks:
            for alive in (block.live_in, block.live_out):
                for name in alive:
                    neighbours.setdefault(name, set()).update(alive)
        slots: dict[str, int] = {}
        for name in sorted(neighbours, key=lambda one: (-len(neighbours[one]), one)):
            width = self.width(name)
            taken = {slots[one] for one in neighbours[name] if one in slots and self.width(one) == width}
            slots[name] = next(number for number in range(len(taken) + 1) if number not in taken)
        return slots


def operands_in(text: str) -> list[str]:
    """Return the parts of a vector operand, or the operand itself."""
    return split(text[1:-1]) if text.startswith("{") else [text]


def _offsets(parameters: list[Variable]) -> dict[str, int]:
    offsets, at = {}, 0
    for one in parameters:
        at = -(-at // one.alignment) * one.alignment
        offsets[one.name] = at
        at += one.size
    return offsets


def _order(successors: list[list[int]]) -> list[int]:
    """Return the blocks that can be reached, in an order in which lanes that part ways meet as soon as they can."""
    reached, waiting = {0}, [0]
    while waiting:
        for target in successors[waiting.pop()]:
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return _topological(sorted(reached), {one: successors[one] for one in reached}, entry=0)


def _topological(members: list[int], successors: dict[int, list[int]], entry: int) -> list[int]:
    """Order one region: loops stay together, and within each loop its header comes first."""
    groups = _components(members, successors)
    of = {block: number for number, group in enumerate(groups) for block in group}
    after: list[set[int]] = [set() for _ in groups]
    for block in members:
        after[of[block]] |= {of[target] for target in successors[block] if target in of}
    before = [0] * len(groups)
    for number, targets in enumerate(after):
        targets.discard(number)
        for target in targets:
            before[target] += 1
    ready = [(min(group), number) for number, group in enumerate(groups) if not before[number]]
    heapify(ready)
    order: list[int] = []
    while ready:
        _, number = heappop(ready)
        group = groups[number]
        if len(group) == 1:
            order += group
        else:
            inside = set(group)
            entered = {
                target
                for block in members
                if block not in inside
                for target in successors[block]
                if target in inside
            }
            header = entry if entry in inside else min(entered or inside)
            kept = {
                block: [one for one in successors[block] if one in inside and one != header]
                for block in group
            }
            order += _topological(sorted(group), kept, header)
        for target in after[number]:
            before[target] -= 1
            if not before[target]:
                heappush(ready, (min(groups[target]), target))
    return order


def _components(members: list[int], successors: dict[int, list[int]]) -> list[list[int]]:
    """Return the strongly connected components (Tarjan's algorithm, without recursion)."""
    inside = set(members)
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[list[int]] = []
    for root in members:
        if root in number:
            continue
        work = [(root, iter(successors[root]))]
        number[root] = low[root] = len(number)
        stack.append(root)
        on_stack.add(root)
        while work:
            block, targets = work[-1]
            target = next(
                (one for one in targets if one in inside and (one not in number or one in on_stack)), None
            )
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[block])
                if low[block] == number[block]:
                    at = stack.index(block)
                    found.append(sorted(stack[at:]))
                    on_stack -= set(stack[at:])
                    del stack[at:]
            elif target in number:
                low[block] = min(low[block], number[target])
            else:
                number[target] = low[target] = len(number)
                stack.append(target)
                on_stack.add(target)
                work.append((target, iter(successors[target])))
    return found
