"""Monotone repair on one thread, in the order of keys: it reads little more than what really changes.

Three steps, each a kernel of its own:

1. `correct`: vertices whose support a batch took away are decided in ascending order of their old keys. A vertex
   stays if some in-neighbour with a strictly smaller key, which is decided already, offers the same key; or one with
   an equal key that does not itself hang below an undecided vertex. Otherwise it is lost, and so the question passes to
   the vertices it supported. The best offer seen on the way is kept.
2. `pull`: each lost vertex takes its best offer from vertices that are not lost; usually `correct` has seen it.
3. `forward`: what improved, by new edges or otherwise, travels on, best key first, so each vertex settles once.

A lost vertex got worse, so its old out-neighbours gain nothing from its new value unless they are lost too. `correct`
sees every edge between two lost vertices and marks its source; the others need not be read a second time.

`offer`, `start_key`, `weight_at`, `SIDES` and `ARRAYS` are bound for each program by `device.py`. Lists to pull from and to push to
come as tuples `(starts, degrees, neighbours, weights)`, one a side: two sides when values travel both ways.
"""

from typing import Any

import numpy as np

from grapin.compiled import compiled
from grapin.kernels.cpu.heap import grown, heap_pop, heap_push
from grapin.kernels.cpu.lists import count_list, write_trace
from grapin.kernels.words import LOW, NO_KEY, NO_PARENT, PENDING, SHIFT, UNREACHED

LOGGED, LOST, PUSHES, GROUND = np.uint8(1), np.uint8(2), np.uint8(4), np.uint8(8)
"""Marks on vertices during one batch: old key written down; lost its value; must offer its new value on; known to
be supported to the end."""
WALK_LIMIT = 1 << 14
"""How far up equal keys to look for solid ground before giving a vertex up."""

offer: Any
start_key: Any
weight_at: Any
SIDES = 1
ARRAYS = 1


@compiled
def word(key: Any, parent: Any) -> Any:
    """Pack key and parent."""
    return (np.uint64(key) << SHIFT) | np.uint64(parent)


@compiled
def log_once(vertex: Any, key: Any, marks: Any, log: Any, log_keys: Any, logged: int) -> int:
    """Write down a vertex with the key it has before the batch touches it. Return how many are written."""
    if marks[vertex] & LOGGED:
        return logged
    marks[vertex] |= LOGGED
    log[logged] = vertex
    log_keys[logged] = key
    return logged + 1


@compiled
def grounded(
    vertex: Any, key: Any, words: Any, marks: Any, log: Any, log_keys: Any, logged: int
) -> tuple[bool, int]:
    """Tell whether the support of a vertex surely holds: walk up equal keys to a smaller key or a root.

    Only undecided vertices can be lost, so a chain without one stands for the rest of the batch: it is marked, and the
    next walk ends where it meets the mark.
    """
    place = vertex
    for _ in range(WALK_LIMIT):
        current = words[place]
        parent = np.uint32(current & LOW)
        if np.uint32(current >> SHIFT) < key or parent == NO_PARENT or marks[place] & GROUND:
            while vertex != place:
                logged = log_once(vertex, key, marks, log, log_keys, logged)
                marks[vertex] |= GROUND
                vertex = np.int32(words[vertex] & LOW)
            return True, logged
        if parent == PENDING:
            return False, logged
        place = np.int32(parent)
    return False, logged


@compiled
def seed_orphans(
    words: Any,
    marks: Any,
    log: Any,
    log_keys: Any,
    logged: int,
    heap: Any,
    size: int,
    sources: Any,
    targets: Any,
) -> tuple[int, int]:
    """Make every target whose parent is the source of its removed edge an orphan."""
    for i in range(sources.size):
        vertex = targets[i]
        current = words[vertex]
        if np.uint32(current & LOW) == np.uint32(sources[i]):
            logged = log_once(vertex, np.uint32(current >> SHIFT), marks, log, log_keys, logged)
            words[vertex] = word(current >> SHIFT, PENDING)
            size = heap_push(heap, size, (current & ~LOW) | np.uint64(vertex))
    return logged, size


def orphan_worsened(
    words: Any,
    marks: Any,
    log: Any,
    log_keys: Any,
    logged: int,
    heap: Any,
    size: int,
    sources: Any,
    targets: Any,
    weights: Any,
) -> tuple[int, int]:
    """Make every target an orphan whose parent's edge has a new weight that no longer supports it."""
    for i in range(sources.size):
        vertex = targets[i]
        current = words[vertex]
        if np.uint32(current & LOW) == np.uint32(sources[i]):
            key = np.uint32(current >> SHIFT)
            if offer(np.uint32(words[sources[i]] >> SHIFT), weight_at(weights, i)) > np.int64(key):
                logged = log_once(vertex, key, marks, log, log_keys, logged)
                words[vertex] = word(key, PENDING)
                size = heap_push(heap, size, (current & ~LOW) | np.uint64(vertex))
    return logged, size


def correct(
    words: Any,
    marks: Any,
    pulls: Any,
    pushes: Any,
    roots: Any,
    root_keys: Any,
    heap: Any,
    size: int,
    log: Any,
    log_keys: Any,
    logged: int,
    lost: Any,
    lost_keys: Any,
    lost_parents: Any,
    sure_keys: Any,
    sure_parents: Any,
    open_edges: Any,
    ahead: Any,
    budget: int,
    tally: Any,
    trace: Any,
    tracing: bool,
) -> Any:
    """Decide every orphan in ascending order of old keys; fill `lost` with the best offers seen."""
    losses = 0
    kept_ahead = 0
    used = 0
    suspects = np.empty(1024, np.int32)
    last_key = np.int64(-1)
    while size > 0 and tally[0] <= budget:
        item = heap[0]
        size = heap_pop(heap, size)
        vertex = np.int32(item & LOW)
        key = np.uint32(item >> SHIFT)
        if words[vertex] != word(key, PENDING):
            continue
        if np.int64(key) != last_key:
            last_key = np.int64(key)
            tally[6] += 1
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
                their = words[other]
                their_key = np.uint32(their >> SHIFT)
                if their_key == NO_KEY:
                    if marks[other] & LOST:
                        suspects[seen] = other
                        seen += 1
                    continue
                offered = offer(their_key, weight_at(weights, i))
                if offered <= np.int64(key):
                    supported = their_key < key
                    if not supported:
                        supported, logged = grounded(other, key, words, marks, log, log_keys, logged)
                    if supported:
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
            count_list(tally, start, read, ARRAYS)
            if tracing:
                if used + 4 > trace.size:
                    trace = grown(trace, used + 4)
                used = write_trace(trace, used, tally[6], 2 * np.int64(vertex) + 1 - side, start, read)
        if supported:
            words[vertex] = word(best, best_parent)
            if best < np.int64(key):
                if kept_ahead == ahead.size:
                    ahead = grown(ahead, kept_ahead + 1)
                ahead[kept_ahead] = vertex
                kept_ahead += 1
            continue
        words[vertex] = UNREACHED
        marks[vertex] |= LOST
        lost[losses] = vertex
        lost_keys[losses] = np.uint32(min(best, np.int64(NO_KEY)))
        lost_parents[losses] = best_parent
        sure_keys[losses] = np.uint32(min(sure, np.int64(NO_KEY)))
        sure_parents[losses] = sure_parent
        open_edges[vertex] = undecided
        losses += 1
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
                their = words[other]
                if np.uint32(their & LOW) == np.uint32(vertex):
                    logged = log_once(other, np.uint32(their >> SHIFT), marks, log, log_keys, logged)
                    words[other] = word(their >> SHIFT, PENDING)
                    size = heap_push(heap, size, (their & ~LOW) | np.uint64(other))
                elif their == UNREACHED and marks[other] & LOST:
                    marks[vertex] |= PUSHES
                    open_edges[other] -= 1
            count_list(tally, start, degree, 1)
            if tracing:
                if used + 4 > trace.size:
                    trace = grown(trace, used + 4)
                used = write_trace(trace, used, tally[6], 2 * np.int64(vertex) + side, start, degree)
    return size, logged, losses, ahead, kept_ahead, trace, used


def pull(
    words: Any,
    pulls: Any,
    roots: Any,
    root_keys: Any,
    lost: Any,
    lost_keys: Any,
    lost_parents: Any,
    sure_keys: Any,
    sure_parents: Any,
    open_edges: Any,
    losses: int,
    tally: Any,
    trace: Any,
    used: int,
    tracing: bool,
) -> Any:
    """Find the best offer from vertices that are not lost, for each lost vertex whose noted offer is gone.

    When every in-neighbour that was undecided then is lost now, what the decided ones offered is all there is.
    """
    tally[6] += 1
    for j in range(losses):
        if lost_parents[j] == NO_PARENT or words[np.int32(lost_parents[j])] != UNREACHED:
            continue
        vertex = lost[j]
        if open_edges[vertex] == 0:
            lost_keys[j] = sure_keys[j]
            lost_parents[j] = sure_parents[j]
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
            count_list(tally, start, degree, ARRAYS)
            if tracing:
                if used + 4 > trace.size:
                    trace = grown(trace, used + 4)
                used = write_trace(trace, used, tally[6], 2 * np.int64(vertex) + 1 - side, start, degree)
        lost_keys[j] = np.uint32(min(best, np.int64(NO_KEY)))
        lost_parents[j] = best_parent
    return trace, used


def seed_forward(
    words: Any,
    marks: Any,
    lost: Any,
    lost_keys: Any,
    lost_parents: Any,
    losses: int,
    ahead: Any,
    kept_ahead: int,
    heap: Any,
    size: int,
) -> Any:
    """Give lost vertices what they pulled; queue those that must offer it on, and those that improved."""
    if losses + kept_ahead > heap.size:
        heap = grown(heap, losses + kept_ahead)
    for i in range(kept_ahead):
        size = heap_push(heap, size, (words[ahead[i]] & ~LOW) | np.uint64(ahead[i]))
    for j in range(losses):
        vertex = lost[j]
        if lost_keys[j] != NO_KEY:
            words[vertex] = word(lost_keys[j], lost_parents[j])
            if marks[vertex] & PUSHES:
                size = heap_push(heap, size, (words[vertex] & ~LOW) | np.uint64(vertex))
    return heap, size


def seed_offers(
    words: Any,
    marks: Any,
    log: Any,
    log_keys: Any,
    logged: int,
    heap: Any,
    size: int,
    sources: Any,
    targets: Any,
    weights: Any,
    tally: Any,
) -> Any:
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
            logged = log_once(vertex, np.uint32(theirs), marks, log, log_keys, logged)
            words[vertex] = word(offered, sources[i])
            size = heap_push(heap, size, (np.uint64(offered) << SHIFT) | np.uint64(vertex))
        elif offered > np.int64(NO_KEY):
            tally[7] += 1
    return heap, size, logged


def forward(
    words: Any,
    marks: Any,
    pushes: Any,
    log: Any,
    log_keys: Any,
    logged: int,
    heap: Any,
    size: int,
    budget: int,
    tally: Any,
    trace: Any,
    used: int,
    tracing: bool,
) -> Any:
    """Settle queued vertices best key first, each offering its key along its list once it is final."""
    last_key = np.int64(-1)
    while size > 0 and tally[0] <= budget:
        item = heap[0]
        size = heap_pop(heap, size)
        vertex = np.int32(item & LOW)
        if words[vertex] >> SHIFT != item >> SHIFT:
            continue
        key = np.uint32(item >> SHIFT)
        if np.int64(key) != last_key:
            last_key = np.int64(key)
            tally[6] += 1
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
                    logged = log_once(other, np.uint32(theirs), marks, log, log_keys, logged)
                    words[other] = word(offered, vertex)
                    size = heap_push(heap, size, (np.uint64(offered) << SHIFT) | np.uint64(other))
                elif offered > np.int64(NO_KEY):
                    tally[7] += 1
            count_list(tally, start, degree, ARRAYS)
            if tracing:
                if used + 4 > trace.size:
                    trace = grown(trace, used + 4)
                used = write_trace(trace, used, tally[6], 2 * np.int64(vertex) + side, start, degree)
    return size, logged, trace, used


def finish(
    words: Any, marks: Any, log: Any, log_keys: Any, logged: int, pulls: Any, pushes: Any
) -> tuple[int, int]:
    """Clear the marks; count the vertices whose value changed and the edges any repair has to read.

    The bound: out-edges of every vertex that changed, and in-edges of every vertex that got worse.
    """
    changed = 0
    affected = np.int64(0)
    for i in range(logged):
        vertex = log[i]
        marks[vertex] = 0
        key = np.uint32(words[vertex] >> SHIFT)
        if key != log_keys[i]:
            changed += 1
            for side in range(SIDES):
                affected += pushes[side][1][vertex]
                if key > log_keys[i]:
                    affected += pulls[side][1][vertex]
    return changed, affected
