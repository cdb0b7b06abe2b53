"""`Replayed`: what the reads of a trace take, iteration by iteration, as the event model and the fast replay say it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grapin.counters import REQUEST_SIZES
from grapin.sim.path import Cost, Path, to_seconds
from grapin.sim.requests import KINDS, request_bytes


@dataclass(frozen=True, eq=False)
class Replayed:
    """Requests by kind, and time, of each iteration; columns have one entry an iteration, in order."""

    path: Path
    phase: NDArray[np.int32]
    iteration: NDArray[np.int32]
    ticks: NDArray[np.int64]
    """Femtoseconds from the launch to the last data's arrival."""
    kinds: NDArray[np.int64]
    """How many requests of each code (`grapin.sim.requests`), one column a code."""

    def __len__(self) -> int:
        return len(self.ticks)

    @property
    def seconds(self) -> float:
        """How long all iterations take, one after the other."""
        return to_seconds(int(self.ticks.sum()))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many requests of 32, 64, 96 and 128 bytes each iteration makes."""
        by_size = [request_bytes(code) for code in range(KINDS)]
        return np.stack(
            [self.kinds[:, np.equal(by_size, size)].sum(axis=1) for size in REQUEST_SIZES], axis=1
        )

    @property
    def requests(self) -> Mapping[int, int]:
        """How many requests of each size all iterations make."""
        return dict(zip(REQUEST_SIZES, self.sizes.sum(axis=0).tolist(), strict=True))

    def total(self, part: str) -> int:
        """Return the sum of one field of `Cost` over all requests: `payload`, `down_bytes`, `host_bytes`, ..."""
        return int(self.kinds.sum(axis=0) @ self.path.request_table[:, Cost._fields.index(part)])
