"""The strategies reach what they promise, stay valid, and shrink to the smallest example."""

from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from grapin import Batch, InvalidBatch
from grapin.reference import UNREACHED, ReferenceGraph, bfs
from grapin.testing import (
    MutationStream,
    batches,
    clearances,
    edge_lists,
    graphs,
    hub_bursts,
    hub_churns,
    invalid_batches,
    mutation_streams,
)
from grapin.testing.mutations import HUB_SIZES

patient = settings(max_examples=2000, derandomize=True, database=None)
reach = settings(patient, phases=[Phase.generate])


def largest_degree(graph: ReferenceGraph) -> int:
    sources = [u for u, _ in graph.arcs]
    return max((sources.count(vertex) for vertex in set(sources)), default=0)


@given(st.data(), mutation_streams())
def test_batches_are_valid_for_the_graph_they_were_drawn_for(
    data: st.DataObject, stream: MutationStream
) -> None:
    graph = stream.reference()
    for batch in stream.batches:
        graph.apply(batch)
    for strategy in (batches(graph), hub_bursts(graph), hub_churns(graph), clearances(graph)):
        graph.copy().apply(data.draw(strategy))


@given(mutation_streams(strict=True))
def test_strict_streams_hold_nothing_to_ignore(stream: MutationStream) -> None:
    graph = stream.reference()
    for batch in stream.batches:
        assert graph.apply(batch, strict=True).ignored == 0


@given(st.data(), mutation_streams(max_batches=3))
def test_invalid_batches_are_refused_and_change_nothing(data: st.DataObject, stream: MutationStream) -> None:
    graph = stream.reference()
    for batch in stream.batches:
        graph.apply(batch)
    before = graph.copy().__dict__
    case = data.draw(invalid_batches(graph))
    with pytest.raises(InvalidBatch):
        graph.apply(case.batch())
    assert graph.__dict__ == before


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weights", ["none", "int32", "float32"])
def test_every_kind_of_invalid_batch_is_wrong_in_its_own_way_only(directed: bool, weights: str) -> None:
    """Without its wrong part, the company that every case comes in must be accepted."""
    graph = ReferenceGraph.empty(3, directed=directed, weights=weights)
    vertex = int(graph.free_vertices(1)[0])
    rows: dict[str, Any] = {
        "none": [(vertex, vertex)],
        "int32": [(vertex, vertex, 1)],
        "float32": [(vertex, vertex, 1.0)],
    }
    reasons: set[str] = set()

    @given(invalid_batches(graph))
    @settings(max_examples=300)
    def collect(case: Any) -> None:
        reasons.add(case.reason)
        assert case.arguments["insert_vertices"][-1] == vertex

    collect()
    assert len(reasons) >= 25
    company = Batch(insert=rows[weights], insert_vertices=[vertex])
    assert graph.apply(company).inserted_vertices == {vertex}


@pytest.mark.parametrize("size", sorted(set(HUB_SIZES)))
def test_hubs_of_every_awkward_size_are_reached(size: int) -> None:
    found = find(
        graphs(directed=True, weights="none"),
        lambda start: largest_degree(ReferenceGraph.from_edges(**start)) >= size,
        settings=patient,
    )
    assert found["vertices"] <= size + 2


@pytest.mark.parametrize(
    "wanted",
    ["insert", "delete", "reweight", "insert_vertices", "delete_vertices"],
)
def test_streams_reach_every_kind_of_mutation_and_shrink_to_little_else(wanted: str) -> None:
    stream = find(
        mutation_streams(hubs=False, max_vertices=4, max_batches=2),
        lambda stream: any(len(getattr(batch, wanted)) for batch in stream.batches),
        settings=patient,
    )
    assert sum(batch.size for batch in stream.batches) <= 3


def test_streams_reach_reuse_of_a_freed_vertex() -> None:
    def reuses(stream: MutationStream) -> bool:
        graph = stream.reference()
        for batch in stream.batches:
            if graph.freed & set(batch.insert_vertices.tolist()):
                return True
            graph.apply(batch)
        return False

    assert reuses(find(mutation_streams(), reuses, settings=reach))


def test_streams_reach_a_path_that_a_deletion_lengthens() -> None:
    """The situation repair exists for; if it were not reached, programs would be tested on easy streams."""

    def lengthens(stream: MutationStream) -> bool:
        graph = stream.reference()
        depth = bfs(graph, 0) if graph.has_vertex(0) else None
        for batch in stream.batches:
            graph.apply(batch)
            after = bfs(graph, 0) if graph.has_vertex(0) else None
            if depth is not None and after is not None:
                both = min(len(depth), len(after))
                longer = (after[:both] > depth[:both]) & (after[:both] != UNREACHED)
                if longer.any():
                    return True
            depth = after
        return False

    assert lengthens(find(mutation_streams(), lengthens, settings=reach))


@given(edge_lists(self_loops=False, zero_weights=False, weights="int32", hubs=False, max_vertices=6))
def test_options_are_kept(edges: Any) -> None:
    assert edges.vertices <= 6
    assert (edges.source != edges.target).all()
    assert (edges.weight > 0).all()
    assert edges.weight.dtype == np.int32


@given(mutation_streams(self_loops=False, zero_weights=False, weights="float32", directed=False, hubs=False))
def test_options_hold_for_whole_streams(stream: MutationStream) -> None:
    graph = stream.reference()
    for batch in stream.batches:
        graph.apply(batch)
        assert all(u != v for u, v in graph.arcs)
        assert all(weight for weight in graph.arcs.values())
        assert all(graph.arcs[v, u] == weight for (u, v), weight in graph.arcs.items())
