"""`UnifiedVolumes`: what unified memory did in one phase, or in several: faults, pages moved, time."""

from dataclasses import dataclass, fields
from functools import reduce
from operator import add

from grapin.sim.path import to_seconds


@dataclass(frozen=True)
class UnifiedVolumes:
    """Counts and bytes; those of phases add up."""

    touches: int = 0
    """Pages read, counted once for each list and array, as `Counters.pages` counts them."""
    faults: int = 0
    """Faults that the driver fetched."""
    duplicates: int = 0
    """Of the faults, those on a page that another of the same batch is on."""
    batches: int = 0
    blocks: int = 0
    """Blocks served, counted once for each batch."""
    moved_in: int = 0
    """Pages copied to the GPU."""
    prefetched: int = 0
    """Of those, pages that nobody had asked for."""
    evictions: int = 0
    """Blocks that had to make room."""
    evicted: int = 0
    """Pages those blocks had on the GPU."""
    written_back: int = 0
    """Of the evicted pages, those copied to the host: all but duplicates."""
    host_faults: int = 0
    """Faults of the host, which applies batches."""
    taken_back: int = 0
    """Pages that left the GPU because the host touched them or one near them."""
    moved_out: int = 0
    """Of those, pages copied to the host: all but duplicates."""
    remote_lines: int = 0
    """128-byte lines read over the link from pages that stay on the host."""
    throttled: int = 0
    """Faults put off because a page was fought over."""
    pinned: int = 0
    """Faults answered by pinning the page, for the same reason."""
    ticks: int = 0
    """How long all of it took."""
    page: int = 4096
    """Bytes of a page."""

    @property
    def bytes_in(self) -> int:
        """Bytes from host to GPU: pages, and lines of pages that stay."""
        return self.moved_in * self.page + self.remote_lines * 128

    @property
    def bytes_out(self) -> int:
        """Bytes from GPU to host."""
        return (self.written_back + self.moved_out) * self.page

    @property
    def seconds(self) -> float:
        """How long all of it took."""
        return to_seconds(self.ticks)

    def __add__(self, other: "UnifiedVolumes") -> "UnifiedVolumes":
        sums = {name: getattr(self, name) + getattr(other, name) for name in COUNTED}
        return UnifiedVolumes(**sums, page=self.page)


COUNTED = tuple(one.name for one in fields(UnifiedVolumes) if one.name != "page")
"""What adds up."""


@dataclass(frozen=True)
class UnifiedReplay:
    """What each phase of a trace cost, and all of them."""

    phases: tuple[UnifiedVolumes, ...]

    @property
    def total(self) -> UnifiedVolumes:
        """The sum over all phases."""
        return reduce(add, self.phases[1:], self.phases[0])
