"""`replay_unified`: a trace through unified memory, quickly; equal to the event form in every count and in time.

Memory needed is one byte a page of the graph's arrays (and 28 more where the host writes), whatever the trace's length.
"""

from itertools import pairwise

import numpy as np

from grapin.sim.machine import Machine
from grapin.sim.unified.fast_driver import host_takes, host_writes
from grapin.sim.unified.fast_state import NOW, TICKS, make_memory, make_rules
from grapin.sim.unified.fast_thrashing import make_histories
from grapin.sim.unified.fast_warps import Reads, make_flight, replay_iteration
from grapin.sim.unified.host import arrays_moved, blocks_of, pages_written
from grapin.sim.unified.layout import Layout
from grapin.sim.unified.parameters import DRIVER, Driver, Setting
from grapin.sim.unified.volumes import COUNTED, UnifiedReplay, UnifiedVolumes
from grapin.trace import Trace


def replay_unified(
    trace: Trace,
    machine: Machine,
    *,
    advice: str = "none",
    driver: Driver = DRIVER,
    memory: int | None = None,
) -> UnifiedReplay:
    """Replay a trace whose edge arrays lie in managed memory; all of it is on the host at first.

    `advice` is what the program told the driver (`none`, `read-mostly`, `preferred-host`, `preferred-gpu`); `memory` is
    how many bytes of the GPU may hold managed pages, by default all it has.
    """
    setting = Setting.of(machine, driver, advice, memory)
    layout = Layout.of(trace, driver)
    rules = make_rules(setting, host_writes=len(trace.changes["version"]) > 0)
    state, flight = make_memory(layout, rules), make_flight(rules)
    histories = make_histories(layout.blocks, len(state.flags)) if rules.watches else make_histories(0, 0)
    columns = ("inward", "start", "length", "arrays", "cached")
    reads = Reads(**{name: np.ascontiguousarray(trace.reads[name]) for name in columns}, first=layout.first)
    finished, written = [], -1
    before = state.counts.copy()
    ends = np.searchsorted(trace.reads["phase"], np.arange(len(trace.phases["version"])), "right").tolist()
    for phase, (version, end) in enumerate(zip(trace.phases["version"].tolist(), ends, strict=True)):
        for array in arrays_moved(trace.phases, phase):
            blocks = blocks_of(layout, array, driver)
            host_takes(state, rules, blocks.start, blocks.stop)
        if version != written:
            written = version
            host_writes(state, histories, rules, pages_written(trace, layout, driver, version))
        first = ends[phase - 1] if phase else 0
        cuts = first + 1 + np.flatnonzero(np.diff(trace.reads["iteration"][first:end]))
        for low, high in pairwise([first, *cuts.tolist(), end]):
            replay_iteration(state, histories, rules, flight, reads, low, high)
        state.counts[TICKS] = state.clock[NOW]
        counts = dict(zip(COUNTED, (state.counts - before).tolist(), strict=True))
        finished.append(UnifiedVolumes(**counts, page=driver.page))
        before = state.counts.copy()
    return UnifiedReplay(tuple(finished))
