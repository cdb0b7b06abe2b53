"""Streams and the store together: what a stream says is what the graph becomes."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from net import Events, edge_list, events, net_of, one_edge

from grapin import stream
from grapin.files import load_edges
from grapin.generators import generate
from grapin.graph import Graph


def named_edges(graph: Graph) -> dict[tuple[int, int], int]:
    assert graph.labels is not None
    source, target, weight = graph.edge_arrays()
    assert weight is not None
    names = graph.labels.names
    pairs = zip(names[source].tolist(), names[target].tolist(), strict=True)
    return {
        one_edge(pair, directed=graph.directed): value
        for pair, value in zip(pairs, weight.tolist(), strict=True)
    }


@given(events(), st.integers(1, 7), st.data())
def test_a_temporal_stream_leaves_the_net_of_its_events(
    given_events: Events, size: int, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(given_events.rows)))
    made = stream.temporal(edge_list(given_events), size=size, start=start)
    graph = made.graph()
    for batch in made:
        graph.apply(batch)
    graph.check()
    assert named_edges(graph) == net_of(given_events.in_order(), given_events.directed)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weights", ["none", "int32", "float32"])
def test_every_mutation_of_a_sample_takes_effect(directed: bool, weights: str) -> None:
    edges = generate("rmat:8:4", weights=weights != "none")
    graph = Graph.from_edges(
        edges.source, edges.target, edges.weight, vertices=edges.vertices, directed=directed, weights=weights
    )
    arcs = 1 if directed else 2
    for batch in stream.sample(graph, batches=5, size=20, insertions=0.25, seed=3):
        applied = graph.apply(batch, strict=True)
        assert (len(applied.inserted), len(applied.deleted)) == (5 * arcs, 15 * arcs)
    graph.check()


def test_a_workload_ends_with_the_graph_minus_its_deletions() -> None:
    edges = generate("rmat:8:4")
    made = stream.workload(edges, batches=4, size=50, seed=1)
    graph = made.graph(strict=True)
    for batch in made:
        graph.apply(batch)
    gone = {pair for batch in made for pair in batch.delete.rows()}
    source, target, _ = graph.edge_arrays()
    left = set(zip(source.tolist(), target.tolist(), strict=True))
    assert left == set(zip(edges.source.tolist(), edges.target.tolist(), strict=True)) - gone


def test_a_real_file_with_deletions_is_replayed_to_its_end(shared_data: Path) -> None:
    edges = load_edges(shared_data / "out.wine-includes.zst")
    made = stream.temporal(edges, size=10_000)
    graph = made.graph()
    for batch in made:
        graph.apply(batch)
    graph.check()
    at_once = stream.temporal(edges, size=1, start=len(edges)).graph()
    assert graph.edges == at_once.edges
    assert np.array_equal(
        np.sort(graph.snapshot().out.degrees[: graph.bound]),
        np.sort(at_once.snapshot().out.degrees[: at_once.bound]),
    )


def test_a_real_unsorted_file_slides_and_expires(shared_data: Path) -> None:
    edges = load_edges(shared_data / "email-Eu-core-temporal.txt.gz")
    assert edges.time is not None
    day = 86_400
    made = stream.sliding(edges, span=30 * day, step=7 * day)
    graph = made.graph()
    for batch in made:
        graph.apply(batch, strict=True)
    end = edges.time.min() + (edges.time.max() - edges.time.min()) // (7 * day) * 7 * day + 7 * day
    recent = edges.time >= end - 30 * day
    distinct = np.unique(np.stack((edges.source[recent], edges.target[recent])), axis=1)
    assert graph.edges == distinct.shape[1]
