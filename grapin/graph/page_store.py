"""`PageStore`: how a graph lies in one arena of a device's memory, in pages, as faimGraph keeps it.

Vertex records grow from one end of the arena, pages from the other. A record is the degree of a list, its first page,
and the first few edges; so short lists need no page, and a list of a road network is one sector. The other edges lie in
pages of one size, each linked to the next. Lists are unordered: the page that is not full is the first one, so that an
insertion and a deletion change the front of a chain however long it is.

After Winter et al., "faimGraph: High Performance Management of Fully-Dynamic Graphs under tight Memory Constraints on
the GPU", SC 2018.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grapin.errors import InvalidArgument
from grapin.units import SECTOR
from grapin.validation import check_choice, check_integer

WORD = 4
"""Bytes of a neighbour, of a weight, of a link and of a degree."""
HEADER_WORDS = 2
"""Words of a record before its edges: the degree and the first page."""
RECORD_WORDS = 8
"""Words of a record: one sector, so that a short list is read at once."""
PUBLISHED_RECORD_WORDS = (
    5  # lock, first page, degree, capacity, host id: the released faimGraph, EdgeUpdate / Vertex
)
MOST_PAGE_BYTES = 4096
DEVICES = ("onelane", "cudasim", "vgpu", "cuda")
STRATEGIES = ("cost", "update-centric", "vertex-centric")
ARRANGEMENTS = ("interleaved", "separate")


@dataclass(frozen=True)
class PageStore:
    """What a graph with `store="pages"` is made with; `store=PageStore(...)` sets it."""

    device: str = "onelane"
    """Where the arena is and what changes it: `onelane`, `cudasim`, `vgpu` or `cuda`."""
    page_bytes: int = 64
    """Bytes of a page, a multiple of a sector."""
    arrangement: str = "interleaved"
    """Where an edge's weight lies: behind its neighbour (`interleaved`), or behind all neighbours of the page."""
    strategy: str = "cost"
    """How a batch is applied: each update by itself under a lock (`update-centric`), all updates of a list together
    (`vertex-centric`), or whichever reads less (`cost`)."""
    published: bool = False
    """Lay lists out as the released faimGraph does: no edges in records, and a page for every vertex even if empty."""
    slack: float = 1.1
    """Room in the arena, as a multiple of what the degrees ask for, when it is made and whenever it grows."""
    most_bytes: int | None = None
    """The arena does not grow beyond this; None for what memory there is."""

    def __post_init__(self) -> None:
        check_choice("device", self.device, DEVICES)
        check_integer("page_bytes", self.page_bytes, least=SECTOR, most=MOST_PAGE_BYTES)
        if self.page_bytes % SECTOR:
            raise InvalidArgument(f"page_bytes={self.page_bytes} must be a multiple of {SECTOR}, a sector")
        check_choice("arrangement", self.arrangement, ARRANGEMENTS)
        check_choice("strategy", self.strategy, STRATEGIES)
        if not self.slack >= 1:
            raise InvalidArgument(
                f"slack={self.slack} must be at least 1: an arena holds what the degrees ask for"
            )
        if self.most_bytes is not None:
            check_integer("most_bytes", self.most_bytes, least=0)

    def layout(self, *, weighted: bool) -> "PageLayout":
        """Return where things lie in words."""
        step = 2 if weighted else 1
        page = self.page_bytes // WORD
        slots = (page - 1) // step
        if self.published:
            return PageLayout(
                page, slots, PUBLISHED_RECORD_WORDS + weighted, 0, *self._steps(slots, step), owns=True
            )
        inline = (
            (RECORD_WORDS - HEADER_WORDS) // step if self.arrangement == "interleaved" or not weighted else 0
        )
        record = RECORD_WORDS if inline else HEADER_WORDS
        return PageLayout(page, slots, record, inline, *self._steps(slots, step), owns=False)

    def _steps(self, slots: int, step: int) -> tuple[int, int]:
        separate = self.arrangement == "separate"
        return (1, slots) if separate or step == 1 else (step, 1)


@dataclass(frozen=True)
class PageLayout:
    """Where things lie in records and pages, in words of 4 bytes."""

    page_words: int
    slots: int
    """Edges a page holds; its last word is the link to the next page."""
    record_words: int
    inline: int
    """Edges a record holds, the first ones of its list."""
    step: int
    """From one neighbour of a page to the next."""
    weight_step: int
    """From a neighbour to its weight."""
    owns: bool
    """Whether a list has a page even when it has no edges."""

    def pages(self, degrees: NDArray[Any]) -> NDArray[np.int64]:
        """Return how many pages lists of these degrees take."""
        count = -(-np.maximum(degrees.astype(np.int64) - self.inline, 0) // self.slots)
        return np.maximum(count, 1) if self.owns else count


STORES = {"pages": PageStore(), "faimgraph": PageStore(published=True)}
"""Stores besides the packed memory array, by name."""


def page_store(store: "str | PageStore") -> PageStore:
    """Return the store of this name, or the given one."""
    if isinstance(store, PageStore):
        return store
    return STORES[check_choice("store", store, ("packed", *STORES))]
