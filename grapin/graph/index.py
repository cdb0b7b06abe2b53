"""Where in a long list is a neighbour? A hash index per list answers in one look instead of a scan.

Open addressing with linear probing, at most half full, deletion by shifting back (no tombstones). Positions
are relative to the list's start, so moving a list leaves its index alone. An index is a cache: a long list
gets one when it has been scanned so often that the scans cost as much as building it, and loses it when it
gets short; a list without one is scanned.

The word `indices[v]` of a list is the first slot and the size class of its index, or, negative, how often the
list has been scanned.
"""

import numpy as np

from grapin.compiled import kernel
from grapin.graph.packed import SLOTS_TAKEN, Column, PackedLists, group_end, wide

LONGEST_SCAN = 256
"""Lists up to this degree are always scanned: 16 cache lines in sequence cost no more than two at random."""
SCANS_BEFORE_INDEX = 16
"""Building an index costs about as much as this many scans of its list, whatever the degree."""
SIZE_CLASSES = 40
UNINDEXED = -1
_SIZE_BITS = 6  # enough to count the size classes
_EMPTY = -1
_POSITION = 0xFFFFFFFF
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio: Knuth's multiplicative hashing


@kernel
def has_index(lists: PackedLists, vertex: int) -> bool:
    """Return whether a list has an index; short lists never do."""
    return bool(2 * lists.degrees[vertex] >= LONGEST_SCAN and lists.indices[vertex] >= 0)


@kernel
def index_size_class(lists: PackedLists, vertex: int) -> int:
    """Return the binary logarithm of the number of slots of an index."""
    return wide(lists.indices[vertex] & ((1 << _SIZE_BITS) - 1))


@kernel
def index_base(lists: PackedLists, vertex: int) -> int:
    """Return the first slot of an index."""
    return wide(lists.indices[vertex] >> _SIZE_BITS)


@kernel
def first_slot(neighbour: int, size_class: int) -> int:
    """Return where in its index, counted from the base, the search for a neighbour begins."""
    return wide((np.uint64(neighbour) * _GOLDEN) >> np.uint64(64 - size_class))


@kernel
def _size_class_for(degree: int) -> int:
    size_class = 1
    while (1 << size_class) < 2 * degree:
        size_class += 1
    return size_class


@kernel
def find_indexed(lists: PackedLists, vertex: int, neighbour: int) -> int:
    """Return the position of `neighbour` in an indexed list, -1 if it is not there."""
    base, size_class = index_base(lists, vertex), index_size_class(lists, vertex)
    slot = first_slot(neighbour, size_class)
    while True:
        entry = lists.slots[base + slot]
        if entry == _EMPTY:
            return wide(-1)
        if entry >> 32 == neighbour:
            return wide(entry & _POSITION)
        slot = (slot + 1) & ((1 << size_class) - 1)


@kernel
def index_put(lists: PackedLists, vertex: int, neighbour: int, position: int) -> None:
    """Record where `neighbour` is now, whether it was in the index before or not."""
    base, size_class = index_base(lists, vertex), index_size_class(lists, vertex)
    slot = first_slot(neighbour, size_class)
    while True:
        entry = lists.slots[base + slot]
        if entry == _EMPTY or entry >> 32 == neighbour:
            lists.slots[base + slot] = (wide(neighbour) << 32) | position
            return
        slot = (slot + 1) & ((1 << size_class) - 1)


@kernel
def index_remove(lists: PackedLists, vertex: int, neighbour: int) -> None:
    """Forget `neighbour`, which is in the index, and close the gap in its run of slots."""
    base, size_class = index_base(lists, vertex), index_size_class(lists, vertex)
    mask = (1 << size_class) - 1
    hole = first_slot(neighbour, size_class)
    while lists.slots[base + hole] >> 32 != neighbour:
        hole = (hole + 1) & mask
    slot = hole
    while True:
        slot = (slot + 1) & mask
        entry = lists.slots[base + slot]
        if entry == _EMPTY:
            break
        # An entry may fill the hole only if that does not move it before its own first slot.
        if ((slot - first_slot(entry >> 32, size_class)) & mask) >= ((slot - hole) & mask):
            lists.slots[base + hole] = entry
            hole = slot
    lists.slots[base + hole] = _EMPTY


@kernel
def drop_index(lists: PackedLists, vertex: int) -> None:
    """Give the index of a list back to the free blocks of its size class."""
    base, size_class = index_base(lists, vertex), index_size_class(lists, vertex)
    lists.slots[base] = lists.free_blocks[size_class]
    lists.free_blocks[size_class] = base
    lists.indices[vertex] = UNINDEXED


@kernel
def _build_index(lists: PackedLists, vertex: int, degree: int) -> None:
    """Index a list with slots for `degree`; where `slots` has no room left the list stays without."""
    size_class = _size_class_for(degree)
    base = lists.free_blocks[size_class]
    if base >= 0:
        lists.free_blocks[size_class] = lists.slots[base]
    else:
        base = lists.counters[SLOTS_TAKEN]
        if base + (1 << size_class) > len(lists.slots):
            return
        lists.counters[SLOTS_TAKEN] += 1 << size_class
    for slot in range(base, base + (1 << size_class)):
        lists.slots[slot] = _EMPTY
    lists.indices[vertex] = (base << _SIZE_BITS) | size_class
    start = lists.starts[vertex]
    for position in range(lists.degrees[vertex]):
        index_put(lists, vertex, lists.neighbours[start + position], position)


@kernel
def _lacks_index(lists: PackedLists, vertex: int, degree: int) -> bool:
    if has_index(lists, vertex):
        return bool(2 * degree > (1 << index_size_class(lists, vertex)))
    return bool(lists.indices[vertex] < UNINDEXED - SCANS_BEFORE_INDEX)


@kernel
def count_searches(lists: PackedLists, owner: Column, searched: bool, growing: bool) -> int:
    """Note that each list is `searched` as often as it is in `owner`, which is sorted.

    Returns the most slots that `prepare_indices` can take after that.
    """
    total, first = 0, 0
    while first < len(owner):
        vertex, last = owner[first], group_end(owner, first)
        if 2 * lists.degrees[vertex] >= LONGEST_SCAN:
            degree = lists.degrees[vertex] + (last - first if growing else 0)
            if searched and lists.degrees[vertex] > LONGEST_SCAN and not has_index(lists, vertex):
                lists.indices[vertex] -= last - first
            if _lacks_index(lists, vertex, degree):
                total += 1 << _size_class_for(degree)
        first = last
    return total


@kernel
def prepare_indices(lists: PackedLists, owner: Column, growing: bool) -> None:
    """Give the lists that deserve one an index, large enough for one more arc per name if `growing`."""
    first = 0
    while first < len(owner):
        vertex, last = owner[first], group_end(owner, first)
        if 2 * lists.degrees[vertex] >= LONGEST_SCAN:
            degree = lists.degrees[vertex] + (last - first if growing else 0)
            if _lacks_index(lists, vertex, degree):
                if has_index(lists, vertex):
                    drop_index(lists, vertex)
                _build_index(lists, vertex, degree)
        first = last
