"""Where values begin, and what a batch comes to: vertices that come and go, the journal closed, all forgotten."""

from typing import Any

import numpy as np
from numba import cuda

from grapin.kernels.cuda.lists import DeviceLists
from grapin.kernels.cuda.monotone.queues import (
    AFFECTED,
    CHANGED,
    JOURNAL,
    LOGGED,
    OVERFLOWS,
    TOO_FAR,
    State,
    enqueue,
    log,
)
from grapin.kernels.cuda.warp import any_lane
from grapin.kernels.rules import NO_KEY, NO_PARENT, SHIFT, UNREACHED
from grapin.kernels.unbound import SIDES, start_key


def start_word(state: State, vertex: Any) -> Any:
    """Return the word a vertex has without any edge."""
    key = start_key(vertex, state.roots, state.root_keys)
    if key == np.int64(NO_KEY):
        return UNREACHED
    return (np.uint64(key) << SHIFT) | np.uint64(NO_PARENT)


def place_vertices(state: State, vertices: Any, exist: Any) -> None:
    """Give vertices that came the word they start with, and those that went none."""
    entry = cuda.grid(1)
    while any_lane(entry < vertices.size):
        vertex, key = np.int32(0), np.int64(0)
        if entry < vertices.size:
            vertex = vertices[entry]
            key = np.int64(state.words[vertex] >> SHIFT)
        log(state, entry < vertices.size, vertex, key)
        if entry < vertices.size:
            state.words[vertex] = start_word(state, vertex) if exist else UNREACHED
        entry += cuda.gridsize(1)


def count_change(state: State, pushes: DeviceLists, pulls: DeviceLists, vertex: Any, old: Any) -> None:
    """Count a vertex if its key is not the old one: it, its out-edges, and its in-edges if it got worse."""
    new = np.int64(state.words[vertex] >> SHIFT)
    if new == old:
        return
    affected = np.int64(pushes.degrees[vertex])
    if SIDES == 2:
        affected += pulls.degrees[vertex]
    if new > old:
        affected += pulls.degrees[vertex]
        if SIDES == 2:
            affected += pushes.degrees[vertex]
    cuda.atomic.add(state.control, CHANGED, np.int64(1))
    cuda.atomic.add(state.control, AFFECTED, affected)


def close(state: State, pushes: DeviceLists, pulls: DeviceLists) -> None:
    """Count what changed, and clear what the batch wrote; the journal itself is emptied by the next batch."""
    for place in range(cuda.grid(1), state.control[JOURNAL], cuda.gridsize(1)):
        vertex = state.journal[place]
        count_change(state, pushes, pulls, vertex, np.int64(state.old_keys[vertex]))
        if state.marks[vertex] & TOO_FAR != 0 and state.words[vertex] == UNREACHED:
            cuda.atomic.add(state.control, OVERFLOWS, np.int64(1))
        state.marks[vertex] = 0
        state.old_keys[vertex] = 0


def recall(state: State, before: Any) -> None:
    """Write down the keys of all vertices as they were before the batch."""
    for vertex in range(cuda.grid(1), before.size, cuda.gridsize(1)):
        logged = state.marks[vertex] & LOGGED != 0
        before[vertex] = state.old_keys[vertex] if logged else np.uint32(state.words[vertex] >> SHIFT)


def begin_again(state: State, alive: Any) -> None:
    """Forget all values; queue the vertices that have one of their own."""
    vertex = np.int64(cuda.grid(1))
    while any_lane(vertex < alive.size):
        word = UNREACHED
        if vertex < alive.size:
            if alive[vertex]:
                word = start_word(state, np.int32(vertex))
            state.words[vertex] = word
            state.offers[vertex] = UNREACHED
            state.marks[vertex] = 0
            state.old_keys[vertex] = 0
        enqueue(state, word != UNREACHED, np.int32(vertex), np.int64(word >> SHIFT))
        vertex += cuda.gridsize(1)


def compare(state: State, pushes: DeviceLists, pulls: DeviceLists, before: Any) -> None:
    """Count what is not as it was before."""
    for vertex in range(cuda.grid(1), before.size, cuda.gridsize(1)):
        count_change(state, pushes, pulls, vertex, np.int64(before[vertex]))


FUNCTIONS = (start_word, count_change)
KERNELS = (place_vertices, close, recall, begin_again, compare)
