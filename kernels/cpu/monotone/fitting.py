"""Does every value fit? Asked only when some offer to a vertex without a value did not.

Such an offer alone is no error: a smaller one may follow, as it does when a vertex that settles later has a lighter
edge. What counts is where all values have settled, and there the in-edges of the vertices without one tell.
"""

from typing import Any

import numpy as np

from grapin.kernels.cpu.monotone.unbound import SIDES, offer, weight_at
from grapin.kernels.words import NO_KEY, SHIFT


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
