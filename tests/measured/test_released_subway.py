"""Subway's systems against its released program, whose copies were counted while it was executed."""

import pytest

from grapin import BFS, SSSP, ConnectedComponents, Engine
from grapin.cli.executed import open_graph, scattered_weights
from grapin.programs import Program
from grapin.system import SYSTEMS, Compaction, System

pytest.importorskip("numba.cuda", reason="this Numba has no CUDA names")

# github.com/AutomataLab/Subway at a0ef2d1, compiled by nvcc 13 and executed as PTX, sources untouched, right answers:
# graph, program, variant, edges that the GPU's memory holds, bytes of edges copied to it.
EXECUTED = [
    ("rmat12", "bfs", "sync", 13322, 210644),
    ("rmat12", "bfs", "sync", 26645, 210644),
    ("rmat12", "bfs", "async", 13322, 321208),
    ("rmat12", "bfs", "async", 26645, 319964),
    ("rmat12", "sssp", "async", 13322, 836040),
    ("rmat12", "sssp", "async", 26645, 745392),
    ("rmat12u", "cc", "async", 24172, 389308),
    ("rmat12u", "cc", "async", 48344, 387760),
    ("rmat14", "bfs", "sync", 57037, 902912),
    ("rmat14", "bfs", "sync", 114075, 902912),
    ("rmat14", "bfs", "async", 57037, 1376188),
    ("rmat14", "bfs", "async", 114075, 1370100),
    ("rmat14", "sssp", "async", 57037, 3283192),
    ("rmat14", "sssp", "async", 114075, 3003912),
    ("rmat14u", "cc", "async", 106450, 1715508),
    ("rmat14u", "cc", "async", 212900, 1708536),
]
DROPPED = 0.002
"""The program never sets the degree of the last vertex but one, whose edges it does not copy: up to 54 an iteration."""


def released(variant: str, edges: int, size: int) -> System:
    """It copies no index, and gathers whatever part of the edges is active."""
    transfer = Compaction(memory=edges * size, threshold=1.0, index_bytes=0)
    preset = SYSTEMS[f"subway-{variant}"]
    return System(preset.name, preset.summary, preset.repair, transfer, schedule=preset.schedule)


@pytest.mark.parametrize(("graph", "program", "variant", "edges", "theirs"), EXECUTED)
def test_as_many_bytes_are_copied_as_by_the_released_program(
    graph: str, program: str, variant: str, edges: int, theirs: int
) -> None:
    store, source = open_graph(graph, ".", weight=scattered_weights if program == "sssp" else None)
    made: Program = {"bfs": BFS(source), "sssp": SSSP(source), "cc": ConnectedComponents()}[program]
    system = released(variant, edges, 8 if program == "sssp" else 4)
    engine = Engine(store, made, device="onelane", system=system)
    ours = engine.started.counters.copied_bytes
    assert abs(ours - theirs) <= DROPPED * theirs
