"""Hold an engine's answer against the reference: values, parents, and that parents explain the values."""

from typing import Any

import numpy as np

from grapin import reference
from grapin.engine.answer import Answer
from grapin.errors import WrongAnswer
from grapin.graph import Graph
from grapin.programs import BFS, SSSP, SSWP, ConnectedComponents
from grapin.programs.program import Accumulative, Monotone
from grapin.reference import device as reference_device
from grapin.reference.forest import check_forest
from grapin.systems import find_system

_WITH_SOURCES: dict[type, Any] = {
    BFS: reference.verify_bfs,
    SSSP: reference.verify_sssp,
    SSWP: reference.verify_sswp,
}


def verify_answer(answer: Answer, graph: Graph) -> None:
    """Raise `WrongAnswer`, naming the vertex, unless the answer is right for the graph as it is now."""
    program = answer.program
    if isinstance(program, Accumulative):
        reference.verify_pagerank(
            graph,
            answer.values,
            program.damping,
            largest_error=program.tolerance,
            total_error=program.tolerance,
        )
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
