"""PTX to machine code of this CPU, kept on disk: lowering and LLVM take up to two seconds a kernel.

A file is named after a digest of the PTX and of all that translates it.
"""

import hashlib
import pickle
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numpy as np
from llvmlite import binding
from numpy.typing import NDArray

from grapin.kernels.cuda.vgpu.effects import COLUMNS
from grapin.kernels.cuda.vgpu.lowering import STEP, Lowered, lower
from grapin.kernels.cuda.vgpu.ptx import Module
from grapin.machine_code import folder_of, keep_file, kept_file

_SOURCES = (
    "ptx", "flow", "effects", "emitter", "arithmetic", "bitwise", "conversion", "effect_rows", "blocks", "lowering",
    "translation",
)  # fmt: skip


class Translated(NamedTuple):
    """A kernel that can be executed."""

    name: str
    function: int
    """Address of its compiled code."""
    lowered: Lowered
    effects: NDArray[np.int64]
    """The table of its effects."""
    module: Module
    engine: Any
    """Owns the code."""


def translate(text: str, name: str | None = None, *, keep: bool = True) -> Translated:
    """Translate one kernel of a text of PTX, the first unless it is named, and keep it for other processes."""
    module = Module(text)
    name = name or module.kernels[0]
    digest = hashlib.sha256(f"{_stamp()} {name} {text}".encode()).hexdigest()
    path = _path(f"{digest}.ptxcode") if keep else None
    kept = kept_file(path)
    if kept is None:
        lowered = lower(module, name)
        code = _machine_code(lowered.code)
        keep_file(path, pickle.dumps((lowered, code)))
    else:
        lowered, code = pickle.loads(kept)  # noqa: S301
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), _target())
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    table = np.array(lowered.effects or [[0] * COLUMNS], np.int64)
    return Translated(name, engine.get_function_address(STEP), lowered, table, module, engine)


def _machine_code(code: str) -> bytes:
    module = binding.parse_assembly(code)
    module.verify()
    return bytes(_target().emit_object(module))


def _target() -> Any:
    """Return a target machine of its own: whoever is given one frees it."""
    with suppress(RuntimeError):  # newer releases do it by themselves, and refuse to be told
        binding.initialize()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_default_triple()
    features = binding.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=binding.get_host_cpu_name(), features=features, opt=1, jit=True)


@cache
def _stamp() -> str:
    folder = Path(__file__).parent
    sources = [(folder / f"{name}.py").read_bytes() for name in _SOURCES]
    machine = (
        f"{llvmlite.__version__} {binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"
    )
    return hashlib.sha256(b"".join((*sources, machine.encode()))).hexdigest()


def _path(name: str) -> Path | None:
    folder = folder_of(translate)
    return None if folder is None else folder / name
