"""Ctrl-C that waits for compiled code: it is noted while a step runs, and takes effect when the step is over.

Python raises `KeyboardInterrupt` wherever it happens to be, also in the few lines of Python by which Numba compiles a
function or hands its results over. There it ends in a crash or in an error that has nothing to do with it; and a repair
that it ends half-way leaves no answer. So what computes holds it off for one step: one batch, one prediction.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Run a block whole; a Ctrl-C meanwhile is raised behind it, a second one at once.

    Only Python's own way to handle it is held off: a program with a handler of its own keeps it. Threads other than the
    main one are never interrupted.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    seen = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal seen
        if seen:
            signal.default_int_handler(number, frame)
        seen = True

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if seen:
        raise KeyboardInterrupt
