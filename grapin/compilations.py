"""What this process had to compile, for whoever wants to show it or to be sure that it was nothing.

Numba is not loaded by this: the command line says what it watches before it knows whether anything will be compiled.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Compilation:
    """One function that Python called and that had to be compiled, with all that it calls."""

    function: str
    number: int
    """How many this process has compiled, with it."""
    seconds: float | None
    """How long it took; None when it begins."""
    kept: str | None
    """The folder where the machine code is kept for the next process; None where it is not."""


@dataclass
class Tally:
    """Counts of this process, changed under the compiler's lock."""

    functions: int = 0
    entries: int = 0
    depth: int = 0
    begun: float | None = None
    warned: bool = False


tally = Tally()
watchers: list[Callable[[Compilation], None]] = []
"""Called when the compilation of a function that Python called begins, and when it is over."""

NOT_KEPT = (
    "machine code is not kept, so every process compiles again; set NUMBA_CACHE_DIR to a folder it can write"
)
"""What to say where no folder can be written."""


def compilations() -> int:
    """Return how many functions were compiled in this process; those whose machine code was on disk were not."""
    return tally.functions
