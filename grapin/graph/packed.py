"""`PackedLists`: the packed memory array of one direction: its form, where it lies, and how lists get room in it.

A packed memory array in CSR form: all lists lie in one array in vertex order, each contiguous, with free room behind
it; the room of list `v` ends where list `v + 1` starts. Room is counted in lines: 32 elements (128 bytes) when the
store is aligned, one element when it is not. Lists are unordered, so that an insertion appends and a deletion moves the
last element into the hole.

Weights are kept as 32-bit patterns: int32 as they are, float32 by their bits. One compiled version of each kernel then
serves both, and since weights are never negative the patterns order and compare like the values.

**Where it lies**: in whole pages of memory, ours or supplied by the caller. Each array of ours has its pages to itself.
A GPU reads host memory where it lies, and for that its pages are pinned: if something else lay on one of them, copying
that would be an error of CUDA, which wants memory pinned whole or not at all, and the error would come and go with
where the allocator puts things. A caller who wants pinned, managed or memory-mapped edge arrays passes `allocate(count,
dtype)`; what it returns is checked before it is used, so that a wrong array is refused instead of corrupting the graph.

**Room**: the slack of a window of neighbouring lists is redistributed when one of them is full. The window is the
smallest in a binary tree over the vertices whose density stays below the threshold of its level: nearly full is fine
for sixteen lists, the whole array must keep some slack. This bounds what is moved per insertion, whatever the order of
insertions. Slack goes to lists in proportion to their degrees, and the list that asked gets a quarter of its size on
top, so that a hub that grows and grows is moved ever more rarely. New vertices come at the end, and would have all
older lists make room for them again and again. So the array keeps a tail that belongs to no list: newcomers are placed
there, and a window that reaches the end takes what it lacks from it.

Two machine instructions that Python has no word for: move memory that overlaps, and fetch a line ahead. Each is one
LLVM instruction inside compiled code. NumPy slices are no substitute: an assignment between overlapping slices becomes
a scalar loop, and there is no hint for the cache at all.
"""

import mmap
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils as _code
from numba.core import types
from numba.extending import intrinsic as _intrinsic
from numpy.typing import NDArray

from grapin.compiled import PLAIN, inlined, kernel
from grapin.edges import check_exact
from grapin.errors import GrapinError, InvalidArgument
from grapin.units import LINE

USED_LINES, REBALANCES, LISTS_MOVED, ELEMENTS_MOVED, SLOTS_TAKEN, WINDOWS = range(6)
"""Places in `PackedLists.counters`."""
COUNTERS = 6
INSERTED, DELETED, REWEIGHTED, LINES_WANTED = range(4)
"""Places in `Wants`: slots for the sake of arcs that come, go or get another weight; and lines."""

HEAD = np.dtype([("start", np.int64), ("index", np.int64), ("degree", np.int32), ("unused", np.int32)])
"""What is needed to find a list lies together: a batch that goes from list to list misses the cache once for it."""

Column = NDArray[np.int32]
Patterns = NDArray[np.int32]
"""Weights as 32-bit patterns."""
Positions = NDArray[np.int64]
Wants = NDArray[np.int64]
"""What a batch asks of the arrays at most: slots for indices, and lines that were not in use before."""


def patterns(weights: NDArray[Any], dtype: np.dtype[Any], where: str, error: type[GrapinError]) -> Patterns:
    """Return weights as 32-bit patterns of the graph's type, or raise `error` if that would lose digits."""
    if dtype.kind == "i":
        if weights.dtype.kind == "f" and len(weights):
            raise error(f"{where} must have whole numbers as weights: the graph's are {dtype}")
        return np.ascontiguousarray(weights, np.int32)
    check_exact(weights, where, error)
    # Adding zero turns -0.0 into 0.0, which makes equal weights have equal patterns.
    return (weights.astype(np.float32) + np.float32(0)).view(np.int32)


def new_wants() -> Wants:
    """Return a tally of wants with nothing in it."""
    return np.zeros(4, np.int64)


class PackedLists(NamedTuple):
    """The arrays of one direction; vertices beyond the bound in use have undefined entries."""

    starts: NDArray[np.int64]
    """Where each list begins, in elements; one entry more than vertices, where the room of the last list ends."""
    degrees: NDArray[np.int32]
    neighbours: NDArray[np.int32]
    weights: Patterns
    """Beside `neighbours`; length 0 when the graph has no weights."""
    line_shift: int
    """A line holds `1 << line_shift` elements."""
    indices: NDArray[np.int64]
    """Where the hash index of a long list is, see `grapin.graph.index`; negative for a list without one."""
    slots: NDArray[np.uint32]
    """Hash slots of all indexed lists."""
    free_blocks: NDArray[np.int64]
    """Per size class, the first block of `slots` to use again; a free block's first slot names the next."""
    counters: NDArray[np.int64]
    windows: NDArray[np.int64]
    """Pairs of vertices, the second excluded: between them the last batch moved lists; `counters` has how many."""


def columns(heads: NDArray[Any]) -> dict[str, Any]:
    """Return the parts of heads as the arrays that `PackedLists` has of them, without a copy."""
    return {"starts": heads["start"], "degrees": heads["degree"][:-1], "indices": heads["index"][:-1]}


@inlined
def wide(number: Any) -> int:
    """Return a whole number as 64 bits, which compiled code needs said before it adds or shifts."""
    return np.int64(number)  # type: ignore[return-value]  # an int to callers, an int64 to the compiler


@inlined
def line_count(lists: PackedLists, degree: int) -> int:
    """Return how many lines a list of this degree fills."""
    return (degree + (1 << lists.line_shift) - 1) >> lists.line_shift


@kernel
def used_lines(lists: PackedLists, low: int, high: int) -> int:
    """Return how many lines the lists of vertices `low` to `high - 1` fill."""
    total = 0
    for vertex in range(low, high):
        total += line_count(lists, wide(lists.degrees[vertex]))
    return total


@kernel
def rows_below(owner: Column, vertex: int) -> int:
    """Return how many rows have owners below `vertex`; they are sorted, and NumPy's search takes long to compile."""
    low, high = 0, len(owner)
    while low < high:
        middle = (low + high) >> 1
        if owner[middle] < vertex:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def group_end(owner: Column, first: int) -> int:
    """Return where the run of equal owners that begins at row `first` ends."""
    last = first + 1
    while last < len(owner) and owner[last] == owner[first]:
        last += 1
    return last


PAGE_BYTES = mmap.PAGESIZE
"""What the operating system maps, and CUDA pins, at a time."""

Allocate = Callable[[int, np.dtype[Any]], NDArray[Any]]
"""Returns an uninitialised one-dimensional array of at least `count` elements of `dtype`; a GPU can read it in place if
it begins with a page and nothing else lies on its last one."""


def aligned_empty(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an uninitialised array that begins with a page, and shares none."""
    size = count * dtype.itemsize
    room = np.empty(whole_pages(size) + PAGE_BYTES, np.uint8)
    skip = -room.ctypes.data % PAGE_BYTES
    return room[skip : skip + size].view(dtype)


def whole_pages(size: int) -> int:
    """Return the bytes of the pages that so many bytes take."""
    return -(-size // PAGE_BYTES) * PAGE_BYTES


def place(allocate: Allocate | None, count: int, dtype: np.dtype[Any], *, aligned: bool) -> NDArray[Any]:
    """Return room for `count` elements, from `allocate` if there is one, refusing what cannot be used."""
    if allocate is None:
        return aligned_empty(count, dtype)
    given = allocate(count, dtype)
    problem = _problem(given, count, dtype, aligned=aligned)
    if problem:
        raise InvalidArgument(f"allocate({count}, {dtype}) must return {problem}")
    return given.view(np.ndarray)[:count]


def _problem(given: Any, count: int, dtype: np.dtype[Any], *, aligned: bool) -> str | None:
    if not isinstance(given, np.ndarray):
        return f"a NumPy array, not {type(given).__name__}"
    if given.dtype != dtype:
        return f"an array of {dtype}, not of {given.dtype}"
    if given.ndim != 1 or not given.flags.c_contiguous:
        return "a contiguous array of one dimension"
    if not given.flags.writeable:
        return "an array that can be written to"
    if len(given) < count:
        return f"at least {count} elements, not {len(given)}"
    boundary = (
        LINE if aligned else dtype.itemsize
    )  # lists that start on a line are read in the fewest requests
    if given.ctypes.data % boundary:
        return f"memory that starts on a {boundary}-byte boundary"
    return None


# Neither carries types that a strict checker could use.
code: Any = _code


def intrinsic(plain: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make an instruction; where nothing is compiled, the Python function `plain` does what it would do."""

    def chosen(make: Callable[..., Any]) -> Callable[..., Any]:
        made: Callable[..., Any] = plain if PLAIN else _intrinsic(make)
        return made

    return chosen


def _element(context: Any, builder: Any, signature: Any, arguments: Any, index: int) -> Any:
    kind = signature.args[0]
    array = context.make_array(kind)(context, builder, arguments[0])
    place = context.cast(builder, arguments[index], signature.args[index], types.intp)
    return code.get_item_pointer(context, builder, kind, array, [place], wraparound=False)


def _move_plainly(array: Any, to: Any, start: Any, count: Any) -> None:
    array[to : to + count] = array[start : start + count].copy()


def _prefetch_nothing(_array: Any, _index: Any) -> None:
    pass


@intrinsic(_move_plainly)
def _move(_typing: Any, array: Any, to: Any, start: Any, count: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        destination = _element(context, builder, signature, arguments, 1)
        source = _element(context, builder, signature, arguments, 2)
        code.raw_memmove(builder, destination, source, arguments[3], np.dtype(np.int32).itemsize)
        return context.get_dummy_value()

    return types.none(array, to, start, count), generate


@intrinsic(_prefetch_nothing)
def _prefetch(_typing: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _element(context, builder, signature, arguments, 1)
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = code.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        read, keep, data = word(0), word(3), word(1)
        builder.call(function, [builder.bitcast(address, byte), read, keep, data])
        return context.get_dummy_value()

    return types.none(array, index), generate


@inlined
def move(array: NDArray[np.int32], to: int, start: int, count: int) -> None:
    """Move `count` elements from `start` to `to` within one array, correct where the two ranges overlap."""
    _move(array, to, start, count)


@inlined
def prefetch(array: NDArray[Any], index: int) -> None:
    """Ask for the cache line of one element; harmless whatever the index."""
    _prefetch(array, index)


LEAF_VERTICES = 16
DENSEST_ROOT = 0.95
"""The whole array is never fuller than this; windows of one leaf may be full."""
SPACING = 8
"""New lists together get one line more than they fill for each so many."""
_HEADROOM = 4
"""A list that needs room gets one extra line for this many it fills, if its window has them to spare."""


@kernel
def _shares(
    lists: PackedLists, low: int, high: int, lines: int, favoured: int, wanted: int
) -> tuple[int, int, int]:
    """Return the slack of a window, the total of the shares in it, and the extra of the favoured list."""
    total, slack = 0, lines
    for vertex in range(low, high):
        total += lists.degrees[vertex] + 1
        slack -= wanted if vertex == favoured else line_count(lists, wide(lists.degrees[vertex]))
    headroom = min(slack, wanted // _HEADROOM) if favoured >= 0 else 0
    return slack - headroom, total, headroom


@kernel
def lay_out(lists: PackedLists, bound: int, lines: int, starts: NDArray[np.int64]) -> None:
    """Deal `lines` out to the lists below `bound` and write where each is to start."""
    slack, total, _ = _shares(lists, 0, bound, lines, -1, 0)
    filled, share = 0, 0
    for vertex in range(bound):
        # Rounding the running total, not each share, deals out every line though each share may be below one.
        starts[vertex] = (filled + slack * share // total) << lists.line_shift
        filled += line_count(lists, wide(lists.degrees[vertex]))
        share += lists.degrees[vertex] + 1


@kernel
def _move_list(lists: PackedLists, vertex: int, start: int) -> None:
    old, degree = lists.starts[vertex], wide(lists.degrees[vertex])
    lists.starts[vertex] = start
    if degree:
        move(lists.neighbours, start, old, degree)
        if len(lists.weights):
            move(lists.weights, start, old, degree)
        lists.counters[LISTS_MOVED] += 1
        lists.counters[ELEMENTS_MOVED] += degree


@kernel
def _redistribute(lists: PackedLists, low: int, high: int, favoured: int, wanted: int) -> None:
    """Redistribute the lines of a window, at least `wanted` of them to the list `favoured`.

    Left movers go first, from the left, then right movers, from the right: no list lands on one that has yet
    to move. The starts are worked out in either direction rather than stored.
    """
    origin, shift = lists.starts[low], lists.line_shift
    lines = (lists.starts[high] - origin) >> shift
    slack, total, headroom = _shares(lists, low, high, lines, favoured, wanted)
    filled, share = 0, 0
    for vertex in range(low, high):
        start = origin + ((filled + slack * share // total) << shift)
        if start < lists.starts[vertex]:
            _move_list(lists, vertex, start)
        filled += wanted + headroom if vertex == favoured else line_count(lists, wide(lists.degrees[vertex]))
        share += lists.degrees[vertex] + 1
    for vertex in range(high - 1, low - 1, -1):
        filled -= wanted + headroom if vertex == favoured else line_count(lists, wide(lists.degrees[vertex]))
        share -= lists.degrees[vertex] + 1
        start = origin + ((filled + slack * share // total) << shift)
        if start > lists.starts[vertex]:
            _move_list(lists, vertex, start)
    window = lists.counters[WINDOWS]
    lists.windows[2 * window], lists.windows[2 * window + 1] = low, high
    lists.counters[WINDOWS] = window + 1
    lists.counters[REBALANCES] += 1


@kernel
def tail_lines(lists: PackedLists, bound: int) -> int:
    """Return how many lines at the end of the array belong to no list."""
    return wide((len(lists.neighbours) - lists.starts[bound]) >> lists.line_shift)


@kernel
def _take_from_tail(lists: PackedLists, bound: int, low: int, needed: int) -> bool:
    """Extend the room of the lists from `low` on to what they need, or more; return whether the tail has that."""
    tail = tail_lines(lists, bound)
    lacking = needed - ((lists.starts[bound] - lists.starts[low]) >> lists.line_shift)
    if lacking > tail:
        return False
    taken = min(tail, lacking + needed // _HEADROOM)
    lists.starts[bound] += max(taken, 0) << lists.line_shift
    return True


@kernel
def make_room(lists: PackedLists, bound: int, vertex: int, degree: int) -> None:
    """Rebalance so that list `vertex` can hold `degree` neighbours; the array as a whole has the room."""
    wanted = line_count(lists, degree)
    more = wanted - line_count(lists, wide(lists.degrees[vertex]))
    levels = 0
    while (LEAF_VERTICES << levels) < bound:
        levels += 1
    low = vertex & -LEAF_VERTICES
    high = min(low + LEAF_VERTICES, bound)
    needed = used_lines(lists, low, high) + more
    for level in range(levels):
        available = (lists.starts[high] - lists.starts[low]) >> lists.line_shift
        if needed + wanted // _HEADROOM <= available * (1 - (1 - DENSEST_ROOT) * level / levels):
            break
        size = LEAF_VERTICES << (level + 1)
        # The end is hardly ever where a window of the tree ends: one that is not wider than the next reaches for it.
        if bound - low <= size and tail_lines(lists, bound) > 0:
            needed += used_lines(lists, high, bound)
            high = bound
            if _take_from_tail(lists, bound, low, needed):
                break
            needed -= used_lines(lists, min(low + size // 2, bound), bound)
            high = min(low + size // 2, bound)
        wider_low = vertex & -size
        wider_high = min(wider_low + size, bound)
        needed += used_lines(lists, wider_low, low) + used_lines(lists, high, wider_high)
        low, high = wider_low, wider_high
    if high == bound and needed > (lists.starts[bound] - lists.starts[low]) >> lists.line_shift:
        _take_from_tail(lists, bound, low, needed)
    _redistribute(lists, low, high, vertex, wanted)


@kernel
def lines_of_newcomers(lists: PackedLists, first: int, owner: Column) -> int:
    """Return how many lines the lists from `first` on take once the arcs of `owner`, sorted, are in them."""
    row, total = rows_below(owner, first), 0
    while row < len(owner):
        last = group_end(owner, row)
        total += line_count(lists, last - row)
        row = last
    return total


@kernel
def place_newcomers(lists: PackedLists, first: int, bound: int, owner: Column, least: int) -> None:
    """Give the empty lists from `first` on the lines in the tail that their arcs in `owner` will fill, or `least`."""
    row, origin, given = rows_below(owner, first), lists.starts[first], 0
    for vertex in range(first, bound):
        lists.starts[vertex] = origin + ((given + given // SPACING) << lists.line_shift)
        last = row
        while last < len(owner) and owner[last] == vertex:
            last += 1
        given += max(line_count(lists, wide(last - row)), least)
        row = last
    lists.starts[bound] = origin + ((given + given // SPACING) << lists.line_shift)


@inlined
def copy_list(lists: PackedLists, copy: PackedLists, vertex: int) -> None:
    """Copy one list to its start in `copy`."""
    start, to, degree = lists.starts[vertex], copy.starts[vertex], lists.degrees[vertex]
    for place in range(degree):
        copy.neighbours[to + place] = lists.neighbours[start + place]
    if len(lists.weights):
        for place in range(degree):
            copy.weights[to + place] = lists.weights[start + place]


@kernel
def copy_lists(lists: PackedLists, copy: PackedLists, bound: int) -> None:
    """Copy every list to its start in `copy`, whose starts are laid out already."""
    for vertex in range(bound):
        copy_list(lists, copy, vertex)
