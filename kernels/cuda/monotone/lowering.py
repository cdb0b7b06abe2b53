"""The update protocol: how thousands of threads lower words at once and leave a forest behind.

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

from grapin.kernels.cuda.monotone.queues import append, enqueue
from grapin.kernels.cuda.monotone.state import JOURNAL, KNOWN, LOGGED, TOO_FAR, State
from grapin.kernels.cuda.warp import any_lane
from grapin.kernels.words import NO_KEY, SHIFT


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


FUNCTIONS = (lower, make_offer)
