"""`Changes`: what a batch really changed, as plain dictionaries and sets that compare with `==`."""

from dataclasses import dataclass

Arc = tuple[int, int]
"""Source and target; an undirected edge between two vertices is two arcs."""

Weight = int | float | None
"""None on a graph without weights; a float is always exactly representable in 32 bits."""


@dataclass(frozen=True)
class Changes:
    """The difference between two versions of a graph, and what of the batch made no difference.

    Everything is said in arcs as they are stored: on an undirected graph each edge counts once a direction,
    in `ignored` and `unchanged` too.
    """

    version: int
    """How many batches the graph has seen, this one included."""
    inserted: dict[Arc, Weight]
    deleted: dict[Arc, Weight]
    """Arcs that are gone with the weight they had, those of deleted vertices included."""
    reweighted: dict[Arc, tuple[Weight, Weight]]
    """Arcs that were there before and after: the weight before, and the different weight after."""
    inserted_vertices: frozenset[int]
    deleted_vertices: frozenset[int]
    ignored: int
    """Mutations of what is not there, and insertions of vertices that are: a strict graph refuses these."""
    unchanged: int
    """Arcs that were given the weight they had already."""
