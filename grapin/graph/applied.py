"""`Applied`: what a batch really changed, so that engines and caches repair just that."""

from dataclasses import dataclass

from grapin.batch import Edges
from grapin.edges import VertexArray, WeightArray


@dataclass(frozen=True, eq=False)
class Applied:
    """What one batch did; edges are arcs as stored, so an undirected edge appears in both directions."""

    version: int
    """How many batches have been applied, this one included."""
    inserted: Edges
    """Arcs that were not there before."""
    deleted: Edges
    """Arcs that are gone, with the weight they had, those of deleted vertices included."""
    reweighted: Edges
    """Arcs whose weight is another now, with the new weight, be it by re-weighting or by insertion."""
    old_weights: WeightArray
    """Beside `reweighted`: the weight before."""
    inserted_vertices: VertexArray
    deleted_vertices: VertexArray
    ignored: int
    """Deletions and re-weightings of what is not there, and insertions of vertices that are."""
    unchanged: int
    """Insertions and re-weightings of arcs that had that weight already."""

    def __repr__(self) -> str:
        columns = ("inserted", "deleted", "reweighted", "inserted_vertices", "deleted_vertices")
        counts = {name: len(getattr(self, name)) for name in columns}
        counts |= {"ignored": self.ignored, "unchanged": self.unchanged}
        parts = [f"{name}={count}" for name, count in counts.items() if count]
        return f"Applied({', '.join([f'version={self.version}', *parts])})"
