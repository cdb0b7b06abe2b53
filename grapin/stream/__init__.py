"""Where batches come from: files with times, sliding windows, sampled workloads, your own iterators.

Each function here returns a `Stream`: batches made one at a time when asked for, and the same ones again when
asked again.
"""

from grapin.stream.iterator import from_iterator
from grapin.stream.sampled import sample, workload
from grapin.stream.sliding import sliding
from grapin.stream.stream import Stream
from grapin.stream.temporal import temporal

__all__ = ["Stream", "from_iterator", "sample", "sliding", "temporal", "workload"]
