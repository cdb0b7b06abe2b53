"""Mutants: the product's own source with one small mistake each, and a sample of them that stays as the code changes.

A mutant exchanges one operator for its neighbour, moves a whole number by one, turns a condition over, or leaves a
statement out; only inside functions, and never in what a sentence says, an annotation, or an assertion. Constants of
modules are left alone: most of them tune, and one more or less is no mistake.
"""

import ast
import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from operator import setitem
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PARTS = {
    "store": ("grapin/graph",),
    "CPU kernels": ("kernels/cpu", "kernels/rules.py", "kernels/equation.py", "kernels/cache.py"),
    "model": ("sim",),
    "reference": ("reference",),
}
"""What is mutated, and where it lies."""
LEFT_OUT = ("grapin/graph/paged.py", "grapin/graph/page_store.py", "grapin/graph/check_pages.py")
"""The store in pages stands on a GPU's kernels, which as plain Python are too slow to meet mutants."""

_OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.USub: ast.UAdd,
}
_LEFT_ALONE = (ast.Raise, ast.Assert, ast.JoinedStr)
_OUTSIDE = ("annotation", "returns", "decorator_list", "type_params", "defaults", "kw_defaults")
"""What stands in a function's head is not run when it is called."""


@dataclass(frozen=True)
class Mutant:
    """One mistake in one file."""

    path: str
    function: str
    line: int
    change: str
    """What stands there, and what stands there instead."""
    number: int
    """Which of the file's mutants it is."""
    key: str
    """The same as long as the function's mutants before it are: the line may move, other functions may change."""

    @property
    def rank(self) -> str:
        """The sample takes the smallest: it stays the sample while files come, go and change."""
        return hashlib.sha256(self.key.encode()).hexdigest()

    @property
    def part(self) -> str:
        """What it is a part of."""
        return next(name for name, folders in PARTS.items() if self.path.startswith(folders))

    @property
    def module(self) -> str:
        """What Python calls the file."""
        name = self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        return name if name.startswith("grapin.") else f"grapin.{name}"

    def code(self) -> CodeType:
        """Return the file with this mistake, compiled."""
        tree = ast.parse(_source(self.path))
        site = list(_sites(tree, ""))[self.number]
        site.apply()
        return compile(ast.fix_missing_locations(tree), str(ROOT / self.path), "exec")


@dataclass(frozen=True)
class _Site:
    function: str
    line: int
    change: str
    apply: Callable[[], None]


def sample(seed: int, size: int) -> list[Mutant]:
    """Return as many mutants of each part, `size` together, in the order of their files."""
    chosen: list[Mutant] = []
    for folders in PARTS.values():
        found = [mutant for path in _files(folders) for mutant in mutants(path, seed)]
        chosen += sorted(
            sorted(found, key=lambda one: one.rank)[: size // len(PARTS)], key=lambda one: one.path
        )
    return chosen


@cache
def _source(path: str) -> str:
    """Read a file once: a run goes on with what it began with."""
    return (ROOT / path).read_text(encoding="utf-8")


def _files(places: Iterable[str]) -> Iterator[Path]:
    for place in places:
        for path in sorted((ROOT / place).rglob("*.py")) or [ROOT / place]:
            if str(path.relative_to(ROOT)) not in LEFT_OUT:
                yield path.relative_to(ROOT)


def mutants(path: Path, seed: int = 0) -> Iterator[Mutant]:
    """Yield every mutant of a file."""
    seen: dict[str, int] = {}
    for number, site in enumerate(_sites(ast.parse(_source(str(path))), "")):
        name = f"{path}:{site.function}: {site.change}"
        seen[name] = seen.get(name, 0) + 1
        yield Mutant(
            str(path), site.function, site.line, site.change, number, f"{seed} {name} ({seen[name]})"
        )


def _sites(node: ast.AST, function: str) -> Iterator[_Site]:
    if isinstance(node, _LEFT_ALONE):
        return
    if function:
        yield from _changes(node, function)
    inside = function
    if isinstance(node, ast.FunctionDef):
        inside = f"{function}.<locals>.{node.name}" if function else f"{_class_of(node)}{node.name}"
    for field, value in ast.iter_fields(node):
        if field in _OUTSIDE:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                if isinstance(node, ast.ClassDef):
                    child.within = f"{_class_of(node)}{node.name}."  # type: ignore[attr-defined]
                yield from _sites(child, inside)


def _class_of(node: ast.AST) -> str:
    return getattr(node, "within", "")


def _changes(node: ast.AST, function: str) -> Iterator[_Site]:
    """Yield what can be done to one node."""
    line = getattr(node, "lineno", 0)

    def site(before: str, after: str, apply: Callable[[], None]) -> _Site:
        return _Site(function, line, f"{before} -> {after}", apply)

    def exchange(holder: ast.AST, operator: type[ast.AST]) -> Callable[[], None]:
        return lambda: setattr(holder, "op", operator())

    match node:
        case ast.Compare(ops=ops):
            for place, operator in enumerate(ops):
                other = _OPERATORS[type(operator)]
                yield site(ast.unparse(node), other.__name__, partial(setitem, ops, place, other()))
        case (
            ast.BinOp(op=operator)
            | ast.AugAssign(op=operator)
            | ast.UnaryOp(op=operator)
            | ast.BoolOp(op=operator)
        ):
            if type(operator) in _OPERATORS:
                other = _OPERATORS[type(operator)]
                yield site(ast.unparse(node), other.__name__, exchange(node, other))
        case ast.Constant(value=bool() as value):
            yield site(f"{value}", f"{not value}", lambda: setattr(node, "value", not value))
        case ast.Constant(value=int() as number):
            yield site(f"{number}", f"{number + 1}", lambda: setattr(node, "value", number + 1))
        case ast.Expr(value=ast.Call()):
            yield site(ast.unparse(node), "nothing", lambda: setattr(node, "value", ast.Constant(None)))
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        test = node.test
        turned = ast.UnaryOp(ast.Not(), test)
        yield site(f"if {ast.unparse(test)}", "if not", lambda: setattr(node, "test", turned))
    body: Any = getattr(node, "body", None)
    for place, statement in enumerate(body if isinstance(body, list) else []):
        if isinstance(statement, ast.Break | ast.Continue):
            yield site(ast.unparse(statement), "pass", partial(setitem, body, place, ast.Pass()))
