"""What a run took: `Counters` of its reads, `Work` of one repair, `Report` of a batch.

`Counters` say what reading neighbour lists amounts to on the link, counted while a run reads them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.display import Shown
from grapin.units import LINE, SECTOR, format_seconds

REQUEST_SIZES = tuple(range(SECTOR, LINE + 1, SECTOR))
"""Bytes a GPU warp may ask for in one request to host memory: one to four sectors of a 128-byte line."""


@dataclass(frozen=True)
class Counters:
    """How many edges and lists were read, and the requests those reads are when a GPU warp makes them.

    A warp reads a list 128 aligned bytes at a time; a list that starts or ends inside such a line asks for the
    32-byte sectors it needs. Weights, where they are read, are a second array and ask a second time. A list that the
    device holds a copy of is read without any request.
    """

    edges: int = 0
    """Elements of lists that were read, wherever they lay."""
    lists: int = 0
    requests_32: int = 0
    requests_64: int = 0
    requests_96: int = 0
    requests_128: int = 0
    pages: int = 0
    """4-KiB pages of host memory touched, counted once for each list that touches them."""
    cached_edges: int = 0
    """Of the edges, those read from the device's own copy of a list."""
    cached_lists: int = 0
    loads: int = 0
    """Lists read only to be copied into the cache; their requests and pages are counted above."""
    load_bytes: int = 0
    """What of the requested bytes those loads are."""
    patch_bytes: int = 0
    """Sent with a batch to change cached copies in place."""
    copied_bytes: int = 0
    """Sent by the copy engine."""

    @classmethod
    def of(cls, edges: int, lists: int, requests: Sequence[int], pages: int) -> "Counters":
        """Make counters from the four request counts in one sequence, smallest size first."""
        return cls(edges, lists, requests[0], requests[1], requests[2], requests[3], pages)

    @property
    def requests(self) -> Mapping[int, int]:
        """How many requests of each size."""
        return {size: getattr(self, f"requests_{size}") for size in REQUEST_SIZES}

    @property
    def bytes(self) -> int:
        """What those requests ask for in all."""
        return sum(size * count for size, count in self.requests.items())

    @property
    def link_bytes(self) -> int:
        """All payload that crossed the link: requests, patches and copies."""
        return self.bytes + self.patch_bytes + self.copied_bytes

    @property
    def sectors(self) -> int:
        """How many 32-byte sectors that is."""
        return self.bytes // SECTOR

    def moved_by(self, transfer: str) -> "Counters":
        """Return the same reads under a system that moves data this way: pages and whole copies need no requests."""
        if transfer in ("zero-copy", "hybrid", "hybrid-released"):
            return self
        none = dict.fromkeys((f"requests_{size}" for size in REQUEST_SIZES), 0)
        return replace(self, **none, pages=self.pages if transfer == "unified" else 0)

    def __add__(self, other: "Counters") -> "Counters":
        return Counters(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))


def count_reads(
    starts: NDArray[Any],
    lengths: NDArray[Any],
    *,
    arrays: int = 1,
    aligned: bool = True,
    element: int = 4,
    base: int = 0,
) -> Counters:
    """Count lists given by start and length in elements of `element` bytes, each read from `arrays` parallel arrays.

    `aligned=False` is a warp that starts at the list's first element rather than at the line it lies in, so that every
    32 elements may straddle one line more: the access pattern that alignment saves. Arrays that begin `base` bytes
    behind a line are read so in any case: a warp counts elements, and does not see where lines begin.
    """
    words, shift = element // 4, base // 4
    lengths = np.asarray(lengths, np.int64) * words
    starts = np.asarray(starts, np.int64)[lengths > 0] * words
    lengths = lengths[lengths > 0]
    sizes = np.zeros(4, np.int64)
    step = 32 * words
    for first, last in _pieces(
        starts, lengths, None if aligned and base % LINE == 0 else step, aligned=aligned
    ):
        sizes += _requests((first + shift) >> 3, (last + shift) >> 3)
    begin = starts + shift
    pages = int((((begin + lengths - 1) >> 10) - (begin >> 10) + 1).sum())
    return Counters.of(int(lengths.sum()) // words, len(lengths), (sizes * arrays).tolist(), pages * arrays)


def _pieces(starts: NDArray[np.int64], lengths: NDArray[np.int64], step: int | None, *, aligned: bool) -> Any:
    """Yield first and last word of each stretch that a warp reads as one."""
    ends = starts + lengths - 1
    if step is None:
        yield starts, ends
        return
    stops = (starts // step + 1) * step if aligned else starts + step
    while len(starts):
        yield starts, np.minimum(ends, stops - 1)
        more = stops <= ends
        starts, ends, stops = stops[more], ends[more], stops[more] + step


def _requests(first: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.int64]:
    one = first >> 2 == last >> 2
    sizes = np.bincount(last[one] - first[one], minlength=4)
    first, last = first[~one], last[~one]
    sizes += np.bincount(3 - (first & 3), minlength=4) + np.bincount(last & 3, minlength=4)
    sizes[3] += int(((last >> 2) - (first >> 2) - 1).sum())
    return sizes


TASK = np.dtype(
    [
        ("iteration", np.int32),
        ("way", np.uint8),
        ("lists", np.int64),
        ("edges", np.int64),
        ("copied", np.int64),
        ("gathered", np.int64),
        ("rows", np.int64),
    ]
)
"""What is kept of a task, where a system reads lists task by task: the iteration that it belongs to, how its lists
reach the device (`grapin.partitions.Choice`), lists and elements read, bytes copied, of these bytes that the host
gathered first, and how many rows of the trace it read."""


@dataclass(frozen=True, eq=False)
class Work:
    """What it took to bring one program's values up to date."""

    iterations: int = 0
    """Rounds: reads within one round do not wait for each other."""
    changed: int = 0
    """Vertices whose value is another now."""
    invalidated: int = 0
    """Vertices whose value had to be thrown away on the way."""
    affected_edges: int = 0
    """Out-edges of what changed and in-edges of what got worse: what a repair that follows changes has to read."""
    dense: bool = False
    """Whether all was computed from scratch."""
    counters: Counters = field(default_factory=Counters)
    reads: NDArray[np.int64] | None = None
    """One row per list read when a trace was asked for: iteration, 2 * vertex + (1 for in-lists), start, length,
    and how many arrays were read (neighbours, weights)."""
    whole: NDArray[np.bool_] | None = None
    """Beside `reads`: whether the device was to go through the whole list, so that a copy may be left behind; None
    where that is so whenever it did."""
    cached: NDArray[np.bool_] | None = None
    """Beside `reads`: whether the device held a copy of the list; None when it has no cache."""
    tasks: NDArray[Any] | None = None
    """Rows of `TASK` in the order of `reads`, of a system that copies lists to the device before they are read."""


@dataclass(frozen=True, eq=False)
class QueryReport:
    """What it took to bring one answer up to date."""

    program: str
    work: Work
    seconds: float


@dataclass(frozen=True, eq=False)
class Report(Shown):
    """One batch, or the start when `version` is that of the graph the engine was given."""

    version: int
    inserted: int
    deleted: int
    reweighted: int
    ignored: int
    update_seconds: float
    """Time to change the graph."""
    queries: tuple[QueryReport, ...]
    save_seconds: float = 0.0
    """Time to make the batch durable, where a state is kept."""

    @property
    def compute_seconds(self) -> float:
        """Time to bring all answers up to date."""
        return sum(query.seconds for query in self.queries)

    @property
    def iterations(self) -> int:
        """Rounds in which lists were read, over all answers."""
        return sum(query.work.iterations for query in self.queries)

    @property
    def changed(self) -> int:
        """Vertices whose value is another now, over all answers."""
        return sum(query.work.changed for query in self.queries)

    @property
    def invalidated(self) -> int:
        """Vertices whose value had to be thrown away on the way, over all answers."""
        return sum(query.work.invalidated for query in self.queries)

    @property
    def affected_edges(self) -> int:
        """Out-edges of what changed and in-edges of what got worse, over all answers."""
        return sum(query.work.affected_edges for query in self.queries)

    @property
    def counters(self) -> Counters:
        """What was read, over all answers."""
        return sum((query.work.counters for query in self.queries), Counters())

    @property
    def edges_read(self) -> int:
        """Elements of neighbour lists that were read."""
        return self.counters.edges

    def _facts(self) -> dict[str, str]:
        mutations = f"{self.inserted:,} inserted, {self.deleted:,} deleted, {self.reweighted:,} re-weighted"
        return {
            "graph version": f"{self.version:,}",
            "edges": f"{mutations}, {self.ignored:,} mutations ignored",
            "update": format_seconds(self.update_seconds),
        } | {
            f"{one.program}": f"{one.work.changed:,} values changed in {format_seconds(one.seconds)}, "
            f"{one.work.counters.edges:,} edges read"
            for one in self.queries
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the batch as plain numbers, for a JSON file."""
        counters = self.counters
        return {
            "inserted": self.inserted,
            "deleted": self.deleted,
            "reweighted": self.reweighted,
            "ignored": self.ignored,
            "update_seconds": self.update_seconds,
            "compute_seconds": self.compute_seconds,
            "iterations": self.iterations,
            "changed": self.changed,
            "invalidated": self.invalidated,
            "edges_read": counters.edges,
            "lists_read": counters.lists,
            "affected_edges": self.affected_edges,
            "requests": {str(size): counters.requests[size] for size in REQUEST_SIZES},
            "bytes": counters.bytes,
            "pages": counters.pages,
            "link_bytes": counters.link_bytes,
            "cached_edges": counters.cached_edges,
            "load_bytes": counters.load_bytes,
            "patch_bytes": counters.patch_bytes,
        } | ({"save_seconds": self.save_seconds} if self.save_seconds else {})
