"""The fast form of the copy engine: how long one copy takes that has the link to itself."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from grapin.sim.path import Path
from grapin.sim.requests import BARRIER, CAPACITY
from grapin.sim.stations import Stations
from grapin.validation import check_integer

_WHOLE, _TAIL = 0, 1
"""Codes of the copy engine's steps."""


def copy_ticks(path: Path, size: int, *, to_host: bool = False) -> int:
    """Return how long `grapin.sim.events.copy_engine` takes to copy so many bytes on an idle link."""
    check_integer("size", size, least=0)
    burst, cost = (path.write_burst, path.write_cost) if to_host else (path.read_burst, path.read_cost)
    whole, tail = divmod(size, burst)
    stations = Stations(path, [cost(burst), cost(max(1, tail))], path.bursts, writing=to_host)
    for codes in _blocks(whole, tail):
        ticks, _ = stations.serve(codes, int(codes[-1] == BARRIER))
    return int(ticks[0])


def _blocks(whole: int, tail: int) -> Iterator[NDArray[np.uint8]]:
    for _ in range(whole // CAPACITY):
        yield np.full(CAPACITY, _WHOLE, np.uint8)
    rest = [_WHOLE] * (whole % CAPACITY) + [_TAIL] * (tail > 0) + [BARRIER]
    yield np.array(rest, np.uint8)
