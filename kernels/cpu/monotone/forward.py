"""Forward relaxation on one thread, best key first: each vertex settles once, so each list is read once.

It starts from the vertices that lost their value and found another, from those that improved, and from the offers of
new and re-weighted edges.

Sparse repair in one call: correct, pull, go forward; most batches are so small that calls would cost more.

The steps are kernels of their own (`correct.py`, `forward.py`), bound to the program like this one.
"""

from typing import Any

import numpy as np

from grapin.kernels.cpu.lists import EDGES, ITERATIONS, OVERFLOWS, count_list, grown, keep_read
from grapin.kernels.cpu.monotone.correct import correct, orphan_removed, orphan_worsened, pull
from grapin.kernels.cpu.monotone.heaps import heap_pop, heap_push
from grapin.kernels.cpu.monotone.journal import PUSHES, Journal, Losses, log_once, word
from grapin.kernels.rules import LOW, NO_KEY, SHIFT
from grapin.kernels.unbound import ARRAYS, SIDES, offer, weight_at


def queue_losses(
    words: Any, journal: Journal, losses: Losses, ahead: Any, improved: int, heap: Any
) -> tuple[Any, int]:
    """Give lost vertices what they were offered; queue those that must offer it on, and those that improved."""
    size = 0
    if losses.count[0] + improved > heap.size:
        heap = grown(heap, losses.count[0] + improved)
    for i in range(improved):
        size = heap_push(heap, size, (words[ahead[i]] & ~LOW) | np.uint64(ahead[i]))
    for loss in range(losses.count[0]):
        vertex = losses.vertices[loss]
        if losses.keys[loss] != NO_KEY:
            words[vertex] = word(losses.keys[loss], losses.parents[loss])
            if journal.marks[vertex] & PUSHES:
                size = heap_push(heap, size, (words[vertex] & ~LOW) | np.uint64(vertex))
    return heap, size


def queue_offers(
    words: Any,
    journal: Journal,
    heap: Any,
    size: int,
    sources: Any,
    targets: Any,
    weights: Any,
    tally: Any,
) -> tuple[Any, int]:
    """Let each new or re-weighted edge make its offer; queue the targets that improve."""
    if size + sources.size > heap.size:
        heap = grown(heap, size + sources.size)
    for i in range(sources.size):
        key = np.uint32(words[sources[i]] >> SHIFT)
        if key == NO_KEY:
            continue
        offered = offer(key, weight_at(weights, i))
        vertex = targets[i]
        theirs = words[vertex] >> SHIFT
        if offered < np.int64(theirs):
            log_once(journal, vertex, np.uint32(theirs))
            words[vertex] = word(offered, sources[i])
            size = heap_push(heap, size, (np.uint64(offered) << SHIFT) | np.uint64(vertex))
        elif offered > np.int64(NO_KEY) and theirs == np.uint64(NO_KEY):
            tally[OVERFLOWS] += 1
    return heap, size


def forward(
    words: Any,
    journal: Journal,
    pushes: Any,
    heap: Any,
    size: int,
    budget: int,
    tally: Any,
    trace: Any,
    used: int,
    tracing: bool,
) -> Any:
    """Settle queued vertices until none is left or more than `budget` edges were read.

    Returns how many are left, and the trace with how much of it is used.
    """
    last_key = np.int64(-1)
    while size > 0 and tally[EDGES] <= budget:
        item = heap[0]
        size = heap_pop(heap, size)
        vertex = np.int32(item & LOW)
        if words[vertex] >> SHIFT != item >> SHIFT:
            continue
        key = np.uint32(item >> SHIFT)
        if np.int64(key) != last_key:
            last_key = np.int64(key)
            tally[ITERATIONS] += 1
        for side in range(SIDES):
            starts, degrees, neighbours, weights = pushes[side]
            start = starts[vertex]
            degree = np.int64(degrees[vertex])
            if size + degree > heap.size:
                heap = grown(heap, size + degree)
            for i in range(start, start + degree):
                other = neighbours[i]
                theirs = words[other] >> SHIFT
                offered = offer(key, weight_at(weights, i))
                if offered < np.int64(theirs):
                    log_once(journal, other, np.uint32(theirs))
                    words[other] = word(offered, vertex)
                    size = heap_push(heap, size, (np.uint64(offered) << SHIFT) | np.uint64(other))
                elif offered > np.int64(NO_KEY) and theirs == np.uint64(NO_KEY):
                    tally[OVERFLOWS] += 1
            place = 2 * np.int64(vertex) + side
            count_list(tally, start, degree, ARRAYS)
            if tracing:
                trace, used = keep_read(trace, used, tally, place, start, degree, ARRAYS)
    return size, trace, used


def close_journal(words: Any, journal: Journal, pulls: Any, pushes: Any) -> Any:
    """Clear the marks; count the vertices whose value changed, and the edges that are affected by it.

    Those are the out-edges of every vertex that changed, and the in-edges of every vertex that got worse: what a repair
    that follows changes has to read.
    """
    changed = 0
    affected = np.int64(0)
    for i in range(journal.count[0]):
        vertex = journal.vertices[i]
        journal.marks[vertex] = 0
        key = np.uint32(words[vertex] >> SHIFT)
        if key != journal.keys[i]:
            changed += 1
            for side in range(SIDES):
                affected += pushes[side][1][vertex]
                if key > journal.keys[i]:
                    affected += pulls[side][1][vertex]
    journal.count[0] = 0
    return changed, affected


DONE, SWEEP, GAVE_UP = 0, 1, 2
"""How a repair ends: nothing left to do; so much is queued that a sweep should settle it; over budget."""


def repair(
    words: Any,
    journal: Journal,
    losses: Losses,
    pulls: Any,
    pushes: Any,
    roots: Any,
    root_keys: Any,
    deleted: Any,
    reweighted: Any,
    inserted: Any,
    budget: int,
    swept_from: int,
    tally: Any,
    trace: Any,
    tracing: bool,
) -> Any:
    """Bring words up to date with a batch's edges, given as columns (sources, targets[, weights]).

    Returns how it ended, the queue and its size for a sweep, how many vertices changed and how many edges that
    affects, and the trace with how much of it is used.
    """
    losses.count[0] = 0
    heap = np.empty(2 * SIDES * (deleted[0].size + reweighted[0].size) + 64, np.uint64)
    size = orphan_removed(words, journal, heap, 0, deleted[0], deleted[1])
    size = orphan_worsened(words, journal, heap, size, reweighted[0], reweighted[1], reweighted[2])
    if SIDES == 2:
        size = orphan_removed(words, journal, heap, size, deleted[1], deleted[0])
        size = orphan_worsened(words, journal, heap, size, reweighted[1], reweighted[0], reweighted[2])
    ahead = np.empty(64, np.int32)
    size, ahead, improved, trace, used = correct(
        words,
        journal,
        losses,
        pulls,
        pushes,
        roots,
        root_keys,
        heap,
        size,
        ahead,
        budget,
        tally,
        trace,
        tracing,
    )
    if size > 0:
        return GAVE_UP, heap, size, 0, 0, trace, used
    trace, used = pull(words, losses, pulls, roots, root_keys, tally, trace, used, tracing)
    heap, size = queue_losses(words, journal, losses, ahead, improved, heap)
    for tails, heads, weights in (inserted, reweighted):
        heap, size = queue_offers(words, journal, heap, size, tails, heads, weights, tally)
        if SIDES == 2:
            heap, size = queue_offers(words, journal, heap, size, heads, tails, weights, tally)
    if size >= swept_from:
        return SWEEP, heap, size, 0, 0, trace, used
    size, trace, used = forward(words, journal, pushes, heap, size, budget, tally, trace, used, tracing)
    if size > 0:
        return GAVE_UP, heap, size, 0, 0, trace, used
    changed, affected = close_journal(words, journal, pulls, pushes)
    return DONE, heap, size, changed, affected, trace, used
