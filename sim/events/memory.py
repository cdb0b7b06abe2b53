"""`HostMemory`: takes one access up after the other, at its bandwidth, and answers each after its latency."""

from grapin.sim.timeline import Timeline


class HostMemory:
    """One queue in the order of arrival; a small access costs as much as a whole one (`Cost.host_bytes`)."""

    def __init__(self, latency: int, timeline: Timeline | None = None) -> None:
        self.bytes = 0
        """Bytes read and written, whole accesses."""
        self._latency = latency
        self._free = 0
        self._timeline = timeline

    def access(self, arrival: int, ticks: int, size: int) -> tuple[int, int]:
        """Queue an access that arrives at a time not before the last one's, and keeps memory busy so long.

        Returns when memory takes it up, which frees its place in the port's queue, and when its data are there.
        """
        taken = max(arrival, self._free)
        self._free = taken + ticks
        self.bytes += size
        if self._timeline is not None and taken > arrival:
            self._timeline.level("host memory queue", arrival, taken)
        return taken, self._free + self._latency
