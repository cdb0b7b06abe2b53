"""Pages that host and GPU fight over: told by how quickly they move, throttled, pinned in the end.

The driver's rules (uvm_perf_thrashing.c), for one GPU behind PCIe: the GPU can read the host's memory, the host cannot
read the GPU's. Evictions are no moves, and a page is watched only once both sides moved pages of its block within a
lapse; so it takes a host that writes while the GPU reads, and memory that is merely too small never counts.
"""

from dataclasses import dataclass, field
from typing import Literal

from grapin.sim.paging.parameters import Advice, Driver
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
        """Return which pages of a block are fought over, pinned ones included."""
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
