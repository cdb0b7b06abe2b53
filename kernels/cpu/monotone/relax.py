"""One round of offers, in pieces that threads share: vertices push along their lists, or others pull.

Pushing splits the edges of a round, not its vertices, so the list of a hub may be read by several threads. Most edges
of a skewed graph lead to vertices that are settled long since; a bit each, in the cache, tells them apart without a
look at their words. Pulling is for rounds in which all offers are equal, as they are when vertices of one key offer
over edges whose weights do not count: then a vertex that waits for that offer takes the first one it finds and reads no
further. It splits the vertices, so nobody else writes the word of a vertex that pulls.

**Parents never close a cycle, whatever threads do.** An edge never improves a key, so all keys on a cycle of parents
would be equal, say k. Let v have u as its parent on it: some thread read key k at u, *then* read a key worse than k at
v, and then lowered v's word. So u had k before v had it. Around the cycle each vertex had k before the next, and so
before itself. This needs the order of the two reads, hence the acquiring load, and the test for a strictly better key.
It does no harm that another thread may lower v's word between test and minimum, nor that the smaller of two parents
with equal keys then wins. A parent stays right when its own key improves later: it pushes again, and what it offers
then is at least as good.

A round shared among threads: split into pieces, of which whoever is free takes the next.

More pieces than threads, so that one that is held up leaves its share to the others. The arrays of a round are given
one by one, since a parallel loop takes in arrays and tuples of arrays but no tuples of tuples.

**Atomic steps** on array elements are what threads may do to the same word at the same time. Each is one instruction of
the processor, made by an intrinsic because Numba has none for the CPU. Changes are sequentially consistent; a load is
an acquire: what the program reads after it is not read before it.
"""

from typing import Any

import numba
import numpy as np
from numba.core import types

from grapin.compiled import kernel
from grapin.graph.packed import intrinsic, prefetch
from grapin.kernels.cpu.lists import OVERFLOWS, count_list
from grapin.kernels.cpu.monotone.forward import word
from grapin.kernels.rules import NO_KEY, SHIFT
from grapin.kernels.unbound import ARRAYS, SIDES, offer, weight_at

_WORD_BYTES = 8


def _element(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(array.data, [arguments[1]])


def _lower_plainly(array: Any, index: Any, value: Any) -> Any:
    before = array[index]
    array[index] = min(before, value)
    return before


def _add_plainly(array: Any, index: Any, value: Any) -> Any:
    before = array[index]
    array[index] += value
    return before


def _load_plainly(array: Any, index: Any) -> Any:
    return array[index]


def _changing(operation: str, plain: Any) -> Any:
    """Make an intrinsic that changes one 64-bit element and returns what it was."""

    def step(_typing: Any, array: Any, _index: Any, _value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address = _element(context, builder, signature, arguments)
            return builder.atomic_rmw(operation, address, arguments[2], "seq_cst")

        return array.dtype(array, types.intp, array.dtype), generate

    return intrinsic(plain)(step)


_minimum = _changing("umin", _lower_plainly)
_sum = _changing("add", _add_plainly)


@intrinsic(_load_plainly)
def _load(_typing: Any, array: Any, _index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _element(context, builder, signature, arguments)
        return builder.load_atomic(address, "acquire", _WORD_BYTES)

    return array.dtype(array, types.intp), generate


@kernel
def atomic_load(words: Any, index: int) -> Any:
    """Return one 64-bit element, read whole and before anything that is read later."""
    return _load(words, index)


@kernel
def atomic_minimum(words: Any, index: int, word: Any) -> Any:
    """Lower one uint64 element to `word` unless it is smaller already. Return what it was."""
    return _minimum(words, index, word)


@kernel
def atomic_add(counters: Any, index: int, amount: int) -> Any:
    """Add to one int64 element. Return what it was."""
    return _sum(counters, index, amount)


VERTICES_AHEAD = 8
"""How many lists are under way from memory while one is read."""


@kernel
def has_bit(bits: Any, vertex: Any) -> Any:
    """Tell whether a vertex is in a set of 64 vertices a word."""
    return ((bits[vertex >> 6] >> np.uint64(vertex & 63)) & np.uint64(1)) != np.uint64(0)


@kernel
def set_bit(bits: Any, vertex: Any) -> None:
    """Add a vertex to a set; when threads do it at the same time, one of them may be in vain."""
    bits[vertex >> 6] |= np.uint64(1) << np.uint64(vertex & 63)


@kernel
def mark_frontier(frontier: Any, near: Any, size: int) -> None:
    """Make the frontier the set of the vertices that offer in this round."""
    frontier[:] = 0
    for turn in range(size):
        set_bit(frontier, near[turn])


@kernel
def plain_minimum(words: Any, index: int, new: Any) -> Any:
    """Do what `atomic_minimum` does where no other thread can interfere."""
    old = words[index]
    words[index] = min(old, new)
    return old


def lower(words: Any, vertex: Any, new: Any) -> Any:
    """Stand for one of the two minima until a program is bound."""
    raise NotImplementedError


@kernel
def owner_of(offsets: Any, size: int, edge: int) -> int:
    """Return whose edge this is: the last of the first `size` vertices that begins at or before it."""
    low, high = 0, size
    while high - low > 1:
        middle = (low + high) >> 1
        if offsets[middle] <= edge:
            low = middle
        else:
            high = middle
    return low


def fetch_ahead(near: Any, size: int, turn: int, pushes: Any) -> None:
    """Ask for the lists of the next vertices, which lie all over memory, so that their misses overlap."""
    far, soon = turn + 2 * VERTICES_AHEAD, turn + VERTICES_AHEAD
    for side in range(SIDES):
        starts, degrees, neighbours, weights = pushes[side]
        if far < size:
            prefetch(starts, near[far])
            prefetch(degrees, near[far])
        if soon < size:
            prefetch(neighbours, starts[near[soon]])
            if ARRAYS > 1:
                prefetch(weights, starts[near[soon]])


def push(
    near: Any,
    offsets: Any,
    size: int,
    first: int,
    last: Any,
    best: int,
    words: Any,
    pushes: Any,
    settled: Any,
    found: Any,
    old_keys: Any,
    tally: Any,
) -> int:
    """Make the offers of a round's edges from `first` up to `last`, numbered through by `offsets`.

    No offer is better than `best`, so a vertex that has that key is settled. What improves is written to `found`, key
    above vertex, from place `first` on, and its old key to `old_keys` if that has room. Returns how many improved.
    """
    logging = old_keys.size > 0
    kept = first
    turn = owner_of(offsets, size, first)
    while turn < size and offsets[turn] < last:
        fetch_ahead(near, size, turn, pushes)
        vertex = near[turn]
        key = np.uint32(atomic_load(words, vertex) >> SHIFT)
        base = offsets[turn]
        for side in range(SIDES):
            starts, degrees, neighbours, weights = pushes[side]
            start = starts[vertex]
            degree = np.int64(degrees[vertex])
            begin = max(first - base, 0)
            end = min(last - base, degree)
            if begin == 0 and end > 0:
                count_list(tally, start, degree, ARRAYS)
            for i in range(start + begin, start + end):
                other = neighbours[i]
                if has_bit(settled, other):
                    continue
                theirs = np.int64(atomic_load(words, other) >> SHIFT)
                offered = offer(key, weight_at(weights, i))
                if offered < theirs:
                    old_key = np.int64(lower(words, other, word(offered, vertex)) >> SHIFT)
                    if offered < old_key:
                        found[kept] = word(offered, other)
                        if logging:
                            old_keys[kept] = old_key
                        kept += 1
                elif theirs <= best:
                    set_bit(settled, other)
                elif offered > np.int64(NO_KEY) and theirs == np.int64(NO_KEY):
                    tally[OVERFLOWS] += 1
            base += degree
        turn += 1
    return kept - first


def pull(
    offered: int,
    frontier: Any,
    first: int,
    last: Any,
    words: Any,
    pulls: Any,
    found: Any,
    old_keys: Any,
    lengths: Any,
    tally: Any,
) -> int:
    """Let each vertex from `first` up to `last` that the offer would improve look for one in the frontier.

    Results are those of `push`; how much of each list was read goes to `lengths` if that has room.
    """
    kept = first
    for vertex in range(first, last):
        old_key = np.int64(words[vertex] >> SHIFT)
        if old_key <= offered:
            continue
        for side in range(SIDES):
            starts, degrees, neighbours, _weights = pulls[side]
            start = starts[vertex]
            end = start + np.int64(degrees[vertex])
            place = start
            while place < end and not has_bit(frontier, neighbours[place]):
                place += 1
            read = min(place + 1, end) - start
            count_list(tally, start, read, ARRAYS)
            if lengths.size > 0:
                lengths[SIDES * vertex + side] = read
            if place < end:
                words[vertex] = word(offered, neighbours[place])
                found[kept] = word(offered, vertex)
                if old_keys.size > 0:
                    old_keys[kept] = old_key
                kept += 1
                break
    return kept - first


def survey(offered: int, words: Any, pulls: Any) -> tuple[Any, Any]:
    """Count the vertices that this offer would improve, and the edges they might read to find it."""
    vertices = np.int64(0)
    edges = np.int64(0)
    for side in range(SIDES):
        degrees = pulls[side][1]
        for vertex in range(degrees.size):
            if np.int64(words[vertex] >> SHIFT) > offered:
                vertices += np.int64(degrees[vertex] > 0)
                edges += np.int64(degrees[vertex])
    return vertices, edges


def share_push(
    threads: int,
    size: int,
    edges: int,
    best: int,
    words: Any,
    one: Any,
    other: Any,
    near: Any,
    offsets: Any,
    settled: Any,
    found: Any,
    old_keys: Any,
    counts: Any,
    tallies: Any,
) -> None:
    """Push the edges of a round; `one` and `other` are the lists of the two sides."""
    pieces = counts.size
    ticket = np.zeros(1, np.int64)
    for thread in numba.prange(threads):
        piece = atomic_add(ticket, 0, 1)
        while piece < pieces:
            counts[piece] = push(
                near,
                offsets,
                size,
                piece * edges // pieces,
                (piece + 1) * edges // pieces,
                best,
                words,
                (one, other),
                settled,
                found,
                old_keys,
                tallies[thread],
            )
            piece = atomic_add(ticket, 0, 1)


def share_pull(
    threads: int,
    bound: int,
    offered: int,
    words: Any,
    one: Any,
    other: Any,
    frontier: Any,
    found: Any,
    old_keys: Any,
    lengths: Any,
    counts: Any,
    tallies: Any,
) -> None:
    """Let the vertices pull; `one` and `other` are the lists of the two sides."""
    pieces = counts.size
    ticket = np.zeros(1, np.int64)
    for thread in numba.prange(threads):
        piece = atomic_add(ticket, 0, 1)
        while piece < pieces:
            counts[piece] = pull(
                offered,
                frontier,
                piece * bound // pieces,
                (piece + 1) * bound // pieces,
                words,
                (one, other),
                found,
                old_keys,
                lengths,
                tallies[thread],
            )
            piece = atomic_add(ticket, 0, 1)
