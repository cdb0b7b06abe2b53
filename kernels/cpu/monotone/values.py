"""The values that vertices begin with, and whether all values fit their keys.

Where values begin: the keys vertices have without any edge, and vertices that come and go.

Does every value fit? Asked only when some offer to a vertex without a value did not.

Such an offer alone is no error: a smaller one may follow, as it does when a vertex that settles later has a lighter
edge. What counts is where all values have settled, and there the in-edges of the vertices without one tell.
"""

from typing import Any

import numpy as np

from grapin.compiled import compiled
from grapin.kernels.cpu.monotone.journal import Journal, log_once, word
from grapin.kernels.rules import NO_KEY, NO_PARENT, SHIFT, UNREACHED
from grapin.kernels.unbound import SIDES, offer, start_key, weight_at


def start_keys(vertices: Any, roots: Any, root_keys: Any) -> Any:
    """Return the key each of the given vertices starts with, `NO_KEY` for none."""
    keys = np.empty(vertices.size, np.uint32)
    for i in range(vertices.size):
        keys[i] = np.uint32(start_key(vertices[i], roots, root_keys))
    return keys


@compiled
def place_vertices(words: Any, journal: Journal, vertices: Any, keys: Any) -> None:
    """Make each vertex a root with its key, or unreached where it has none."""
    for i in range(vertices.size):
        vertex = vertices[i]
        log_once(journal, vertex, np.uint32(words[vertex] >> SHIFT))
        words[vertex] = UNREACHED if keys[i] == NO_KEY else word(keys[i], NO_PARENT)


def offered_too_much(words: Any, pulls: Any) -> bool:
    """Tell whether a vertex without a value is offered one that does not fit."""
    for side in range(SIDES):
        starts, degrees, neighbours, weights = pulls[side]
        for vertex in range(degrees.size):
            if np.uint32(words[vertex] >> SHIFT) != NO_KEY:
                continue
            for i in range(starts[vertex], starts[vertex] + degrees[vertex]):
                key = np.uint32(words[neighbours[i]] >> SHIFT)
                if key != NO_KEY and offer(key, weight_at(weights, i)) > np.int64(NO_KEY):
                    return True
    return False
