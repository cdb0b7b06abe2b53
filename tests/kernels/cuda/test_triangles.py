"""The kernels of triangles count what the reference counts, lane by lane in the simulator, in either static form."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grapin import Graph, Triangles
from grapin.reference import triangles
from grapin.system import SYSTEMS
from grapin.testing import MutationStream, mutation_streams

pytest.importorskip("numba.cuda", reason="this Numba has no CUDA names")

from grapin.kernels.cuda.backend import Shape
from grapin.kernels.cuda.simulator import Simulator
from grapin.kernels.cuda.triangles import TriangleQuery

WARP = 4


@settings(max_examples=25)
@given(
    stream=mutation_streams(weights="none", max_vertices=6, max_batches=2),
    shape=st.sampled_from([Shape(1, WARP), Shape(2, 2 * WARP)]),
    balanced=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_in_any_interleaving_of_lanes_triangles_are_the_reference_s(
    stream: MutationStream, shape: Shape, balanced: bool, seed: int
) -> None:
    graph = Graph.from_edges(**stream.start)
    backend = Simulator(warp=WARP, shape=shape, seed=seed)
    query = TriangleQuery(backend, Triangles(), SYSTEMS["bounded"], balanced=balanced, SHORT=2, LONG=8)
    started = query.start(graph.snapshot(), tracing=True)
    assert started.counters.edges == graph.edges * (2 if graph.directed else 1)
    assert query.values().tolist() == triangles(graph).tolist()
    for batch in stream.batches:
        before = query.values()
        applied = graph.apply(batch)
        work = query.repair(graph.snapshot(), applied, tracing=True)
        assert query.values().tolist() == triangles(graph).tolist()
        assert work.changed >= (query.values()[: len(before)] != before).sum()
        assert work.reads is not None
        assert work.reads[:, 3].sum() == work.counters.edges
