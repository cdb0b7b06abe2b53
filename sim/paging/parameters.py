"""What the driver and the hardware do by default when a GPU touches a page it does not have.

File and line are those of NVIDIA's open-gpu-kernel-modules 595.45.04, kernel-open/nvidia-uvm. Each number has its
source beside it; where there is none, it says so.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from grapin.sim.machine import Machine
from grapin.sim.path import Path, to_ticks
from grapin.units import LINE
from grapin.validation import check_choice, check_integer, refuse

Advice = Literal["none", "read-mostly", "preferred-host", "preferred-gpu"]
"""What the program told the driver about its edge arrays with `cudaMemAdvise`.

- `none`: pages move to whoever touches them.
- `read-mostly`: a GPU that reads gets a copy; the host keeps its own, so that evicting one costs no transfer.
- `preferred-host`: pages stay; a GPU that faults is given a mapping and reads over the link.
- `preferred-gpu`: like `none`, but when both sides fight over a page the GPU gets it.
"""

KIB = 1024
MICROSECOND = 1e-6


@dataclass(frozen=True)
class Driver:
    """The driver's parameters and what its work costs; a variant is `dataclasses.replace(DRIVER, ...)`.

    What a batch of faults costs is a machine's: `host.fault_batch`.
    """

    page: int = 4 * KIB
    """Bytes of a page, the unit of faults and of residency."""
    big_page: int = 64 * KIB  # uvm_va_block_types.h:52
    """What a fault is grown to unless the page is thrashing."""
    block: int = 2048 * KIB  # uvm_va_block_types.h:42
    """The unit of allocation and eviction."""
    prefetch: bool = True  # uvm_perf_prefetch.c:39
    prefetch_threshold: int = 51  # uvm_perf_prefetch.c:42
    """Percent of a region that must be there, or on its way, for the rest to be fetched too."""
    batch: int = 256  # uvm_gpu_replayable_faults.c:73
    """Faults fetched at a time, duplicates included."""

    thrashing: bool = True  # uvm_perf_thrashing.c:244
    thrashing_threshold: int = 3  # uvm_perf_thrashing.c:249
    """Moves of a page, each within a lapse of the one before, after which it counts as thrashing."""
    pin_threshold: int = 10  # uvm_perf_thrashing.c:257
    """Throttled periods after which a page is pinned."""
    lapse: float = 500 * MICROSECOND  # uvm_perf_thrashing.c:267
    nap: int = 1  # uvm_perf_thrashing.c:283
    """Lapses for which a processor is throttled."""
    epoch: int = 2000  # uvm_perf_thrashing.c:290
    """Lapses after which a block's history is forgotten."""
    pin: int = 300  # uvm_perf_thrashing.c:304
    """Lapses for which a page stays pinned."""
    max_resets: int = 4  # uvm_perf_thrashing.c:314

    warps_per_cta: int = 32  # EMOGI's code launches blocks of 1024 threads, a warp a list
    faults_per_utlb: int = 56  # Allen and Ge, SC21, figure 3
    multiprocessors_per_utlb: int = 2  # no source: one first-level TLB a TPC, which is two multiprocessors

    block_time: float = 8 * MICROSECOND
    """Unmapping, page tables and pushing copies, for each block served or evicted. No source has it alone, but a bound:
    this is the least whole number for which copying takes at most a quarter of a batch in SC21's four workloads without
    prefetching (figure 7). A lone fault takes 45 us whatever it is (`host.fault_batch` is the rest), and so does
    streaming, whose batches have one block each; it decides what batches with many blocks cost."""
    host_time: float = 8 * MICROSECOND
    """A fault of the host, its copy aside; no source: as a block's."""

    def __post_init__(self) -> None:
        if check_integer("page", self.page, least=LINE).bit_count() != 1:
            refuse("page", self.page, "be a power of two")
        for name, unit in (("big_page", self.page), ("block", self.big_page)):
            size = check_integer(name, getattr(self, name), least=unit)
            if size % unit or (size // unit).bit_count() != 1:
                refuse(name, size, f"be {unit} bytes times a power of two")
        check_integer("prefetch_threshold", self.prefetch_threshold, least=1, most=100)
        for name in ("batch", "warps_per_cta", "faults_per_utlb", "multiprocessors_per_utlb"):
            check_integer(name, getattr(self, name), least=1)

    @property
    def pages_per_block(self) -> int:
        """How many pages a block has."""
        return self.block // self.page

    @property
    def pages_per_big_page(self) -> int:
        """How many pages a big page has."""
        return self.big_page // self.page


DRIVER = Driver()
"""The driver as it is installed."""


@dataclass(frozen=True)
class Costs:
    """How many ticks things take on one machine."""

    batch: int
    block: int
    host: int
    page_in: int
    """One page from host to GPU by the copy engine, others before and behind it."""
    page_out: int
    line: int
    """128 bytes that the GPU reads over the link, many at a time."""

    @classmethod
    def on(cls, machine: Machine, driver: Driver) -> "Costs":
        """Work them out for a machine: a stream of pages goes as fast as the slowest station of its way lets it."""
        way = Path(machine)
        into, out, line = way.read_cost(driver.page), way.write_cost(driver.page), way.read_cost(LINE)
        return cls(
            batch=to_ticks(machine.host.fault_batch),
            block=to_ticks(driver.block_time),
            host=to_ticks(driver.host_time),
            page_in=max(into.up, into.memory, into.down),
            page_out=max(out.up, out.memory),
            line=max(line.up, line.memory, line.down, to_ticks(machine.link.round_trip) // machine.link.tags),
        )


@dataclass(frozen=True)
class Setting:
    """All that a replay stands on beside the trace: driver, advice, and what the machine makes of them."""

    driver: Driver
    advice: Advice
    costs: Costs
    capacity: int
    """Blocks that fit into the GPU's memory."""
    multiprocessors: int
    ctas: int
    """Thread blocks that can be in flight."""

    @classmethod
    def of(cls, machine: Machine, driver: Driver, advice: str, memory: int | None) -> "Setting":
        """Check and gather them; `memory` is what of the GPU's memory may hold managed pages, by default all of it."""
        check_choice("advice", advice, get_args(Advice))
        size = machine.gpu.memory if memory is None else memory
        check_integer("memory", size, least=driver.block)
        gpu = machine.gpu
        per_multiprocessor = max(1, gpu.warps_per_multiprocessor // driver.warps_per_cta)
        return cls(
            driver,
            advice,  # type: ignore[arg-type]  # checked above
            Costs.on(machine, driver),
            size // driver.block,
            gpu.multiprocessors,
            gpu.multiprocessors * per_multiprocessor,
        )

    @property
    def duplicates(self) -> bool:
        """Whether the host keeps its copy of a page that the GPU gets."""
        return self.advice == "read-mostly"

    @property
    def utlbs(self) -> int:
        """How many first-level TLBs the GPU has."""
        return -(-self.multiprocessors // self.driver.multiprocessors_per_utlb)

    def utlb(self, slot: int) -> int:
        """Return the TLB of a thread block's slot; slots are dealt out to multiprocessors in turn."""
        return slot % self.multiprocessors // self.driver.multiprocessors_per_utlb
