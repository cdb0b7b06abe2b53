"""Unified memory as events: warps that fault, the driver's worker, a copy engine each way, and the host between phases.

One thing at a time is easy to follow here, and a timeline shows it; `replay_unified` gives the same answer quickly.

The GPU's side: warps in flight, the pages they touch, and the faults they raise.

One warp reads one list, page by page, ids and weights in turn; 32 warps are a thread block (CTA). CTAs start in the
order of the trace in as many slots as the GPU has room for, and a slot takes the next when its CTA is done. Touching a
page that is there takes no time beside serving faults, so all warps run until each waits for a page; then the faults
are in the buffer and the driver takes its batch. A first-level TLB raises one fault a page and has at most 56 open;
TLBs take turns, which spreads a batch evenly over multiprocessors, as SC21 (table 2) measured. After the batch what is
left in the buffer is thrown away, and all warps try again (uvm_perf_fault_replay_policy BATCH_FLUSH).
"""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import simpy
from numpy.typing import NDArray

from grapin.sim.machine import Machine
from grapin.sim.oracle.driver import DriverState
from grapin.sim.paging.memory import COUNTED, Layout, UnifiedReplay, UnifiedVolumes
from grapin.sim.paging.parameters import DRIVER, Driver, Setting
from grapin.sim.timeline import Timeline
from grapin.sim.transfer.unified import arrays_moved, blocks_of, pages_written
from grapin.trace import Trace

ELEMENT = 4
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


Events = Generator[simpy.Event, Any, None]


def replay_unified_events(
    trace: Trace,
    machine: Machine,
    *,
    advice: str = "none",
    driver: Driver = DRIVER,
    memory: int | None = None,
    timeline: Timeline | None = None,
) -> UnifiedReplay:
    """Replay a trace event by event; the arguments are those of `replay_unified`, and a timeline to fill."""
    run = _Run(trace, Setting.of(machine, driver, advice, memory), timeline or Timeline())
    run.environment.run(run.environment.process(run.phases()))
    return UnifiedReplay(tuple(run.finished))


class _Copy(NamedTuple):
    """Pages for a copy engine; it begins when what they wait for is over."""

    pages: int
    after: simpy.Event | None
    done: simpy.Event


class _CopyEngine:
    """Copies one after the other, in the order in which they were pushed."""

    def __init__(self, environment: simpy.Environment, name: str, page: int, timeline: Timeline) -> None:
        self._environment = environment
        self._name = name
        self._page = page
        self._timeline = timeline
        self._queue = simpy.Store(environment)
        environment.process(self._work())

    def push(self, pages: int, after: simpy.Event | None = None) -> simpy.Event:
        """Queue a copy; the event is its end."""
        copy = _Copy(pages, after, self._environment.event())
        self._queue.put(copy)
        return copy.done

    def _work(self) -> Events:
        while True:
            copy: Any = yield self._queue.get()
            if copy.after is not None:
                yield copy.after
            begin = int(self._environment.now)
            yield self._environment.timeout(copy.pages * self._page)
            self._timeline.slice(self._name, f"{copy.pages} pages", begin, int(self._environment.now))
            copy.done.succeed()


class _Run:
    """One replay: what all its processes share."""

    def __init__(self, trace: Trace, setting: Setting, timeline: Timeline) -> None:
        self.environment = simpy.Environment()
        self.finished: list[UnifiedVolumes] = []
        self._trace = trace
        self._setting = setting
        self._costs = setting.costs
        self._layout = Layout.of(trace, setting.driver)
        self._state = DriverState(setting, self._layout)
        self._timeline = timeline
        self._into = _CopyEngine(self.environment, "copies to the GPU", self._costs.page_in, timeline)
        self._out = _CopyEngine(self.environment, "copies to the host", self._costs.page_out, timeline)
        self._buffer = simpy.Store(self.environment)
        self._replay = self.environment.event()
        self.environment.process(self._worker())

    @property
    def _now(self) -> int:
        return int(self.environment.now)

    def phases(self) -> Events:
        """Go through the trace: before each phase the host's writes, then the GPU's iterations."""
        phases, reads = self._trace.phases, self._trace.reads
        before, written = self._state.volumes(), -1
        for phase, version in enumerate(phases["version"].tolist()):
            yield from self._host_moves(phase)
            if version != written:
                written = version
                yield from self._host_writes(version)
            rows = np.flatnonzero(reads["phase"] == phase)
            iterations = reads["iteration"][rows]
            for part in np.split(rows, np.flatnonzero(np.diff(iterations)) + 1):
                yield from self._iteration(part)
            self._state.counts["ticks"] = self._now
            after = self._state.volumes()
            self.finished.append(_difference(after, before))
            before = after

    def _iteration(self, rows: Any) -> Events:
        warps = Warps(
            {name: column[rows] for name, column in self._trace.reads.items()}, self._layout, self._setting
        )
        while True:
            lines = warps.run(self._state.resident, self._state.remote)
            self._state.counts["remote_lines"] += lines
            yield self.environment.timeout(lines * self._costs.line)
            faults = warps.faults()
            if not faults:
                break
            begin = self._now
            for page in faults:
                self._buffer.put(page)
            yield self._replay
            self._timeline.slice("GPU waits", f"{len(faults)} faults", begin, self._now)
        self._state.counts["touches"] += warps.touches

    def _worker(self) -> Events:
        """Take a batch, serve it block by block, wait for its copies, throw the rest away and let warps try again."""
        while True:
            first: Any = yield self._buffer.get()
            begin = self._now
            batch = [first, *self._buffer.items[: self._setting.driver.batch - 1]]
            yield self.environment.timeout(self._costs.batch)
            self._state.unpin(self._now)
            faulted: dict[int, set[int]] = {}
            for page in batch:
                block, place = self._state.place(page)
                faulted.setdefault(block, set()).add(place)
            copies: list[simpy.Event] = []
            for block in sorted(faulted):
                yield from self._serve(block, faulted[block], copies)
            yield self.environment.all_of(copies)
            counts = self._state.counts
            counts["faults"] += len(batch)
            counts["duplicates"] += len(batch) - sum(map(len, faulted.values()))
            counts["batches"] += 1
            self._timeline.slice("driver", f"{len(batch)} faults, {len(faulted)} blocks", begin, self._now)
            self._buffer.items.clear()
            replay, self._replay = self._replay, self.environment.event()
            replay.succeed()

    def _serve(self, block: int, faulted: set[int], copies: list[simpy.Event]) -> Events:
        yield self.environment.timeout(self._costs.block)
        served = self._state.serve_block(block, faulted, self._now)
        if served.evicted:
            yield self.environment.timeout(self._costs.block)
        after = None
        if served.written_back:
            after = self._out.push(served.written_back)
            copies.append(after)
        if served.moved_in:
            copies.append(self._into.push(served.moved_in, after))

    def _host_writes(self, version: int) -> Events:
        """Let the host write the pages of a batch, one after the other."""
        for page in pages_written(self._trace, self._layout, self._setting.driver, version).tolist():
            while self._state.resident(page):
                yield self.environment.timeout(self._costs.host)
                self._state.unpin(self._now)
                copied = self._state.host_touch(page, self._now)
                if copied is None:
                    yield self.environment.timeout(max(0, self._state.host_wait(page) - self._now))
                elif copied:
                    yield self._out.push(copied)

    def _host_moves(self, phase: int) -> Events:
        """Let the host copy arrays that the store made again."""
        for array in arrays_moved(self._trace.phases, phase):
            for block in blocks_of(self._layout, array, self._setting.driver):
                copied = self._state.host_takes_block(block)
                if copied:
                    yield self._out.push(copied)


def _difference(after: UnifiedVolumes, before: UnifiedVolumes) -> UnifiedVolumes:
    parts = {name: getattr(after, name) - getattr(before, name) for name in COUNTED}
    return UnifiedVolumes(**parts, page=after.page)
