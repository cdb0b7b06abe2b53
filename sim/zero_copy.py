"""The fast replay of zero-copy reads: a trace's requests through the stations of a path, block by block."""

import numpy as np
from numpy.typing import NDArray

from grapin.sim.path import Path
from grapin.sim.replayed import Replayed
from grapin.sim.requests import KINDS, requests
from grapin.sim.stations import Stations
from grapin.trace import Trace


def replay_zero_copy(
    trace: Trace, path: Path, *, aligned: bool = True, held: NDArray[np.bool_] | None = None
) -> Replayed:
    """Say what the reads of a trace take when warps make them request by request over the link.

    `held` marks reads that need none, because the device has a copy of the list; None stands for none of them. Memory
    is that of the result, one row an iteration, and of one block of requests.
    """
    stations = Stations(path, path.request_costs, path.window)
    rows, ticks, kinds = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty((0, KINDS), np.int64)]
    for block in requests(trace, aligned=aligned, held=held):
        block_ticks, block_kinds = stations.serve(block.codes, len(block.last_rows))
        rows.append(block.last_rows.copy())
        ticks.append(block_ticks)
        kinds.append(block_kinds)
    last = np.concatenate(rows)
    phases, iterations = trace.reads["phase"][last], trace.reads["iteration"][last]
    return Replayed(path, phases, iterations, np.concatenate(ticks) + path.launch, np.concatenate(kinds))
