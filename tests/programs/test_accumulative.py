"""Accumulative programs: what a class may say, what is refused, and that all devices agree on it."""

from typing import Any

import pytest

import grapin
from grapin import InvalidArgument
from grapin.device import device
from grapin.engine.verify import verify_answer
from grapin.programs import find_program
from grapin.system import find_system

TRIANGLE: tuple[list[int], list[int]] = ([0, 1, 2, 2], [1, 2, 0, 1])

OWN = """
import grapin

class Own(grapin.PageRank):
    name = "own"
    {more}
"""


@pytest.mark.parametrize("more", ["damping = 0.5", "def edge(value, weight): return value"])
def test_what_nothing_would_execute_is_refused_in_a_sentence(more: str, tmp_path: Any) -> None:
    file = tmp_path / "own.py"
    file.write_text(OWN.format(more=more))
    named = more.removeprefix("def ").split()[0].split("(")[0]
    with pytest.raises(
        InvalidArgument, match=rf"Own\.{named} must be left out: .* share\(self, degree, total\)"
    ):
        find_program(f"{file}:Own")
    kind = type("Own", (grapin.PageRank,), {"name": "own", named: 0.5})
    with pytest.raises(InvalidArgument, match=rf"Own\.{named} must be left out"):
        kind()


def test_a_program_of_no_family_is_refused_by_every_device() -> None:
    class Own(grapin.programs.Program):
        name = "own"
        damping, tolerance = 0.5, 1e-3

    with pytest.raises(InvalidArgument, match="must be a Monotone or an Accumulative program"):
        grapin.Engine(grapin.Graph.from_edges(*TRIANGLE), Own())
    for name in ("cpu", "cudasim", "reference"):
        query = device(name).query
        with pytest.raises(InvalidArgument, match="must be a Monotone"):
            query(Own(), find_system("bounded"), weight_dtype=None, directed=True, threads=1)


def test_settings_that_are_put_in_later_are_checked_when_an_engine_takes_the_program() -> None:
    class Own(grapin.PageRank):
        name = "own"

        def __init__(self) -> None:
            super().__init__()
            self.damping = 1.5

    with pytest.raises(InvalidArgument, match=r"damping=1\.5 must be at least 0 and below 1"):
        grapin.Engine(grapin.Graph.from_edges(*TRIANGLE), Own())


def test_a_page_rank_with_another_name_and_defaults_is_page_rank() -> None:
    class Slow(grapin.PageRank):
        """PageRank as one wants it."""

        name = "slow"

        def __init__(self) -> None:
            super().__init__(damping=0.5, tolerance=1e-6)

    graph = grapin.Graph.from_edges(*TRIANGLE)
    engine = grapin.Engine(graph, Slow())
    assert repr(engine.answers[0].program) == "Slow(damping=0.5, tolerance=1e-06)"
    verify_answer(engine.answers[0], graph)
