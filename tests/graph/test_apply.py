from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_model import Model, arcs_of, assert_same, said

from grapin import Batch, Graph

WEIGHTS: dict[str, st.SearchStrategy[float]] = {
    "int32": st.integers(0, 5),
    "float32": st.integers(0, 5).map(lambda n: n / 2),
}


@st.composite
def options(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "directed": draw(st.booleans()),
        "weights": draw(st.sampled_from(["none", *WEIGHTS])),
        "aligned": draw(st.booleans()),
        "in_direction": draw(st.booleans()),
    }


@st.composite
def batches(draw: st.DrawFn, graph: Graph) -> Batch:
    """A batch that the graph accepts: every kind of mutation, some of which will be ignored."""
    undirected = not graph.directed
    fresh = graph.free_vertices(draw(st.integers(0, 4))).tolist()
    alive = np.flatnonzero(graph.alive()).tolist()
    doomed = draw(st.sets(st.sampled_from(range(graph.bound)), max_size=2)) if graph.bound else set()
    inserted = set(fresh) | (draw(st.sets(st.sampled_from(alive), max_size=1)) if alive else set())
    doomed -= inserted
    parts: dict[str, Any] = {"insert": {}, "delete": {}, "reweight": {}}
    ends = sorted(set(alive) | set(fresh))
    kinds = ["insert", "delete"] if graph.weight_dtype is None else ["insert", "delete", "reweight"]
    pairs = (
        st.tuples(st.sampled_from(ends), st.sampled_from(ends), st.sampled_from(kinds))
        if ends
        else st.nothing()
    )
    taken = set()
    for source, target, kind in draw(st.lists(pairs, max_size=40) if ends else st.just([])):
        edge = (min(source, target), max(source, target)) if undirected else (source, target)
        if edge in taken or (kind != "delete" and {source, target} & doomed):
            continue
        taken.add(edge)
        weight = (
            ()
            if kind == "delete" or graph.weight_dtype is None
            else (draw(WEIGHTS[graph.weight_dtype.name]),)
        )
        parts[kind][source, target] = (source, target, *weight)
    rows = {kind: list(edges.values()) for kind, edges in parts.items()}
    return Batch(**rows, insert_vertices=sorted(inserted), delete_vertices=sorted(doomed))


@given(st.data(), options(), st.integers(0, 40))
@settings(max_examples=150, deadline=None)
def test_a_graph_and_a_dictionary_agree_after_any_batches(
    data: Any, chosen: dict[str, Any], count: int
) -> None:
    graph = Graph.empty(count, **chosen)
    model = Model(chosen["directed"], chosen["weights"] != "none", set(range(count)))
    for _ in range(data.draw(st.integers(1, 6))):
        batch = data.draw(batches(graph))
        assert said(graph.apply(batch)) == model.apply(batch)
        assert_same(graph, model)


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("directed", [True, False])
def test_long_lists_grow_and_shrink_like_a_dictionary(aligned: bool, directed: bool) -> None:
    random = np.random.default_rng(7)
    graph = Graph.empty(3000, weights="int32", aligned=aligned, directed=directed)
    model = Model(directed, True, set(range(3000)))
    for step in range(60):
        hubs = random.integers(0, 4, 300)
        ends = random.integers(0, 3000, 300)
        rows = {
            (int(u), int(v)): int(w)
            for u, v, w in zip(hubs, ends, random.integers(0, 9, 300), strict=True)
            if u != v
        }
        if step < 30:
            dropped = set()
        else:
            everything = sorted(arc for arc in model.arcs if arc[0] < arc[1] or directed)
            picked = random.permutation(len(everything))[:900]
            dropped = {everything[row] for row in picked}
        insert = {(min(e), max(e)) if not directed else e: w for e, w in rows.items()}
        insert = {edge: weight for edge, weight in insert.items() if edge not in dropped}
        if step > 40:
            insert = {}
        batch = Batch(insert=[(*edge, weight) for edge, weight in insert.items()], delete=sorted(dropped))
        assert said(graph.apply(batch)) == model.apply(batch)
        assert_same(graph, model)
    assert graph.statistics()["rebalances"] > 0
    assert arcs_of(graph) == model.arcs
