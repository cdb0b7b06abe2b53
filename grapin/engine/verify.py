"""Hold an engine's answer against the reference: values, parents, and that parents explain the values.

Hold the copies in a device's cache against the lists of the store.

Everything that must hold of an engine between batches: its answers are right, its cached lists are the store's.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin import reference
from grapin.engine import Engine
from grapin.engine.answer import Answer
from grapin.errors import WrongAnswer
from grapin.graph import Graph
from grapin.graph.snapshot import Snapshot
from grapin.programs import BFS, SSSP, SSWP, Accumulative, ConnectedComponents, Monotone, Triangles
from grapin.reference import device as reference_device
from grapin.reference.verify import check_forest
from grapin.system import find_system

_WITH_SOURCES: dict[type, Any] = {
    BFS: reference.verify_bfs,
    SSSP: reference.verify_sssp,
    SSWP: reference.verify_sswp,
}


def verify_answer(answer: Answer, graph: Graph) -> None:
    """Raise `WrongAnswer`, naming the vertex, unless the answer is right for the graph as it is now."""
    program = answer.program
    if isinstance(program, Accumulative):
        reference.verify_accumulative(graph, program, answer.values, program.tolerance)
        return
    if isinstance(program, Triangles):
        reference.verify_triangles(graph, answer.values)
        return
    assert isinstance(program, Monotone)
    values, parents = answer.values, answer.parents
    usual = all(value == program.source_value for value in program.sources.values())
    verifier = _WITH_SOURCES.get(type(program))  # by class: a user's own may have the name of one of ours
    if verifier is not None and usual:
        verifier(graph, [vertex for vertex in program.sources if graph.has_vertex(vertex)], values, parents)
    elif type(program) is ConnectedComponents:
        reference.verify_components(graph, values, parents)
    else:
        _verify_any(program, graph, values, parents)


def _verify_any(program: Monotone, graph: Graph, values: Any, parents: Any) -> None:
    """Compare with the program's own functions executed as they are written."""
    query = reference_device.query(
        program,
        find_system("grapin-recomp"),
        weight_dtype=graph.weight_dtype,
        directed=graph.directed,
        threads=1,
    )
    assert isinstance(query, reference_device.ReferenceMonotone)
    snapshot = graph.snapshot()
    query.start(snapshot, tracing=False)
    expected = query.values()
    wrong = values != expected
    if wrong.any():
        vertex = int(np.argmax(wrong))
        raise WrongAnswer(f"vertex {vertex} has {values[vertex]}, expected {expected[vertex]}")
    query.check_parents(snapshot, values, parents)
    check_forest(parents)


def verify_copies(cache: Any, snapshot: Snapshot) -> int:
    """Raise `WrongAnswer` unless copies that count as up to date equal the lists in the store; return how many do."""
    holdings, copies = cache.hot.holdings, cache.copies.contents()
    current = np.flatnonzero((holdings.copied > 0) & (holdings.stale_sectors == 0)).tolist()
    for place in current:
        vertex, lists = place >> 1, snapshot.in_ if place & 1 else snapshot.out
        assert lists is not None
        position = int(cache.hot.positions[place])
        arrays = int(holdings.copied[place])
        here = _entries(copies, position, int(lists.degrees[vertex]), arrays)
        there = _entries(
            (lists.neighbours, lists.weights), int(lists.starts[vertex]), int(lists.degrees[vertex]), arrays
        )
        if here != there:
            side = "in" if place & 1 else "out"
            raise WrongAnswer(
                f"the cached {side}-list of vertex {vertex} is {here}, expected {there} as in the store"
            )
    return len(current)


def _entries(
    columns: tuple[NDArray[Any], ...], start: int, length: int, arrays: int
) -> list[tuple[Any, ...]]:
    """Return neighbours, and weights where they are copied too, in an order that does not depend on the list's."""
    parts = [column[start : start + length].tolist() for column in columns[:arrays]]
    return sorted(zip(*parts, strict=True))


def verify_engine(engine: Engine) -> None:
    """Raise `WrongAnswer`, naming vertex or list, unless answers and copies are right for the graph as it is now."""
    for answer in engine.answers:
        verify_answer(answer, engine.graph)
    cache = engine._cache  # noqa: SLF001  (how copies are kept is no business of users, but of tests)
    if cache is not None:
        verify_copies(cache, engine.graph.snapshot())
