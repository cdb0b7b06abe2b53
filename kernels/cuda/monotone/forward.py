"""Forward: vertices that have a new value offer it to their neighbours, round by round, until nothing improves."""

from typing import Any

import numpy as np
from numba import cuda

from grapin.kernels.cuda.monotone.lowering import make_offer
from grapin.kernels.cuda.monotone.queues import enqueue
from grapin.kernels.cuda.monotone.state import AHEAD, JOURNAL, LOST_MARK, PUSHES, State
from grapin.kernels.cuda.monotone.unbound import offer, weight_of
from grapin.kernels.cuda.warp import any_lane
from grapin.kernels.words import NO_KEY, SHIFT


def own_key(state: State, vertex: Any) -> Any:
    """Return the key of a vertex, which visits of its list have in common."""
    return np.int64(state.words[vertex] >> SHIFT)


def push(state: State, vertex: Any, key: Any, other: Any, weight: Any, inside: Any, found: Any) -> Any:
    """Offer the vertex's value to one neighbour (a visit, see `walk.py`)."""
    offered = np.int64(0)
    if inside:
        offered = offer(np.uint32(key), weight)
    make_offer(state, inside, vertex, key, other, offered)
    return found


def offer_edges(state: State, tails: Any, heads: Any, weights: Any) -> None:
    """Let each new or re-weighted edge make its offer."""
    entry = cuda.grid(1)
    while any_lane(entry < tails.size):
        inside = False
        tail, head, key, offered = np.int32(0), np.int32(0), np.int64(0), np.int64(0)
        if entry < tails.size:
            tail, head = tails[entry], heads[entry]
            key = np.int64(state.words[tail] >> SHIFT)
            inside = key != np.int64(NO_KEY)
            if inside:
                offered = offer(np.uint32(key), weight_of(weights, entry))
        make_offer(state, inside, tail, key, head, offered)
        entry += cuda.gridsize(1)


def queue_corrected(state: State) -> None:
    """Queue what improved while it was corrected, and what lost its value and owes its new one to a lost neighbour."""
    place, last = np.int64(cuda.grid(1)), state.control[JOURNAL]
    while any_lane(place < last):
        vertex, key, active = np.int32(0), np.int64(0), False
        if place < last:
            vertex = state.journal[place]
            key = np.int64(state.words[vertex] >> SHIFT)
            marks = state.marks[vertex]
            owes = LOST_MARK | PUSHES
            active = key != np.int64(NO_KEY) and (marks & AHEAD != 0 or marks & owes == owes)
        enqueue(state, active, vertex, key)
        place += cuda.gridsize(1)


def queue_all(state: State, bound: Any) -> None:
    """Queue every vertex that has a value."""
    vertex = np.int64(cuda.grid(1))
    while any_lane(vertex < bound):
        key, active = np.int64(0), False
        if vertex < bound:
            key = np.int64(state.words[vertex] >> SHIFT)
            active = key != np.int64(NO_KEY)
        enqueue(state, active, np.int32(vertex), key)
        vertex += cuda.gridsize(1)


FUNCTIONS = (own_key, push)
KERNELS = (offer_edges, queue_corrected, queue_all)
