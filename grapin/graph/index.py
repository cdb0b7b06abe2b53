"""Where in a long list is a neighbour? A hash index per list answers in one look instead of a scan.

Open addressing with linear probing, at most half full, deletion by shifting back (no tombstones). Positions
are relative to the list's start, so moving a list leaves its index alone. An index is a cache: it is built
when a long list is first changed, dropped when the list gets short, and a list without one is scanned.
"""

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import compiled
from grapin.graph.packed import SLOTS_TAKEN, PackedLists, wide

LONGEST_SCAN = 256
"""Lists up to this degree are scanned: 16 cache lines in sequence cost about as much as two at random."""
SIZE_CLASSES = 40
_EMPTY = -1
_POSITION = 0xFFFFFFFF
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio: Knuth's multiplicative hashing


@compiled
def _first_slot(neighbour: int, bits: int) -> int:
    return wide((np.uint64(neighbour) * _GOLDEN) >> np.uint64(64 - bits))


@compiled
def bits_for(degree: int) -> int:
    """Return the size class of an index for this degree: at most half its slots are in use."""
    bits = 1
    while (1 << bits) < 2 * degree:
        bits += 1
    return bits


@compiled
def find_indexed(lists: PackedLists, vertex: int, neighbour: int) -> int:
    """Return the position of `neighbour` in an indexed list, -1 if it is not there."""
    base, bits = lists.index_starts[vertex], wide(lists.index_bits[vertex])
    slot = _first_slot(neighbour, bits)
    while True:
        entry = lists.slots[base + slot]
        if entry == _EMPTY:
            return wide(-1)
        if entry >> 32 == neighbour:
            return wide(entry & _POSITION)
        slot = (slot + 1) & ((1 << bits) - 1)


@compiled
def index_put(lists: PackedLists, vertex: int, neighbour: int, position: int) -> None:
    """Record where `neighbour` is now, whether it was in the index before or not."""
    base, bits = lists.index_starts[vertex], wide(lists.index_bits[vertex])
    slot = _first_slot(neighbour, bits)
    while True:
        entry = lists.slots[base + slot]
        if entry == _EMPTY or entry >> 32 == neighbour:
            lists.slots[base + slot] = (wide(neighbour) << 32) | position
            return
        slot = (slot + 1) & ((1 << bits) - 1)


@compiled
def index_remove(lists: PackedLists, vertex: int, neighbour: int) -> None:
    """Forget `neighbour`, which is in the index, and close the gap in its run of slots."""
    base, bits = lists.index_starts[vertex], wide(lists.index_bits[vertex])
    mask = (1 << bits) - 1
    hole = _first_slot(neighbour, bits)
    while lists.slots[base + hole] >> 32 != neighbour:
        hole = (hole + 1) & mask
    slot = hole
    while True:
        slot = (slot + 1) & mask
        entry = lists.slots[base + slot]
        if entry == _EMPTY:
            break
        # An entry may fill the hole only if that does not move it before its own first slot.
        if ((slot - _first_slot(entry >> 32, bits)) & mask) >= ((slot - hole) & mask):
            lists.slots[base + hole] = entry
            hole = slot
    lists.slots[base + hole] = _EMPTY


@compiled
def drop_index(lists: PackedLists, vertex: int) -> None:
    """Give the index of a list back to the free blocks of its size class."""
    base, bits = lists.index_starts[vertex], lists.index_bits[vertex]
    lists.slots[base] = lists.free_blocks[bits]
    lists.free_blocks[bits] = base
    lists.index_starts[vertex] = -1


@compiled
def _build_index(lists: PackedLists, vertex: int, degree: int) -> None:
    """Index a list with slots for `degree`; where `slots` has no room left the list stays without."""
    bits = bits_for(degree)
    base = lists.free_blocks[bits]
    if base >= 0:
        lists.free_blocks[bits] = lists.slots[base]
    else:
        base = lists.counters[SLOTS_TAKEN]
        if base + (1 << bits) > len(lists.slots):
            return
        lists.counters[SLOTS_TAKEN] += 1 << bits
    lists.slots[base : base + (1 << bits)] = _EMPTY
    lists.index_starts[vertex], lists.index_bits[vertex] = base, bits
    start = lists.starts[vertex]
    for position in range(lists.degrees[vertex]):
        index_put(lists, vertex, lists.neighbours[start + position], position)


@compiled
def _lacks_index(lists: PackedLists, vertex: int, degree: int, create: bool) -> bool:
    if lists.index_starts[vertex] >= 0:
        return bool(2 * degree > (1 << wide(lists.index_bits[vertex])))
    return create and degree > LONGEST_SCAN


@compiled
def slots_wanted(lists: PackedLists, vertices: NDArray[np.int32], growing: bool, create: bool) -> int:
    """Return an upper bound of the fresh slots that `prepare_indices` would take."""
    total, first = 0, 0
    while first < len(vertices):
        vertex, last = vertices[first], first + 1
        while last < len(vertices) and vertices[last] == vertex:
            last += 1
        degree = wide(lists.degrees[vertex]) + (last - first if growing else 0)
        if _lacks_index(lists, vertex, degree, create):
            total += 1 << bits_for(degree)
        first = last
    return total


@compiled
def prepare_indices(lists: PackedLists, vertices: NDArray[np.int32], growing: bool, create: bool) -> None:
    """Make the indices of these lists large enough, each for as many insertions as it is named (`growing`).

    `vertices` is sorted. With `create`, long lists that have no index get one.
    """
    first = 0
    while first < len(vertices):
        vertex, last = vertices[first], first + 1
        while last < len(vertices) and vertices[last] == vertex:
            last += 1
        degree = wide(lists.degrees[vertex]) + (last - first if growing else 0)
        if _lacks_index(lists, vertex, degree, create):
            if lists.index_starts[vertex] >= 0:
                drop_index(lists, vertex)
            _build_index(lists, vertex, degree)
        first = last
