"""From a kernel's Python to the PTX that a GPU would get, with no GPU and no driver: only the compiler's wheels.

Compiling takes about a second a kernel, so PTX is kept under a digest of all that went into it: processes that need the
same kernels compile them once.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

from grapin.errors import MissingDependency
from grapin.kernels.cuda.backend import LAUNCH_BOUNDS
from grapin.machine_code import folder_of, keep_file, kept_file

Capability = tuple[int, int]
REMEDY = "pip install 'grapin[vgpu]'"
ENTRY = "kernel"
"""What every kernel is called in PTX; Numba's own names are long and count up within a process."""


@cache
def missing() -> str | None:
    """Say what to install where there is no compiler; None when it is there."""
    if find_spec("numba_cuda") is None:
        return f"numba-cuda is missing: {REMEDY}"
    from cuda.pathfinder import DynamicLibNotFoundError, load_nvidia_dynamic_lib

    try:
        for library in ("nvvm", "nvrtc"):
            load_nvidia_dynamic_lib(library)
    except DynamicLibNotFoundError:
        return f"the CUDA compiler (NVVM and NVRTC, no GPU needed) is missing: {REMEDY}"
    return None


def to_ptx(kernel: FunctionType, types: tuple[Any, ...], capability: Capability) -> str:
    """Compile a kernel's plain function for arguments of these Numba types, as a launch on such a GPU would."""
    return to_each_ptx(kernel, types, [capability])[capability]


def to_each_ptx(
    kernel: FunctionType, types: tuple[Any, ...], capabilities: Sequence[Capability]
) -> dict[Capability, str]:
    """Compile a kernel for several GPUs: it becomes NVVM's input once, which takes nearly all of the time."""
    reason = missing()
    if reason is not None:
        raise MissingDependency(reason)
    made_of = fingerprint(kernel)
    found: dict[Capability, str] = {}
    paths = {}
    for capability in capabilities:
        origin = repr((made_of, types, capability, LAUNCH_BOUNDS, _versions()))
        paths[capability] = _path(hashlib.sha256(origin.encode()).hexdigest())
        kept = kept_file(paths[capability])
        if kept is not None:
            found[capability] = kept.decode()
    absent = [capability for capability in capabilities if capability not in found]
    for capability, ptx in compile_kernel(kernel, types, absent):
        keep_file(paths[capability], ptx.encode())
        found[capability] = ptx
    return found


def compile_kernel(
    kernel: FunctionType, types: tuple[Any, ...], capabilities: Sequence[Capability]
) -> Iterator[tuple[Capability, str]]:
    """Compile, whatever was kept."""
    from numba import cuda
    from numba.cuda import codegen, dispatcher

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
            # Where Numba itself calls compiled functions, as for a float's bits, it asks for the device at hand.
            at_hand = SimpleNamespace(compute_capability=capability)
            with (
                patch.object(codegen.CUDACodeLibrary, "get_asm_strs", first_time),
                patch.object(dispatcher, "get_current_device", lambda at_hand=at_hand: at_hand),
            ):
                ptx, _nothing = cuda.compile_ptx(kernel, types, cc=capability, launch_bounds=LAUNCH_BOUNDS)
        (entry,) = re.findall(r"\.entry\s+([\w$]+)", ptx)
        yield capability, re.sub(r"_ZN08NumbaEnv[\w$]*", "environment", str(ptx).replace(entry, ENTRY))


def fingerprint(function: Any) -> str:
    """Name everything a function is made of: its code, what it closes over, and all that its global names stand for."""
    plain = getattr(function, "py_func", function)
    if isinstance(plain, np.ndarray):  # whose repr leaves most of it out
        return f"{plain.dtype}{plain.shape}{hashlib.sha256(plain.tobytes()).hexdigest()}"
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


def _path(digest: str) -> Path | None:
    folder = folder_of(to_ptx)
    return None if folder is None else folder / f"{digest}.ptx"


@cache
def _versions() -> list[str]:
    found = []
    for name in ("numba", "numba-cuda", "nvidia-nvvm", "nvidia-cuda-nvcc-cu12"):
        with suppress(PackageNotFoundError):
            found.append(f"{name} {version(name)}")
    return found
