"""Our graphs pass NetworkX's own tests of its graphs."""

from typing import Any

import networkx as nx
from networkx.classes.tests import test_digraph, test_graph

import grapin.networkx


class TestGraph(test_graph.TestGraph):  # type: ignore[misc]  # NetworkX ships no types
    """Undirected ones."""

    def setup_method(self) -> None:
        super().setup_method()
        self.Graph = grapin.networkx.Graph
        for name in ("K3",):
            setattr(self, name, _ours(getattr(self, name), self.Graph))


class TestDiGraph(test_digraph.TestDiGraph):  # type: ignore[misc]  # NetworkX ships no types
    """Directed ones."""

    def setup_method(self) -> None:
        super().setup_method()
        self.Graph = grapin.networkx.DiGraph
        for name in ("K3", "P3"):
            setattr(self, name, _ours(getattr(self, name), self.Graph))


def _ours(graph: nx.Graph, kind: Any) -> Any:
    made = kind(graph)
    for one, other in ((made, graph), (graph, made)):
        assert one.edges == other.edges
    return made
