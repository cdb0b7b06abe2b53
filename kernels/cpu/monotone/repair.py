"""Sparse repair in one call: correct, pull, go forward; most batches are so small that calls would cost more.

**Correction**: decide whose value a batch took away, in the order of keys, and find what they are offered instead.
Vertices whose support is gone are decided in ascending order of their old keys. A vertex stays if an in-neighbour with
a strictly smaller key, which is decided already, offers the same key; or one with an equal key whose own support
stands. Otherwise it is invalidated, and the question passes on to the vertices it supported. Nothing is invalidated
that could have stayed (but for ties too deep to follow), and every list of an invalidated vertex is read once.

An invalidated vertex got worse, so its old out-neighbours gain nothing from its new value unless they are invalidated
too. `correct` sees every edge between two such vertices, and marks its source; the others need not be read a second
time. It keeps the best offer it saw, so that `pull` has to read again only where that offer is gone and others may
remain.

`invalidate` begins the published repair: throw away all that hung below a lost edge, then let every valid vertex push
once. Nothing is ordered and nothing is pulled, so a batch costs about one pass over the edges. It is here to be
measured against.
"""

from typing import Any

import numpy as np

from grapin.compiled import compiled
from grapin.kernels.cpu.lists import EDGES, ITERATIONS, OVERFLOWS, count_list, grown, keep_read
from grapin.kernels.cpu.monotone.forward import (
    GROUND,
    LOST,
    PUSHES,
    Journal,
    Losses,
    close_journal,
    forward,
    heap_pop,
    heap_push,
    log_once,
    queue_losses,
    queue_offers,
    word,
)
from grapin.kernels.rules import LOW, NO_KEY, NO_PARENT, PENDING, SHIFT, UNREACHED
from grapin.kernels.unbound import ARRAYS, SIDES, offer, start_key, weight_at

WALK_LIMIT = 1 << 14
"""How far up equal keys to look for solid ground; a longer walk costs more than reading the lists again."""


@compiled
def grounded(words: Any, journal: Journal, vertex: Any, key: Any) -> bool:
    """Tell whether the support of a vertex surely holds: walk up equal keys to a smaller key or a root.

    Only undecided vertices can be lost, so a chain without one stands for the rest of the batch: it is marked, and
    the next walk ends where it meets the mark.
    """
    place = vertex
    for _ in range(WALK_LIMIT):
        current = words[place]
        parent = np.uint32(current & LOW)
        if np.uint32(current >> SHIFT) < key or parent == NO_PARENT or journal.marks[place] & GROUND:
            while vertex != place:
                log_once(journal, vertex, key)
                journal.marks[vertex] |= GROUND
                vertex = np.int32(words[vertex] & LOW)
            return True
        if parent == PENDING:
            return False
        place = np.int32(parent)
    return False


@compiled
def detach(words: Any, journal: Journal, heap: Any, size: int, vertex: Any) -> int:
    """Take away a vertex's support and queue the decision. Return the queue's new size."""
    current = words[vertex]
    log_once(journal, vertex, np.uint32(current >> SHIFT))
    words[vertex] = (current & ~LOW) | np.uint64(PENDING)
    return heap_push(heap, size, (current & ~LOW) | np.uint64(vertex))


@compiled
def detach_removed(words: Any, journal: Journal, heap: Any, size: int, sources: Any, targets: Any) -> int:
    """Detach every target whose parent is the source of its removed edge."""
    for i in range(sources.size):
        if np.uint32(words[targets[i]] & LOW) == np.uint32(sources[i]):
            size = detach(words, journal, heap, size, targets[i])
    return size


def detach_worsened(
    words: Any, journal: Journal, heap: Any, size: int, sources: Any, targets: Any, weights: Any
) -> int:
    """Detach every target whose parent's edge has a new weight that no longer supports it."""
    for i in range(sources.size):
        current = words[targets[i]]
        if np.uint32(current & LOW) == np.uint32(sources[i]):
            offered = offer(np.uint32(words[sources[i]] >> SHIFT), weight_at(weights, i))
            if offered > np.int64(current >> SHIFT):
                size = detach(words, journal, heap, size, targets[i])
    return size


def correct(
    words: Any,
    journal: Journal,
    losses: Losses,
    pulls: Any,
    pushes: Any,
    roots: Any,
    root_keys: Any,
    heap: Any,
    size: int,
    ahead: Any,
    budget: int,
    tally: Any,
    trace: Any,
    tracing: bool,
) -> Any:
    """Decide every queued vertex, until none is left or more than `budget` edges were read.

    Returns how many are left, the vertices that found something better than they had (`ahead`, with how many), and the
    trace with how much of it is used.
    """
    marks = journal.marks
    used = 0
    improved = 0
    suspects = np.empty(1024, np.int32)
    last_key = np.int64(-1)
    while size > 0 and tally[EDGES] <= budget:
        item = heap[0]
        size = heap_pop(heap, size)
        vertex = np.int32(item & LOW)
        key = np.uint32(item >> SHIFT)
        if words[vertex] != word(key, PENDING):
            continue
        if np.int64(key) != last_key:
            last_key = np.int64(key)
            tally[ITERATIONS] += 1
        best = start_key(vertex, roots, root_keys)
        best_parent = NO_PARENT
        sure, sure_parent = best, best_parent
        supported = best == np.int64(key)
        undecided = 0
        seen = 0
        for side in range(SIDES):
            if supported:
                break
            starts, degrees, neighbours, weights = pulls[side]
            start = starts[vertex]
            degree = np.int64(degrees[vertex])
            if seen + degree > suspects.size:
                suspects = grown(suspects, seen + degree)
            read = degree
            for i in range(start, start + degree):
                other = neighbours[i]
                their_key = np.uint32(words[other] >> SHIFT)
                if their_key == NO_KEY:
                    if marks[other] & LOST:
                        suspects[seen] = other
                        seen += 1
                    continue
                offered = offer(their_key, weight_at(weights, i))
                if offered <= np.int64(key) and (their_key < key or grounded(words, journal, other, key)):
                    supported = True
                    best = offered
                    best_parent = np.uint32(other)
                    read = i + 1 - start
                    break
                if their_key >= key:
                    undecided += 1
                elif offered < sure:
                    sure = offered
                    sure_parent = np.uint32(other)
                if offered < best:
                    best = offered
                    best_parent = np.uint32(other)
                elif offered > np.int64(NO_KEY):
                    tally[OVERFLOWS] += 1
            place = 2 * np.int64(vertex) + 1 - side
            count_list(tally, start, read, ARRAYS)
            if tracing:
                trace, used = keep_read(trace, used, tally, place, start, read, ARRAYS)
        if supported:
            words[vertex] = word(best, best_parent)
            if best < np.int64(key):
                if improved == ahead.size:
                    ahead = grown(ahead, improved + 1)
                ahead[improved] = vertex
                improved += 1
            continue
        words[vertex] = UNREACHED
        marks[vertex] |= LOST
        loss = losses.count[0]
        losses.vertices[loss] = vertex
        losses.keys[loss] = np.uint32(min(best, np.int64(NO_KEY)))
        losses.parents[loss] = best_parent
        losses.sure_keys[loss] = np.uint32(min(sure, np.int64(NO_KEY)))
        losses.sure_parents[loss] = sure_parent
        losses.open_edges[vertex] = undecided
        losses.count[0] = loss + 1
        for i in range(seen):
            marks[suspects[i]] |= PUSHES
        for side in range(SIDES):
            starts, degrees, neighbours, weights = pushes[side]
            start = starts[vertex]
            degree = np.int64(degrees[vertex])
            if size + degree > heap.size:
                heap = grown(heap, size + degree)
            for i in range(start, start + degree):
                other = neighbours[i]
                if np.uint32(words[other] & LOW) == np.uint32(vertex):
                    size = detach(words, journal, heap, size, other)
                elif words[other] == UNREACHED and marks[other] & LOST:
                    marks[vertex] |= PUSHES
                    losses.open_edges[other] -= 1
            place = 2 * np.int64(vertex) + side
            count_list(tally, start, degree, 1)
            if tracing:
                trace, used = keep_read(trace, used, tally, place, start, degree, 1)
    return size, ahead, improved, trace, used


def pull(
    words: Any,
    losses: Losses,
    pulls: Any,
    roots: Any,
    root_keys: Any,
    tally: Any,
    trace: Any,
    used: int,
    tracing: bool,
) -> Any:
    """Find the best offer from vertices that are not lost, for each lost vertex whose noted offer is gone.

    When every in-neighbour that was undecided then is lost now, what the decided ones offered is all there is.
    """
    for loss in range(losses.count[0]):
        parent = losses.parents[loss]
        if parent == NO_PARENT or words[np.int32(parent)] != UNREACHED:
            continue
        vertex = losses.vertices[loss]
        if losses.open_edges[vertex] == 0:
            losses.keys[loss] = losses.sure_keys[loss]
            losses.parents[loss] = losses.sure_parents[loss]
            continue
        best = start_key(vertex, roots, root_keys)
        best_parent = NO_PARENT
        for side in range(SIDES):
            starts, degrees, neighbours, weights = pulls[side]
            start = starts[vertex]
            degree = np.int64(degrees[vertex])
            for i in range(start, start + degree):
                their_key = np.uint32(words[neighbours[i]] >> SHIFT)
                if their_key != NO_KEY:
                    offered = offer(their_key, weight_at(weights, i))
                    if offered < best:
                        best = offered
                        best_parent = np.uint32(neighbours[i])
            place = 2 * np.int64(vertex) + 1 - side
            count_list(tally, start, degree, ARRAYS)
            if tracing:
                trace, used = keep_read(trace, used, tally, place, start, degree, ARRAYS)
        losses.keys[loss] = np.uint32(min(best, np.int64(NO_KEY)))
        losses.parents[loss] = best_parent
    return trace, used


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
    size = detach_removed(words, journal, heap, 0, deleted[0], deleted[1])
    size = detach_worsened(words, journal, heap, size, reweighted[0], reweighted[1], reweighted[2])
    if SIDES == 2:
        size = detach_removed(words, journal, heap, size, deleted[1], deleted[0])
        size = detach_worsened(words, journal, heap, size, reweighted[1], reweighted[0], reweighted[2])
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
