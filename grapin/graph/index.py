"""Where in a long list is a neighbour? A hash index per list answers in one look instead of a scan.

Open addressing with linear probing, less than half full, deletion by shifting back (no tombstones). A slot is
32 bits: the position in the list and, in the bits that leaves free, more of the neighbour's hash, so that
hardly any other neighbour has to be compared. Positions are relative to the list's start, so moving a list
leaves its index alone. A long list gets one when the graph is built or when it is first searched, and loses it
when it gets short; a list without one is scanned.

The word `indices[v]` of a list is the first slot and the size class of its index, or `UNINDEXED`.
"""

import numpy as np

from grapin.compiled import kernel
from grapin.graph.intrinsics import prefetch
from grapin.graph.packed import SLOTS_TAKEN, Column, PackedLists, group_end, wide

LONGEST_SCAN = 128
"""Lists up to this degree are always scanned: 8 cache lines in sequence, and no memory for an index."""
SIZE_CLASSES = 40
UNINDEXED = -1
_SMALLEST_CLASS = 8  # more than twice the degree, half of LONGEST_SCAN, at which an index is dropped
_ROWS_AHEAD = 16
_SIZE_BITS = 6  # enough to count the size classes
EMPTY_SLOT = 0xFFFFFFFF
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
def _entry(neighbour: int, size_class: int, position: int) -> int:
    """Return what a slot holds for a neighbour: hash bits after those of its first slot, and the position.

    Positions are below half the number of slots, less one, so that no entry looks empty.
    """
    hash_bits = wide((np.uint64(neighbour) * _GOLDEN) >> np.uint64(31))
    return ((hash_bits << (size_class - 1)) & EMPTY_SLOT) | position


@kernel
def _size_class_for(degree: int) -> int:
    size_class = _SMALLEST_CLASS
    while (1 << size_class) <= 2 * degree:
        size_class += 1
    return size_class


@kernel
def find_indexed(lists: PackedLists, vertex: int, neighbour: int) -> int:
    """Return the position of `neighbour` in an indexed list, -1 if it is not there."""
    base, size_class = index_base(lists, vertex), index_size_class(lists, vertex)
    start, positions = lists.starts[vertex], (1 << (size_class - 1)) - 1
    wanted = _entry(neighbour, size_class, positions)
    slot = first_slot(neighbour, size_class)
    while True:
        entry = wide(lists.slots[base + slot])
        if entry == EMPTY_SLOT:
            return wide(-1)
        position = entry & positions
        if entry | positions == wanted and lists.neighbours[start + position] == neighbour:
            return position
        slot = (slot + 1) & ((1 << size_class) - 1)


@kernel
def _slot_with(lists: PackedLists, vertex: int, neighbour: int, entry: int) -> int:
    """Return the slot, counted from the base, where the search for a neighbour comes upon this entry."""
    base, size_class = index_base(lists, vertex), index_size_class(lists, vertex)
    slot = first_slot(neighbour, size_class)
    while wide(lists.slots[base + slot]) != entry:
        slot = (slot + 1) & ((1 << size_class) - 1)
    return slot


@kernel
def index_add(lists: PackedLists, vertex: int, neighbour: int, position: int) -> None:
    """Record where a neighbour is that was not in the list before."""
    entry = _entry(neighbour, index_size_class(lists, vertex), position)
    slot = _slot_with(lists, vertex, neighbour, EMPTY_SLOT)
    lists.slots[index_base(lists, vertex) + slot] = entry


@kernel
def index_move(lists: PackedLists, vertex: int, neighbour: int, old: int, new: int) -> None:
    """Record that a neighbour goes from one position to another."""
    size_class = index_size_class(lists, vertex)
    slot = _slot_with(lists, vertex, neighbour, _entry(neighbour, size_class, old))
    lists.slots[index_base(lists, vertex) + slot] = _entry(neighbour, size_class, new)


@kernel
def index_remove(lists: PackedLists, vertex: int, neighbour: int, position: int) -> None:
    """Forget a neighbour, which is still in the list, and close the gap in its run of slots."""
    base, size_class = index_base(lists, vertex), index_size_class(lists, vertex)
    mask, positions = (1 << size_class) - 1, (1 << (size_class - 1)) - 1
    hole = _slot_with(lists, vertex, neighbour, _entry(neighbour, size_class, position))
    slot = hole
    while True:
        slot = (slot + 1) & mask
        entry = wide(lists.slots[base + slot])
        if entry == EMPTY_SLOT:
            break
        # An entry may fill the hole only if that does not move it before its own first slot.
        home = first_slot(lists.neighbours[lists.starts[vertex] + (entry & positions)], size_class)
        if ((slot - home) & mask) >= ((slot - hole) & mask):
            lists.slots[base + hole] = entry
            hole = slot
    lists.slots[base + hole] = EMPTY_SLOT


@kernel
def drop_index(lists: PackedLists, vertex: int) -> None:
    """Give the index of a list back to the free blocks of its size class."""
    base, size_class = index_base(lists, vertex), index_size_class(lists, vertex)
    lists.slots[base] = lists.free_blocks[size_class] >> _SMALLEST_CLASS
    lists.free_blocks[size_class] = base
    lists.indices[vertex] = UNINDEXED


@kernel
def next_free_block(lists: PackedLists, base: int) -> int:
    """Return the free block that is to be used after the one at `base`, -1 if it is the last."""
    link = wide(lists.slots[base])
    return -1 if link == EMPTY_SLOT else link << _SMALLEST_CLASS


@kernel
def _build_index(lists: PackedLists, vertex: int, degree: int) -> None:
    """Index a list with slots for `degree`; where `slots` has no room left the list stays without."""
    size_class = _size_class_for(degree)
    base = lists.free_blocks[size_class]
    if base >= 0:
        lists.free_blocks[size_class] = next_free_block(lists, base)
    else:
        base = lists.counters[SLOTS_TAKEN]
        if base + (1 << size_class) > len(lists.slots):
            return
        lists.counters[SLOTS_TAKEN] += 1 << size_class
    lists.indices[vertex] = (base << _SIZE_BITS) | size_class
    slots = lists.slots[base : base + (1 << size_class)]
    for slot in range(len(slots)):
        slots[slot] = EMPTY_SLOT
    start, mask = lists.starts[vertex], (1 << size_class) - 1
    for position in range(lists.degrees[vertex]):
        neighbour = lists.neighbours[start + position]
        slot = first_slot(neighbour, size_class)
        while wide(slots[slot]) != EMPTY_SLOT:
            slot = (slot + 1) & mask
        slots[slot] = _entry(neighbour, size_class, position)


@kernel
def _lacks_index(lists: PackedLists, vertex: int, degree: int, searched: bool) -> bool:
    if has_index(lists, vertex):
        return bool(2 * degree >= (1 << index_size_class(lists, vertex)))
    return bool(searched and lists.degrees[vertex] > LONGEST_SCAN)


@kernel
def slots_wanted(lists: PackedLists, owner: Column, searched: bool, growing: bool) -> int:
    """Return the most slots that `prepare_indices` can take."""
    total, first = 0, 0
    while first < len(owner):
        vertex, last = owner[first], group_end(owner, first)
        # This is the first loop over a batch, and every one after it needs these two.
        if first + _ROWS_AHEAD < len(owner):
            prefetch(lists.degrees, wide(owner[first + _ROWS_AHEAD]))
            prefetch(lists.starts, wide(owner[first + _ROWS_AHEAD]))
        if 2 * lists.degrees[vertex] >= LONGEST_SCAN:
            degree = lists.degrees[vertex] + (last - first if growing else 0)
            if _lacks_index(lists, vertex, degree, searched):
                total += 1 << _size_class_for(degree)
        first = last
    return total


@kernel
def prepare_indices(lists: PackedLists, owner: Column, searched: bool, growing: bool) -> None:
    """Index long lists that are to be `searched`, with room for one more arc for each time named if `growing`.

    `owner` is sorted. Lists that have an index keep it, a larger one if need be, searched or not.
    """
    first = 0
    while first < len(owner):
        vertex, last = owner[first], group_end(owner, first)
        if 2 * lists.degrees[vertex] >= LONGEST_SCAN:
            degree = lists.degrees[vertex] + (last - first if growing else 0)
            if _lacks_index(lists, vertex, degree, searched):
                if has_index(lists, vertex):
                    drop_index(lists, vertex)
                _build_index(lists, vertex, degree)
        first = last
