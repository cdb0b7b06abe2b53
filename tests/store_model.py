"""The store's meaning in a dictionary: what every graph under test is held against."""

from dataclasses import dataclass, field

import numpy as np

from grapin import Applied, Batch, Graph
from grapin.batch import Edges

Arc = tuple[int, int]


@dataclass
class Model:
    """Arcs with their weight (0 where the graph has none), and the vertices that exist."""

    directed: bool
    weighted: bool
    vertices: set[int] = field(default_factory=set)
    arcs: dict[Arc, float] = field(default_factory=dict)

    def apply(self, batch: Batch) -> dict[str, object]:
        """Apply a valid batch; return what `Applied` must say."""
        before = dict(self.arcs)
        ignored = sum(vertex in self.vertices for vertex in batch.insert_vertices.tolist())
        ignored += sum(vertex not in self.vertices for vertex in batch.delete_vertices.tolist())
        deletions, insertions = self._arcs(batch.delete), self._arcs(batch.insert)
        reweightings = self._arcs(batch.reweight)
        ignored += sum(arc not in before for arc in deletions)
        ignored += sum(arc not in before for arc in reweightings)
        gone = set(batch.delete_vertices.tolist())
        for arc in before:
            if arc in deletions or arc[0] in gone or arc[1] in gone:
                del self.arcs[arc]
        changes = insertions | {arc: weight for arc, weight in reweightings.items() if arc in before}
        self.arcs.update(changes)
        came = set(batch.insert_vertices.tolist()) - self.vertices
        went = gone & self.vertices
        self.vertices = (self.vertices | came) - went
        changed = {arc: weight for arc, weight in changes.items() if arc in before}
        differs = {arc: weight for arc, weight in changed.items() if before[arc] != weight}
        return {
            "inserted": {arc: weight for arc, weight in insertions.items() if arc not in before},
            "deleted": {arc: weight for arc, weight in before.items() if arc not in self.arcs},
            "reweighted": differs,
            "old_weights": {arc: before[arc] for arc in differs},
            "inserted_vertices": came,
            "deleted_vertices": went,
            "ignored": ignored,
            "unchanged": len(changed) - len(differs),
        }

    def _arcs(self, edges: Edges) -> dict[Arc, float]:
        found = self.column(edges)
        if not self.directed:
            found |= {(target, source): weight for (source, target), weight in found.items()}
        return found

    @staticmethod
    def column(edges: Edges) -> dict[Arc, float]:
        """Return edges as a dictionary, with weight 0 where there is none."""
        weights = [0] * len(edges) if edges.weight is None else edges.weight.tolist()
        return dict(zip(zip(edges.source.tolist(), edges.target.tolist(), strict=True), weights, strict=True))


def said(applied: Applied) -> dict[str, object]:
    """Return what `Applied` says in the words of `Model.apply`."""
    reweighted = Model.column(applied.reweighted)
    for edges in (applied.inserted, applied.deleted, applied.reweighted):
        assert (np.diff(edges.keys) > 0).all()
    return {
        "inserted": Model.column(applied.inserted),
        "deleted": Model.column(applied.deleted),
        "reweighted": reweighted,
        "old_weights": dict(zip(reweighted, applied.old_weights.tolist(), strict=True)),
        "inserted_vertices": set(applied.inserted_vertices.tolist()),
        "deleted_vertices": set(applied.deleted_vertices.tolist()),
        "ignored": applied.ignored,
        "unchanged": applied.unchanged,
    }


def arcs_of(graph: Graph) -> dict[Arc, float]:
    """Return all arcs of a graph with their weights."""
    source, target, weight = graph.edge_arrays()
    assert (np.diff(source) >= 0).all()
    weights = [0] * len(source) if weight is None else weight.tolist()
    return dict(zip(zip(source.tolist(), target.tolist(), strict=True), weights, strict=True))


def assert_same(graph: Graph, model: Model) -> None:
    """Fail unless graph and model hold the same vertices and arcs and the graph is sound."""
    graph.check()
    assert arcs_of(graph) == model.arcs
    assert graph.edges == len(model.arcs)
    assert set(np.flatnonzero(graph.alive()).tolist()) == model.vertices
    assert graph.vertices == len(model.vertices)
