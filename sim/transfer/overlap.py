"""Times of phases from the times of their iterations, by what goes on at the same time in one."""

import numpy as np
from numpy.typing import NDArray

from grapin.sim.iterations import Iterations
from grapin.sim.machine import Machine
from grapin.sim.prediction import Seconds

Times = NDArray[np.float64]


def in_streams(
    iterations: Iterations,
    machine: Machine,
    phases: int,
    *,
    link: Times,
    device: Times,
    host: Times | None = None,
) -> list[Seconds]:
    """Link, device and host work at the same time: an iteration takes as long as the slowest."""
    gathering = np.zeros(len(iterations)) if host is None else host
    slowest = np.maximum(np.maximum(link, device), gathering)
    return _summed(iterations, machine, phases, link, device, gathering, link + device + gathering - slowest)


def in_turns(
    iterations: Iterations,
    machine: Machine,
    phases: int,
    *,
    link: Times,
    device: Times,
    host: Times,
    ahead: bool,
) -> list[Seconds]:
    """The host gathers, then the link sends, then the device computes; `ahead` while it computes on what it has."""
    hidden = np.minimum(link + host, device) if ahead else np.zeros(len(iterations))
    return _summed(iterations, machine, phases, link, device, host, hidden)


def _summed(
    iterations: Iterations,
    machine: Machine,
    phases: int,
    link: Times,
    device: Times,
    host: Times,
    hidden: Times,
) -> list[Seconds]:
    columns = np.stack([link, device, host, hidden, np.ones(len(iterations))], axis=1)
    return [
        Seconds(link=sent, device=computed, host=gathered, hidden=saved, launches=count * machine.gpu.launch)
        for sent, computed, gathered, saved, count in iterations.by_phase(columns, phases).tolist()
    ]
