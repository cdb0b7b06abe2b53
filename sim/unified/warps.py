"""The GPU's side: warps in flight, the pages they touch, and the faults they raise.

One warp reads one list, page by page, ids and weights in turn; 32 warps are a thread block (CTA). CTAs start in the
order of the trace in as many slots as the GPU has room for, and a slot takes the next when its CTA is done. Touching a
page that is there takes no time beside serving faults, so all warps run until each waits for a page; then the faults
are in the buffer and the driver takes its batch. A first-level TLB raises one fault a page and has at most 56 open;
TLBs take turns, which spreads a batch evenly over multiprocessors, as SC21 (table 2) measured. After the batch what is
left in the buffer is thrown away, and all warps try again (uvm_perf_fault_replay_policy BATCH_FLUSH).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from grapin.sim.unified.layout import ELEMENT, Layout
from grapin.sim.unified.parameters import Setting

LINE = 128


@dataclass
class _Warp:
    """A warp and the touches it still has to make: page and lines of 128 bytes."""

    touches: Iterator[tuple[int, int]]
    page: int = 0
    lines: int = 0

    def step(self) -> bool:
        """Go on to the next touch; return whether there is one."""
        self.page, self.lines = next(self.touches, (-1, 0))
        return self.page >= 0


class Warps:
    """One iteration's lists in flight."""

    def __init__(self, reads: dict[str, NDArray[Any]], layout: Layout, setting: Setting) -> None:
        self._reads = reads
        self._layout = layout
        self._setting = setting
        self._next = 0
        self._slots: list[list[_Warp]] = [[] for _ in range(setting.ctas)]
        self.touches = 0

    def run(self, resident: Callable[[int], bool], remote: Callable[[int], bool]) -> int:
        """Let all warps go on until each waits or is done; return the lines read over the link."""
        lines = 0
        for slot in range(len(self._slots)):
            while True:
                waiting = []
                for warp in self._slots[slot]:
                    going = True
                    while going and (resident(warp.page) or remote(warp.page)):
                        self.touches += 1
                        lines += 0 if resident(warp.page) else warp.lines
                        going = warp.step()
                    if going:
                        waiting.append(warp)
                self._slots[slot] = waiting
                if waiting or not self._start(slot):
                    break
        return lines

    def _start(self, slot: int) -> bool:
        """Start the next CTA in a slot; return whether there was one."""
        first, self._next = self._next, self._next + self._setting.driver.warps_per_cta
        rows = range(first, min(self._next, len(self._reads["vertex"])))
        warps = [_Warp(self._touches(row)) for row in rows]
        self._slots[slot] = [warp for warp in warps if warp.step()]
        return len(rows) > 0

    def _touches(self, row: int) -> Iterator[tuple[int, int]]:
        start, length, arrays, inward, cached = (
            int(self._reads[name][row]) for name in ("start", "length", "arrays", "inward", "cached")
        )
        page = self._setting.driver.page
        begin, end = start * ELEMENT, (start + length) * ELEMENT
        if cached or length == 0:
            return
        for place in range(begin // page, (end - 1) // page + 1):
            low, high = max(begin, place * page), min(end, (place + 1) * page)
            lines = (high - 1) // LINE - low // LINE + 1
            for array in range(arrays):
                yield int(self._layout.first[2 * inward + array]) + place, lines

    def faults(self) -> list[int]:
        """Return the pages in the fault buffer, in order, with repeats."""
        limit = self._setting.driver.faults_per_utlb
        open_faults: list[dict[int, None]] = [{} for _ in range(self._setting.utlbs)]
        for slot, warps in enumerate(self._slots):
            pages = open_faults[self._setting.utlb(slot)]
            for warp in warps:
                if len(pages) < limit:
                    pages[warp.page] = None
        turns = [list(pages) for pages in open_faults]
        return [pages[turn] for turn in range(limit) for pages in turns if turn < len(pages)]
