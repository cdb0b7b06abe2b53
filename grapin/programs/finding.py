"""Programs by name: the ones that come with Grapin, and `FILE.py:NAME` for the user's own."""

import importlib.util
import inspect
from pathlib import Path

from grapin.errors import InvalidArgument
from grapin.programs.bfs import BFS
from grapin.programs.components import ConnectedComponents
from grapin.programs.pagerank import PageRank
from grapin.programs.program import Program
from grapin.programs.sssp import SSSP
from grapin.programs.sswp import SSWP
from grapin.validation import check_choice

PROGRAMS: dict[str, type[Program]] = {
    program.name: program for program in (BFS, SSSP, SSWP, ConnectedComponents, PageRank)
}


def find_program(name: str) -> type[Program]:
    """Return the program class of this name; `FILE.py:NAME` runs the file to find the class in it."""
    path, colon, attribute = name.rpartition(":")
    if not colon or not path.endswith(".py"):
        return PROGRAMS[check_choice("program", name, PROGRAMS)]
    if not Path(path).is_file():
        raise InvalidArgument(f"program={name!r} must name a file that exists")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InvalidArgument(f"program={name!r} must run: {type(error).__name__}: {error}") from error
    found = getattr(module, attribute, None)
    if not (inspect.isclass(found) and issubclass(found, Program)):
        raise InvalidArgument(f"program={name!r} must name a subclass of grapin.Monotone in the file")
    return found
