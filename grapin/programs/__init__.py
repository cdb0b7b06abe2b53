"""Programs: what can be kept fresh, one file each, found by name; `FILE.py:NAME` is one of the user's own."""

import inspect

from grapin.errors import InvalidArgument
from grapin.programs.accumulative import Accumulative, check_rule
from grapin.programs.katz import HittingProbability, Katz
from grapin.programs.monotone import BFS, SSSP, SSWP, ConnectedComponents
from grapin.programs.pagerank import PageRank, PersonalisedPageRank, WeightedPageRank
from grapin.programs.program import Monotone, Program, check_class
from grapin.programs.triangles import Triangles
from grapin.user_code import is_user_code, load_user_code
from grapin.validation import check_choice

__all__ = [
    "BFS",
    "PROGRAMS",
    "SSSP",
    "SSWP",
    "Accumulative",
    "ConnectedComponents",
    "HittingProbability",
    "Katz",
    "Monotone",
    "PageRank",
    "PersonalisedPageRank",
    "Program",
    "Triangles",
    "WeightedPageRank",
    "find_program",
]


PROGRAMS: dict[str, type[Program]] = {
    program.name: program
    for program in (
        BFS,
        SSSP,
        SSWP,
        ConnectedComponents,
        PageRank,
        WeightedPageRank,
        PersonalisedPageRank,
        Katz,
        HittingProbability,
        Triangles,
    )
}


def find_program(name: str) -> type[Program]:
    """Return the program class of this name; `FILE.py:NAME` runs the file to find the class in it."""
    if not is_user_code(name):
        return PROGRAMS[check_choice("program", name, PROGRAMS)]
    found = load_user_code("program", name)
    if inspect.isclass(found) and issubclass(found, Monotone):
        check_class(found)
        return found
    if inspect.isclass(found) and issubclass(found, Accumulative):
        check_rule(found)
        return found
    raise InvalidArgument(
        f"program={name!r} must name a subclass of grapin.Monotone or grapin.Accumulative in the file"
    )
