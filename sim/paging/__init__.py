"""Unified memory as NVIDIA's driver does it: faults in batches, 64 KiB growth, density prefetching, 2 MiB evictions.

`parameters` says by which numbers; `memory` what is where, `thrashing` which pages are moved too often, `driver` what
is done about faults. `grapin.sim.transfer.unified` leads a trace through it; `grapin.sim.oracle` does the same event by
event.
"""

from grapin.sim.paging.memory import UnifiedReplay, UnifiedVolumes
from grapin.sim.paging.parameters import DRIVER, Advice, Driver

__all__ = ["DRIVER", "Advice", "Driver", "UnifiedReplay", "UnifiedVolumes"]
