"""From PTX to machine code without a GPU: what the assembler makes of a kernel, and what it then needs."""

import re
import subprocess
import tempfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from grapin.errors import MissingDependency
from grapin.kernels.cuda.assembly import Capability

WHEELS = ("nvidia-nvvm", "nvidia-cuda-nvrtc", "nvidia-cuda-nvcc")
"""Compiler, runtime compiler and assembler. They must be of one release, so a toolkit beside Python does not count."""


@dataclass(frozen=True)
class Needs:
    """What a kernel takes on a multiprocessor."""

    registers: int
    """Registers per thread."""
    shared: int
    """Bytes of shared memory a block."""
    stack: int
    """Bytes of local memory a thread: arrays that did not become registers, and spilled registers."""
    spilled: int
    """Bytes written to and read from local memory because registers ran out."""


def missing() -> str | None:
    """Say what to install where there is no compiler or assembler; None when all is there."""
    try:
        for wheel in WHEELS:
            distribution(wheel)
    except PackageNotFoundError:
        return "the CUDA compiler is not installed: `make test-cuda` brings it, or pip install 'grapin[cuda-check]'"
    return None


def assemble(ptx: str, capability: Capability) -> Needs:
    """Assemble the PTX of one kernel and return what it needs; PTX that is refused is a `RuntimeError`."""
    _require_compiler()
    from cuda.pathfinder import find_nvidia_binary_utility

    target = f"sm_{capability[0]}{capability[1]}"
    assembler = str(find_nvidia_binary_utility("ptxas"))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernel.ptx"
        source.write_text(ptx)
        run = subprocess.run(  # noqa: S603 - the toolkit's own assembler, on our own file
            [assembler, "-v", f"-arch={target}", str(source), "-o", str(source.with_suffix(".cubin"))],
            capture_output=True,
            text=True,
            check=False,
        )
    if run.returncode:
        raise RuntimeError(f"ptxas refused a kernel for {target}: {run.stderr.strip()}")
    return needs_of(run.stderr)


def needs_of(said: str) -> Needs:
    """Read what `ptxas -v` says of one kernel."""
    stack, stores, loads = _numbers(
        r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", said
    )
    (registers,) = _numbers(r"Used (\d+) registers", said)
    shared = re.search(r"(\d+) bytes smem", said)
    return Needs(registers, int(shared[1]) if shared else 0, stack, stores + loads)


def _numbers(pattern: str, said: str) -> list[int]:
    found = re.findall(pattern, said)
    if len(found) != 1:
        raise RuntimeError(f"ptxas must speak of one kernel, but said: {said.strip()}")
    return [int(number) for number in (found[0] if isinstance(found[0], tuple) else found)]


def _require_compiler() -> None:
    reason = missing()
    if reason is not None:
        raise MissingDependency(reason)
