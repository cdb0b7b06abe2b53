"""Forward relaxation on one thread, best key first: each vertex settles once, so each list is read once.

It starts from the vertices that lost their value and found another, from those that improved, and from the offers of
new and re-weighted edges. Vertices wait in a binary heap of 64-bit items in an array.

`Journal`: what a batch does to vertices, written down sparsely, so that nothing has to be reset, copied or scanned
after it. The arrays are as long as there are vertices, but only the places a batch touches are ever written, and memory
that was never written is not backed by pages.
"""

from typing import Any, NamedTuple

import numpy as np

from grapin.compiled import compiled
from grapin.kernels.cpu.lists import EDGES, ITERATIONS, OVERFLOWS, count_list, grown, keep_read
from grapin.kernels.rules import LOW, NO_KEY, SHIFT
from grapin.kernels.unbound import ARRAYS, SIDES, offer, weight_at

LOGGED, LOST, PUSHES, GROUND = np.uint8(1), np.uint8(2), np.uint8(4), np.uint8(8)
"""Marks a vertex carries during one batch: its old key is written down; it lost its value; it must offer its new
value on; it is known to be supported to the end."""


class Journal(NamedTuple):
    """Which vertices a batch touched and the keys they had."""

    marks: Any
    """uint8 a vertex, all zero between batches."""
    vertices: Any
    keys: Any
    count: Any
    """One number: how many entries `vertices` and `keys` hold."""


class Losses(NamedTuple):
    """The vertices that lost their value, in the order of their old keys, and what is offered to them."""

    vertices: Any
    keys: Any
    """The best offer seen, whoever made it."""
    parents: Any
    sure_keys: Any
    """The best offer from a vertex that was decided when it was seen."""
    sure_parents: Any
    open_edges: Any
    """By vertex: in-edges from vertices that were undecided when seen and are not lost so far."""
    count: Any


def new_journal(bound: int) -> Journal:
    """Return an empty journal for vertices below `bound`."""
    return Journal(
        marks=np.zeros(bound, np.uint8),
        vertices=np.empty(bound, np.int32),
        keys=np.empty(bound, np.uint32),
        count=np.zeros(1, np.int64),
    )


def new_losses(bound: int) -> Losses:
    """Return room for losses among vertices below `bound`."""
    return Losses(
        vertices=np.empty(bound, np.int32),
        keys=np.empty(bound, np.uint32),
        parents=np.empty(bound, np.uint32),
        sure_keys=np.empty(bound, np.uint32),
        sure_parents=np.empty(bound, np.uint32),
        open_edges=np.empty(bound, np.int32),
        count=np.zeros(1, np.int64),
    )


@compiled
def word(key: Any, parent: Any) -> Any:
    """Pack key and parent."""
    return (np.uint64(key) << SHIFT) | np.uint64(parent)


@compiled
def log_once(journal: Journal, vertex: Any, key: Any) -> None:
    """Write down a vertex with the key it has before the batch touches it."""
    if not journal.marks[vertex] & LOGGED:
        journal.marks[vertex] |= LOGGED
        place = journal.count[0]
        journal.vertices[place] = vertex
        journal.keys[place] = key
        journal.count[0] = place + 1


@compiled
def log_all(journal: Journal, vertices: Any, keys: Any) -> None:
    """Write down vertices with the keys they had, but for those that are written down already."""
    for i in range(vertices.size):
        log_once(journal, vertices[i], keys[i])


@compiled
def heap_push(heap: Any, size: int, item: Any) -> int:
    """Add an item; the caller has made room. Return the new size."""
    child = size
    while child > 0:
        parent = (child - 1) >> 1
        if heap[parent] <= item:
            break
        heap[child] = heap[parent]
        child = parent
    heap[child] = item
    return size + 1


@compiled
def heap_pop(heap: Any, size: int) -> int:
    """Remove `heap[0]`, the smallest item. Return the new size."""
    size -= 1
    item = heap[size]
    place = 0
    child = 1
    while child < size:
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= item:
            break
        heap[place] = heap[child]
        place = child
        child = 2 * place + 1
    heap[place] = item
    return size


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
