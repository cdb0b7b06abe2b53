"""Where batches come from: files with times, sliding windows, sampled workloads, your own iterators.

Each function here returns a `Stream`: batches made one at a time when asked for, and the same ones again when
asked again.
"""

from grapin.stream.events import sliding, temporal
from grapin.stream.live import Arrived, Live
from grapin.stream.sample import sample, workload
from grapin.stream.stream import Stream, from_arrow, from_iterator

__all__ = [
    "Arrived",
    "Live",
    "Stream",
    "from_arrow",
    "from_iterator",
    "sample",
    "sliding",
    "temporal",
    "workload",
]
