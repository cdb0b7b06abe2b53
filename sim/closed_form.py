"""The closed form: what moving data over a link amounts to on the wire, and which resource bounds its rate.

In the steady state every resource works without pause on its share: the wire in either direction, the tags, each of
which is taken for a round trip, and host memory. The one that needs longest sets the rate. Packets are few and their
costs known, so all of it is sums.

What a GPU's own counters would show for a transfer, under the names that users read them by.

They count what passes the GPU's port: data and packet headers, neither framing nor checks nor acknowledgements. So they
show more than the payload and less than the wire carries. On an H100 a read of 64 bytes shows as 76, a request and a
write as 16 more than their data (derived from a public benchmark log): the sizes of PCIe's headers.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from grapin.sim.links import Link
from grapin.sim.machine import Machine
from grapin.sim.prediction import Costs
from grapin.units import SECTOR
from grapin.validation import check_integer


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
