"""How many warps of a kernel fit on a multiprocessor at once: theoretical occupancy, by compute capability."""

from dataclasses import dataclass

from grapin.units import WARP

REGISTERS = 64 * 1024
"""Registers of a multiprocessor, on all capabilities here: max_registers_per_multiprocessor, see `LIMITS`."""
PARTITIONS = 4
"""Each has its share of registers and warps: cudaOccSubPartitionsPerMultiprocessor, see `LIMITS`."""
REGISTERS_AT_ONCE = 256
"""Registers are given to a warp in such portions: cudaOccRegAllocationGranularity, see `LIMITS`."""


@dataclass(frozen=True)
class Multiprocessor:
    """What kernels share on one multiprocessor."""

    threads: int
    blocks: int
    shared: int
    """Bytes of shared memory at most."""
    reserved: int
    """Bytes of it that each block loses to the system."""
    shared_at_once: int
    """Shared memory is given to a block in such portions."""


# Sizes from arch_traits.h of CCCL, portions from cuda_occupancy.h of the CUDA toolkit 13.4; tests compare with both.
LIMITS = {
    (7, 5): Multiprocessor(1024, 16, 64 * 1024, 0, 256),
    (8, 0): Multiprocessor(2048, 32, 164 * 1024, 1024, 128),
    (8, 6): Multiprocessor(1536, 16, 100 * 1024, 1024, 128),
    (8, 9): Multiprocessor(1536, 24, 100 * 1024, 1024, 128),
    (9, 0): Multiprocessor(2048, 32, 228 * 1024, 1024, 128),
    (10, 0): Multiprocessor(2048, 32, 228 * 1024, 1024, 128),
    (12, 0): Multiprocessor(1536, 24, 100 * 1024, 1024, 128),
}
"""By compute capability: those our kernels are built for."""


def blocks_at_once(capability: tuple[int, int], *, threads: int, registers: int, shared: int) -> int:
    """Return how many blocks of a kernel a multiprocessor holds, by registers per thread and shared bytes per block."""
    limits = LIMITS[capability]
    warps = -(-threads // WARP)
    a_warp = _rounded(max(registers, 1) * WARP, REGISTERS_AT_ONCE)
    if a_warp * _rounded(warps, PARTITIONS) > REGISTERS:
        return 0
    by_registers = REGISTERS // PARTITIONS // a_warp * PARTITIONS // warps
    a_block = _rounded(shared + limits.reserved, limits.shared_at_once)
    by_shared = limits.shared // a_block if a_block else limits.blocks
    return min(limits.blocks, limits.threads // (warps * WARP), by_registers, by_shared)


def occupancy(capability: tuple[int, int], *, threads: int, registers: int, shared: int) -> float:
    """Return the part of a multiprocessor's places for warps that a kernel can fill."""
    blocks = blocks_at_once(capability, threads=threads, registers=registers, shared=shared)
    return blocks * -(-threads // WARP) / (LIMITS[capability].threads // WARP)


def _rounded(amount: int, portion: int) -> int:
    return -(-amount // portion) * portion
