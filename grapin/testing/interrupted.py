"""A Ctrl-C that cannot get lost.

While Hypothesis draws, a function of its own is called by the garbage collector, and what is raised there is dropped
with a note to the screen; a `KeyboardInterrupt` too. Drawing is what most garbage comes from, so this is not rare.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

_DROPPING = "gc_callback"
"""Hypothesis's function that the collector calls (junkdrawer.py): what is raised in it is a traceback, and no more."""


@contextmanager
def remembered_interrupts() -> Iterator[Callable[[], None]]:
    """While open, handle Ctrl-C as before and remember it; yield what raises it again if there was one."""
    before = signal.getsignal(signal.SIGINT)
    seen = False

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal seen
        seen = True
        if callable(before) and (frame is None or frame.f_code.co_name != _DROPPING):
            before(number, frame)

    def repeat() -> None:
        if seen:
            raise KeyboardInterrupt

    if not callable(before) or current_thread() is not main_thread():  # ignored, or not ours to handle
        yield repeat
        return
    signal.signal(signal.SIGINT, remember)
    try:
        yield repeat
    finally:
        signal.signal(signal.SIGINT, before)
