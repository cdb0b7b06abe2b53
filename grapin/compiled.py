"""The one place where Python becomes machine code for the CPU.

Numba is used because it compiles the same plain functions for the CPU and for CUDA and needs no build step on the
user's machine. It carries no types, so this module gives its decorators some. `grapin/machine_code.py` keeps what was
compiled for the next process.

Most functions are called by compiled code only. Numba would make each of them callable from Python and from C as well,
which takes as long as compiling the function itself; here that is done for a function when Python first calls it. And
it would compile a function once more for each constant that a caller passes; here a constant is a number like any
other, and the optimiser, which sees both functions, puts it in where that helps.

With `NUMBA_DISABLE_JIT=1` nothing is compiled: every function stays the Python it is, for a debugger.
"""

import gc
import hashlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar, cast

import numba
from numba.core import compiler, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature

from grapin.compilations import NOT_KEPT, Compilation, compilations, tally, watchers
from grapin.machine_code import MachineCode

__all__ = ["PLAIN", "compilations", "compiled", "compiled_parallel", "inlined", "kernel", "rule", "summing"]

F = TypeVar("F", bound=Callable[..., object])

PLAIN = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]  # made when Numba is loaded
"""Nothing is compiled: all functions run as Python."""

_TRIED = numba.__version__.split(".")[:2] == ["0", "68"]
"""Functions are optimised within their callers only with versions of Numba where that was tried: it leans on internals.
With others each is optimised and made machine code on its own first, which takes longer and runs the same."""

_PACKAGE = Path(__file__).parent
_WITH_COMPILED_CODE = (
    "compiled.py",
    "machine_code.py",
    "graph/**/*.py",
    "cache/**/*.py",
    "kernels/*.py",
    "kernels/cpu/**/*.py",
)


def _digest_of_sources(patterns: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    for pattern in patterns:
        for path in sorted(_PACKAGE.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()


SOURCES = _digest_of_sources(_WITH_COMPILED_CODE)
"""Stands for the content of all source files with code compiled for the CPU."""
SOURCES_OF_MODEL = _digest_of_sources(("compiled.py", "machine_code.py", "sim/**/*.py"))
"""The same for the model, whose compiled code calls none but its own: a change to it leaves the kernels as they are."""
SOURCES_OF_ONE_LANE = _digest_of_sources(
    ("compiled.py", "machine_code.py", "kernels/*.py", "kernels/cuda/**/*.py")
)
"""The same for the kernels of `cuda`, where they are compiled for the CPU."""
SOURCES_OF_VIRTUAL_GPU = _digest_of_sources(
    ("compiled.py", "machine_code.py", "units.py", "graph/packed.py", "kernels/cuda/vgpu/*.py")
)
"""The same for what executes a GPU's code."""
_STAMPS = (
    ("grapin.sim.", SOURCES_OF_MODEL),
    ("grapin.kernels.cuda.vgpu.", SOURCES_OF_VIRTUAL_GPU),
    ("grapin.kernels.cuda.", SOURCES_OF_ONE_LANE),
)
"""By package, the first that fits, what its machine code depends on; anything else depends on `SOURCES`."""


class _Kept(MachineCode):
    """Machine code on disk; where there is none, compilation begins."""

    def load_overload(self, signature: Any, context: Any) -> Any:
        found = super().load_overload(signature, context)
        if found is None:
            tally.functions += 1
            if tally.depth == 1:
                tally.entries += 1
                tally.begun = perf_counter()
                self._tell(None)
        return found

    def over(self) -> None:
        """Say that what Python called is compiled, if it had to be."""
        if tally.depth == 1 and tally.begun is not None:
            seconds, tally.begun = perf_counter() - tally.begun, None
            self._tell(seconds)

    def _tell(self, seconds: float | None) -> None:
        if self.cache_path is None and not watchers and not tally.warned:
            tally.warned = True
            warnings.warn(NOT_KEPT, RuntimeWarning, stacklevel=2)
        for watcher in watchers:
            watcher(Compilation(self.name, tally.entries, seconds, self.cache_path))


class _Unlinked:
    """A code generator for functions that are never called by their own address."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: the function's environment has an address only where the function is linked into another."""


class _Part(JITCodeLibrary):
    """The code of a function that only compiled code calls: optimised and made machine code within its callers."""

    @property
    def codegen(self) -> Any:
        return _Unlinked(self._codegen)

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002  # its own address is never needed
        self._ensure_finalized()
        return 0

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class _Compiler(_FunctionCompiler):
    """Numba's compiler of one function, to which the library can be given that its code goes into."""

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        flags = compiler.Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        typing, target = self.targetdescr.typing_context, self.targetdescr.target_context
        part = _TRIED and flags.no_cpython_wrapper
        library = _Part(target.codegen(), self.py_func.__qualname__) if part else None
        made = compiler.compile_extra(
            typing, target, self.py_func, args, return_type, flags, self.locals, library, self.pipeline_class
        )
        if not part:
            for environment in made._find_referenced_environments():  # noqa: SLF001
                made.codegen.set_env(environment.env_name, environment)
        return made


class _Dispatcher(CPUDispatcher):
    """A function that is compiled for the types it is called with: for compiled code, or also for Python."""

    overloads: Any

    def __init__(
        self,
        py_func: Any,
        locals: Any = None,  # noqa: A002  # Numba's name
        targetoptions: Any = None,
        sources: str = "",
    ) -> None:
        super().__init__(py_func, locals, dict(targetoptions or {}))
        self._compiler = _Compiler(
            py_func, self.targetdescr, self.targetoptions, self.locals, compiler.Compiler
        )
        self._from_python = True
        self._callable: set[Any] = set()
        self._cache = _Kept(py_func, sources)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile it for a caller that is being compiled."""
        args = tuple(types.unliteral(kind) for kind in args)
        kws = {name: types.unliteral(kind) for name, kind in kws.items()}
        with global_compiler_lock:
            before, self._from_python = self._from_python, False
            try:
                return super().get_call_template(args, kws)
            finally:
                self._from_python = before

    def compile(self, sig: Any) -> Any:
        """Compile it unless that has been done, for Python or for a caller that is being compiled."""
        with global_compiler_lock:
            arguments = tuple(normalize_signature(sig)[0])
            if arguments in self.overloads:
                if not self._from_python or arguments in self._callable:
                    known: Any = self.overloads[arguments]
                    return known.entry_point
                del self.overloads[arguments]  # Python cannot call it; now it is made again so that it can
            self.targetoptions["no_cpython_wrapper"] = not self._from_python
            self._cache.entry = self._from_python
            with _undisturbed():
                entry = super().compile(sig)
                self._cache.over()
            return entry

    def add_overload(self, cres: Any) -> None:
        """Take in what was compiled; only what Python can call is shown to Python."""
        arguments = tuple(cres.signature.args)
        if self._from_python:
            self._callable.add(arguments)
            super().add_overload(cres)
        else:
            self.overloads[arguments] = cres


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Collect no garbage meanwhile: a compiler makes millions of objects and drops few of them before it is done."""
    tally.depth += 1
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        tally.depth -= 1
        if collecting:
            gc.enable()


def _compile(function: F, *, keep: bool = True, **options: Any) -> F:
    if PLAIN:
        return function
    stamp = next((stamp for package, stamp in _STAMPS if function.__module__.startswith(package)), SOURCES)
    options = {"nopython": True, "nogil": True, "boundscheck": None, "error_model": "numpy", **options}
    options["no_cfunc_wrapper"] = True
    dispatcher = _Dispatcher(function, targetoptions=options, sources=stamp if keep else "")
    return cast("F", dispatcher)


def compiled(function: F) -> F:
    """Compile `function` on its first call; the machine code is kept on disk for the next process.

    The GIL is released while it runs, and division follows NumPy (no exception inside a kernel).
    """
    return _compile(function)


def kernel(function: F) -> F:
    """Compile a function that works only on arrays it is given and makes none of its own.

    In return the arrays' references are not counted inside. Counting them is most of what a call between
    compiled functions costs when a tuple of arrays is passed along: 100 ns, against 5 ns for scanning a
    short list. `_nrt` is Numba's name for the run-time part that allocates and counts.
    """
    return _compile(function, _nrt=False)


def summing(function: F) -> F:
    """Compile a kernel whose sums of floats may be added up in any order, and so several terms at once."""
    return _compile(function, _nrt=False, fastmath={"reassoc", "nsz", "contract"})


def inlined(function: F) -> F:
    """Compile a small kernel into every kernel that calls it.

    Left to itself the compiler calls it: then all arrays of a tuple are handed over on the stack, some seventy numbers
    for one direction of a graph, which for a batch is a quarter of the time.
    """
    return _compile(function, _nrt=False, forceinline=True)


def rule(function: F) -> F:
    """Compile a rule of a program into the kernels that are bound to it; on disk it is kept only as a part of those."""
    return _compile(function, keep=False)


def compiled_parallel(function: F) -> F:
    """Compile a function whose `numba.prange` loops are shared among threads."""
    return _compile(function, parallel=True)
