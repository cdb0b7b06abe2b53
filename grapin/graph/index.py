"""Where in a long list is a neighbour? A hash index per list answers in one look instead of a scan.

Open addressing with linear probing, less than half full, deletion by shifting back (no tombstones). A slot is
32 bits: the position in the list and, in the bits that leaves free, more of the neighbour's hash, so that
hardly any other neighbour has to be compared, nor looked at when entries shift back. Positions are relative to the
list's start, so moving a list leaves its index alone. A long list gets one when the graph is built or when it is
first searched, and loses it when it gets short; a list without one is scanned.

The word `indices[v]` of a list is the first slot and the size class of its index, or `UNINDEXED`.
"""

import numpy as np

from grapin.compiled import inlined, kernel
from grapin.graph.packed import SLOTS_TAKEN, Column, PackedLists, group_end, wide

LONGEST_SCAN = 128
"""Lists up to this degree are always scanned: 8 cache lines in sequence, and no memory for an index."""
SIZE_CLASSES = 40
UNINDEXED = -1
_SMALLEST_CLASS = 8  # more than twice the degree, half of LONGEST_SCAN, at which an index is dropped
_SIZE_BITS = 6  # enough to count the size classes
EMPTY_SLOT = 0xFFFFFFFF
_HOME_BITS = 4
_NEAR = 1 << _HOME_BITS
"""An entry less than so many slots after its first one says itself which that is."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio: Knuth's multiplicative hashing


@inlined
def has_index(lists: PackedLists, vertex: int) -> bool:
    """Return whether a list has an index; short lists never do."""
    return bool(2 * lists.degrees[vertex] >= LONGEST_SCAN and lists.indices[vertex] >= 0)


@inlined
def index_size_class(lists: PackedLists, vertex: int) -> int:
    """Return the binary logarithm of the number of slots of an index."""
    return wide(lists.indices[vertex] & ((1 << _SIZE_BITS) - 1))


@inlined
def index_base(lists: PackedLists, vertex: int) -> int:
    """Return the first slot of an index."""
    return wide(lists.indices[vertex] >> _SIZE_BITS)


@inlined
def first_slot(neighbour: int, size_class: int) -> int:
    """Return where in its index, counted from the base, the search for a neighbour begins."""
    return wide((np.uint64(neighbour) * _GOLDEN) >> np.uint64(64 - size_class))


@inlined
def _entry(neighbour: int, size_class: int, position: int) -> int:
    """Return what a slot holds for a neighbour: the last bits of its first slot, hash bits after those, the position.

    Positions are below half the number of slots, less one, so that no entry looks empty.
    """
    hash_bits = wide((np.uint64(neighbour) * _GOLDEN) >> np.uint64(31 + _HOME_BITS))
    return ((hash_bits << (size_class - 1)) & EMPTY_SLOT) | position


@kernel
def _size_class_for(degree: int) -> int:
    size_class = _SMALLEST_CLASS
    while (1 << size_class) <= 2 * degree:
        size_class += 1
    return size_class


@inlined
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


@inlined
def likely_position(lists: PackedLists, vertex: int, neighbour: int) -> int:
    """Return where in an indexed list `neighbour` is if it is there, but for one case in thousands; -1 if it is not.

    Reads the index only, so that what is at that position can be fetched ahead before it is compared.
    """
    base, size_class = index_base(lists, vertex), index_size_class(lists, vertex)
    positions = (1 << (size_class - 1)) - 1
    wanted = _entry(neighbour, size_class, positions)
    slot = first_slot(neighbour, size_class)
    while True:
        entry = wide(lists.slots[base + slot])
        if entry == EMPTY_SLOT:
            return wide(-1)
        if entry | positions == wanted:
            return entry & positions
        slot = (slot + 1) & ((1 << size_class) - 1)


@inlined
def _slot_with(lists: PackedLists, vertex: int, neighbour: int, entry: int) -> int:
    """Return the slot, counted from the base, where the search for a neighbour comes upon this entry."""
    base, size_class = index_base(lists, vertex), index_size_class(lists, vertex)
    slot = first_slot(neighbour, size_class)
    while wide(lists.slots[base + slot]) != entry:
        slot = (slot + 1) & ((1 << size_class) - 1)
    return slot


@inlined
def index_add(lists: PackedLists, vertex: int, neighbour: int, position: int) -> None:
    """Record where a neighbour is that was not in the list before."""
    entry = _entry(neighbour, index_size_class(lists, vertex), position)
    slot = _slot_with(lists, vertex, neighbour, EMPTY_SLOT)
    lists.slots[index_base(lists, vertex) + slot] = entry


@inlined
def index_move(lists: PackedLists, vertex: int, neighbour: int, old: int, new: int) -> None:
    """Record that a neighbour goes from one position to another."""
    size_class = index_size_class(lists, vertex)
    slot = _slot_with(lists, vertex, neighbour, _entry(neighbour, size_class, old))
    lists.slots[index_base(lists, vertex) + slot] = _entry(neighbour, size_class, new)


@inlined
def index_remove(lists: PackedLists, vertex: int, neighbour: int, position: int) -> None:
    """Forget a neighbour, which is still in the list, and close the gap in its run of slots."""
    base, size_class = index_base(lists, vertex), index_size_class(lists, vertex)
    mask = (1 << size_class) - 1
    hole = _slot_with(lists, vertex, neighbour, _entry(neighbour, size_class, position))
    run = wide(1)  # slots from where the run may begin up to the one looked at
    while run < _NEAR and wide(lists.slots[base + ((hole - run) & mask)]) != EMPTY_SLOT:
        run += 1
    slot = hole
    while True:
        slot, run = (slot + 1) & mask, run + 1
        entry = wide(lists.slots[base + slot])
        if entry == EMPTY_SLOT:
            break
        # An entry may fill the hole only if that does not move it before its own first slot.
        if _displacement(lists, vertex, slot, entry, run) >= ((slot - hole) & mask):
            lists.slots[base + hole] = entry
            hole = slot
    lists.slots[base + hole] = EMPTY_SLOT


@inlined
def _displacement(lists: PackedLists, vertex: int, slot: int, entry: int, run: int) -> int:
    """Return how many slots an entry is after its first one, itself the last of `run` slots at the most."""
    if run <= _NEAR:
        return (slot - (entry >> (32 - _HOME_BITS))) & (_NEAR - 1)
    size_class = index_size_class(lists, vertex)
    position = entry & ((1 << (size_class - 1)) - 1)
    home = first_slot(lists.neighbours[lists.starts[vertex] + position], size_class)
    return (slot - home) & ((1 << size_class) - 1)


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


@inlined
def _lacks_index(lists: PackedLists, vertex: int, degree: int, searched: bool) -> bool:
    if has_index(lists, vertex):
        return bool(2 * degree >= (1 << index_size_class(lists, vertex)))
    return bool(searched and lists.degrees[vertex] > LONGEST_SCAN)


@inlined
def slots_wanted(lists: PackedLists, vertex: int, degree: int, searched: bool) -> int:
    """Return how many slots `prepare_indices` takes at most for a list that is to have this degree."""
    if 2 * lists.degrees[vertex] >= LONGEST_SCAN and _lacks_index(lists, vertex, degree, searched):
        return wide(1) << _size_class_for(degree)
    return wide(0)


@kernel
def prepare_indices(lists: PackedLists, owner: Column, searched: bool, growing: bool) -> None:
    """Index long lists that are to be `searched`, with room for one more arc for each time named if `growing`.

    `owner` is sorted. Lists that have an index keep it, a larger one if need be, searched or not.
    """
    first = 0
    while first < len(owner):
        vertex, last = owner[first], group_end(owner, first)
        degree = wide(lists.degrees[vertex]) + (last - first if growing else 0)
        if slots_wanted(lists, vertex, degree, searched):
            if has_index(lists, vertex):
                drop_index(lists, vertex)
            _build_index(lists, vertex, degree)
        first = last
