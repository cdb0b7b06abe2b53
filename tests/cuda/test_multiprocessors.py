"""Our limits of multiprocessors and our occupancy are NVIDIA's own."""

import re
import shutil
import subprocess
from importlib.metadata import distribution
from pathlib import Path

import pytest

from experiments.lib.multiprocessors import LIMITS, REGISTERS, blocks_at_once

THREADS = (1, 32, 64, 100, 128, 256, 512, 768, 1024)
REGISTERS_A_THREAD = (1, 16, 24, 32, 33, 40, 48, 64, 72, 96, 128, 168, 255)
SHARED = (0, 1, 1024, 4096, 8192, 10_000, 33_000, 48 * 1024)

CALCULATOR = """
#include <cuda_occupancy.h>
#include <cstdio>
int main() {
  int major, minor, threads_sm, shared_sm, reserved, threads, registers; long shared;
  while (scanf("%d %d %d %d %d %d %d %ld", &major, &minor, &threads_sm, &shared_sm, &reserved, &threads, &registers,
               &shared) == 8) {
    cudaOccDeviceProp gpu; gpu.computeMajor = major; gpu.computeMinor = minor;
    gpu.maxThreadsPerBlock = 1024; gpu.maxThreadsPerMultiprocessor = threads_sm;
    gpu.regsPerBlock = 65536; gpu.regsPerMultiprocessor = 65536; gpu.warpSize = 32;
    gpu.sharedMemPerBlock = 48 * 1024; gpu.sharedMemPerMultiprocessor = shared_sm; gpu.numSms = 1;
    gpu.sharedMemPerBlockOptin = shared_sm - reserved; gpu.reservedSharedMemPerBlock = reserved;
    cudaOccFuncAttributes kernel;
    kernel.maxThreadsPerBlock = 1024; kernel.numRegs = registers; kernel.sharedSizeBytes = shared;
    kernel.partitionedGCConfig = PARTITIONED_GC_OFF; kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_DEFAULT;
    kernel.maxDynamicSharedSizeBytes = 0; kernel.numBlockBarriers = 1;
    cudaOccDeviceState state; state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    cudaOccResult result;
    int failed = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &gpu, &kernel, &state, threads, 0);
    printf("%d\\n", failed ? -failed : result.activeBlocksPerMultiprocessor);
  }
}
"""


def header(wheel: str, name: str) -> Path:
    """Return a header of the installed toolkit."""
    files = distribution(wheel).files or []
    return Path(str(next(file for file in files if file.name == name).locate()))


def test_the_limits_are_those_of_the_toolkits_own_table() -> None:
    text = header("nvidia-cuda-cccl", "arch_traits.h").read_text()
    assert "max_registers_per_multiprocessor = 64 * 1024;" in text
    assert REGISTERS == 64 * 1024
    assert "reserved_shared_memory_per_block = (__cc >= compute_capability{80}) ? 1024 : 0;" in text
    for (major, minor), limits in LIMITS.items():
        about = text.split(f"arch_traits<arch_id::sm_{major}{minor}>() noexcept")[1].split("return")[0]
        names = (
            "threads_per_multiprocessor",
            "blocks_per_multiprocessor",
            "shared_memory_per_multiprocessor",
        )
        found = [
            int(re.search(rf"max_{name}\s+= (\d+)", about)[1])  # type: ignore[index]  # it is there or the test fails
            for name in names
        ]
        assert (limits.threads, limits.blocks, limits.shared // 1024) == tuple(found)
        assert limits.reserved == (1024 if major >= 8 else 0)


def test_occupancy_is_what_nvidias_calculator_says(tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is not installed, which builds NVIDIA's calculator")
    include = header("nvidia-cuda-runtime", "cuda_occupancy.h").parent
    (tmp_path / "calculator.cpp").write_text(CALCULATOR)
    program = tmp_path / "calculator"
    build = [compiler, "-w", f"-I{include}", str(tmp_path / "calculator.cpp"), "-o", str(program)]
    subprocess.run(build, check=True)
    cases = [
        (*capability, limits.threads, limits.shared, limits.reserved, threads, registers, shared)
        for capability, limits in LIMITS.items()
        for threads in THREADS
        for registers in REGISTERS_A_THREAD
        for shared in SHARED
    ]
    lines = "\n".join(" ".join(map(str, case)) for case in cases)
    run = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    expected = [int(line) for line in run.stdout.split()]
    ours = [
        blocks_at_once((case[0], case[1]), threads=case[5], registers=case[6], shared=case[7])
        for case in cases
    ]
    assert min(expected) == 0
    assert ours == expected
