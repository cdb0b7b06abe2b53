"""Where structures for graphs that change keep a vertex's list, and what reading it covers.

Each is a way to place the same lists; everything counts elements of 4 bytes. *CSR* packs them without a gap and cannot
change. *Grapin's store* keeps each list in one piece with room behind it, on a line of 128 bytes or anywhere. *GPMA*
keeps all edges in one sorted array with gaps between them, so that a list's stretch has gaps too, and each entry names
its source as well. *Slab lists* (SHGraph) hash a list's edges into slabs of a line each, which are never full. *Chained
pages* (faimGraph) are full, but each says where the next one is.

What stands here of the others is how they place edges, from their papers and released code; that they find a list for
nothing, its whereabouts being on the device, is granted to all.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grapin.graph.snapshot import Lists

Numbers = NDArray[np.int64]

LINE = 32
"""Elements in 128 bytes."""
FULLEST = 0.84  # GPMA's released code: when more of its array is in use, it doubles
SEGMENT = 32  # ours; GPMA takes a power of two near the logarithm of its size, which changes next to nothing
KEY, VALUE = 8, 8  # GPMA's released code: a key is source and target, a value is a double
SLAB = 15  # SHGraph: pairs of neighbour and weight in a slab of 128 bytes
SLAB_LOAD = 0.7  # how full slabs are made; ours, as SHGraph takes it as an option
PAGE = 15  # edges in a page of 128 bytes, the last four of which name the next page (faimGraph, section III)
PRIME = 4_294_967_291  # the largest prime below 2^32, as in SHGraph's hash function


@dataclass(frozen=True, eq=False)
class Layout:
    """One structure: for each vertex the stretch that is read for its list."""

    name: str
    starts: Numbers
    lengths: Numbers
    arrays: int
    """How many arrays have that stretch: where weights lie beside neighbours, one."""
    chained: bool = False
    """Whether a line must have come before the next one can be asked for, however long the list is."""


def packed(lists: Lists) -> Layout:
    """Return a CSR of the same lists."""
    degrees = lists.degrees.astype(np.int64)
    return Layout("CSR", np.cumsum(degrees) - degrees, degrees, 2)


def stored(name: str, lists: Lists) -> Layout:
    """Return Grapin's store as it is."""
    return Layout(name, lists.starts, lists.degrees.astype(np.int64), 2)


def gapped(lists: Lists) -> Layout:
    """Return GPMA's array right after all of it was spread again: every segment as full as any other.

    A vertex has one entry more, which marks where its list ends. Sizes are powers of two, so 42 to 84 % are in use.
    """
    entries = lists.degrees.astype(np.int64) + 1
    total = int(entries.sum())
    segments = 1 << max(0, int(np.ceil(np.log2(total / FULLEST / SEGMENT))))
    ends = np.cumsum(entries)

    def slot(entry: Numbers) -> Numbers:
        segment = entry * segments // total
        return segment * SEGMENT + entry + (-segment * total // segments)

    starts = slot(ends - entries)
    words = KEY // 4
    return Layout("GPMA", words * starts, words * (slot(ends - 1) - starts), 1 + VALUE // KEY)


def slabs(lists: Lists) -> Layout:
    """Return hash tables of slabs, one a vertex; a bucket has as many slabs as the edges that fall into it need."""
    degrees = lists.degrees.astype(np.int64)
    buckets = np.maximum(1, np.ceil(degrees / (SLAB_LOAD * SLAB)).astype(np.int64))
    first = np.cumsum(buckets) - buckets
    owner = np.repeat(np.arange(len(degrees)), degrees)
    place = np.arange(len(owner)) + np.repeat(lists.starts - (np.cumsum(degrees) - degrees), degrees)
    hashed = lists.neighbours[place].astype(np.uint64) * np.uint64(2_654_435_761) % np.uint64(PRIME)
    bucket = first[owner] + (hashed % buckets[owner].astype(np.uint64)).astype(np.int64)
    filled = np.bincount(bucket, minlength=int(buckets.sum()))
    lengths = LINE * np.add.reduceat(np.maximum(1, -(-filled // SLAB)), first)
    return Layout("slab lists", np.cumsum(lengths) - lengths, lengths, 1)


def chained(lists: Lists) -> Layout:
    """Return chains of pages of a line each, neighbour and weight side by side.

    faimGraph lets its user choose the size of a page; its authors take 64 bytes, of which twice as many would wait for
    each other.
    """
    lengths = LINE * np.maximum(1, -(-lists.degrees.astype(np.int64) // PAGE))
    return Layout("chained pages", np.cumsum(lengths) - lengths, lengths, 1, chained=True)
