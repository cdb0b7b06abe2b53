"""The driver's state machine, without time: what serving a block or a host's fault moves where.

Plain sets and dictionaries, one rule a method: this is what the event form runs and what the compiled form must equal.

What a fault brings along (the density prefetcher): a block's pages are the leaves of a binary tree. A fault is first
grown to its big page. Then, from each faulted page up to the root, the largest region of which more than 51 percent is
resident, faulted or grown is fetched whole (uvm_perf_prefetch.c:118, 164-219). Pages that processors fight over are
neither grown nor fetched.

What makes room: memory is given to a block whole, when its first page comes, and taken from it whole. Blocks without
pages go first, in the order in which they lost their last; then the others, in the order in which they got memory:
reading a page does not move its block back in the queue (uvm_pmm_gpu.c:1440-1512).

Pages that host and GPU fight over are told by how quickly they move, throttled, pinned in the end
(uvm_perf_thrashing.c), here for one GPU behind PCIe: the GPU can read the host's memory, the host cannot read the
GPU's. Evictions are no moves, and a page is watched only once both sides moved pages of its block within a lapse; so it
takes a host that writes while the GPU reads, and memory that is merely too small never counts.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Literal

from grapin.sim.paging.memory import COUNTED, Layout, UnifiedVolumes
from grapin.sim.paging.parameters import Advice, Driver, Setting
from grapin.sim.path import to_ticks

HOST, GPU = 0, 1
Hint = Literal["move", "throttle", "pin to host", "pin to GPU"]
_PIN: dict[int, Hint] = {HOST: "pin to host", GPU: "pin to GPU"}


@dataclass
class _Page:
    """The history of one page."""

    moved_at: int = 0
    events: int = 0
    processors: set[int] = field(default_factory=set)
    throttled: set[int] = field(default_factory=set)
    throttled_until: int = 0
    spared: int | None = None
    """The processor that is not throttled in this period."""
    periods: int = 0
    pinned_to: int | None = None

    def reset(self) -> None:
        self.moved_at = self.events = self.throttled_until = 0
        self.processors, self.throttled, self.pinned_to = set(), set(), None


@dataclass
class _Block:
    """The history of one block; its pages' only once two processors came close."""

    moved_at: int = 0
    moved_by: int | None = None
    pages: dict[int, _Page] | None = None
    thrashing: set[int] = field(default_factory=set)
    thrashed_at: int = 0
    resets: int = 0
    ever_pinned: bool = False


class Thrashing:
    """The histories of all blocks. Times are ticks, and 0 is never."""

    def __init__(self, driver: Driver, advice: Advice) -> None:
        self._driver = driver
        self._prefers_gpu = advice == "preferred-gpu"
        self._watches = driver.thrashing and advice != "read-mostly"
        self._lapse = to_ticks(driver.lapse)
        self._blocks: dict[int, _Block] = {}
        self._pins: list[tuple[int, int, int]] = []

    def pages(self, block: int) -> set[int]:
        """Return which pages of a block are thrashing, pinned ones included."""
        return self._blocks[block].thrashing if block in self._blocks else set()

    def moved(self, block: int, pages: set[int], by: int, now: int) -> None:
        """Pages moved to a processor because of a fault there, or were fetched along."""
        if not self._watches:
            return
        history = self._blocks.setdefault(block, _Block())
        close = history.moved_at > 0 and now - history.moved_at <= self._lapse
        if history.pages is None and close and history.moved_by != by:
            history.pages = {}
        if history.pages is not None:
            for page in pages:
                self._page_moved(history, page, by, now)
        history.moved_at, history.moved_by = now, by

    def _page_moved(self, history: _Block, place: int, by: int, now: int) -> None:
        assert history.pages is not None
        page = history.pages.setdefault(place, _Page())
        if page.pinned_to is not None:
            return  # the move that pinning asked for
        before, page.moved_at = page.moved_at, now
        page.processors.add(by)
        if before == 0:
            return
        if now - before <= self._lapse:
            page.events += 1
            if page.events >= self._driver.thrashing_threshold:
                history.thrashing.add(place)
                history.thrashed_at = now
        elif page.events >= self._driver.thrashing_threshold:
            page.reset()
            history.thrashing.discard(place)

    def hint(self, block: int, place: int, requester: int, now: int) -> Hint:
        """Say what to do about a fault; that a page is throttled or pinned is remembered."""
        history = self._blocks.get(block)
        if history is None or history.pages is None:
            return "move"
        if self._forgets(history, now):
            return "move"
        page = history.pages.setdefault(place, _Page())
        if page.events < self._driver.thrashing_threshold:
            return "move"
        if requester in page.throttled:
            if now < page.throttled_until and requester != page.spared:
                return "throttle"
            page.throttled.discard(requester)
            if not page.throttled:
                page.throttled_until = 0
        if now - page.moved_at > self._lapse and page.pinned_to is None:
            return "move"
        page.processors.add(requester)
        self._begin_period(page, requester, now)
        hint = self._decide(page, requester)
        if hint == "throttle":
            if page.pinned_to is None:
                page.periods += 1
            page.throttled.add(requester)
        elif hint != "move":
            self._pin(history, page, GPU if hint == "pin to GPU" else HOST, now, (block, place))
        return hint

    def _forgets(self, history: _Block, now: int) -> bool:
        """Drop a block's history when it has been quiet for an epoch."""
        quiet = 0 < history.thrashed_at < now - self._driver.epoch * self._lapse
        if not quiet or history.ever_pinned or history.resets >= self._driver.max_resets:
            return False
        history.resets += 1
        history.pages, history.thrashing, history.moved_by = None, set(), None
        history.moved_at = history.thrashed_at = 0
        return True

    def _begin_period(self, page: _Page, requester: int, now: int) -> None:
        """Spare a processor for a while, another one each time."""
        if now > page.throttled_until:
            page.throttled_until = now + self._driver.nap * self._lapse
            page.spared = None if page.spared == requester else requester
        elif page.spared is None:
            page.spared = requester

    def _decide(self, page: _Page, requester: int) -> Hint:
        gpu_alone = page.processors == {GPU}
        if self._prefers_gpu and gpu_alone:
            return _PIN[GPU]
        if page.pinned_to is not None and not (self._prefers_gpu and requester == GPU):
            if requester == page.spared:
                return _PIN[GPU if gpu_alone else HOST]
            can_reach = page.pinned_to == HOST or requester == GPU
            return _PIN[page.pinned_to] if can_reach else "throttle"
        if page.pinned_to == GPU:
            return _PIN[GPU]
        if requester != page.spared:
            return "throttle"
        if page.pinned_to is not None or page.periods >= self._driver.pin_threshold:
            return _PIN[requester]
        return "move"

    def _pin(self, history: _Block, page: _Page, to: int, now: int, place: tuple[int, int]) -> None:
        if page.pinned_to != to:
            page.throttled, page.throttled_until = set(), 0
        if page.pinned_to is None:
            page.periods = 0
            history.ever_pinned = True
            self._pins.append((now + self._driver.pin * self._lapse, *place))
        page.pinned_to = to

    def throttled_until(self, block: int, place: int) -> int:
        """Return when a throttled processor may try again."""
        pages = self._blocks[block].pages
        assert pages is not None
        return pages[place].throttled_until

    def unpin(self, now: int) -> list[tuple[int, int]]:
        """Forget pages that were pinned long enough; return them as block and place."""
        done = []
        while self._pins and self._pins[0][0] <= now:
            _, block, place = self._pins.pop(0)
            history = self._blocks[block]
            assert history.pages is not None
            history.pages[place].reset()
            history.thrashing.discard(place)
            done.append((block, place))
        return done


def pages_to_prefetch(
    faulted: AbstractSet[int],
    resident: AbstractSet[int],
    thrashing: AbstractSet[int],
    pages: int,
    driver: Driver,
) -> set[int]:
    """Return which pages of a block of `pages` pages come along with the faulted ones, some resident perhaps."""
    if not driver.prefetch:
        return set()
    dense = set(resident) | set(faulted)
    for big_page in {page // driver.pages_per_big_page for page in faulted}:
        grown = _region(big_page, driver.pages_per_big_page, pages)
        if thrashing.isdisjoint(grown):
            dense.update(grown)
    chosen: set[int] = set()
    for page in faulted - thrashing:
        size, best = 1, range(0)
        while True:
            region = _region(page // size, size, pages)
            if 100 * len(dense.intersection(region)) > driver.prefetch_threshold * len(region):
                best = region
            if size >= pages:
                break
            size *= 2
        chosen.update(best)
    return chosen - faulted - thrashing


def _region(place: int, size: int, pages: int) -> range:
    return range(place * size, min((place + 1) * size, pages))


class Residency:
    """The GPU's memory as blocks of pages."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._pages: dict[int, set[int]] = {}
        self._used: dict[int, None] = {}
        self._unused: dict[int, None] = {}

    def pages(self, block: int) -> set[int]:
        """Return which pages of a block are on the GPU."""
        return self._pages.get(block, set())

    def holds(self, block: int, page: int) -> bool:
        """Tell whether a page is on the GPU."""
        return page in self.pages(block)

    @property
    def total(self) -> int:
        """How many pages are on the GPU."""
        return sum(map(len, self._pages.values()))

    def make_room(self, block: int) -> tuple[int, set[int]] | None:
        """Give a block memory; return the block that had to go for it, if any, and the pages it had."""
        victim = None
        if block not in self._pages:
            if len(self._pages) == self._capacity:
                goes = next(iter(self._unused or self._used))
                victim = goes, self.release(goes)
            self._pages[block] = set()
            self._unused[block] = None
        return victim

    def add(self, block: int, pages: set[int]) -> None:
        """Pages came to the GPU, into a block that has memory."""
        if block in self._unused:
            del self._unused[block]
            self._used[block] = None
        self._pages[block] |= pages

    def remove(self, block: int, pages: set[int]) -> None:
        """Pages left the GPU; their block keeps its memory until another needs it."""
        self._pages[block] -= pages
        if not self._pages[block] and block in self._used:
            del self._used[block]
            self._unused[block] = None

    def release(self, block: int) -> set[int]:
        """Take a block's memory away; return the pages it had."""
        self._used.pop(block, None)
        self._unused.pop(block, None)
        return self._pages.pop(block, set())


@dataclass(frozen=True)
class Served:
    """What one block's faults set in motion."""

    evicted: bool = False
    written_back: int = 0
    """Pages to copy to the host before the block's memory is free."""
    moved_in: int = 0
    """Pages to copy to the GPU."""


class DriverState:
    """Residency, mappings and histories of all pages, and what was counted so far."""

    def __init__(self, setting: Setting, layout: Layout) -> None:
        self._setting = setting
        self._layout = layout
        self.residency = Residency(setting.capacity)
        self._thrashing = Thrashing(setting.driver, setting.advice)
        self._remote: set[tuple[int, int]] = set()
        self.counts = dict.fromkeys(COUNTED, 0)

    def volumes(self) -> UnifiedVolumes:
        """Return all that was counted so far."""
        return UnifiedVolumes(**self.counts, page=self._setting.driver.page)

    def place(self, page: int) -> tuple[int, int]:
        """Return a page's block and its place in it."""
        return divmod(page, self._setting.driver.pages_per_block)

    def resident(self, page: int) -> bool:
        """Tell whether the GPU has a page."""
        return self.residency.holds(*self.place(page))

    def remote(self, page: int) -> bool:
        """Tell whether the GPU reads a page over the link."""
        return self.place(page) in self._remote

    def unpin(self, now: int) -> None:
        """End the pins that are due; a GPU that read such a page over the link will fault on it."""
        self._remote.difference_update(self._thrashing.unpin(now))

    def serve_block(self, block: int, faulted: set[int], now: int) -> Served:
        """Serve the faults of one batch in one block."""
        self.counts["blocks"] += 1
        moving = {page for page in sorted(faulted) if self._moves(block, page, now)}
        if not moving:
            return Served()
        thrashing = self._thrashing.pages(block)
        had = self.residency.pages(block)
        size = int(self._layout.block_pages[block])
        along = pages_to_prefetch(moving, had, thrashing, size, self._setting.driver)
        victim = self.residency.make_room(block)
        written = 0
        if victim is not None:
            written = 0 if self._setting.duplicates else len(victim[1])
            self._count(evictions=1, evicted=len(victim[1]), written_back=written)
        coming = (moving | along) - had
        self.residency.add(block, coming)
        self._remote -= {(block, page) for page in coming}
        self._thrashing.moved(block, coming, GPU, now)
        self._count(moved_in=len(coming), prefetched=len(coming - moving))
        return Served(victim is not None, written, len(coming))

    def _moves(self, block: int, page: int, now: int) -> bool:
        """Tell whether a faulted page is to move to the GPU; if not, it is throttled or mapped where it is."""
        if self._setting.advice == "preferred-host":
            self._remote.add((block, page))
            return False
        hint = self._thrashing.hint(block, page, GPU, now)
        self._count(throttled=hint == "throttle", pinned=hint.startswith("pin"))
        if hint == "pin to host":
            self._remote.add((block, page))
        return hint in {"move", "pin to GPU"}

    def host_touch(self, page: int, now: int) -> int | None:
        """Let the host write a page that the GPU has; return the pages to copy back, None if it must wait.

        A duplicate is dropped. A page that had moved comes back, and the prefetcher brings along what lies around it.
        """
        block, place = self.place(page)
        if self._setting.duplicates:
            self.residency.remove(block, {place})
            self._count(host_faults=1, taken_back=1)
            return 0
        hint = self._thrashing.hint(block, place, HOST, now)
        self._count(throttled=hint == "throttle", pinned=hint.startswith("pin"))
        if hint == "throttle":
            return None
        size = int(self._layout.block_pages[block])
        had = set(range(size)) - self.residency.pages(block)
        along = pages_to_prefetch({place}, had, self._thrashing.pages(block), size, self._setting.driver)
        leaving = ({place} | along) - had
        self.residency.remove(block, leaving)
        self._thrashing.moved(block, leaving, HOST, now)
        if hint == "pin to host":
            self._remote.add((block, place))
        self._count(host_faults=1, taken_back=len(leaving), moved_out=len(leaving))
        return len(leaving)

    def host_wait(self, page: int) -> int:
        """Return when a host that must wait may touch a page again."""
        return self._thrashing.throttled_until(*self.place(page))

    def host_takes_block(self, block: int) -> int:
        """The host copies a whole array elsewhere and frees it; return how many pages it gets back of a block."""
        leaving = len(self.residency.release(block))
        moved = 0 if self._setting.duplicates else leaving
        self._count(taken_back=leaving, moved_out=moved)
        self._remote = {place for place in self._remote if place[0] != block}
        return moved

    def _count(self, **amounts: int) -> None:
        for name, amount in amounts.items():
            self.counts[name] += amount
