"""Correction: whose value did a batch take away? Decided round by round, in the order of keys.

A vertex whose parent's edge is gone or got worse is *pending*: it keeps its key, its parent is `PENDING`. Each round
takes the pending vertices with the best keys. First, while nothing changes, each looks through its in-neighbours
(`consider`); then all are decided at once (`decide`):

- A neighbour that offers the same key or a better one *stands* if its key is strictly smaller and it is not pending, or
  if it has the same key and its parents of that key lead up, past nobody who is pending, to a root or to a smaller key.
  With such a neighbour for a parent the vertex stays. The path that was walked holds no pending vertex, so it does not
  lead through any vertex that is decided in this round: links that are made at the same time close no cycle. Should
  the neighbour be lost in a later round, its children are looked for, and the vertex is found again.
- If a pending neighbour with a strictly smaller key might do, the vertex waits a round. The pending vertex with the
  smallest key never waits, so there is an end.
- Otherwise it is lost. Its children, found by reading its out-list (`release`), become pending.

When nobody is pending, lost vertices take the best offer of those that are not lost (`settle_lost`). Mostly it was seen
on the way; where its maker was lost in the meantime, the list is read again (`gain`).
"""

from typing import Any

import numpy as np
from numba import cuda

from grapin.kernels.cuda.monotone.queues import (
    AHEAD,
    LOST,
    LOST_MARK,
    NEAR,
    NEXT,
    OPEN,
    PUSHES,
    TOO_FAR,
    State,
    append,
    enqueue,
    log,
)
from grapin.kernels.cuda.warp import any_lane
from grapin.kernels.rules import LOW, NO_KEY, NO_PARENT, PENDING, SHIFT, UNREACHED
from grapin.kernels.unbound import offer, start_key, weight_of

UNDECIDED = np.uint64(1 << 31)
"""Beside the maker of an offer, whose number has 31 bits: it does not stand, or not yet. Of two equal offers, the one
that stands is the smaller word."""
MAKER = np.uint64((1 << 31) - 1)
WALK_LIMIT = 1 << 10
"""How far up equal keys to look for one that stands; a longer walk costs more than reading lists."""
SEARCHES: bool = True
"""Whether pending vertices look for another parent, or are lost at once, as the published repair has it."""


def detach_edges(state: State, tails: Any, heads: Any, weights: Any, worsened: Any) -> None:
    """Make the heads pending whose parent is the tail: of removed edges, or of those that offer worse than before."""
    entry = cuda.grid(1)
    while any_lane(entry < tails.size):
        vertex, key, detached = np.int32(0), np.int64(0), False
        if entry < tails.size:
            vertex = heads[entry]
            word = state.words[vertex]
            key = np.int64(word >> SHIFT)
            detached = np.int64(word & LOW) == np.int64(tails[entry])
            if detached and worsened:
                theirs = np.uint32(state.words[tails[entry]] >> SHIFT)
                detached = offer(theirs, weight_of(weights, entry)) > key
            if detached:
                state.words[vertex] = (word & ~LOW) | np.uint64(PENDING)
        log(state, detached, vertex, key)
        enqueue(state, detached, vertex, key)
        entry += cuda.gridsize(1)


def stands(words: Any, vertex: Any, key: Any) -> Any:
    """Tell whether a vertex whose key is at most `key` can support another one with that key, in this round."""
    for _ in range(WALK_LIMIT):
        word = words[vertex]
        parent = np.uint32(word & LOW)
        if parent == PENDING:
            return False
        if np.int64(word >> SHIFT) < key or parent == NO_PARENT:
            return True
        vertex = np.int32(parent)
    return False


def consider(state: State, vertex: Any, key: Any, other: Any, weight: Any, inside: Any, found: Any) -> Any:
    """Look at one in-neighbour of a pending vertex (a visit, see `walk.py`); find the best offer and who makes it."""
    if inside:
        theirs = np.int64(state.words[other] >> SHIFT)
        if theirs == np.int64(NO_KEY):
            if state.marks[other] & LOST_MARK != 0:
                cuda.atomic.or_(state.marks, other, PUSHES)
        else:
            offered = offer(np.uint32(theirs), weight)
            if offered > np.int64(NO_KEY):
                cuda.atomic.or_(state.marks, vertex, OPEN)
            elif offered < np.int64(NO_KEY):
                word = (np.uint64(offered) << SHIFT) | np.uint64(other)
                if offered <= key and not stands(state.words, other, key):
                    word |= UNDECIDED
                found = min(found, word)
    return found


def supported(key: Any, found: Any) -> Any:
    """Tell whether a word found by `consider` is an offer that lets the vertex stay."""
    return np.int64(found >> SHIFT) <= key and found & UNDECIDED == 0


def is_supported(state: State, vertex: Any) -> Any:
    """Tell whether a pending vertex has found an offer that lets it stay."""
    return supported(np.int64(state.words[vertex] >> SHIFT), state.offers[vertex])


def note_offer(state: State, vertex: Any, found: Any) -> None:
    """Keep the best offer found for a vertex."""
    cuda.atomic.min(state.offers, vertex, found)


def is_open(words: Any, key: Any, best: Any) -> Any:
    """Tell whether the best offer to a pending vertex is good enough and its maker undecided, with a smaller key."""
    if np.int64(best >> SHIFT) > key:
        return False
    return np.int64(words[np.int64(best & MAKER)] >> SHIFT) < key


def decide(state: State) -> None:
    """Let the pending vertices of this round stay, wait or be lost."""
    control = state.control
    place, last = control[NEAR] + cuda.grid(1), control[NEAR + 1]
    while any_lane(place < last):
        vertex, key, waits, lost = np.int32(0), np.int64(0), False, False
        if place < last:
            vertex = state.near[place]
            key = np.int64(state.words[vertex] >> SHIFT)
            best, stays = state.offers[vertex], False
            if SEARCHES:
                stays = supported(key, best)
                own = start_key(vertex, state.roots, state.root_keys)
                if own <= key and not (stays and np.int64(best >> SHIFT) < own):
                    best, stays = (np.uint64(own) << SHIFT) | np.uint64(NO_PARENT), True
                waits = not stays and is_open(state.words, key, best)
            lost = not stays and not waits
            if lost:
                state.words[vertex] = UNREACHED
                cuda.atomic.or_(state.marks, vertex, LOST_MARK)
            else:
                state.offers[vertex] = UNREACHED
            if stays:
                state.words[vertex] = best
                if np.int64(best >> SHIFT) < key:
                    cuda.atomic.or_(state.marks, vertex, AHEAD)
        append(state.lost, control, LOST + 1, lost, vertex)
        enqueue(state, waits, vertex, key)
        place += cuda.gridsize(1)


def nothing(state: State, vertex: Any) -> Any:  # noqa: ARG001  (one signature)
    """Return what visits of a lost vertex's list have in common: nothing."""
    return np.int64(0)


def release(
    state: State,
    vertex: Any,
    value: Any,  # noqa: ARG001  (every visit has the same signature)
    other: Any,
    weight: Any,  # noqa: ARG001
    inside: Any,
    found: Any,
) -> Any:
    """Make an out-neighbour of a lost vertex pending if it is its child (a visit, see `walk.py`)."""
    detached, key = False, np.int64(0)
    if inside:
        word = state.words[other]
        if np.int64(word & LOW) == np.int64(vertex):
            detached, key = True, np.int64(word >> SHIFT)
            state.words[other] = (word & ~LOW) | np.uint64(PENDING)
        elif word == UNREACHED and state.marks[other] & LOST_MARK != 0:
            cuda.atomic.or_(state.marks, vertex, PUSHES)
    if any_lane(detached):
        log(state, detached, other, key)
        enqueue(state, detached, other, key)
    return found


def settle_lost(state: State, again: Any) -> None:
    """Give lost vertices the best they were offered; queue those whose list must be read for it again.

    With `again`, those are given what was found then.
    """
    control = state.control
    slot = np.int64(NEAR if again else LOST)
    first = control[slot] if again else np.int64(0)
    place, last = first + cuda.grid(1), control[slot + 1]
    while any_lane(place < last):
        vertex, open_ = np.int32(0), False
        if place < last:
            vertex = state.near[place] if again else state.lost[place]
            best = state.offers[vertex]
            state.offers[vertex] = UNREACHED
            if not again:
                if best == UNREACHED:
                    open_ = state.marks[vertex] & OPEN != 0
                else:
                    open_ = state.marks[np.int64(best & MAKER)] & LOST_MARK != 0
            if not open_:
                own = start_key(vertex, state.roots, state.root_keys)
                if best != UNREACHED:
                    best &= ~UNDECIDED
                if own < np.int64(best >> SHIFT):
                    best = (np.uint64(own) << SHIFT) | np.uint64(NO_PARENT)
                state.words[vertex] = best
        append(state.near, control, NEXT + 1, open_, vertex)
        place += cuda.gridsize(1)


def gain(
    state: State,
    vertex: Any,
    value: Any,  # noqa: ARG001  (every visit has the same signature)
    other: Any,
    weight: Any,
    inside: Any,
    found: Any,
) -> Any:
    """Look at one in-neighbour of a lost vertex (a visit, see `walk.py`); find the best offer."""
    if inside:
        theirs = np.int64(state.words[other] >> SHIFT)
        if theirs != np.int64(NO_KEY):
            offered = offer(np.uint32(theirs), weight)
            if offered < np.int64(NO_KEY):
                found = min(found, (np.uint64(offered) << SHIFT) | np.uint64(other))
            elif offered > np.int64(NO_KEY):
                cuda.atomic.or_(state.marks, vertex, TOO_FAR)
    return found


FUNCTIONS = (stands, supported, is_supported, is_open)
KERNELS = (detach_edges, decide, settle_lost)
