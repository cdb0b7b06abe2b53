"""The backend takes what it can compute exactly, and says what it leaves to NetworkX and why."""

import logging
import subprocess
import sys
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grapin.networkx
from grapin.networkx import FUNCTIONS, algorithms, backend
from grapin.networkx.weights import MOST, Refused, scaled_weights


def square(weight: Any = 1, kind: Any = nx.Graph) -> Any:
    graph = kind()
    graph.add_weighted_edges_from([("a", "b", weight), ("b", "c", 2), ("c", "d", 2), ("d", "a", 2)])
    return graph


@given(st.lists(st.one_of(st.integers(-2, 2**33), st.floats(), st.integers(0, 99).map(lambda n: n / 8))))
def test_weights_are_had_exactly_or_refused(weights: list[Any]) -> None:
    try:
        stored, scale = scaled_weights(weights)
    except Refused:
        return
    assert stored.dtype == np.int32
    assert scale.lengths(stored.astype(np.int64)) == weights
    assert scale.whole == all(isinstance(weight, int) for weight in weights)
    assert [scale.stored(weight) for weight in weights] == stored.tolist()


@pytest.mark.parametrize(
    "weight",
    [0.1, -1, -0.5, float("nan"), float("inf"), 2**31, 2**80, 1e300, 2.0**-31, "3", None, Fraction(1, 2)],
)
def test_a_weight_that_would_be_rounded_is_refused_in_one_sentence(weight: Any) -> None:
    with pytest.raises(NotImplementedError) as caught:
        nx.single_source_dijkstra_path_length(square(weight), "a", backend="grapin")
    reason = str(caught.value.__cause__)
    assert "\n" not in reason
    assert repr(weight)[:40] in reason


def test_a_refusal_leaves_the_call_to_networkx_if_that_is_wanted() -> None:
    graph = square(0.1)
    with nx.config(backend_priority=["grapin"]):
        assert nx.dijkstra_path_length(graph, "a", "c") == 2.1


def test_a_graph_of_ours_has_networkx_compute_what_would_be_rounded(caplog: pytest.LogCaptureFixture) -> None:
    graph = square(0.1, grapin.networkx.Graph)
    with caplog.at_level(logging.WARNING, "grapin"):
        assert nx.dijkstra_path_length(graph, "a", "c") == 2.1
    assert "runs as NetworkX's own code: weight 0.1" in caplog.text
    assert nx.shortest_path_length(graph, "a", "c") == 2  # without weights nothing is rounded
    graph["a"]["b"]["weight"] = 0.125
    caplog.clear()
    assert nx.dijkstra_path_length(graph, "a", "c") == 2.125
    assert not caplog.text


def test_lengths_of_whole_numbers_are_whole_numbers() -> None:
    for graph in (square(), square(kind=grapin.networkx.Graph)):
        lengths = nx.single_source_dijkstra_path_length(graph, "a", backend="grapin")
        assert lengths == {"a": 0, "b": 1, "d": 2, "c": 3}
        assert {type(length) for length in lengths.values()} == {int}
        assert list(lengths) == ["a", "b", "d", "c"]


def test_lengths_beyond_32_bits_are_networkx_s(caplog: pytest.LogCaptureFixture) -> None:
    plain, ours = nx.path_graph(6), grapin.networkx.Graph(nx.path_graph(6))
    for graph in (plain, ours):
        nx.set_edge_attributes(graph, MOST, "weight")
    with pytest.raises(NotImplementedError) as caught:
        nx.dijkstra_path_length(plain, 0, 5, backend="grapin")
    assert "does not fit into 32 bits" in str(caught.value.__cause__)
    assert nx.dijkstra_path_length(ours, 0, 5) == 5 * MOST
    ours.add_edge(0, 5, weight=1)
    ours.remove_edge(2, 3)
    assert nx.dijkstra_path_length(ours, 0, 5) == 1


def test_a_repair_that_grows_beyond_32_bits_is_computed_by_networkx() -> None:
    graph = grapin.networkx.Graph(nx.path_graph(4))
    nx.set_edge_attributes(graph, MOST, "weight")
    graph.add_edge(0, 3, weight=1)
    assert nx.dijkstra_path_length(graph, 0, 3) == 1
    graph.remove_edge(0, 3)
    assert nx.dijkstra_path_length(graph, 0, 3) == 3 * MOST
    graph.add_edge(0, 3, weight=2)
    assert nx.dijkstra_path_length(graph, 0, 3) == 2


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("shortest_path", {}, "between all pairs nothing is kept fresh"),
        ("dijkstra_path", {"source": "a", "target": "c", "weight": len}, "name of an edge attribute"),
        ("pagerank", {"personalization": {"a": 1}}, "must be left out"),
        ("pagerank", {"max_iter": 3}, "max_iter must be left out"),
        ("pagerank", {"tol": 1e-12}, "tol from 1e-09"),
        ("triangles", {}, "not computed by Grapin"),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_is_converted(
    name: str, arguments: dict[str, Any], reason: str
) -> None:
    assert reason in str(backend.can_run(name, (square(),), arguments))
    assert backend.can_run(name, (square(kind=grapin.networkx.Graph),), arguments) is True


def test_parallel_edges_weigh_as_in_networkx_and_have_no_ranks_here() -> None:
    graph = nx.MultiDiGraph([(0, 1, {"weight": 5}), (0, 1, {"weight": 3}), (1, 2, {})])
    assert nx.shortest_path_length(graph, 0, weight="weight", backend="grapin") == {0: 0, 1: 3, 2: 4}
    assert "parallel edges" in str(backend.can_run("pagerank", (graph,), {}))


def test_ranks_that_would_follow_weights_are_left_to_networkx() -> None:
    graph = square(kind=grapin.networkx.Graph)
    assert nx.pagerank(graph) == nx.pagerank(nx.Graph(graph))
    with pytest.raises(NotImplementedError):
        nx.pagerank(nx.Graph(graph), backend="grapin")
    ranks = nx.pagerank(nx.Graph(graph), weight=None, tol=1e-9, backend="grapin")
    assert sum(ranks.values()) == pytest.approx(1, abs=1e-9)
    assert list(ranks.values()) == pytest.approx([0.25] * 4, abs=1e-9)


def test_a_graph_is_converted_where_that_is_quicker_or_has_been_done() -> None:
    graph = square()
    assert backend.should_run("single_source_dijkstra_path_length", (graph, "a"), {}) is True
    assert "conversion" in str(backend.should_run("has_path", (graph, "a", "c"), {}))
    assert backend.should_run("has_path", (square(kind=grapin.networkx.Graph), "a", "c"), {}) is True
    assert nx.has_path(graph, "a", "c", backend="grapin")
    assert backend.should_run("has_path", (graph, "a", "c"), {}) is True
    graph.add_edge("a", "z")
    assert "conversion" in str(backend.should_run("has_path", (graph, "a", "c"), {}))


def test_what_is_claimed_is_what_there_is() -> None:
    for name in FUNCTIONS:
        assert callable(getattr(backend, name))
        assert getattr(algorithms, name).__doc__
    with pytest.raises(AttributeError, match="no_such_function"):
        backend.no_such_function  # noqa: B018  # looking it up is the test
    with pytest.raises(AttributeError, match="Digraph"):
        grapin.networkx.Digraph  # noqa: B018


def test_networkx_is_imported_without_the_engine() -> None:
    program = "import sys, networkx; print(sorted({'numba', 'pyarrow', 'grapin.engine'} & set(sys.modules)))"
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"
