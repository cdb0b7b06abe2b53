"""Forward: vertices that have a new value offer it to their neighbours, round by round, until nothing improves.

The update protocol: how thousands of threads lower words at once and leave a forest behind.

A word is key and parent in one, and keys only fall while offers are made. Two ways to lower a word are used:

- An offer worse than its maker's own key is made by a 64-bit atomic minimum. Of two equal offers the smaller parent
  wins; either will do, for each parent's key is strictly smaller than the offer.
- An offer equal to its maker's key, over an edge of weight 0 or of a label, must never replace a parent of an equal
  offer: u may have its key from v, and must not become v's parent. It is made by compare-and-swap, which goes
  through only where the key really falls.

**No cycle.** Suppose parents form one when all is quiet. A vertex's key is what its parent offered, which is at least
the key that the parent had then, which is at least the key it has now. Round the cycle all these are equal. So every
link was made by compare-and-swap, when the parent had its final key already, and gave the child its final key: the
parent got its last key before the child did, all the way round. But nothing is written that depends on a read of what
is written later. The argument needs no fence and no fresh read.

**Stale reads are harmless.** The first look at a word, which saves most atomic steps, may be old. Keys only fall, so an
old key is too large: at worst an atomic step is made in vain. A maker's own key that is old makes an offer that is too
large; whoever lowered it has queued the maker for the next round.
"""

from typing import Any

import numpy as np
from numba import cuda

from grapin.kernels.cuda.monotone.queues import (
    AHEAD,
    JOURNAL,
    KNOWN,
    LOGGED,
    LOST_MARK,
    PUSHES,
    TOO_FAR,
    State,
    append,
    enqueue,
)
from grapin.kernels.cuda.warp import any_lane
from grapin.kernels.rules import NO_KEY, SHIFT
from grapin.kernels.unbound import offer, weight_of


def lower(words: Any, vertex: Any, offered: Any, key: Any, parent: Any) -> Any:
    """Offer `offered` to a vertex on behalf of `parent`, whose key is `key`.

    Returns the word there was; the offer took effect if it is smaller than that word's key.
    """
    word = (np.uint64(offered) << SHIFT) | np.uint64(parent)
    if offered > key:
        return cuda.atomic.min(words, vertex, word)
    before = words[vertex]
    while np.int64(before >> SHIFT) > offered:
        seen = cuda.atomic.cas(words, vertex, before, word)
        if seen == before:
            return before
        before = seen
    return before


def make_offer(state: State, inside: Any, maker: Any, key: Any, vertex: Any, offered: Any) -> None:
    """Make the offers of the lanes that are `inside`, write down who improves, and queue them; all lanes come."""
    improved, fresh = False, False
    if inside:
        theirs = np.int64(state.words[vertex] >> SHIFT)
        if offered < theirs:
            before = np.int64(lower(state.words, vertex, offered, key, maker) >> SHIFT)
            improved = offered < before
            if improved and state.marks[vertex] & KNOWN == 0:
                # Several offers may improve a vertex at once: the largest key that any of them saw is the old one.
                cuda.atomic.max(state.old_keys, vertex, np.uint32(before))
                fresh = cuda.atomic.or_(state.marks, vertex, LOGGED) & LOGGED == 0
        elif offered > np.int64(NO_KEY) and theirs == np.int64(NO_KEY):
            marks = cuda.atomic.or_(state.marks, vertex, LOGGED | TOO_FAR)
            fresh = marks & LOGGED == 0
            if marks & KNOWN == 0:
                cuda.atomic.max(state.old_keys, vertex, NO_KEY)
    if any_lane(improved or fresh):
        append(state.journal, state.control, JOURNAL, fresh, vertex)
        enqueue(state, improved, vertex, offered)


LOWERING = (lower, make_offer)


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


def exchange(state: State, vertex: Any, key: Any, other: Any, weight: Any, inside: Any, found: Any) -> Any:
    """Offer the vertex's value to one neighbour, and take the neighbour's if that is the better one (a visit)."""
    offered, returned = np.int64(0), np.int64(0)
    theirs = np.int64(NO_KEY)
    if inside:
        theirs = np.int64(state.words[other] >> SHIFT)
        offered = offer(np.uint32(key), weight)
    make_offer(state, inside, vertex, key, other, offered)
    inside = inside and theirs < key
    if inside:
        returned = offer(np.uint32(theirs), weight)
    make_offer(state, inside, other, theirs, vertex, returned)
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


FUNCTIONS = (own_key, push, exchange)
KERNELS = (offer_edges, queue_corrected, queue_all)
