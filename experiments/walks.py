"""How many of our files does a reader pass who follows one thing from its call to its end?

    python -m experiments.walks [--json]

Five walks: one edge inserted, an answer repaired, a prediction for zero-copy and for unified memory, and the command
`grapin run`. A file counts when one of its functions runs. Plain Python is seen by a profile; of compiled code a
profile sees only what Python calls, so what that calls in turn is read off the names it uses, called or not. Each walk
is done once before it is counted, so that imports, compilation and what is kept of a first call are no part of it.
"""

import gc
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import grapin
from grapin import SSSP, Batch, Engine, Graph, sim
from grapin.stream import workload

GRAPH = "rmat:10:8"
LIMITS = {
    "insertion": 8,
    "SSSP repair": 17,
    "zero-copy prediction": 10,
    "unified prediction": 13,
    "grapin run": 52,
}
"""Files, at most; a walk that gets shorter takes its limit with it."""

_PACKAGE = Path(grapin.__file__).resolve().parent
_ROOT = _PACKAGE.parent
_OURS = {_PACKAGE, *(folder.resolve() for folder in _PACKAGE.iterdir() if folder.is_symlink())}
_Place = tuple[str, str, int]
"""File, name and first line of a function."""


def _place(code: CodeType) -> _Place:
    return code.co_filename, code.co_name, code.co_firstlineno


def dispatchers() -> dict[_Place, list[Any]]:
    """Return the compiled functions there are by where they begin, which is all that Numba shows to a profile."""
    from numba.core.dispatcher import Dispatcher

    found: dict[_Place, list[Any]] = {}
    for one in gc.get_objects():
        if issubclass(type(one), Dispatcher):  # a weak proxy of what is gone has no other class
            found.setdefault(_place(one.py_func.__code__), []).append(one.py_func)
    return found


@dataclass
class Walk:
    """Which files of ours a call passes, in the order in which it comes to them."""

    files: dict[str, list[str]] = field(default_factory=dict)
    """The functions of each, in order, compiled ones too."""
    _compiled: set[int] = field(default_factory=set)
    _dispatchers: dict[_Place, list[Any]] = field(default_factory=dispatchers)

    def follow(self, call: Callable[[], object]) -> "Walk":
        """Run something and count it."""
        before = sys.getprofile()
        sys.setprofile(self._seen)
        try:
            call()
        finally:
            sys.setprofile(before)
        return self

    def _seen(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            name = frame.f_code.co_filename
            generated = name.startswith("<")  # what a dataclass brings along belongs where the dataclass does
            self._pass(str(frame.f_globals.get("__file__", "")) if generated else name, frame.f_code.co_name)
            for compiled in self._dispatchers.get(_place(frame.f_code), ()):
                self._enter(compiled)

    def _pass(self, file: str, function: str) -> None:
        path = Path(file).resolve()
        if any(path.is_relative_to(folder) for folder in _OURS):
            functions = self.files.setdefault(str(path.relative_to(_ROOT)), [])
            if function not in functions:
                functions.append(function)

    def _enter(self, function: Any) -> None:
        """Follow compiled code into all compiled code that it names."""
        if id(function) in self._compiled:
            return
        self._compiled.add(id(function))
        code = function.__code__
        self._pass(code.co_filename, code.co_name)
        for callee in _named(function):
            self._enter(callee)


def _named(function: Any) -> Iterator[Any]:
    """Yield the compiled functions that a function names, as what they were before they were compiled."""
    names = dict.fromkeys(_names(function.__code__))
    values = [function.__globals__[name] for name in names if name in function.__globals__]
    values += [cell.cell_contents for cell in function.__closure__ or ()]
    for value in values:
        inside = isinstance(value, ModuleType) and value.__name__.startswith("grapin.")
        for one in [getattr(value, name, None) for name in names] if inside else [value]:
            before = getattr(one, "py_func", getattr(one, "_defn", None))  # the latter of an intrinsic
            if isinstance(before, FunctionType):
                yield before


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _insertion(_folder: Path) -> Callable[[], object]:
    graph = grapin.load(GRAPH, seed=1)
    edges = iter([(3, 900, 5), (3, 901, 5)])
    return lambda: graph.apply(Batch(insert=[next(edges)]))


def _hub(graph: Graph) -> int:
    """Return the vertex with most out-edges: from it, values and traces are of something."""
    return max(range(graph.bound), key=graph.out_degree)


def _repair(_folder: Path) -> Callable[[], object]:
    graph = grapin.load(GRAPH, seed=1)
    hub = _hub(graph)
    engine = Engine(graph, SSSP(source=hub), device="cpu", threads=1)
    parents = engine.parents.tolist()
    children = [vertex for vertex, parent in enumerate(parents) if parent not in (-1, hub)]
    free = [vertex for vertex in children if not graph.has_edge(hub, vertex)]
    batches = iter([Batch(insert=[(hub, vertex, 60)], delete=[(parents[vertex], vertex)]) for vertex in free])
    return lambda: engine.apply(next(batches))


def _prediction(system: str) -> Callable[[], object]:
    stream = workload(grapin.generate(GRAPH, seed=1), batches=3, size=50, seed=1)
    graph, replay = stream.graph(), sim.replay
    engine = Engine(graph, SSSP(source=_hub(graph)), device="cpu", system=system, threads=1, trace=True)
    for batch in stream:
        engine.apply(batch)
    trace = engine.trace
    return lambda: replay(trace, system, "a5000")


def _command(folder: Path) -> Callable[[], object]:
    from grapin.cli.main import main

    arguments = [
        "run",
        GRAPH,
        "--batches",
        "3",
        "--batch-size",
        "50",
        "--device",
        "cpu",
        "--threads",
        "1",
        "--json",
        str(folder / "run.json"),
    ]

    def call() -> None:
        with redirect_stdout(StringIO()):
            if main(arguments):
                raise RuntimeError("grapin run failed")

    return call


WALKS: dict[str, Callable[[Path], Callable[[], object]]] = {
    "insertion": _insertion,
    "SSSP repair": _repair,
    "zero-copy prediction": lambda _folder: _prediction("grapin-zc"),
    "unified prediction": lambda _folder: _prediction("grapin-page"),
    "grapin run": _command,
}
"""What is walked: each makes what it needs, and returns the call that is counted."""


def walk(name: str) -> dict[str, list[str]]:
    """Return the files of one walk and the functions of each, in the order in which it comes to them."""
    with tempfile.TemporaryDirectory() as folder:
        call = WALKS[name](Path(folder))
        call()
        return Walk().follow(call).files


def main(arguments: Sequence[str]) -> int:
    """Print each walk, file by file, or all of them as JSON; 1 where one is longer than its limit."""
    walks = {name: walk(name) for name in WALKS}
    if "--json" in arguments:
        print(json.dumps(walks, indent=1))
    else:
        for name, files in walks.items():
            print(f"{name}: {len(files)} files (at most {LIMITS[name]})")
            for number, (file, functions) in enumerate(files.items(), 1):
                print(f"  {number:2} {file:34} {', '.join(functions)}")
    return int(any(len(files) > LIMITS[name] for name, files in walks.items()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
