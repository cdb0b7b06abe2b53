"""The host store: out- and in-neighbours in packed, aligned lists that batches change in place."""

from grapin.graph.change import Applied
from grapin.graph.graph import Graph
from grapin.graph.snapshot import Lists, Snapshot

__all__ = ["Applied", "Graph", "Lists", "Snapshot"]
