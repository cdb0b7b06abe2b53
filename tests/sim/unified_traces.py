"""Traces, drivers and machines to try unified memory on: so small that eviction and fighting over pages are common."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from grapin.sim import MACHINES, Machine
from grapin.sim.paging import DRIVER, Driver
from grapin.trace import Trace

SLOTS = 4096
"""Elements of an edge array: 16 KiB, that is 8 blocks of the small driver."""

Read = tuple[int, int, int, bool, bool]
"""Start, length, arrays, whether it is an in-list, and whether the device holds a copy."""
Change = tuple[int, int, bool]
"""Start, length, and whether it is an in-list."""


@dataclass(frozen=True)
class Phase:
    """What happens in one version: lists that the host changes, then iterations of lists that the GPU reads."""

    iterations: Sequence[Sequence[Read]]
    changes: Sequence[Change] = ()
    grown: int = 0
    """Elements that the out-direction has more than at first."""


def make_trace(phases: Sequence[Phase], *, slots: int = SLOTS, in_slots: int = SLOTS) -> Trace:
    """Make a trace of these phases."""
    rows = [
        (number, turn, *read)
        for number, phase in enumerate(phases)
        for turn, iteration in enumerate(phase.iterations)
        for read in iteration
    ]
    changes = [(number, *change) for number, phase in enumerate(phases) for change in phase.changes]
    number, turn, start, length, arrays, inward, cached = np.array(rows, np.int64).reshape(-1, 7).T
    version, changed, extent, side = np.array(changes, np.int64).reshape(-1, 4).T
    versions = np.arange(len(phases))
    same = np.zeros(len(phases), np.int64)
    return Trace(
        {
            "phase": number.astype(np.int32),
            "iteration": turn.astype(np.int32),
            "vertex": np.arange(len(rows), dtype=np.int32),
            "inward": inward.astype(np.bool_),
            "start": start,
            "length": length.astype(np.int32),
            "arrays": arrays.astype(np.uint8),
            "cached": cached.astype(np.bool_),
        },
        {
            "version": versions,
            "program": same.astype(np.int32),
            "vertices": same + 1,
            "edges": same + slots,
            "out_slots": np.array([slots + phase.grown for phase in phases], np.int64),
            "in_slots": same + in_slots,
        },
        {
            "version": version,
            "vertex": np.arange(len(changes), dtype=np.int32),
            "inward": side.astype(np.bool_),
            "start": changed,
            "length": extent.astype(np.int32),
            "mutations": np.ones(len(changes), np.int32),
        },
        {"system": "none"},
    )


def stream_trace(size: int) -> Trace:
    """Make a trace that reads so many bytes once, from the first to the last, a line of 128 bytes a warp."""
    lists = [(start, 32, 1, False, False) for start in range(0, size // 4, 32)]
    return make_trace([Phase([lists])], slots=size // 4, in_slots=0)


def small_machine(multiprocessors: int = 2, warps: int = 4) -> Machine:
    """Return a V100 with hardly any multiprocessors."""
    settings = {"gpu.multiprocessors": multiprocessors, "gpu.warps_per_multiprocessor": warps}
    return MACHINES["v100"].with_settings(settings)


SMALL = replace(
    DRIVER,
    page=128,
    big_page=512,
    block=2048,
    batch=8,
    warps_per_cta=2,
    faults_per_utlb=4,
    multiprocessors_per_utlb=1,
)
"""Blocks of four big pages of four pages, and few of everything."""

_starts = st.integers(0, SLOTS - 200)
_reads = st.tuples(_starts, st.integers(0, 200), st.integers(1, 2), st.booleans(), st.just(False))
_reads_or_cached = st.tuples(_starts, st.integers(0, 200), st.integers(1, 2), st.booleans(), st.booleans())
_changes = st.tuples(_starts, st.integers(0, 60), st.booleans())
_iterations = st.lists(st.lists(_reads | _reads_or_cached, max_size=12), max_size=4)
phases = st.builds(Phase, _iterations, st.lists(_changes, max_size=5), st.sampled_from([0, 0, 0, 0, 0, 512]))


def _thrashing(place: int, times: int, beside: Sequence[Read]) -> list[Phase]:
    """Make phases in which host and GPU take turns at one list."""
    return [Phase([[(place, 8, 1, False, False), *beside]], [(place, 8, False)]) for _ in range(times)]


fights = st.builds(_thrashing, _starts, st.integers(2, 40), st.lists(_reads, max_size=2))
traces = st.builds(
    make_trace,
    st.lists(phases, min_size=1, max_size=6) | fights,
    in_slots=st.sampled_from([0, SLOTS]),
)
drivers = st.builds(
    replace,
    st.just(SMALL),
    big_page=st.sampled_from([128, 512, 2048]),
    prefetch=st.sampled_from([True, True, False]),
    prefetch_threshold=st.sampled_from([51, 51, 25, 100]),
    batch=st.sampled_from([1, 3, 8, 256]),
    warps_per_cta=st.sampled_from([1, 2, 4]),
    faults_per_utlb=st.sampled_from([1, 4, 56]),
    thrashing=st.sampled_from([True, True, False]),
    pin_threshold=st.sampled_from([1, 2, 10]),
    lapse=st.sampled_from([50e-6, 500e-6, 5e-3]),
    epoch=st.sampled_from([3, 2000]),
    pin=st.sampled_from([1, 4, 300]),
)
machines = st.builds(small_machine, st.integers(1, 5), st.integers(1, 8))
advices = st.sampled_from(["none", "none", "read-mostly", "preferred-host", "preferred-gpu"])
memories = st.integers(1, 24).map(lambda blocks: blocks * SMALL.block)


@dataclass(frozen=True)
class Case:
    """One thing to replay."""

    trace: Trace
    machine: Machine
    advice: str
    driver: Driver
    memory: int


cases = st.builds(Case, traces, machines, advices, drivers, memories)
