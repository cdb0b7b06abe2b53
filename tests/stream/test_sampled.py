"""Sampled workloads: honest samples of the graph, in the asked proportion, every mutation effective."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from net import NaiveGraph, Pair, apply_naively, batch_sets, insert, one_edge, start_of

from grapin import stream
from grapin.edges import EdgeList
from grapin.errors import InvalidArgument
from grapin.generators import generate


@st.composite
def graphs(draw: st.DrawFn) -> EdgeList:
    vertices = draw(st.integers(2, 12))
    pairs = draw(st.lists(st.tuples(st.integers(0, vertices - 1), st.integers(0, vertices - 1)), max_size=40))
    columns = np.array(pairs, np.int32).reshape(-1, 2)
    weight = np.arange(1, len(pairs) + 1, dtype=np.int32)
    return EdgeList(columns[:, 0], columns[:, 1], vertices, weight, directed=draw(st.booleans()))


def naive_graph(edges: EdgeList) -> NaiveGraph:
    graph = NaiveGraph(edges.directed, set(range(edges.vertices)), list(range(edges.vertices)))
    assert edges.weight is not None
    for u, v, weight in zip(edges.source.tolist(), edges.target.tolist(), edges.weight.tolist(), strict=True):
        insert(graph, (u, v), weight)
    return graph


shapes = st.tuples(st.integers(0, 4), st.integers(1, 6), st.sampled_from([0.0, 0.25, 0.5, 1.0]))


@given(graphs(), shapes, st.integers(0, 5))
def test_a_workload_inserts_and_deletes_edges_of_the_graph_each_once(
    edges: EdgeList, shape: tuple[int, int, float], seed: int
) -> None:
    batches, size, insertions = shape
    whole = naive_graph(edges).named()
    assume(batches * size <= len(whole))
    made = stream.workload(edges, batches=batches, size=size, insertions=insertions, seed=seed)
    naive = start_of(made)
    named: Counter[Pair] = Counter()
    deleted_in_all: set[Pair] = set()
    for batch in made:
        inserted, deleted = batch_sets(batch)
        assert len(inserted) == int(size * insertions + 0.5)
        assert len(inserted) + len(deleted) == size
        assert not inserted.keys() & naive.edges.keys()
        assert deleted <= naive.edges.keys()
        apply_naively(naive, batch)
        named.update([*inserted, *deleted])
        deleted_in_all |= deleted
    assert set(named.values()) <= {1}
    assert naive.named() == {pair: weight for pair, weight in whole.items() if pair not in deleted_in_all}


@given(graphs(), shapes, st.integers(0, 5))
def test_a_sample_deletes_what_is_there_and_inserts_what_is_not(
    edges: EdgeList, shape: tuple[int, int, float], seed: int
) -> None:
    batches, size, insertions = shape
    naive = naive_graph(edges)
    before = dict(naive.edges)
    try:
        made = stream.sample(edges, batches=batches, size=size, insertions=insertions, seed=seed)
    except InvalidArgument:
        assume(False)  # the graph is too small or too full for that many
    for batch in made:
        inserted, deleted = batch_sets(batch)
        assert len(inserted) == int(size * insertions + 0.5)
        assert len(inserted) + len(deleted) == size
        assert not inserted.keys() & (naive.edges.keys() | before.keys())
        assert all(u != v for u, v in inserted)
        assert deleted <= naive.edges.keys()
        assert set(inserted.values()) <= set(before.values())
        apply_naively(naive, batch)
    assert len(made) == batches


@pytest.mark.parametrize("make", [stream.sample, stream.workload])
def test_the_same_seed_gives_the_same_batches_and_another_seed_others(make: type[stream.Stream]) -> None:
    edges = generate("rmat:8")
    assert list(make(edges, size=20, seed=1)) == list(make(edges, size=20, seed=1))  # type: ignore[arg-type,call-arg]
    assert list(make(edges, size=20, seed=1)) != list(make(edges, size=20, seed=2))  # type: ignore[arg-type,call-arg]


def test_deletions_are_chosen_uniformly() -> None:
    edges = generate("path:9", weights=False)
    counts: Counter[int] = Counter()
    for seed in range(500):
        (batch,) = stream.workload(edges, batches=1, size=2, insertions=0.5, seed=seed)
        counts.update(batch.delete.source.tolist())
    # 500 draws of one of 8 edges: 62.5 each, with a standard deviation of 7.4.
    assert all(abs(counts[source] - 62.5) < 5 * 7.4 for source in range(8))


def test_sampled_insertions_favour_hubs_as_the_graph_does() -> None:
    edges = generate("rmat:14:4", weights=False)
    degrees = np.bincount(edges.source, minlength=edges.vertices)
    inserted = [batch.insert.source for batch in stream.sample(edges, size=500, insertions=1.0)]
    hubs = np.argsort(degrees)[-50:]
    share = np.isin(np.concatenate(inserted), hubs).mean()
    assert share == pytest.approx(degrees[hubs].sum() / degrees.sum(), rel=0.25)


def test_an_undirected_sample_names_each_edge_in_one_orientation() -> None:
    edges = EdgeList(np.array([3, 1], np.int32), np.array([0, 3], np.int32), 4, directed=False)
    (batch,) = stream.sample(edges, batches=1, size=2, insertions=0.0)
    assert batch.delete.rows() == [(0, 3), (1, 3)]
    assert all(pair == one_edge(pair, directed=False) for pair in batch.delete.rows())


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        ("path:5", {"size": 5, "batches": 1}, "at most 4 edges of the graph, not 5"),
        ("path:5", {"size": 0}, "size=0 must be at least 1"),
        ("path:5", {"batches": -1}, "batches=-1 must be at least 0"),
        ("path:5", {"insertions": 1.5}, "insertions=1.5 must be a number from 0 to 1"),
        ("path:5", {"size": 2, "batches": 1, "seed": -1}, "seed=-1 must be at least 0"),
    ],
)
def test_wrong_options_are_refused(spec: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        stream.workload(generate(spec), **options)  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize("spec", ["er:4:12", "empty"])
def test_a_graph_without_room_for_insertions_is_refused(spec: str) -> None:
    with pytest.raises(InvalidArgument, match="insertions must ask for fewer edges"):
        stream.sample(generate(spec), batches=1, size=1, insertions=1.0)


def test_a_file_with_deletions_is_sent_to_temporal() -> None:
    one = np.array([1], np.int32)
    edges = EdgeList(one, one, 2, removed=np.array([True]))
    with pytest.raises(InvalidArgument, match="temporal"):
        stream.workload(edges, batches=1, size=1)
