"""`Path`: the way of a read from the GPU over the link to host memory and back, station by station and in closed form.

Times are whole femtoseconds, called ticks: sums and comparisons of them are exact, so that the event model and the fast
replay, which compute the same times in different ways, agree to the last digit.

    GPU ── tag ──► upstream wire ──► flight ──► host memory ──► latency ──► downstream wire ──► flight ──► tag is free

In the steady state every station works without pause on its share: the wire in either direction, the tags, each of
which is taken for a round trip, and host memory. The one that needs longest sets the rate. Packets are few and their
costs known, so all of it is sums: the closed form, `Transfer`.

What a GPU's own counters show of a transfer has the names that users read them by. They count what passes the GPU's
port: data and packet headers, neither framing nor checks nor acknowledgements; more than the payload, less than the
wire carries. On an H100 a read of 64 bytes shows as 76, a request and a write as 16 more than their data (derived from
a public benchmark log): the sizes of PCIe's headers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grapin.sim.machine import Link, Machine
from grapin.sim.prediction import Costs
from grapin.units import PAGE, SECTOR
from grapin.validation import check_integer

TICKS_PER_SECOND = 10**15
KINDS = 16
"""Codes of requests are below it; those of four sectors that begin in the middle do not occur."""


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
        """The cost of each code of a request."""
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


def request_bytes(code: int) -> int:
    """Return how many bytes a request asks for."""
    return SECTOR * ((code & 3) + 1)


def first_sector(code: int) -> int:
    """Return with which sector of its line a request begins."""
    return code >> 2


@dataclass(frozen=True)
class Transfer:
    """Something that is moved between host and device; all sizes are bytes."""

    payload: int
    """The data themselves."""
    requests: int
    """Reads that the device asks for: packets up."""
    completions: int
    """Packets down that answer them."""
    writes: int
    """Packets up with data for the host."""
    down_bytes: int
    """What the host puts on the wire: data, headers, framing and checks; acknowledgements are in the link's rate."""
    up_bytes: int
    """What the device puts on the wire."""
    host_bytes: int
    """What host memory reads or writes: whole accesses."""
    times: Mapping[str, float]
    """Seconds for which each resource is busy: `link down`, `link up`, `tags`, `host memory`."""

    @property
    def limit(self) -> str:
        """The resource that sets the rate."""
        return max(self.times, key=self.times.__getitem__)

    @property
    def seconds(self) -> float:
        """How long it takes once it runs; the first answer comes a round trip after the first request."""
        return max(self.times.values())

    @property
    def rate(self) -> float:
        """Bytes of payload a second."""
        return self.payload / self.seconds if self.payload else 0.0


def read_requests(machine: Machine, requests: Mapping[int, int]) -> Transfer:
    """Return what a mix of requests to host memory costs: how many of each size, as `Counters.requests` says.

    A request lies within a 128-byte line. `{32: 1, 96: 1}` is a line that a warp reads with a misaligned start.
    """
    for size, count in requests.items():
        check_integer("size of a request", size, least=1)
        check_integer(f"requests of {size} bytes", count, least=0)
    link, unit = machine.link, machine.host.access
    return _transfer(
        machine,
        payload=sum(size * count for size, count in requests.items()),
        requests=sum(requests.values()),
        completions=sum(link.completions(size) * count for size, count in requests.items()),
        host_bytes=sum(-(-size // unit) * unit * count for size, count in requests.items()),
    )


def copy_to_device(machine: Machine, size: int) -> Transfer:
    """Return what the copy engine needs for one large copy: it asks for as much at a time as it may."""
    whole, rest = divmod(check_integer("size", size, least=0), machine.link.read_request)
    pieces = {machine.link.read_request: whole}
    if rest:
        pieces[rest] = 1
    return read_requests(machine, pieces)


def copy_to_host(machine: Machine, size: int) -> Transfer:
    """Return what a copy in the other direction needs: writes, which nobody answers."""
    unit = machine.host.access
    return _transfer(
        machine,
        payload=check_integer("size", size, least=0),
        writes=-(-size // machine.link.payload),
        host_bytes=-(-size // unit) * unit,
    )


def _transfer(
    machine: Machine,
    *,
    payload: int,
    host_bytes: int,
    requests: int = 0,
    completions: int = 0,
    writes: int = 0,
) -> Transfer:
    link = machine.link
    down = completions * link.completion_bytes + (payload if completions else 0)
    up = requests * link.request_bytes + writes * link.write_bytes + (payload if writes else 0)
    times = {
        "link down": down / link.rate,
        "link up": up / link.rate,
        "tags": requests * link.round_trip / link.tags,
        "host memory": host_bytes / machine.host.bandwidth,
    }
    return Transfer(payload, requests, completions, writes, down, up, host_bytes, times)


def hardware_counters(transfer: Transfer, link: Link) -> dict[str, int]:
    """Return each counter's increase; NVML's rates (`nvmlDeviceGetPcieThroughput`, KB/s) are these over the time."""
    received = transfer.down_bytes - transfer.completions * link.framing
    sent = transfer.up_bytes - (transfer.requests + transfer.writes) * link.framing
    reading = transfer.payload if transfer.requests else 0
    writing = transfer.payload if transfer.writes else 0
    return {
        "pcie__read_bytes.sum": received,
        "pcie__write_bytes.sum": sent,
        "DCGM_FI_PROF_PCIE_RX_BYTES": received,
        "DCGM_FI_PROF_PCIE_TX_BYTES": sent,
        "NVML_FI_DEV_PCIE_COUNT_RX_BYTES": received,
        "NVML_FI_DEV_PCIE_COUNT_TX_BYTES": sent,
        "lts__t_sectors_aperture_sysmem_op_read.sum": -(-reading // SECTOR),
        "lts__t_sectors_aperture_sysmem_op_write.sum": -(-writing // SECTOR),
    }


def port_bytes(costs: Costs, link: Link) -> tuple[int, int]:
    """Return what those counters show as received and as sent for a phase or a run: the wire without the framing."""
    answers = (costs.wire_to_device - costs.bytes) // link.completion_bytes
    # A request and the head of a write are of one size on every link.
    asked = (costs.wire_to_host - costs.evicted_bytes) // link.request_bytes
    return costs.wire_to_device - answers * link.framing, costs.wire_to_host - asked * link.framing
