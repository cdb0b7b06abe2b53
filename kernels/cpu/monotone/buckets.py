"""Buckets of waiting vertices, best key first: a queue that costs nanoseconds per vertex, whatever the keys are.

It is a radix heap. An edge never improves a key, so no key that is still to come is better than the best one that
is waiting: the *origin*. A vertex waits in the bucket of the highest bit in which its key differs from the origin.
Bucket 0 holds the origin's own key; every key in a bucket is better than every key in the next. When the lowest
bucket is not fine enough it is *split*: its best key becomes the origin, and its vertices move to buckets below. A
vertex moves at most 32 times, usually once or twice, and neither range nor spread of the keys has to be known:
distances, labels and the bit patterns of floats are filed alike.

A vertex whose key improves is filed again; the old item is *stale*, known by its key, and dropped when it is met.

A bucket is a chain of blocks, so that walking through it is reading memory in sequence.
"""

from typing import Any, NamedTuple

import numpy as np
from numba.core import types

from grapin.compiled import compiled, kernel
from grapin.graph.packed import intrinsic
from grapin.kernels.rules import LOW, SHIFT

BUCKETS = 33
"""One for equal keys and one for each bit of a key."""
FREE = BUCKETS
"""The chain of blocks that can be used again."""
BLOCK = 64
"""Items in a block."""
NO_BLOCK = np.int32(-1)
USED, LIVE, WAITING = 0, 1, 2


class Buckets(NamedTuple):
    """Chains of blocks, one chain a bucket."""

    items: Any
    """uint64, `BLOCK` for each block: key above vertex."""
    following: Any
    """int32 a block: the next one of its chain."""
    heads: Any
    """int32 a bucket: the first block of its chain, the only one that may not be full; one more for free blocks."""
    counts: Any
    """int64 a bucket: items in its chain, stale ones included."""
    origin: Any
    """One uint64 number: the key that buckets are measured from."""
    state: Any
    """How many blocks were ever used, how many hold items now, and how many items there are."""


def _count_leading_zeros(number: Any) -> int:
    return 64 - int(number).bit_length()


@intrinsic(_count_leading_zeros)
def _leading_zeros(_typing: Any, _number: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], context.get_constant(types.boolean, 0))

    return types.uint64(types.uint64), generate


@compiled
def new_buckets(items: int, origin: Any) -> Buckets:
    """Return empty buckets with room for so many items; no key to come may be better than `origin`."""
    blocks = _blocks_for(items)
    heads = np.empty(BUCKETS + 1, np.int32)
    heads[:] = NO_BLOCK
    best = np.empty(1, np.uint64)
    best[0] = origin
    return Buckets(
        np.empty(blocks * BLOCK, np.uint64),
        np.empty(blocks, np.int32),
        heads,
        np.zeros(BUCKETS, np.int64),
        best,
        np.zeros(3, np.int64),
    )


@compiled
def with_room(buckets: Buckets, more: int) -> Buckets:
    """Return the same buckets with room for `more` items."""
    blocks = buckets.following.size
    needed = buckets.state[LIVE] + _blocks_for(more)
    if needed <= blocks:
        return buckets
    needed = max(needed, 2 * blocks)
    items = np.empty(needed * BLOCK, np.uint64)
    following = np.empty(needed, np.int32)
    for place in range(buckets.items.size):  # not slices: see `grown`
        items[place] = buckets.items[place]
    for block in range(blocks):
        following[block] = buckets.following[block]
    return Buckets(items, following, buckets.heads, buckets.counts, buckets.origin, buckets.state)


@kernel
def _blocks_for(items: int) -> int:
    """Return how many blocks hold so many items, with one to begin in each bucket, now and after a split."""
    return items // BLOCK + 2 * BUCKETS


@kernel
def bucket_of(key: Any, origin: Any) -> Any:
    """Return the number of bits up to the highest in which two keys differ."""
    return np.int64(64) - np.int64(_leading_zeros(key ^ origin))


@kernel
def put(buckets: Buckets, item: Any) -> None:
    """File one item, key above vertex; the caller has made room."""
    bucket = bucket_of(item >> SHIFT, buckets.origin[0])
    filled = buckets.counts[bucket] % BLOCK
    if filled == 0:
        block = buckets.heads[FREE]
        if block == NO_BLOCK:
            block = np.int32(buckets.state[USED])
            buckets.state[USED] += 1
        else:
            buckets.heads[FREE] = buckets.following[block]
        buckets.following[block] = buckets.heads[bucket]
        buckets.heads[bucket] = block
        buckets.state[LIVE] += 1
    buckets.items[np.int64(buckets.heads[bucket]) * BLOCK + filled] = item
    buckets.counts[bucket] += 1
    buckets.state[WAITING] += 1


@kernel
def lowest(buckets: Buckets) -> int:
    """Return the first bucket that holds anything, `BUCKETS` when none does."""
    bucket = 0
    while bucket < BUCKETS and buckets.counts[bucket] == 0:
        bucket += 1
    return bucket


@kernel
def detach(buckets: Buckets, bucket: int) -> tuple[Any, Any]:
    """Empty a bucket that holds something; return its first block and how many items that one holds.

    The caller reads all its blocks, full ones after the first, and gives back each with `release`.
    """
    block = buckets.heads[bucket]
    filled = (buckets.counts[bucket] - 1) % BLOCK + 1
    buckets.heads[bucket] = NO_BLOCK
    buckets.state[WAITING] -= buckets.counts[bucket]
    buckets.counts[bucket] = 0
    return block, filled


@kernel
def release(buckets: Buckets, block: Any) -> Any:
    """Give back a block that was read; return the next one of its chain."""
    after = buckets.following[block]
    buckets.following[block] = buckets.heads[FREE]
    buckets.heads[FREE] = block
    buckets.state[LIVE] -= 1
    return after


@kernel
def is_stale(item: Any, words: Any) -> Any:
    """Tell whether the vertex of an item has a better key by now."""
    return words[np.int64(item & LOW)] >> SHIFT != item >> SHIFT


@kernel
def split(buckets: Buckets, bucket: int, words: Any) -> None:
    """Move what the lowest bucket holds to the buckets below, measured from its own best key."""
    head, head_filled = detach(buckets, bucket)
    block, filled = head, head_filled
    best = ~np.uint64(0)
    while block != NO_BLOCK:
        for place in range(np.int64(block) * BLOCK, np.int64(block) * BLOCK + filled):
            item = buckets.items[place]
            if item >> SHIFT < best and not is_stale(item, words):
                best = item >> SHIFT
        block, filled = buckets.following[block], BLOCK
    if best != ~np.uint64(0):
        buckets.origin[0] = best
    block, filled = head, head_filled
    while block != NO_BLOCK:
        for place in range(np.int64(block) * BLOCK, np.int64(block) * BLOCK + filled):
            item = buckets.items[place]
            if not is_stale(item, words):
                put(buckets, item)
        block, filled = release(buckets, block), BLOCK
