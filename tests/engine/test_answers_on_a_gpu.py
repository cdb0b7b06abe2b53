"""Where there is a GPU, the sentence that everything serves is held against it too: answers equal the reference's."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import grapin
from grapin.cache import CacheSettings, replay
from grapin.device import device
from grapin.engine.selftest import selftest
from grapin.engine.verify import verify_answer, verify_engine
from grapin.programs import BFS, SSSP, SSWP, ConnectedComponents, PageRank, Program
from grapin.system import RUNNABLE, SYSTEMS, Unified
from grapin.testing import MutationStream, mutation_streams

pytestmark = pytest.mark.skipif(
    device("cuda").unavailable() is not None, reason=f"no GPU: {device('cuda').unavailable()}"
)

PROGRAMS = ("bfs", "sssp", "sswp", "cc", "pagerank")
SEEDS = range(3)


def make(name: str, graph: grapin.Graph) -> Program:
    """Sources: the first two vertices there are."""
    if name in ("cc", "pagerank"):
        return ConnectedComponents() if name == "cc" else PageRank(tolerance=1e-6)
    sources = [int(vertex) for vertex in np.flatnonzero(graph.alive())[:2]]
    return {"bfs": BFS, "sssp": SSSP, "sswp": SSWP}[name](sources)


def allocation(system: str) -> Any:
    """Unified memory has to be asked for when a graph is made; everything else reads the graph where it is."""
    from grapin.kernels.cuda.memory import edge_memory

    return edge_memory("unified") if isinstance(SYSTEMS[system].transfer, Unified) else None


@pytest.mark.parametrize("system", RUNNABLE)
@pytest.mark.parametrize("name", PROGRAMS)
@given(data=st.data())
def test_after_any_stream_the_gpu_gives_the_reference_answer(
    system: str, name: str, data: st.DataObject
) -> None:
    weights = data.draw(st.sampled_from(["int32", "float32", "none"]), label="weights")
    mutations: MutationStream = data.draw(mutation_streams(weights=weights), label="mutations")
    graph = grapin.Graph.from_edges(**mutations.start, allocate=allocation(system))
    assume(graph.vertices)
    engine = grapin.Engine(graph, make(name, graph), system=system, device="cuda")
    verify_answer(engine.answers[0], graph)
    for batch in mutations.batches:
        engine.apply(batch)
        verify_answer(engine.answers[0], graph)


@pytest.mark.parametrize("cache", ["adaptive:50%", "published:50%"])
@pytest.mark.parametrize("name", PROGRAMS)
@given(data=st.data())
def test_after_any_stream_the_gpu_holds_the_store_s_lists_and_counts_what_a_replay_does(
    name: str, cache: str, data: st.DataObject
) -> None:
    mutations: MutationStream = data.draw(mutation_streams(weights="int32"), label="mutations")
    graph = grapin.Graph.from_edges(**mutations.start)
    assume(graph.vertices)
    engine = grapin.Engine(graph, make(name, graph), device="cuda", cache=cache, trace=True)
    reports = [engine.started]
    for batch in mutations.batches:
        reports.append(engine.apply(batch))
        verify_engine(engine)
    trace = engine.trace
    about = trace.about["cache"]
    arrays = about.pop("arrays")
    replayed = replay(CacheSettings(**about), trace.reads, trace.phases, trace.changes, arrays=arrays)
    assert [report.counters for report in reports] == [
        observed.counters if plan is None else plan.counters + observed.counters
        for plan, observed in replayed
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_gpu_passes_its_self_test_on_graphs_that_keep_it_busy(seed: int) -> None:
    assert [trial for trial in selftest("cuda", scale=14, seed=seed) if trial.wrong] == []
