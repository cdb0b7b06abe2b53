"""The published repair: throw away all that hung below a lost edge, then let every valid vertex push once.

Nothing is ordered and nothing is pulled, so a batch costs about one pass over the edges. It is here to be measured
against.
"""

from typing import Any

import numpy as np

from grapin.kernels.cpu.growing import grown
from grapin.kernels.cpu.lists import ITERATIONS, count_list, keep_read
from grapin.kernels.cpu.monotone.journal import LOST, Journal, Losses, log_once, word
from grapin.kernels.cpu.monotone.unbound import SIDES, start_key
from grapin.kernels.words import LOW, NO_KEY, NO_PARENT, SHIFT, UNREACHED


def invalidate(
    words: Any,
    journal: Journal,
    losses: Losses,
    pushes: Any,
    roots: Any,
    root_keys: Any,
    queue: Any,
    size: int,
    tally: Any,
    trace: Any,
    tracing: bool,
) -> Any:
    """Lose every queued vertex and all below it along parents; what starts by itself starts again.

    Returns the trace with how much of it is used.
    """
    used = 0
    place = 0
    round_end = 0
    while place < size:
        if place == round_end:
            round_end = size
            tally[ITERATIONS] += 1
        vertex = np.int32(queue[place] & LOW)
        place += 1
        if journal.marks[vertex] & LOST:
            continue
        journal.marks[vertex] |= LOST
        words[vertex] = UNREACHED
        losses.vertices[losses.count[0]] = vertex
        losses.count[0] += 1
        for side in range(SIDES):
            starts, degrees, neighbours, _weights = pushes[side]
            start = starts[vertex]
            degree = np.int64(degrees[vertex])
            if size + degree > queue.size:
                queue = grown(queue, size + degree)
            for i in range(start, start + degree):
                other = neighbours[i]
                if np.uint32(words[other] & LOW) == np.uint32(vertex):
                    log_once(journal, other, np.uint32(words[other] >> SHIFT))
                    queue[size] = np.uint64(other)
                    size += 1
            read = 2 * np.int64(vertex) + side
            count_list(tally, start, degree, 1)
            if tracing:
                trace, used = keep_read(trace, used, tally, read, start, degree, 1)
    for loss in range(losses.count[0]):
        key = start_key(losses.vertices[loss], roots, root_keys)
        if key != np.int64(NO_KEY):
            words[losses.vertices[loss]] = word(key, NO_PARENT)
    return trace, used
