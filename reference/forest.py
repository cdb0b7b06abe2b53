"""Parents as a forest: each parent is one existing edge away, and following parents always ends."""

import numpy as np
from numpy.typing import NDArray

from grapin.errors import WrongAnswer
from grapin.reference.edge_source import Arcs
from grapin.reference.rules import Values

NO_PARENT = -1
"""The parent of a source, of a component's smallest vertex, and of a vertex that is not reached."""


def parent_arcs(arcs: Arcs, children: NDArray[np.intp], parents: Values) -> Arcs:
    """Return the arc from each child's parent to the child, row by row, or refuse a missing one."""
    known = arcs.source.astype(np.int64) << 32 | arcs.target
    order = np.argsort(known)
    wanted = parents[children].astype(np.int64) << 32 | children
    places = np.searchsorted(known, wanted, sorter=order)
    found = places < len(known)
    found[found] = known[order[places[found]]] == wanted[found]
    if not found.all():
        child = int(children[np.argmin(found)])
        raise WrongAnswer(
            f"vertex {child} has parent {parents[child]}, expected the source of an edge to {child}"
        )
    chosen = order[places]
    weight = None if arcs.weight is None else arcs.weight[chosen]
    return Arcs(arcs.source[chosen], arcs.target[chosen], weight, arcs.bound, arcs.existing)


def check_forest(parents: Values) -> None:
    """Raise `WrongAnswer` naming a vertex on a cycle of parents, if there is one."""
    ancestors = parents.astype(np.int64)
    for _ in range(len(parents).bit_length()):
        # Each round doubles how far up `ancestors` looks, so after this loop it looks past any path's length.
        ancestors = np.where(ancestors == NO_PARENT, NO_PARENT, ancestors[ancestors])
    if (ancestors != NO_PARENT).any():
        vertex = int(ancestors[np.argmax(ancestors != NO_PARENT)])
        raise WrongAnswer(
            f"vertex {vertex} has parent {parents[vertex]}, expected a path of parents that ends, not a cycle"
        )
