"""Traces and machines to try the model on: small ones that Hypothesis makes, and one whose times are easy to say."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from grapin.sim import MACHINES, Gpu, Host, Machine
from grapin.sim.machine import ChipLink
from grapin.sim.path import Path
from grapin.trace import Trace

List = tuple[int, int, int]
"""Start, length, and how many arrays are read; none, where the device has copies of them."""

NANOSECOND = 10**6
"""In ticks."""


def trace_of(iterations: Sequence[Sequence[List]]) -> Trace:
    """Make a trace that reads these lists; an iteration without lists leaves no mark on it."""
    rows = [(number, *one) for number, lists in enumerate(iterations) for one in lists]
    iteration, start, length, arrays = np.array(rows, np.int64).reshape(-1, 4).T
    reads = {
        "phase": (iteration // 3).astype(np.int32),
        "iteration": iteration.astype(np.int32),
        "vertex": np.arange(len(rows), dtype=np.int32),
        "inward": np.zeros(len(rows), np.bool_),
        "start": start,
        "length": length.astype(np.int32),
        "arrays": arrays.astype(np.uint8),
        "whole": np.ones(len(rows), np.bool_),
        "cached": np.zeros(len(rows), np.bool_),
    }
    return Trace(reads, {}, {}, {"system": "none"})


def lists_of(seed: int, count: int, longest: int, arrays: int) -> list[List]:
    """Make lists anywhere, of any length up to the longest."""
    generator = np.random.default_rng(seed)
    starts = generator.integers(0, 10**6, count).tolist()
    lengths = generator.integers(0, longest + 1, count).tolist()
    return [(start, length, arrays) for start, length in zip(starts, lengths, strict=True)]


single_lists = st.tuples(st.integers(0, 300), st.integers(0, 150), st.integers(0, 2))
few_lists = st.lists(single_lists, max_size=5)
many_lists = st.builds(
    lists_of,
    st.integers(0, 2**16),
    st.integers(1, 400),
    st.sampled_from([8, 40, 200]),
    st.integers(1, 2),
)
traces = st.lists(few_lists | many_lists, max_size=4).map(trace_of)

_settings = st.fixed_dictionaries(
    {},
    optional={
        "link.generation": st.integers(3, 6),
        "link.lanes": st.sampled_from([1, 4, 8]),
        "link.payload": st.sampled_from([128, 256, 512]),
        "link.tag_bits": st.sampled_from([5, 8, 10]),
        "link.round_trip": st.floats(0.3e-6, 5e-6),
        "gpu.multiprocessors": st.integers(1, 3),
        "host.bandwidth": st.floats(3e9, 400e9),
        "host.access": st.sampled_from([32, 64, 128]),
    },
)
_pcie = st.sampled_from([name for name in MACHINES if name != "gh200"])
machines = st.builds(
    lambda name, settings: MACHINES[name].with_settings(settings), _pcie, _settings
) | st.just(MACHINES["gh200"])
paths = st.builds(Path, machines, st.none() | st.integers(1, 300), st.none() | st.integers(1, 300))


def easy_machine(*, requests_in_flight: int = 2) -> Machine:
    """Return a machine that sends a byte a nanosecond, answers a sector after a microsecond, and is never alike."""
    link = ChipLink(
        payload=128,
        completion_boundary=64,
        read_request=512,
        round_trip=1e-6,
        nominal_rate=1e9,
        requests_in_flight=requests_in_flight,
    )
    gpu = Gpu(
        name="easy", memory=2**30, bandwidth=1e11, multiprocessors=1, warps_per_multiprocessor=64, launch=5e-6
    )
    return Machine("easy", link, gpu, Host(name="easy", bandwidth=64e9, access=64, latency=1e-7))
