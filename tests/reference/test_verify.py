"""Verifiers accept every legal answer and name vertex, value and expectation of an illegal one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from grapin import WrongAnswer, reference
from grapin.reference import NO_PARENT, UNREACHED, ReferenceGraph
from grapin.reference.accumulative import error_of_ranks
from grapin.testing import graphs

Answer = tuple[NDArray[Any], NDArray[np.int64]]
Verify = Callable[..., None]
PROGRAMS: dict[str, tuple[Any, Verify, Callable[[Any, Any], Any]]] = {
    "bfs": (reference.bfs, reference.verify_bfs, lambda value, _weight: value + 1),
    "sssp": (reference.sssp, reference.verify_sssp, lambda value, weight: value + type(value)(weight)),
    "sswp": (reference.sswp, reference.verify_sswp, lambda value, weight: min(value, type(value)(weight))),
}
programs = st.sampled_from(sorted(PROGRAMS))
weighted = st.sampled_from(["int32", "float32"]).flatmap(lambda kind: graphs(weights=kind))


def worst(program: str, values: NDArray[Any]) -> Any:
    if program == "sswp":
        return 0
    return np.inf if values.dtype.kind == "f" else UNREACHED


def answer(program: str, graph: ReferenceGraph, source: int, *, backwards: bool = False) -> Answer:
    """Return values, and parents found by walking outwards over edges that explain a value."""
    compute, _, offer = PROGRAMS[program]
    values: Any = compute(graph, source)
    parents = np.full(graph.bound, NO_PARENT, dtype=np.int64)
    explained = {source}
    arcs = sorted(graph.arcs.items(), reverse=backwards)
    found = True
    while found:
        found = False
        for (u, v), weight in arcs:
            if u not in explained or v in explained or values[v] == worst(program, values):
                continue
            if values[v] == offer(values[u], weight):
                parents[v], found = u, True
                explained.add(v)
    return values, parents


@given(programs, weighted, st.booleans())
def test_legal_answers_are_accepted_whichever_parents_they_choose(
    program: str, start: dict[str, Any], backwards: bool
) -> None:
    graph = ReferenceGraph.from_edges(**start)
    if graph.vertices:
        values, parents = answer(program, graph, 0, backwards=backwards)
        PROGRAMS[program][1](graph, 0, values, parents)


@given(programs, weighted, st.integers(0, 400), st.integers(-1, 9) | st.just(UNREACHED))
def test_a_changed_value_is_never_accepted(
    program: str, start: dict[str, Any], number: int, value: int
) -> None:
    graph = ReferenceGraph.from_edges(**start)
    if not graph.vertices:
        return
    values, parents = answer(program, graph, 0)
    wrong = values.copy()
    wrong[number % graph.bound] = value
    if not np.array_equal(wrong, values):
        with pytest.raises(WrongAnswer, match=r"vertex .* expected"):
            PROGRAMS[program][1](graph, 0, wrong, parents)


@given(programs, weighted, st.integers(0, 400), st.integers(-2, 400))
def test_a_changed_parent_is_accepted_only_if_it_explains_the_value_without_a_cycle(
    program: str, start: dict[str, Any], number: int, parent: int
) -> None:
    graph = ReferenceGraph.from_edges(**start)
    if not graph.vertices:
        return
    values, parents = answer(program, graph, 0)
    vertex = number % graph.bound
    parents[vertex] = parent
    _, verify, offer = PROGRAMS[program]
    if vertex == 0 or values[vertex] == worst(program, values):
        legal = parent == NO_PARENT
    elif (parent, vertex) not in graph.arcs or values[parent] == worst(program, values):
        legal = False
    else:
        explained = offer(values[parent], graph.arcs[parent, vertex])
        legal = values[vertex] == explained and not on_a_cycle(parents, vertex)
    if legal:
        verify(graph, 0, values, parents)
    else:
        with pytest.raises(WrongAnswer, match=r"vertex .* expected"):
            verify(graph, 0, values, parents)


def on_a_cycle(parents: NDArray[np.int64], vertex: int) -> bool:
    ancestor = int(parents[vertex])
    while ancestor not in {NO_PARENT, vertex}:
        ancestor = int(parents[ancestor])
    return ancestor == vertex


def test_a_cycle_of_zero_weight_edges_explains_nothing() -> None:
    graph = ReferenceGraph.from_edges([1, 2], [2, 1], [0, 0], vertices=3)
    with pytest.raises(WrongAnswer, match="a path of parents that ends, not a cycle"):
        reference.verify_sssp(graph, 0, [0, 0, 0], [NO_PARENT, 2, 1])


def test_the_message_names_vertex_value_and_expectation() -> None:
    graph = ReferenceGraph.from_edges([0, 1], [1, 2], [4, 5])
    with pytest.raises(WrongAnswer, match=r"^vertex 2 has 10, expected 9 over edge \(1, 2\) or better$"):
        reference.verify_sssp(graph, 0, [0, 4, 10], [NO_PARENT, 0, 1])
    with pytest.raises(WrongAnswer, match=r"^vertex 2 has 8, expected 9 as its parent 1 offers$"):
        reference.verify_sssp(graph, 0, [0, 4, 8], [NO_PARENT, 0, 1])
    with pytest.raises(WrongAnswer, match=r"^vertex 2 has parent 0, expected the source of an edge to 2$"):
        reference.verify_sssp(graph, 0, [0, 4, 9], [NO_PARENT, 0, 0])
    with pytest.raises(WrongAnswer, match=r"^vertex 0 has parent 1, expected -1 \(value 0\)$"):
        reference.verify_sssp(graph, 0, [0, 4, 9], [1, 0, 1])


def test_an_answer_of_the_wrong_length_is_refused() -> None:
    graph = ReferenceGraph.from_edges([0], [1])
    with pytest.raises(WrongAnswer, match=r"values have shape \(1,\), expected \(2,\)"):
        reference.verify_bfs(graph, 0, [0], [NO_PARENT])


def test_values_that_are_right_only_after_rounding_are_refused() -> None:
    graph = ReferenceGraph.from_edges([0], [1])
    with pytest.raises(WrongAnswer, match=r"vertex 1 has 1.5, expected 1"):
        reference.verify_bfs(graph, 0, [0, 1.5], [NO_PARENT, 0])


def test_a_deleted_vertex_must_be_unreached() -> None:
    graph = ReferenceGraph.from_edges([0], [1])
    graph.freed.add(1)
    graph.arcs.clear()
    with pytest.raises(WrongAnswer, match=f"vertex 1 has 1, expected {UNREACHED}"):
        reference.verify_bfs(graph, 0, [0, 1], [NO_PARENT, NO_PARENT])


@given(graphs(weights="none"))
def test_component_labels_are_accepted_with_parents_that_lead_to_the_label(start: dict[str, Any]) -> None:
    graph = ReferenceGraph.from_edges(**start)
    labels = reference.connected_components(graph)
    parents = np.full(graph.bound, NO_PARENT)
    roots = set(np.flatnonzero(labels == np.arange(graph.bound)).tolist())
    for _ in range(graph.bound):
        for u, v in sorted(graph.arcs):
            for child, parent in ((u, v), (v, u)):
                if parent in roots and child not in roots:
                    parents[child] = parent
                    roots.add(child)
    reference.verify_components(graph, labels)
    reference.verify_components(graph, labels, parents)


def test_wrong_labels_and_component_parents_are_named() -> None:
    graph = ReferenceGraph.from_edges([2, 1], [1, 0], vertices=4)
    with pytest.raises(WrongAnswer, match="vertex 2 has 1, expected 0"):
        reference.verify_components(graph, [0, 0, 1, 3])
    with pytest.raises(WrongAnswer, match="cycle"):
        reference.verify_components(graph, [0, 0, 0, 3], [NO_PARENT, 2, 1, NO_PARENT])
    with pytest.raises(WrongAnswer, match="vertex 2 has parent 0, expected the source of an edge"):
        reference.verify_components(graph, [0, 0, 0, 3], [NO_PARENT, 0, 0, NO_PARENT])


def test_ranks_are_held_against_both_tolerances() -> None:
    graph = ReferenceGraph.from_edges([0, 1, 2], [1, 2, 0])
    ranks = reference.pagerank(graph)
    reference.verify_pagerank(graph, ranks)
    reference.verify_pagerank(graph, ranks.astype(np.float32))
    for bad in (1e-3, np.nan):
        with pytest.raises(WrongAnswer, match=r"vertex 1 has .* within 1e-06"):
            reference.verify_pagerank(graph, ranks + np.array([0, bad, 0]))
    with pytest.raises(WrongAnswer, match=r"off by .* in sum, expected at most 1e-09"):
        reference.verify_pagerank(graph, ranks + 1e-8, total_error=1e-9)


@given(
    graphs(),
    st.sampled_from([0.0, 0.5, 0.85, 0.99]),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0, 1e-9, 1e-3, 1]),
)
def test_one_step_of_the_power_iteration_bounds_the_error_of_any_ranks(
    start: dict[str, Any], damping: float, seed: int, wrong: float
) -> None:
    graph = ReferenceGraph.from_edges(**start)
    expected = reference.pagerank(graph, damping)
    ranks = expected + wrong * np.random.default_rng(seed).normal(size=graph.bound)
    error = np.abs(ranks - expected).sum()
    bound = error_of_ranks(graph, ranks, damping)
    assert error - 1e-12 <= bound <= 1e-9 + (1 + damping) / (1 - damping) * error
