"""The one sentence everything else serves: after any stream, every device and system gives the reference's answer."""

import os

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import grapin
from grapin.engine.verify import verify_answer
from grapin.programs import BFS, SSSP, SSWP, ConnectedComponents, Monotone
from grapin.system import RUNNABLE
from grapin.testing import MutationStream, mutation_streams

PROGRAMS = {program.name: program for program in (BFS, SSSP, SSWP, ConnectedComponents)}

# Each kind of weight that a program reads is compiled again; what is not read makes no difference.
KINDS = {
    "bfs": ["int32", "float32", "none"],
    "sssp": ["int32", "float32"],
    "sswp": ["int32"],
    "cc": ["int32", "none"],
}
if os.environ.get("GRAPIN_PROFILE") == "deep":
    KINDS = {name: ["int32", "float32", "none"] for name in KINDS}


def make(name: str, graph: grapin.Graph) -> Monotone:
    """Sources: the first two vertices there are."""
    if name == "cc":
        return ConnectedComponents()
    return PROGRAMS[name]([int(vertex) for vertex in np.flatnonzero(graph.alive())[:2]])


@pytest.mark.parametrize("system", RUNNABLE)
@pytest.mark.parametrize("name", PROGRAMS)
@given(stream=st.data())
def test_after_any_stream_the_cpu_gives_the_reference_answer(
    system: str, name: str, stream: st.DataObject
) -> None:
    weights = stream.draw(st.sampled_from(KINDS[name]), label="weights")
    mutations: MutationStream = stream.draw(mutation_streams(weights=weights), label="mutations")
    graph = grapin.Graph.from_edges(**mutations.start)
    assume(graph.vertices)
    threads = stream.draw(st.sampled_from([1, 2, 4]), label="threads")
    engine = grapin.Engine(graph, make(name, graph), system=system, device="cpu", threads=threads)
    verify_answer(engine.answers[0], graph)
    for batch in mutations.batches:
        engine.apply(batch)
        verify_answer(engine.answers[0], graph)
