"""Unified memory as NVIDIA's driver does it: faults in batches, 64 KiB growth, density prefetching, 2 MiB evictions.

`parameters` says by which numbers; `warps` how a GPU comes to fault; `prefetcher`, `residency`, `thrashing` and
`driver` what the driver does about it, in sets and dictionaries; `events` when, in SimPy. The files `fast_*` are the
same for traces of any length, compiled.
"""

from grapin.sim.paging.memory import UnifiedReplay, UnifiedVolumes
from grapin.sim.paging.parameters import DRIVER, Advice, Driver

__all__ = ["DRIVER", "Advice", "Driver", "UnifiedReplay", "UnifiedVolumes"]
