"""`Module`: PTX as text becomes functions of instructions, with every called function in place of its call.

Only the shape of PTX is read here: declarations, scopes, labels, calls. What they mean: `blocks.py`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from grapin.errors import GrapinError

BYTES = {
    **dict.fromkeys(("pred", "b8", "u8", "s8"), 1),
    **dict.fromkeys(("b16", "u16", "s16", "f16"), 2),
    **dict.fromkeys(("b32", "u32", "s32", "f32"), 4),
    **dict.fromkeys(("b64", "u64", "s64", "f64"), 8),
}
"""Bytes of each type."""
GRID_BARRIER = ("cudaCGSynchronize", "cudaCGSynchronizeGrid")
"""What a call to these library functions stands for: a barrier of all blocks (cooperative groups' device library)."""
HANDLE = "cudaCGGetIntrinsicHandle"
"""Returns the handle that those are given; it is never looked at."""
MOST_NESTED = 40


class UnsupportedPtx(GrapinError):
    """A kernel has an instruction that the virtual GPU does not know."""


@dataclass(frozen=True)
class Instruction:
    """One instruction; a label is an instruction without operands named `:`."""

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[str, ...]
    guard: str | None = None
    """The predicate without which it does nothing, `!` before it for its opposite."""
    line: int = 0
    """Of the PTX, from 1."""

    @property
    def type(self) -> str:
        """The last modifier, which is the type of what is computed."""
        return self.modifiers[-1]

    def __str__(self) -> str:
        name = ".".join((self.opcode, *self.modifiers))
        return f"{f'@{self.guard} ' if self.guard else ''}{name} {', '.join(self.operands)}".strip()


@dataclass(frozen=True)
class Variable:
    """Memory with a name."""

    name: str
    space: str
    type: str
    size: int
    alignment: int
    values: tuple[str, ...] = ()


@dataclass
class Function:
    """A kernel, or a function that it calls."""

    name: str
    parameters: list[Variable]
    returns: list[Variable]
    body: str | None
    line: int
    """On which its body begins."""


@dataclass
class Kernel:
    """One kernel with nothing left to look up: what it calls is in its place, names of scopes are told apart."""

    name: str
    parameters: list[Variable]
    registers: dict[str, str] = field(default_factory=dict)
    """Types by name."""
    variables: dict[str, Variable] = field(default_factory=dict)
    """Shared and local memory that is declared within it."""
    tables: dict[str, list[str]] = field(default_factory=dict)
    """Targets of branches that choose by number."""
    instructions: list[Instruction] = field(default_factory=list)


_VARIABLE = re.compile(
    r"(?:\.(?:visible|weak|extern|common)\s+)*\.(?P<space>global|const|shared|local|param)\s+"
    r"(?:\.align\s+(?P<alignment>\d+)\s+)?(?:\.(?P<vector>v2|v4)\s+)?\.(?P<type>\w+)\s+"
    r"(?:\.ptr\s+(?:\.\w+\s+)??(?:\.align\s+\d+\s+)?)?"
    r"(?P<name>[\w$.%]+)\s*(?P<array>(?:\[\s*\d*\s*\]\s*)*)(?:=\s*(?P<values>.*))?$",
    re.DOTALL,
)
_STATEMENT = re.compile(
    r"\s*(?:(?P<label>[$%\w]+)\s*:(?!:)|(?P<brace>[{}])|(?P<note>\.(?:loc|file)\b[^\n]*)|(?P<text>[^;{}]*"
    r"(?:\{[^;{}]*\}[^;{}]*)*);)"
)
_INSTRUCTION = re.compile(r"(?:@(!?)\s*([%\w$.]+)\s+)?([a-z_]\w*)((?:[.:]+\w+)*)\s*(.*)$", re.DOTALL)
_CALL = re.compile(r"(?:\(([^)]*)\)\s*,\s*)?([\w$.%]+)\s*(?:,\s*\(([^)]*)\))?")


class Module:
    """All that one text of PTX declares."""

    def __init__(self, text: str) -> None:
        text = re.sub(r"/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
        self._text = re.sub(r"//[^\n]*", "", text)
        self.variables: dict[str, Variable] = {}
        self.functions: dict[str, Function] = {}
        self.kernels: list[str] = []
        self._read()

    def kernel(self, name: str) -> Kernel:
        """Return one kernel, ready to be lowered."""
        function = self.functions[name]
        kernel = Kernel(name, function.parameters)
        names = {one.name: one.name for one in function.parameters}
        _Body(self, kernel).read(function, names, prefix="", end=None)
        return kernel

    def _read(self) -> None:
        text, at = self._text, 0
        head = re.compile(r"\s*(\.(?:version|target|address_size|file|loc)\b[^\n]*)")
        section = re.compile(r"\s*\.section[^{]*")
        function = re.compile(r"\s*(?:\.(?:visible|weak|extern)\s+)*\.(entry|func)\b\s*")
        while at < len(text) and not text[at:].isspace():
            if found := head.match(text, at):
                at = found.end()
            elif found := section.match(text, at):
                at = _closing(text, found.end()) + 1
            elif found := function.match(text, at):
                at = self._read_function(found.end(), kernel=found[1] == "entry")
            else:
                end = text.index(";", at)
                variable = _variable(text[at:end])
                self.variables[variable.name] = variable
                at = end + 1

    def _read_function(self, at: int, *, kernel: bool) -> int:
        text = self._text
        returns: list[Variable] = []
        if text[at] == "(":
            end = text.index(")", at)
            returns, at = _variables(text[at + 1 : end]), end + 1
        name = re.compile(r"\s*([\w$.]+)\s*").match(text, at)
        if name is None:
            raise UnsupportedPtx(f"PTX line {text.count(chr(10), 0, at) + 1}: a function without a name")
        at, parameters = name.end(), []
        if text[at : at + 1] == "(":
            end = text.index(")", at)
            parameters, at = _variables(text[at + 1 : end]), end + 1
        begin, stop = text.find("{", at), text.find(";", at)
        if begin < 0 or 0 <= stop < begin:
            self.functions.setdefault(name[1], Function(name[1], parameters, returns, None, 0))
            return stop + 1
        end = _closing(text, begin)
        line = text.count("\n", 0, begin) + 1
        self.functions[name[1]] = Function(name[1], parameters, returns, text[begin + 1 : end], line)
        if kernel:
            self.kernels.append(name[1])
        return end + 1


class _Body:
    """Reads functions into one kernel, each called function where it is called."""

    def __init__(self, module: Module, kernel: Kernel) -> None:
        self._module, self._kernel = module, kernel
        self._calls = self._scopes = self._nested = 0

    def read(self, function: Function, names: dict[str, str], prefix: str, end: str | None) -> None:
        """Add a function's instructions; its names get the prefix, its returns become branches to `end`."""
        self._nested += 1
        if self._nested > MOST_NESTED:
            raise UnsupportedPtx(f"kernel {self._kernel.name}: {function.name} calls itself")
        if function.body is None:
            raise UnsupportedPtx(
                f"kernel {self._kernel.name} calls {function.name}, which the PTX does not hold"
            )
        scopes, labels = [names], prefix
        text, at = function.body, 0
        while found := _STATEMENT.match(text, at):
            line = function.line + text.count("\n", 0, found.end() - 1)
            at = found.end()
            if found["label"]:
                at = self._label(found["label"], labels, text, at, line)
            elif found["brace"] == "{":
                scopes.append({})
            elif found["brace"] == "}":
                scopes.pop()
            elif statement := " ".join((found["text"] or "").split()):
                if statement.startswith(".pragma"):
                    continue
                if statement.startswith("."):
                    self._declare(statement, scopes, prefix, line)
                else:
                    self._instruct(statement, scopes, labels, end, line)
        self._nested -= 1

    def _label(self, name: str, prefix: str, text: str, at: int, line: int) -> int:
        table = re.compile(r"\s*\.branchtargets\s+([^;]*);").match(text, at)
        if table:
            self._kernel.tables[prefix + name] = [prefix + one.strip() for one in table[1].split(",")]
            return table.end()
        prototype = re.compile(r"\s*\.callprototype[^;]*;").match(text, at)
        if prototype:
            return prototype.end()
        self._kernel.instructions.append(Instruction(":", (), (prefix + name,), line=line))
        return at

    def _declare(self, statement: str, scopes: list[dict[str, str]], prefix: str, line: int) -> None:
        self._scopes += len(scopes) > 1
        inner = f"{prefix}$s{self._scopes}$" if len(scopes) > 1 else prefix
        found = re.match(r"\.reg\s+\.(\w+)\s+(.*)$", statement)
        if found:
            for name in _register_names(found[2]):
                scopes[-1][name] = inner + name
                self._kernel.registers[inner + name] = found[1]
            return
        variable = _variable(statement)
        unique = inner + variable.name
        if variable.space == "shared":
            unique = f"{variable.name}$l{line}"  # one for all calls of the function that declares it
        scopes[-1][variable.name] = unique
        self._kernel.variables[unique] = replace(variable, name=unique)

    def _instruct(
        self, statement: str, scopes: list[dict[str, str]], prefix: str, end: str | None, line: int
    ) -> None:
        found = _INSTRUCTION.match(statement)
        if found is None:
            raise UnsupportedPtx(f"kernel {self._kernel.name}, PTX line {line}: {statement}")
        opposite, guard, opcode, modifiers, rest = found.groups()
        if guard is not None:
            guard = opposite + _resolved(guard, scopes)
        kinds = tuple(one for one in re.split(r"[.]", modifiers) if one)
        if opcode == "call":
            if guard:
                raise UnsupportedPtx(f"kernel {self._kernel.name}, PTX line {line}: a call under a predicate")
            self._call(rest, scopes, prefix, line)
            return
        if opcode == "ret" and end is not None:
            opcode, kinds, rest = "bra", (), end
            operands: tuple[str, ...] = (end,)
        elif opcode in ("bra", "brx"):
            operands = tuple(
                prefix + one if place or opcode == "bra" else _resolved(one, scopes)
                for place, one in enumerate(split(rest))
            )
        else:
            operands = tuple(_resolved(one, scopes) for one in split(rest))
        self._kernel.instructions.append(Instruction(opcode, kinds, operands, guard, line))

    def _call(self, rest: str, scopes: list[dict[str, str]], prefix: str, line: int) -> None:
        found = _CALL.match(rest)
        name = found[2] if found else ""
        if found is None or name not in self._module.functions:
            raise UnsupportedPtx(f"kernel {self._kernel.name}, PTX line {line}: call {rest}")
        if name == HANDLE:
            return
        if name in GRID_BARRIER:
            self._kernel.instructions.append(Instruction("gridbarrier", ("b32",), (), line=line))
            return
        function = self._module.functions[name]
        self._calls += 1
        inner = f"{prefix}{name}$c{self._calls}$"
        names = {}
        for formal, given in ((function.returns, found[1]), (function.parameters, found[3])):
            for one, actual in zip(formal, split(given or ""), strict=True):
                names[one.name] = _resolved(actual, scopes)
        after = f"{inner}end"
        self.read(function, names, inner, after)
        self._kernel.instructions.append(Instruction(":", (), (after,), line=line))


def split(text: str) -> list[str]:
    """Split operands at the commas that are in no brackets."""
    parts, depth, begin = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "[{(") - (letter in "]})")
        if letter == "," and not depth:
            parts.append(text[begin:place].strip())
            begin = place + 1
    last = text[begin:].strip()
    return [*parts, last] if last else parts


def _resolved(operand: str, scopes: list[dict[str, str]]) -> str:
    def known(found: re.Match[str]) -> str:
        for scope in reversed(scopes):
            if found[0] in scope:
                return scope[found[0]]
        return found[0]

    return re.sub(r"(?<![\w.])[%$_A-Za-z][\w$%]*(?:\.[xyzw]\b)?", known, operand)


def _register_names(text: str) -> Iterator[str]:
    for name in text.split(","):
        many = re.match(r"\s*(.*)<(\d+)>\s*$", name)
        if many:
            yield from (f"{many[1]}{number}" for number in range(int(many[2])))
        else:
            yield name.strip()


def _variables(text: str) -> list[Variable]:
    return [_variable(one) for one in split(text)]


def _variable(text: str) -> Variable:
    found = _VARIABLE.match(text.strip())
    if found is None or found["type"] not in BYTES:
        register = re.match(r"\s*\.reg\s+\.(\w+)\s+([\w$%]+)$", text)  # parameters of small functions
        if register:
            return Variable(register[2], "reg", register[1], BYTES[register[1]], BYTES[register[1]])
        raise UnsupportedPtx(
            f"PTX declares {' '.join(text.split())[:80]!r}, which the virtual GPU does not know"
        )
    count = int((found["vector"] or "v1")[1])
    for extent in re.findall(r"\[\s*(\d*)\s*\]", found["array"]):
        count *= int(extent or 0)
    size = BYTES[found["type"]]
    values = tuple(split((found["values"] or "").strip().strip("{}")))
    return Variable(
        found["name"], found["space"], found["type"], size * count, int(found["alignment"] or size), values
    )


def _closing(text: str, at: int) -> int:
    """Return the place of the brace that closes the one at a place."""
    depth = 0
    for found in re.compile(r"[{}]").finditer(text, at):
        depth += 1 if found[0] == "{" else -1
        if not depth:
            return found.start()
    raise UnsupportedPtx("PTX ends within a function")
