"""`Wire`: one direction of the link; packets leave one after the other, each as soon as the one before is through."""

from grapin.sim.timeline import Timeline


class Wire:
    """Knows until when it is taken: since packets keep their order, no more is needed to say when the next is through.

    What framing, headers and acknowledgements take is in the ticks that a packet is sent with (`grapin.sim.path`).
    """

    def __init__(self, name: str, timeline: Timeline | None = None) -> None:
        self.busy = 0
        """Ticks for which something was sent."""
        self.bytes = 0
        """Bytes that were sent, headers and framing included."""
        self._track = f"{name} busy"
        self._free = 0
        self._timeline = timeline

    def send(self, now: int, ticks: int, size: int) -> int:
        """Send a packet that takes so long; return at what time it is through."""
        begin = max(now, self._free)
        self._free = begin + ticks
        self.busy += ticks
        self.bytes += size
        if self._timeline is not None:
            self._timeline.level(self._track, begin, self._free)
        return self._free
