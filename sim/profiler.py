"""What a GPU's own counters would show for a transfer, under the names that users read them by.

They count what passes the GPU's port: data and packet headers, neither framing nor checks nor acknowledgements. So they
show more than the payload and less than the wire carries. On an H100 a read of 64 bytes shows as 76, a request and a
write as 16 more than their data (derived from a public benchmark log): the sizes of PCIe's headers.
"""

from grapin.sim.closed_form import Transfer
from grapin.sim.links import Link
from grapin.sim.prediction import Costs

SECTOR = 32


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
