"""Whatever is done to a graph of ours, it answers as NetworkX does on a graph to which the same was done."""

import copy
import pickle
from itertools import pairwise
from typing import Any

import networkx as nx
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import grapin.networkx
from grapin.networkx.mirrors import KEPT, LEAST_PENDING

NODES = st.sampled_from([0, 1, 2, 3, "a", "b", (1, 2), None.__class__, 2.5])
WEIGHTS = st.one_of(st.integers(0, 9), st.sampled_from([0.5, 0.25, 3.0, 2**31, True]))
EDGES = st.tuples(NODES, NODES)


class Twins(RuleBasedStateMachine):
    """A graph of ours and one of NetworkX's, mutated alike."""

    @initialize(directed=st.booleans())
    def make(self, directed: bool) -> None:
        """Begin without nodes."""
        kinds: tuple[Any, Any] = (
            (grapin.networkx.DiGraph, nx.DiGraph) if directed else (grapin.networkx.Graph, nx.Graph)
        )
        self.ours, self.theirs = (kind() for kind in kinds)
        self.both = self.ours, self.theirs

    @rule(edge=EDGES, weight=WEIGHTS)
    def add_edge(self, edge: Any, weight: Any) -> None:
        """Insert or re-weight."""
        for graph in self.both:
            graph.add_edge(*edge, weight=weight, colour="red")

    @rule(edges=st.lists(EDGES, max_size=6), weight=WEIGHTS)
    def add_several(self, edges: Any, weight: Any) -> None:
        """Insert a few, half of them without a weight."""
        for graph in self.both:
            graph.add_weighted_edges_from((*edge, weight) for edge in edges[::2])
            graph.add_edges_from(edges[1::2])

    @rule(edge=EDGES, weight=WEIGHTS)
    def write_weight(self, edge: Any, weight: Any) -> None:
        """Write into the attributes of an edge."""
        for graph in self.both:
            if graph.has_edge(*edge):
                graph.edges[edge]["weight"] = weight

    @rule(edge=EDGES)
    def forget_weight(self, edge: Any) -> None:
        """Take the weight from an edge."""
        for graph in self.both:
            if graph.has_edge(*edge):
                graph[edge[0]][edge[1]].pop("weight", None)

    @rule(edges=st.lists(EDGES, max_size=4))
    def remove_edges(self, edges: Any) -> None:
        """Delete a few, some of which are not there."""
        for graph in self.both:
            graph.remove_edges_from(edges)

    @rule(node=NODES)
    def add_node(self, node: Any) -> None:
        """Insert a node."""
        for graph in self.both:
            graph.add_node(node)

    @rule(node=NODES)
    def remove_node(self, node: Any) -> None:
        """Delete a node with its edges."""
        for graph in self.both:
            graph.remove_nodes_from([node])

    @rule()
    def clear_edges(self) -> None:
        """Delete all edges."""
        for graph in self.both:
            graph.clear_edges()

    @rule()
    def clear(self) -> None:
        """Delete everything."""
        for graph in self.both:
            graph.clear()

    @rule(edges=st.lists(EDGES, max_size=3), inner=st.booleans())
    def write_behind_its_back(self, edges: Any, inner: bool) -> None:
        """Change the dictionaries themselves, as some of NetworkX's algorithms do."""
        for graph in self.both:
            for source, target in edges:
                if graph.has_edge(source, target):
                    if inner:
                        graph._adj[source][target].update({"weight": 7})
                    else:
                        graph._adj[source].pop(target)
                        backwards = graph._pred if graph.is_directed() else graph._adj
                        backwards[target].pop(source, None)

    @rule(ends=EDGES, weight=st.sampled_from([None, "weight", "colour_number"]))
    def one_length(self, ends: Any, weight: Any) -> None:
        """Ask for one length and path."""
        source, target = ends
        ours, theirs = (outcome(nx.shortest_path_length, g, source, target, weight) for g in self.both)
        assert_same(ours, theirs, self.theirs)
        path = outcome(nx.shortest_path, self.ours, source, target, weight)
        assert isinstance(path, type) == isinstance(theirs, type)
        if not isinstance(path, type):
            assert path[0] == source
            assert path[-1] == target
            assert walked(self.theirs, path, weight) == theirs

    @rule(source=NODES, turned=st.booleans(), weight=st.sampled_from([None, "weight"]))
    def all_lengths(self, source: Any, turned: bool, weight: Any) -> None:
        """Ask for all lengths and paths from or to a node."""
        ends = {"target" if turned else "source": source}
        ours, theirs = (outcome(nx.shortest_path_length, g, weight=weight, **ends) for g in self.both)
        assert_same(ours, theirs, self.theirs)
        if isinstance(theirs, dict):
            assert list(ours.values()) == list(theirs.values())
            paths = nx.shortest_path(self.ours, weight=weight, **ends)
            assert {node: walked(self.theirs, path, weight) for node, path in paths.items()} == theirs
            assert {node: path[0 if turned else -1] for node, path in paths.items()} == {
                node: node for node in theirs
            }

    @rule(node=NODES, distance=st.integers(0, 3))
    def around(self, node: Any, distance: int) -> None:
        """Ask what a node reaches."""
        for name in ("descendants", "ancestors"):
            assert outcome(getattr(nx, name), self.ours, node) == outcome(
                getattr(nx, name), self.theirs, node
            )
        theirs = outcome(nx.descendants_at_distance, self.theirs, node, distance)
        assert outcome(nx.descendants_at_distance, self.ours, node, distance) == theirs

    @invariant()
    def same_components(self) -> None:
        """Ask for the components; most of the time this is what makes a batch of what was touched."""
        if not hasattr(self, "both"):
            return
        ours, theirs = map(components, self.both)
        assert ours == theirs
        assert [sorted(graph.edges, key=repr) for graph in self.both[:1]] == [
            sorted(self.theirs.edges, key=repr)
        ]

    @rule()
    def ranks(self) -> None:
        """Ask for ranks."""
        ours = nx.pagerank(self.ours, tol=1e-8, weight=None)
        assert ours == pytest.approx(nx.pagerank(self.theirs, tol=1e-9, max_iter=1000, weight=None), abs=1e-6)


def outcome(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Return what a function returns, or the class of what it raises."""
    try:
        return function(*args, **kwargs)
    except nx.NetworkXException as error:
        return type(error)


def walked(graph: Any, path: list[Any], weight: str | None) -> Any:
    """Return the length of a path, every step of which has to be an edge."""
    ends = pairwise(path) if graph.has_node(path[0]) else []
    return sum(graph.edges[edge].get(weight, 1) for edge in ends)


def components(graph: Any) -> set[frozenset[Any]]:
    """Return the components of a graph, directed or not."""
    found = nx.weakly_connected_components(graph) if graph.is_directed() else nx.connected_components(graph)
    return set(map(frozenset, found))


def assert_same(ours: Any, theirs: Any, graph: Any) -> None:
    """Hold a length or a dictionary of lengths to NetworkX's, whole numbers where all weights are."""
    assert ours == theirs
    weights = nx.get_edge_attributes(graph, "weight").values()
    if not isinstance(theirs, type) and all(isinstance(weight, int) for weight in weights):
        assert {type(one) for one in (ours.values() if isinstance(ours, dict) else [ours])} <= {int}


TestTwins = Twins.TestCase
TestTwins.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)


def chain(kind: Any = grapin.networkx.Graph, nodes: int = 6) -> Any:
    graph = kind()
    graph.add_weighted_edges_from((node, node + 1, 2) for node in range(nodes - 1))
    return graph


def test_the_next_call_repairs_the_last_answer_instead_of_converting_again() -> None:
    graph = chain(nodes=2000)
    assert nx.shortest_path_length(graph, 0, 1999, weight="weight") == 3998
    mirror = graph.mirrors.get("weight")
    store = mirror.store
    for node in range(1, 20):
        graph.add_edge(0, 100 * node, weight=1)
        assert nx.shortest_path_length(graph, 0, 100 * node + 1, weight="weight") == 3
        graph.remove_edge(0, 100 * node)
        assert nx.shortest_path_length(graph, 0, 100 * node + 1, weight="weight") == 200 * node + 2
    assert graph.mirrors.get("weight") is mirror
    assert mirror.store is store
    assert store.version > 20


def test_what_touches_a_quarter_of_the_edges_is_read_as_a_whole() -> None:
    graph = chain(nodes=2000)
    assert nx.shortest_path_length(graph, 0, 1999, weight="weight") == 3998
    store = graph.mirrors.get("weight").store
    graph.add_weighted_edges_from((0, node, 1) for node in range(1, LEAST_PENDING + 50))
    assert nx.shortest_path_length(graph, 0, 5, weight="weight") == 1
    assert graph.mirrors.get("weight").store is not store


def test_only_the_answers_asked_for_last_are_kept() -> None:
    graph = chain(nodes=50)
    for source in range(KEPT + 3):
        assert nx.shortest_path_length(graph, source, 20, weight="weight") == 2 * (20 - source)
    graph.add_edge(0, 20, weight=1)
    for source in range(KEPT + 3):
        assert nx.shortest_path_length(graph, source, 20, weight="weight") == min(
            2 * (20 - source), 2 * source + 1
        )


def test_an_answer_ends_with_its_source() -> None:
    graph = chain()
    assert nx.shortest_path_length(graph, 2, 5) == 3
    graph.remove_node(2)
    graph.add_edge("new", 4)  # takes the number that was 2's
    with pytest.raises(nx.NodeNotFound):
        nx.shortest_path_length(graph, 2, 5)
    assert nx.shortest_path_length(graph, "new", 5) == 2


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g)), nx.Graph.copy]
)
def test_a_copy_and_its_original_go_their_own_ways(copied: Any) -> None:
    graph = chain()
    assert nx.shortest_path_length(graph, 0, 5) == 5
    other = copied(graph)
    assert type(other) is type(graph)
    graph.add_edge(0, 5)
    other.add_edge(0, 4)
    assert [nx.shortest_path_length(one, 0, 5) for one in (graph, other)] == [1, 2]
    assert type(other.edges[0, 1].copy()) is dict


def test_a_view_is_of_the_graph_as_it_is_whoever_changed_it() -> None:
    graph = chain(grapin.networkx.DiGraph)
    views = (graph.subgraph([0, 1, 2, 3, 4]), graph.reverse(copy=False), graph.to_undirected(as_view=True))
    assert [nx.has_path(view, 0, 4) for view in views] == [True, False, True]
    graph.remove_edge(2, 3)
    assert [nx.has_path(view, 0, 4) for view in views] == [False, False, False]
    graph.add_edge(4, 0)
    assert [nx.has_path(view, 0, 4) for view in views] == [False, True, True]


def test_copies_of_another_direction_are_graphs_of_ours() -> None:
    graph = chain()
    assert type(graph.to_directed()) is grapin.networkx.DiGraph
    assert type(graph.to_directed().to_undirected()) is grapin.networkx.Graph
    assert type(nx.Graph(backend="grapin")) is grapin.networkx.Graph
    assert nx.shortest_path_length(nx.DiGraph([(1, 2)], backend="grapin"), 1, 2) == 1


def test_functions_that_are_not_computed_here_run_on_the_same_graph() -> None:
    graph = chain()
    graph.add_edge(0, 2)
    assert nx.triangles(graph) == {0: 1, 1: 1, 2: 1, 3: 0, 4: 0, 5: 0}
    assert list(nx.bfs_edges(graph, 0)) == [(0, 1), (0, 2), (2, 3), (3, 4), (4, 5)]
    nx.set_edge_attributes(graph, 5, "weight")
    assert nx.shortest_path_length(graph, 0, 2, weight="weight") == 5
