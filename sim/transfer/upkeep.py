"""What a cache costs beside what it saves: lists loaded before a phase, copies patched during it."""

import numpy as np

from grapin.counters import REQUEST_SIZES, Counters
from grapin.sim.closed_form import read_requests
from grapin.sim.mixes import mix_ticks
from grapin.sim.path import Path, to_seconds
from grapin.sim.prediction import Costs, Seconds

_PATCH = 32
"""Bytes of one request for mutations that a copy has missed: lists are patched one by one, a sector at a time."""


def with_upkeep(costs: list[Costs], path: Path, upkeep: list[Counters]) -> list[Costs]:
    """Add to each phase what its cache takes; loads are a kernel of their own, and nothing hides them."""
    return [read + _upkeep(path, kept) for read, kept in zip(costs, upkeep, strict=True)]


def _upkeep(path: Path, kept: Counters) -> Costs:
    sizes = np.array([kept.requests[size] for size in REQUEST_SIZES])
    sizes[0] += kept.patch_bytes // _PATCH
    transfer = read_requests(path.machine, dict(zip(REQUEST_SIZES, sizes.tolist(), strict=True)))
    link = to_seconds(int(mix_ticks(path, sizes[None, :])[0]))
    return Costs(
        counters=kept,
        wire_to_device=transfer.down_bytes,
        wire_to_host=transfer.up_bytes,
        seconds=Seconds(link=link, launches=path.machine.gpu.launch if kept.loads else 0.0),
    )
