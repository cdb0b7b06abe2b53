"""`Path`: the way of a read from the GPU over the link to host memory and back, and what it costs at each station.

Times are whole femtoseconds, called ticks: sums and comparisons of them are exact, so that the event model and the fast
replay, which compute the same times in different ways, agree to the last digit.

    GPU ── tag ──► upstream wire ──► flight ──► host memory ──► latency ──► downstream wire ──► flight ──► tag is free
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grapin.sim.machine import Machine
from grapin.sim.oracle.requests import KINDS, SECTOR, first_sector, request_bytes
from grapin.units import PAGE
from grapin.validation import check_integer

TICKS_PER_SECOND = 10**15


class Cost(NamedTuple):
    """One read or write, as the stations see it."""

    up: int
    """Ticks on the upstream wire."""
    memory: int
    """Ticks for which host memory is busy with it."""
    down: int
    """Ticks on the downstream wire."""
    packets: int
    """Requests, each of which needs a tag, or writes."""
    payload: int
    """Bytes asked for or written."""
    up_bytes: int
    """Bytes on the upstream wire, headers and framing included."""
    down_bytes: int
    host_bytes: int
    """Bytes that host memory reads or writes: whole units of its access size."""


@dataclass(frozen=True)
class Path:
    """A machine's way to host memory; a variant is `dataclasses.replace(path, ...)`."""

    machine: Machine
    request_credits: int | None = None
    """Requests that the host's port takes before it has handed one on; None where they never run out, which is what
    ports are built for. Completions need none: a device must always have room for what it asked for (PCIe Base
    Specification, 2.6.1)."""
    write_credits: int | None = None
    """The same for writes."""

    def __post_init__(self) -> None:
        for name in ("request_credits", "write_credits"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), least=1)

    @property
    def tags(self) -> int:
        """How many requests may wait for their answers."""
        return self.machine.link.tags

    @property
    def warps(self) -> int:
        """How many warps can read at a time: each waits for what it asked for."""
        return self.machine.gpu.warps

    @property
    def window(self) -> int:
        """How many requests can be under way when each is a warp's only one."""
        return min(self.warps, self.tags)

    @cached_property
    def read_burst(self) -> int:
        """How many bytes the copy engine asks for in one step: a page, as far as tags and credits allow."""
        packets = min(self.tags, self.request_credits or self.tags)
        return min(PAGE, packets * self.machine.link.read_request)

    @cached_property
    def write_burst(self) -> int:
        """How many bytes the copy engine sends in one step: a page, as far as credits allow."""
        return min(PAGE, (self.write_credits or PAGE) * self.machine.link.payload)

    @cached_property
    def bursts(self) -> int:
        """How many steps the copy engine has under way at a time."""
        return self.tags // self.read_cost(self.read_burst).packets

    @cached_property
    def launch(self) -> int:
        """Ticks from the end of one iteration to the first request of the next."""
        return to_ticks(self.machine.gpu.launch)

    @cached_property
    def memory_latency(self) -> int:
        """Ticks from the moment host memory has taken a read up until its data are there."""
        return min(to_ticks(self.machine.host.latency), self._rest)

    @cached_property
    def flight(self) -> int:
        """Ticks from a wire's end to the other side's taking notice: half of what nothing else accounts for.

        So the first sector asked for on an idle link takes exactly the machine's round trip.
        """
        return (self._rest - self.memory_latency) // 2

    @cached_property
    def _rest(self) -> int:
        sector = self.read_cost(SECTOR)
        return max(0, to_ticks(self.machine.link.round_trip) - sector.up - sector.memory - sector.down)

    def read_cost(self, size: int, address: int = 0) -> Cost:
        """Return the cost of reading `size` bytes from an address, of which only the place in a line matters."""
        link = self.machine.link
        whole, tail = divmod(size, link.read_request)
        packets = whole + (tail > 0)
        completions = whole * link.completions(link.read_request, address)
        completions += link.completions(tail, address) if tail else 0
        up_bytes = packets * link.request_bytes
        down_bytes = size + completions * link.completion_bytes
        return self._cost(packets, size, up_bytes, down_bytes, self._host_bytes(size, address))

    def write_cost(self, size: int) -> Cost:
        """Return the cost of writing `size` bytes to host memory: nothing comes back."""
        link = self.machine.link
        packets = -(-size // link.payload)
        up_bytes = size + packets * link.write_bytes
        return self._cost(packets, size, up_bytes, 0, self._host_bytes(size, 0))

    @cached_property
    def request_costs(self) -> tuple[Cost, ...]:
        """The cost of each code of `grapin.sim.oracle.requests`."""
        return tuple(
            self.read_cost(request_bytes(code), SECTOR * first_sector(code)) for code in range(KINDS)
        )

    @cached_property
    def request_table(self) -> NDArray[np.int64]:
        """The same as one row a code, for sums over counts of codes."""
        return np.array(self.request_costs, np.int64)

    def _cost(self, packets: int, payload: int, up_bytes: int, down_bytes: int, host_bytes: int) -> Cost:
        rate = self.machine.link.rate
        up, down = to_ticks(up_bytes / rate), to_ticks(down_bytes / rate)
        memory = to_ticks(host_bytes / self.machine.host.bandwidth)
        return Cost(up, memory, down, packets, payload, up_bytes, down_bytes, host_bytes)

    def _host_bytes(self, size: int, address: int) -> int:
        unit = self.machine.host.access
        return ((address + size - 1) // unit - address // unit + 1) * unit


def to_ticks(seconds: float) -> int:
    """Return a duration in whole femtoseconds."""
    return round(seconds * TICKS_PER_SECOND)


def to_seconds(ticks: int) -> float:
    """Return a duration in seconds."""
    return ticks / TICKS_PER_SECOND
