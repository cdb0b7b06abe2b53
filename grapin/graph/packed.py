"""`PackedLists`: the arrays of one direction, as compiled code sees them.

A packed memory array in CSR form: all lists lie in one array in vertex order, each contiguous, with free room
behind it; the room of list `v` ends where list `v + 1` starts. Room is counted in lines: 32 elements (128
bytes) when the store is aligned, one element when it is not. Lists are unordered, so that an insertion
appends and a deletion moves the last element into the hole.

Weights are kept as 32-bit patterns: int32 as they are, float32 by their bits. One compiled version of each
kernel then serves both, and since weights are never negative the patterns order and compare like the values.

`Snapshot`: the graph as engines read it, the very arrays of the store, read-only and without a copy.

The next batch changes those arrays, so it takes them back first: what is read from an older snapshot is refused. Only
an array that was taken out of one before cannot refuse; copy what has to last.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from grapin.compiled import inlined, kernel
from grapin.edges import check_exact
from grapin.errors import GrapinError, InvalidArgument

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


@inlined
def group_end(owner: Column, first: int) -> int:
    """Return where the run of equal owners that begins at row `first` ends."""
    last = first + 1
    while last < len(owner) and owner[last] == owner[first]:
        last += 1
    return last


class _Lent:
    """Attributes that are taken back when the graph changes; whoever reads them then is told so."""

    _borrowed: ClassVar[tuple[str, ...]]

    def __copy__(self) -> Self:
        return self  # another object with the same arrays would keep them

    def __getstate__(self) -> dict[str, Any]:
        """Return all there is for a copy, which has arrays of its own and lasts; refused when they are gone."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}  # type: ignore[attr-defined]  # of a dataclass

    def give_back(self, version: int) -> None:
        """Let go of what the graph changes now: from here on it is of another version than this."""
        for name in self._borrowed:
            self.__dict__.pop(name, None)
        self.__dict__["_returned"] = version

    if not TYPE_CHECKING:  # a type checker would take every name for an attribute

        def __getattr__(self, name: str) -> Any:
            if name not in self.__dataclass_fields__:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            raise InvalidArgument(
                f"{type(self).__name__}.{name} must be read before the graph changes: version "
                f"{self.__dict__['_returned']} of the graph is gone, and graph.snapshot() shows the present one"
            )


@dataclass(frozen=True, eq=False)
class Lists(_Lent):
    """The neighbour lists of one direction: list `v` is `neighbours[starts[v] : starts[v] + degrees[v]]`."""

    starts: NDArray[np.int64]
    """Where each list begins, in elements; a multiple of 32 (128 bytes) when the store is aligned."""
    degrees: NDArray[np.int32]
    neighbours: NDArray[np.int32]
    weights: NDArray[Any]
    """int32 or float32 beside `neighbours`; length 0 when the graph has no weights."""
    moved: NDArray[np.int64]
    """Rows of two vertices: between them, the second excluded, the last batch moved lists inside `neighbours`. A batch
    that needs more room, or less, moves all lists into other arrays."""

    _borrowed = ("starts", "degrees", "neighbours", "weights", "moved")


@dataclass(frozen=True, eq=False, repr=False)
class Snapshot(_Lent):
    """One version of a graph; what it holds can be read until the next batch is applied."""

    version: int
    """How many batches had been applied when it was taken."""
    bound: int
    """Vertex ids are below this; freed ids have empty lists."""
    edges: int
    alive: NDArray[np.bool_]
    """For each id below `bound` whether it is a vertex."""
    out: Lists
    in_: Lists | None
    """None when the graph keeps no in-direction; the same object as `out` when it is undirected."""

    _borrowed = ("alive", "out", "in_")

    def __repr__(self) -> str:
        return f"Snapshot(version={self.version}, bound={self.bound}, edges={self.edges})"
