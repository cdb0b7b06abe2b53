"""From a kernel to PTX to machine code without a GPU: what compiler and assembler make of it, and what it then needs.

Compiling takes seconds a kernel, so PTX is kept in the temporary folder under a digest of all that went into it: two
processes that test the same kernels compile them once.
"""

import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any
from unittest.mock import patch

from grapin.errors import MissingDependency
from grapin.kernels.cuda.backend import LAUNCH_BOUNDS

Capability = tuple[int, int]
WHEELS = ("nvidia-nvvm", "nvidia-cuda-nvrtc", "nvidia-cuda-nvcc")
"""Compiler, runtime compiler and assembler. They must be of one release, so a toolkit beside Python does not count."""
ENTRY = "kernel"
"""What every kernel is called in PTX; Numba's own names are long and count up within a process."""


@dataclass(frozen=True)
class Needs:
    """What a kernel takes on a multiprocessor."""

    registers: int
    """Registers a thread."""
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


def to_ptx(kernel: FunctionType, types: tuple[Any, ...], capability: Capability) -> str:
    """Compile a kernel's plain function for arguments of these Numba types, as a launch on such a GPU would."""
    return to_each_ptx(kernel, types, [capability])[capability]


def to_each_ptx(
    kernel: FunctionType, types: tuple[Any, ...], capabilities: Sequence[Capability]
) -> dict[Capability, str]:
    """Compile a kernel for several GPUs: it becomes NVVM's input once, which takes nearly all of the time."""
    _require_compiler()
    versions = [version(name) for name in ("numba", "numba-cuda", "nvidia-nvvm")]
    folder = Path(tempfile.gettempdir()) / f"grapin-ptx-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    made_of = fingerprint(kernel)
    kept = {}
    for capability in capabilities:
        origin = repr((made_of, types, capability, LAUNCH_BOUNDS, versions))
        kept[capability] = folder / f"{hashlib.sha256(origin.encode()).hexdigest()}.ptx"
    absent = [capability for capability, path in kept.items() if not path.exists()]
    for capability, ptx in _compiled(kernel, types, absent):
        written = kept[capability].with_suffix(f".{os.getpid()}")
        written.write_text(ptx)
        written.rename(kept[capability])
    return {capability: path.read_text() for capability, path in kept.items()}


def _compiled(
    kernel: FunctionType, types: tuple[Any, ...], capabilities: Sequence[Capability]
) -> Iterator[tuple[Capability, str]]:
    from numba import cuda
    from numba.cuda import codegen

    made: list[Any] = []
    last: Any = codegen.CUDACodeLibrary.get_asm_strs

    def first_time(library: Any, cc: Capability) -> Any:
        made.append(library)
        return last(library, cc=cc)

    for capability in capabilities:
        if made:
            # What NVVM is given is the same for all GPUs here; Numba has no public way to hand it over again.
            (ptx,) = made[0].get_asm_strs(cc=capability)
        else:
            with patch.object(codegen.CUDACodeLibrary, "get_asm_strs", first_time):
                ptx, _nothing = cuda.compile_ptx(kernel, types, cc=capability, launch_bounds=LAUNCH_BOUNDS)
        (entry,) = re.findall(r"\.entry\s+([\w$]+)", ptx)
        yield capability, re.sub(r"_ZN08NumbaEnv[\w$]*", "environment", str(ptx).replace(entry, ENTRY))


def fingerprint(function: Any) -> str:
    """Name everything a function is made of: its code, what it closes over, and all that its global names stand for."""
    plain = getattr(function, "py_func", function)
    if not isinstance(plain, FunctionType):
        return repr(function)
    cells = [fingerprint(cell.cell_contents) for cell in plain.__closure__ or ()]
    names = sorted(_names(plain.__code__))
    bound = {name: fingerprint(plain.__globals__[name]) for name in names if name in plain.__globals__}
    parts = repr((_code(plain.__code__), repr(plain.__defaults__), cells, bound))
    return hashlib.sha256(parts.encode()).hexdigest()


def _names(code: CodeType) -> set[str]:
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inner)


def _code(code: CodeType) -> str:
    constants = [_code(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    return repr((code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars))


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
